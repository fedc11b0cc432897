package console

import (
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// rulesPage lists the rules.
type rulesPage struct {
	Groups  []ruleGroup
	Grouped bool
	Files   []brokenFile // what could not be read and has no id
	Edits   bool         // the user may write rules

	Proposals int // that wait for a person

	Workspace   string // the only one that is listed; empty is all
	Query       string
	Stages      []optionView
	Tags        []optionView
	Folds       []string // the folded groups
	All, Found  int      // rules; those that fit the query
	More, First string   // the next page and the first one; empty is none
}

// A ruleGroup is the rules with the same first tag.
type ruleGroup struct {
	Tag    string // empty is none
	N      int
	Folded bool
	Link   string // folds or unfolds it
	Rows   []ruleRow
}

// A brokenFile is a part of a file that could not be read.
type brokenFile struct {
	rules.Broken
	Name string
	Edit string // where it is mended; empty is not here
}

// A ruleRow is a rule as a list shows it.
type ruleRow struct {
	ruleView
	Stage     rules.Stage
	When      string
	Tags      []string
	Change    lastChange
	Broken    bool
	Hold      *journal.Hold
	HeldIn    int // number of conversations with a hold on it
	LastFired time.Time
	Ago       time.Duration
	Spark     template.HTML
	Runs      int
	Failures  float64 // their share of the runs that ended in seven days
	Failed    int
	Fired     int

	rule *rules.Rule // nil if it is not in use
}

const (
	sparkDays  = 7   // that the lists of rules sum up
	rulesShown = 100 // rules on one page
)

// The choices of the filter by stage that are no stages.
const (
	stageStopped = "stopped"
	stageBroken  = "broken"
)

// A ruleQuery says which rules to list. Its fields are those of the address.
type ruleQuery struct {
	workspace, text, stage, tag string
	folded                      []string
	from                        int
}

func readRuleQuery(q *request) (ruleQuery, error) {
	f := q.r.URL.Query()
	from, err := numberOf(f.Get("from"))
	if err != nil || from > 1<<20 {
		return ruleQuery{}, problem(http.StatusBadRequest, "error.filter")
	}
	find := ruleQuery{workspace: f.Get("workspace"), text: strings.TrimSpace(words.Cut(f.Get("q"), 100)), stage: f.Get("stage"), tag: words.Cut(f.Get("tag"), 100), from: int(from)}
	if find.stage != "" && !slices.Contains(stageChoices, find.stage) {
		return ruleQuery{}, problem(http.StatusBadRequest, "error.filter")
	}
	find.folded = slices.Compact(slices.Sorted(slices.Values(f["fold"])))
	return find, nil
}

var stageChoices = []string{string(rules.Live), string(rules.Shadow), string(rules.Draft), stageStopped, stageBroken}

// link returns the address of the list with another page or other folded groups.
func (f ruleQuery) link(from int, folded []string) string {
	v := url.Values{"fold": folded}
	for name, value := range map[string]string{"workspace": f.workspace, "q": f.text, "stage": f.stage, "tag": f.tag} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if from > 0 {
		v.Set("from", strconv.Itoa(from))
	}
	return strings.TrimSuffix("/rules?"+v.Encode(), "?")
}

// fits reports whether the filters let a rule through.
func (f ruleQuery) fits(row *ruleRow) bool {
	switch {
	case f.tag != "" && !slices.Contains(row.Tags, f.tag):
		return false
	case f.stage == stageStopped:
		return row.Hold != nil || row.HeldIn > 0
	case f.stage == stageBroken:
		return row.Broken
	}
	return f.stage == "" || f.stage == string(row.Stage)
}

// rules lists the rules with what they did lately.
func (c *Console) rules(q *request) error {
	find, err := readRuleQuery(q)
	if err != nil {
		return err
	}
	p := rulesPage{Workspace: find.workspace, Query: find.text, Folds: find.folded}
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return err
	}
	var rows []ruleRow
	tags := map[string]bool{}
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		if find.workspace != "" && find.workspace != w.Name {
			continue
		}
		p.Edits = p.Edits || q.editable(w.Name)
		if q.editable(w.Name) {
			p.Proposals += len(c.waiting(q, w))
		}
		p.Files = append(p.Files, q.brokenFiles(w)...)
		for _, row := range c.ruleRows(q, w, find.text) {
			p.All++
			for _, tag := range row.Tags {
				tags[tag] = true
			}
			name := journal.RuleName{Workspace: row.Workspace, Rule: row.ID}
			row.Hold, row.HeldIn = holdOn(holds, name), len(holdsIn(holds, name))
			if row.found && find.fits(&row.ruleRow) {
				rows = append(rows, row.ruleRow)
			}
		}
	}
	p.Found = len(rows)
	for _, stage := range stageChoices {
		p.Stages = append(p.Stages, optionView{stage, q.words().T("rules.filter." + stage), stage == find.stage})
	}
	for _, tag := range slices.Sorted(maps.Keys(tags)) {
		p.Tags = append(p.Tags, optionView{tag, words.Cut(engine.Harmless(tag), 60), tag == find.tag})
	}
	p.Grouped = len(tags) > 0
	p.Groups = groupRules(rows, find)
	next := pageOfRules(p.Groups, find.from)
	if next > 0 {
		p.More = find.link(next, find.folded)
	}
	if find.from > 0 {
		p.First = find.link(0, find.folded)
	}
	if err := c.showLately(q, p.Groups); err != nil {
		return err
	}
	return q.show("rules", "rules", q.words().T("nav.rules"), p)
}

