package console

import (
	"html/template"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// rulePage is everything about one rule.
type rulePage struct {
	ruleView
	Rule     *rules.Rule // nil if it is not in use
	Sentence words.Sentence
	Picture  template.HTML
	YAML     string
	File     string
	Problems rules.Problems // of its text as it stands
	Hold     *journal.Hold
	HeldIn   []holdView // conversations with a hold on it
	Reasons  []reasonView
	Runs     []runView
	Safety   engine.Safety
	Acts     bool
	Starts   bool // the user may start it by hand
	Here     string
	More     string // all of its runs
	Edit     string // where it is written; empty is not here, or not by this person
	Export   string // where its file is; empty as Edit
	Was      string // the sum of its file
	History  string // of its file; empty is none
	Change   lastChange
	Stages   []rules.Stage
}

// A reasonView is why a rule did not fire.
type reasonView struct {
	journal.Reason
	At    time.Time
	Share float64
}

// ruleID matches a rule's id.
var ruleID = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

const (
	ruleRuns   = 20
	reasonDays = 7
)

// rule shows a rule: what it says, what it did, and why it did not.
func (c *Console) rule(q *request) error {
	space, id := c.workspaces[q.r.PathValue("workspace")], q.r.PathValue("rule")
	if space == nil || !ruleID.MatchString(id) {
		return errNotFound
	}
	set := space.book().Set
	r, broken := set.Rule(id), brokenOf(set, id)
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{Workspace: space.Name, Rule: id, Limit: ruleRuns})
	if err != nil {
		return err
	}
	if r == nil && broken == nil && len(runs) == 0 {
		return errNotFound
	}
	p := rulePage{ruleView: c.ruleView(space.Name, id), Rule: r, Safety: space.Safety, Acts: q.user.Role >= Operator}
	p.Starts = p.Acts && c.startable(set, r)
	p.Here, p.More = p.Link, "/runs?rule="+escapeQuery(id)
	if broken != nil {
		p.Problems, p.File = broken.Problems.In(q.words().RulesLanguage()), filepath.Base(broken.File)
	}
	if r != nil {
		p.Sentence, p.Picture, p.YAML, p.File = q.words().Sentence(r), picture.Flow(q.words(), r), sourceOf(space, r), filepath.Base(r.File)
		p.Change = c.changeOf(q, space, r)
	}
	if r != nil || broken != nil {
		c.showEditing(q, &p, space, id)
	}
	if p.Runs, err = c.runViews(q, runs); err != nil {
		return err
	}
	if p.Reasons, err = c.reasons(q, space.Name, id); err != nil {
		return err
	}
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return err
	}
	name := journal.RuleName{Workspace: space.Name, Rule: id}
	p.Hold = holdOn(holds, name)
	if p.HeldIn, err = c.holdViews(q, holdsIn(holds, name)); err != nil {
		return err
	}
	return q.show("rule", "rules", p.Name, p)
}

func (c *Console) reasons(q *request, workspace, rule string) (list []reasonView, err error) {
	found, err := c.options.Journal.Reasons(q.ctx(), workspace, rule, q.now.Add(-reasonDays*24*time.Hour))
	if err != nil {
		return nil, err
	}
	all := 0
	for _, r := range found {
		all += r.N
	}
	for _, r := range found {
		list = append(list, reasonView{Reason: r, At: c.at(workspace, r.At), Share: float64(r.N) / float64(all)})
	}
	return list, nil
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
