package console

import (
	"bytes"
	"html/template"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/digest"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/sentence"
)

// rulePage is what the page of a rule has besides the rule itself: what it did, why it did not, and
// what can be done to it.
type rulePage struct {
	ruleView
	Rule     *rules.Rule // nil if it is not in use
	LastGood bool        // what is in use is not what stands in the file
	Hold     *journal.Hold
	HeldIn   []holdView // conversations with a hold on it
	Reasons  []reasonView
	Runs     []runView
	Safety   engine.Safety
	Acts     bool
	Starts   bool   // the user may start it by hand
	More     string // all of its runs
	Export   string // where its file is; empty is not here, or not for this person
	Was      string // the sum of its file, for people who may change it
	History  string // of its file; empty is none
	Change   lastChange
	Weeks    []digest.Day
	Chart    template.HTML // the same as a picture
	Details  bool          // the days tell how many were escalated and answered

	Read *readRule // for people who may not change it
}

// A readRule is a rule as somebody sees it who may not change it.
type readRule struct {
	Rail, Words template.HTML
	Problems    []problemView
	YAML, File  string
}

// A reasonView is why a rule did not fire.
type reasonView struct {
	journal.Reason
	At     time.Time
	Share  float64
	Words  string // the condition
	ByHand bool   // it has no words
}

// ruleID matches a rule's id.
var ruleID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

const (
	ruleRuns   = 20
	weeksRuns  = 300 // runs that are read for the details of its days
	reasonDays = 7
)

// rule shows a rule: what it says, what it did, and why it did not. Editors change it on the same
// page.
func (c *Console) rule(q *request) error {
	p, err := c.rulePage(q, q.r.PathValue("workspace"), q.r.PathValue("rule"))
	if err != nil {
		return err
	}
	space := c.workspaces[p.Workspace]
	if q.editable(space.Name) {
		if f, err := space.open(p.ID); err == nil {
			return c.showWrite(q, http.StatusOK, f, writePage{About: p}, q.r.URL.Query().Has("unfinished"))
		}
	}
	if p.Read, err = c.readRule(q, space, p.ID); err != nil {
		return err
	}
	return q.show("rule", "rules", p.Name, p)
}

// ruleActivity is the part of the page that follows what happens.
func (c *Console) ruleActivity(q *request) error {
	p, err := c.rulePage(q, q.r.PathValue("workspace"), q.r.PathValue("rule"))
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := c.templates[q.lang].show(&b, "rule", "ruleactivity", p); err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = q.w.Write(b.Bytes()) // the client may have disconnected
	return nil
}

// rulePage gathers what is known about a rule.
func (c *Console) rulePage(q *request, workspace, id string) (*rulePage, error) {
	space := c.workspaces[workspace]
	if space == nil || !ruleID.MatchString(id) {
		return nil, errNotFound
	}
	set := space.book().Set
	r, broken := set.Rule(id), brokenOf(set, id)
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Workspace: space.Name, Rule: id, Limit: ruleRuns})
	if err != nil {
		return nil, err
	}
	if r == nil && broken == nil && len(runs) == 0 {
		return nil, errNotFound
	}
	p := &rulePage{ruleView: c.ruleView(space.Name, id), Rule: r, LastGood: r != nil && broken != nil, Safety: space.Safety, Acts: q.user.Role >= Operator, More: "/runs?rule=" + escapeQuery(id)}
	p.Starts = p.Acts && c.startable(set, r)
	if r != nil {
		p.Change = c.changeOf(q, space, r)
	}
	if r != nil || broken != nil {
		c.showEditing(q, p, space, id)
	}
	if p.Runs, err = c.runViews(q, runs); err != nil {
		return nil, err
	}
	if err := c.weeks(q, p); err != nil {
		return nil, err
	}
	if p.Reasons, err = c.reasons(q, space, id, r); err != nil {
		return nil, err
	}
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return nil, err
	}
	name := journal.RuleName{Workspace: space.Name, Rule: id}
	p.Hold = holdOn(holds, name)
	p.HeldIn, err = c.holdViews(q, holdsIn(holds, name))
	return p, err
}

// weeks sums up what a rule did on each of the last days. How many runs were escalated and answered
// is told where it takes few runs to know.
func (c *Console) weeks(q *request, p *rulePage) error {
	now := c.at(p.Workspace, q.now)
	since := digest.DaysSince(now)
	counts, err := c.options.Journal.Counts(q.ctx(), journal.CountFilter{Since: since, Every: journal.RuleCounts, Rules: true, Rule: journal.RuleName{Workspace: p.Workspace, Rule: p.ID}})
	if err != nil || len(counts) == 0 {
		return err
	}
	p.Weeks = digest.OfDays(counts, now, p.Change.All)
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Workspace: p.Workspace, Rule: p.ID, Since: since, Limit: weeksRuns})
	if err != nil {
		return err
	}
	if p.Details = len(runs) < weeksRuns; p.Details {
		digest.AddRuns(p.Weeks, runs)
	}
	p.Chart = picture.Days(q.words(), p.Weeks)
	slices.Reverse(p.Weeks) // the table begins with the newest
	return nil
}