// A foundRow is a rule, and whether a search finds it.
type foundRow struct {
	ruleRow
	found bool
}

// ruleRows lists the rules of a workspace.
func (c *Console) ruleRows(q *request, w *Workspace, text string) (list []foundRow) {
	set := w.book().Set
	folded := journal.FoldText(text)
	var index map[*rules.Rule]indexedRule // every rule is read for it, so only for a search
	if folded != "" {
		index = c.index.of(w.Name, set)
	}
	broken := map[string]bool{}
	for _, b := range set.Broken {
		broken[b.ID] = true
		if b.ID != "" && set.Rule(b.ID) == nil {
			row := ruleRow{ruleView: c.ruleView(w.Name, b.ID), Broken: true}
			list = append(list, foundRow{row, matches(journal.FoldText(b.ID), folded)})
		}
	}
	for _, r := range set.Rules {
		row := ruleRow{ruleView: c.ruleView(w.Name, r.ID), Stage: r.Stage, Tags: r.Tags, Broken: broken[r.ID], rule: r}
		list = append(list, foundRow{row, matches(index[r].text, folded)})
	}
	return list
}

// brokenFiles lists what could not be read in a workspace and has no id.
func (q *request) brokenFiles(w *Workspace) (list []brokenFile) {
	for _, b := range w.book().Set.Broken {
		if b.ID == "" {
			b.Problems = b.Problems.In(q.words().RulesLanguage())
			list = append(list, brokenFile{b, filepath.Base(b.File), q.editLink(w.Name, b.File)})
		}
	}
	return list
}

// groupRules groups rules by their first tag; those without one come last. A filter by a tag makes
// one group of it.
func groupRules(rows []ruleRow, find ruleQuery) (groups []ruleGroup) {
	byTag := map[string][]ruleRow{}
	for _, row := range rows {
		tag := find.tag
		if tag == "" && len(row.Tags) > 0 {
			tag = row.Tags[0]
		}
		byTag[tag] = append(byTag[tag], row)
	}
	tags := slices.Sorted(maps.Keys(byTag))
	if len(tags) > 0 && tags[0] == "" {
		tags = append(tags[1:], "")
	}
	for _, tag := range tags {
		g := ruleGroup{Tag: tag, N: len(byTag[tag]), Rows: byTag[tag]}
		others := slices.DeleteFunc(slices.Clone(find.folded), func(other string) bool { return other == tag })
		if g.Folded = len(others) < len(find.folded); g.Folded {
			g.Rows = nil
		} else {
			others = append(others, tag)
		}
		g.Link = find.link(0, others)
		groups = append(groups, g)
	}
	return groups
}

