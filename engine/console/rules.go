package console

import (
	"cmp"
	"html/template"
	"path/filepath"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// rulesPage lists the rules.
type rulesPage struct {
	Rules []ruleRow
	Files []brokenFile // what could not be read and has no id
	Many  bool
	Edits bool // the user may write rules
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
	Broken    bool
	Hold      *journal.Hold
	HeldIn    int // number of conversations with a hold on it
	LastFired time.Time
	Ago       time.Duration
	Spark     template.HTML
	Runs      int
	Failures  float64 // their share of the runs that ended in seven days
	Failed    int
}

// sparkDays is how many days the lists of rules sum up.
const sparkDays = 7

// rules lists the rules with what they did lately.
func (c *Console) rules(q *request) error {
	p := rulesPage{Many: len(c.workspaces) > 1}
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
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return err
	}
	sums := sumRules(counts, since)
	for _, w := range c.options.Workspaces {
		set := w.book().Set
		p.Edits = p.Edits || q.editable(w.Name)
		for _, r := range set.Rules {
			row := ruleRow{ruleView: c.ruleView(w.Name, r.ID), Stage: r.Stage, Broken: brokenOf(set, r.ID) != nil}
			p.Rules = append(p.Rules, row)
		}
		for _, b := range set.Broken {
			switch {
			case b.ID == "":
				b.Problems = b.Problems.In(q.words().RulesLanguage())
				p.Files = append(p.Files, brokenFile{b, filepath.Base(b.File), q.editLink(w.Name, b.File)})
			case set.Rule(b.ID) == nil:
				p.Rules = append(p.Rules, ruleRow{ruleView: c.ruleView(w.Name, b.ID), Broken: true})
			}
		}
	}
	for i := range p.Rules {
		row := &p.Rules[i]
		name := journal.RuleName{Workspace: row.Workspace, Rule: row.ID}
		if at, ok := fired[name]; ok {
			row.LastFired, row.Ago = c.at(row.Workspace, at), q.now.Sub(at)
		}
		row.Hold, row.HeldIn = holdOn(holds, name), len(holdsIn(holds, name))
		s := sums[name]
		if s == nil {
			s = &ruleSum{}
		}
		row.Runs, row.Failed = s.ended, s.failed
		if s.ended > 0 {
			row.Failures = float64(s.failed) / float64(s.ended)
		}
		row.Spark = picture.Sparkline(q.words(), s.fired[:], q.words().T("rules.spark", row.Name, q.words().Number(s.total())))
	}
	slices.SortStableFunc(p.Rules, func(a, b ruleRow) int { return cmp.Compare(a.Workspace, b.Workspace) })
	return q.show("rules", "rules", q.words().T("nav.rules"), p)
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