// reasons says in words why a rule did not fire.
func (c *Console) reasons(q *request, w *Workspace, id string, r *rules.Rule) (list []reasonView, err error) {
	found, err := c.options.Journal.Reasons(q.ctx(), w.Name, id, q.now.Add(-reasonDays*24*time.Hour))
	if err != nil {
		return nil, err
	}
	// What was gathered has its own outcome later: it would count twice.
	found = slices.DeleteFunc(found, func(r journal.Reason) bool { return r.Outcome == journal.Gathered })
	all := 0
	for _, r := range found {
		all += r.N
	}
	say := func(clause string) (text string, byHand bool) { return clause, true }
	if catalog := w.catalog(); r != nil && catalog != nil {
		if fields, err := form.Read(catalog, []byte(r.Source()), id); err == nil {
			scope := sentence.NewScope(catalog, fields, studio.Vars([]byte(r.Source())), nil)
			say = func(clause string) (string, bool) {
				condition := sentence.Read(clause)
				return scope.Say(q.words().RulesLanguage(), condition), len(condition.ByHand()) > 0
			}
		}
	}
	for _, r := range found {
		view := reasonView{Reason: r, At: c.at(w.Name, r.At), Share: float64(r.N) / float64(all)}
		if r.Clause != "" {
			view.Words, view.ByHand = say(r.Clause)
		}
		list = append(list, view)
	}
	return list, nil
}

// readRule shows a rule to somebody who may not change it: without possible keys of other services.
// It is nil where there is no rule any more.
func (c *Console) readRule(q *request, w *Workspace, id string) (*readRule, error) {
	set := w.book().Set
	r, broken := set.Rule(id), brokenOf(set, id)
	if r == nil && broken == nil {
		return nil, nil
	}
	out := &readRule{}
	var texts []string // the first that can be read is shown
	if broken != nil {
		out.Problems, out.File = viewProblems(q.words(), broken.Problems), filepath.Base(broken.File)
	}
	if w.Editing != nil {
		if f, err := w.open(id); err == nil {
			texts = append(texts, harmlessText(f.text))
		}
	}
	if r != nil {
		out.YAML, out.File = sourceOf(w, r), filepath.Base(r.File)
		if w.Source != nil {
			texts = append(texts, harmlessText(w.Source(r)))
		}
		texts = append(texts, harmlessText(r.Source()))
	}
	part := railPart{}
	for _, text := range texts {
		catalog := w.catalog()
		if catalog == nil {
			break
		}
		if fields, err := form.Read(catalog, []byte(text), id); err == nil {
			maker := studioMaker(q.words(), &draftFile{space: w, text: text})
			studio.Places([]byte(text), id, out.Problems)
			maker.Explain(fields, out.Problems)
			view := maker.View(fields, out.Problems)
			part.View = &view
			break
		}
	}
	rail, err := q.renderPart("rule", "rail", part)
	if err != nil {
		return nil, err
	}
	said, err := q.renderPart("rule", "inwords", part)
	if err != nil {
		return nil, err
	}
	out.Rail, out.Words = withoutControls(rail), harmlessHTML(said)
	return out, nil
}

var (
	menus      = regexp.MustCompile(`(?s)<details class="menu".*?</details>`)
	titleField = regexp.MustCompile(`(?s)<div class="title">.*?</div>|<textarea.*?</textarea>`)
	buttons    = regexp.MustCompile(`(?s)<button ([^>]*)>(.*?)</button>`)
	classes    = regexp.MustCompile(`class="([^"]*)"`)
)

// withoutControls returns the rail without what changes it: chips are words, and what adds or
// removes something is gone. In what templates render no attribute has a > or a quote of its own.
func withoutControls(rail string) template.HTML {
	rail = titleField.ReplaceAllString(menus.ReplaceAllString(rail, ""), "")
	rail = buttons.ReplaceAllStringFunc(rail, func(button string) string {
		parts := buttons.FindStringSubmatch(button)
		class := classes.FindStringSubmatch(parts[1])
		isChip := strings.Contains(parts[1], "data-chip=") || strings.Contains(parts[1], "data-group=") || class != nil && strings.HasPrefix(class[1], "bubble")
		if !isChip || class == nil {
			return ""
		}
		return `<span class="` + class[1] + `">` + parts[2] + `</span>`
	})
	return harmlessHTML(rail)
}

// harmlessHTML returns a rendered part of a page without characters that are not shown.
func harmlessHTML(html string) template.HTML {
	return template.HTML(strings.Join(words.HarmlessLines(html), "\n")) //nolint:gosec // it was rendered by a template
}

// catalog returns the verbs that rules of a workspace may use, or nil.
func (w *Workspace) catalog() *rules.Catalog {
	if w.Catalog == nil && w.Editing != nil {
		return w.Editing.Rules.Catalog
	}
	return w.Catalog
}

// sourceOf returns a rule's text for every reader: without possible keys of other services.
func sourceOf(w *Workspace, r *rules.Rule) string {
	if w.Source != nil {
		// The rule may use aliases of the file's other parts, so the whole file is needed.
		if text := linesOf(harmlessText(w.Source(r)), r.Line); text != "" {
			return text
		}
	}
	return harmlessText(r.Source())
}

// linesOf returns the lines of the block that begins at a line, or "".
func linesOf(text string, line int) string {
	lines := strings.Split(text, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	depth := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	first := line - 1
	end := first + 1
	for end < len(lines) && (strings.TrimSpace(lines[end]) == "" || depth(lines[end]) > depth(lines[first])) {
		end++
	}
	return strings.TrimRight(strings.Join(lines[first:end], "\n"), " \n")
}