// pageOfRules keeps the rows of one page, and returns where the next one begins; 0 is nowhere.
func pageOfRules(groups []ruleGroup, from int) (next int) {
	at := 0
	for i := range groups {
		g := &groups[i]
		begin, n := at, len(g.Rows)
		at += n
		g.Rows = g.Rows[min(max(from-begin, 0), n):min(max(from+rulesShown-begin, 0), n)]
	}
	if at > from+rulesShown {
		return from + rulesShown
	}
	return 0
}

// showLately says of the rules on a page what they did lately, and who changed them.
func (c *Console) showLately(q *request, groups []ruleGroup) error {
	// The last of the days ends with the present stretch.
	since := q.now.Truncate(journal.RuleCounts).Add(journal.RuleCounts - sparkDays*24*time.Hour)
	counts, err := c.options.Journal.Counts(q.ctx(), journal.CountFilter{Since: since, Every: 24 * time.Hour, Rules: true})
	if err != nil {
		return err
	}
	fired, err := c.options.Journal.LastFired(q.ctx())
	if err != nil {
		return err
	}
	sums := sumRules(counts, since)
	for _, g := range groups {
		for i := range g.Rows {
			row := &g.Rows[i]
			name := journal.RuleName{Workspace: row.Workspace, Rule: row.ID}
			if at, ok := fired[name]; ok {
				row.LastFired, row.Ago = c.at(row.Workspace, at), q.now.Sub(at)
			}
			s := sums[name]
			if s == nil {
				s = &ruleSum{}
			}
			row.Runs, row.Failed, row.Fired = s.ended, s.failed, s.total()
			if s.ended > 0 {
				row.Failures = float64(s.failed) / float64(s.ended)
			}
			row.Spark = picture.Sparkline(q.words(), s.fired[:], q.words().T("rules.spark", row.Name, q.words().Number(row.Fired)))
			if row.rule != nil {
				row.When, row.Change = q.words().Trigger(row.rule), c.changeOf(q, c.workspaces[row.Workspace], row.rule)
			}
		}
	}
	return nil
}

// A ruleSum is what a rule did in the last days.
type ruleSum struct {
	fired         [sparkDays]int // by days, the oldest first; the last ends now
	ended, failed int
}

func (s *ruleSum) total() (n int) {
	for _, day := range s.fired {
		n += day
	}
	return n
}

func sumRules(counts []journal.Count, since time.Time) map[journal.RuleName]*ruleSum {
	sums := map[journal.RuleName]*ruleSum{}
	get := func(name journal.RuleName) *ruleSum {
		if sums[name] == nil {
			sums[name] = &ruleSum{}
		}
		return sums[name]
	}
	for _, one := range counts {
		s := get(one.RuleName)
		switch one.What {
		case journal.CountRuns:
			s.ended += one.N
			if one.Detail == string(journal.FailedRun) {
				s.failed += one.N
			}
		case journal.CountFired:
			day := int(one.From.Sub(since) / (24 * time.Hour))
			s.fired[min(max(day, 0), sparkDays-1)] += one.N
		}
	}
	return sums
}

// holdOn returns what stops a rule itself, everywhere, or nil.
func holdOn(holds []journal.Hold, name journal.RuleName) *journal.Hold {
	for i, h := range holds {
		if h.Rule == name.Rule && (h.Workspace == name.Workspace || h.Workspace == "") && h.Rule != "" && h.Lane == "" {
			return &holds[i]
		}
	}
	return nil
}

// holdsIn returns what stops a rule in single conversations.
func holdsIn(holds []journal.Hold, name journal.RuleName) (list []journal.Hold) {
	for _, h := range holds {
		if h.Rule == name.Rule && h.Workspace == name.Workspace && h.Lane != "" {
			list = append(list, h)
		}
	}
	return list
}
