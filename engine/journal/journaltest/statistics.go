package journaltest

import (
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var statisticsTests = []test{
	{"what fired, what ended and effects are counted by the hour", statisticsCounts},
	{"what is recorded again is not counted again", statisticsOnce},
	{"a queued run that is replaced is counted", statisticsReplaced},
	{"it is told why a rule did not fire", statisticsReasons},
	{"a clock that is set back does not hide what came last", statisticsClock},
	{"how much there is", statisticsExtent},
	{"what was summed up is forgotten with the rest", statisticsPrune},
	{"what people changed is kept", statisticsAudit},
}

// statistics returns the journal as a statisticsJournal, or skips the test.
func (c *check) statistics() statisticsJournal {
	c.Helper()
	s, ok := c.Journal.(statisticsJournal)
	if !ok {
		c.Skip("this journal sums nothing up")
	}
	return s
}

func statisticsCounts(c *check) {
	rule := journal.RuleName{Workspace: ws, Rule: "r"}
	c.accept(event("1", "a"))
	l := c.claimLane(noon, "a")
	r := run("a", "r", "", "key")
	s := start(rules.Parallel, r)
	l.Events[0].Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}, {Rule: "other", Outcome: journal.False, Clause: "x"}}
	s.Verdict = &l.Events[0].Verdicts[0]
	c.save(l, journal.Change{Decided: l.Events, Starts: []*journal.Start{s}})
	r.State = journal.Waiting
	c.save(l, journal.Change{At: at(time.Hour), Runs: []*journal.RunChange{{Run: r, Effects: 2}}})
	r.State, r.FinishedAt = journal.FailedRun, at(2*time.Hour)
	c.save(l, journal.Change{At: at(2 * time.Hour), Runs: []*journal.RunChange{{Run: r}}})
	// A finished run that changes again is not counted again.
	c.save(l, journal.Change{At: at(3 * time.Hour), Runs: []*journal.RunChange{{Run: r, Answered: true}}})
	shadow := run("a", "r", "", "shadow")
	shadow.State, shadow.Stage, shadow.FinishedAt = journal.Done, rules.Shadow, at(4*time.Hour)
	c.save(l, journal.Change{At: at(4 * time.Hour), Starts: []*journal.Start{start(rules.Parallel, shadow)}})

	counts, err := c.statistics().Counts(c.Context(), journal.CountFilter{Since: at(30 * time.Minute), Rules: true})
	c.ok(err)
	c.equal("counts by the rule", counts, []journal.Count{
		{From: noon, RuleName: rule, What: journal.CountEffects, N: 2},
		{From: noon, RuleName: rule, What: journal.CountFired, N: 1},
		{From: noon, RuleName: rule, What: journal.CountRuns, Detail: "failed", N: 1},
		{From: noon, RuleName: rule, What: journal.CountRuns, Detail: journal.CountShadow, N: 1},
	})
	byRule := counts
	counts, err = c.statistics().Counts(c.Context(), journal.CountFilter{Since: noon.Add(-28 * 24 * time.Hour), Every: 24 * time.Hour, Rules: true, Rule: rule})
	c.ok(err)
	for i := range counts {
		counts[i].From = noon // the period of a day begins where Since says
	}
	c.equal("counts of one rule", counts, byRule)
	counts, err = c.statistics().Counts(c.Context(), journal.CountFilter{Rules: true, Rule: journal.RuleName{Workspace: ws, Rule: "other"}})
	c.ok(err)
	c.equal("counts of a rule that did nothing", len(counts), 0)
	counts, err = c.statistics().Counts(c.Context(), journal.CountFilter{Since: at(time.Hour)})
	c.ok(err)
	c.equal("counts by the hour", counts, []journal.Count{
		{From: at(time.Hour), RuleName: journal.RuleName{Workspace: ws}, What: journal.CountEffects, N: 2},
		{From: at(2 * time.Hour), RuleName: journal.RuleName{Workspace: ws}, What: journal.CountRuns, Detail: "failed", N: 1},
		{From: at(4 * time.Hour), RuleName: journal.RuleName{Workspace: ws}, What: journal.CountRuns, Detail: journal.CountShadow, N: 1},
	})
	counts, err = c.statistics().Counts(c.Context(), journal.CountFilter{Since: at(4 * time.Hour)})
	c.ok(err)
	c.equal("counts of the last hour", len(counts), 1)
	counts, err = c.statistics().Counts(c.Context(), journal.CountFilter{Since: noon, Every: 3 * time.Hour})
	c.ok(err)
	c.equal("counts of all rules, three hours at a time", counts, []journal.Count{
		{From: noon, RuleName: journal.RuleName{Workspace: ws}, What: journal.CountEffects, N: 2},
		{From: noon, RuleName: journal.RuleName{Workspace: ws}, What: journal.CountFired, N: 1},
		{From: noon, RuleName: journal.RuleName{Workspace: ws}, What: journal.CountRuns, Detail: "failed", N: 1},
		{From: at(3 * time.Hour), RuleName: journal.RuleName{Workspace: ws}, What: journal.CountRuns, Detail: journal.CountShadow, N: 1},
	})
	fired, err := c.statistics().LastFired(c.Context())
	c.ok(err)
	c.equal("last fired", fired, map[journal.RuleName]time.Time{rule: noon})
}

// countsOf returns counts by rule and detail.
func (c *check) countsOf(what journal.CountKind) map[string]int {
	c.Helper()
	counts, err := c.statistics().Counts(c.Context(), journal.CountFilter{Rules: true})
	c.ok(err)
	n := map[string]int{}
	for _, one := range counts {
		if one.What == what {
			n[one.Rule+" "+one.Detail] += one.N
		}
	}
	return n
}

// statisticsOnce decides an event, and then again for a rule that had gathered it.
func statisticsOnce(c *check) {
	c.accept(event("1", "a"))
	l := c.claimLane(noon, "a")
	e := l.Events[0]
	e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Gathered}, {Rule: "other", Outcome: journal.False, Clause: "x"}}
	c.save(l, journal.Change{Decided: l.Events})
	again, err := c.Events(c.Context(), e.Seq)
	c.ok(err)
	last := again[0]
	last.Verdicts[0] = journal.Verdict{Rule: "r", Outcome: journal.Fired}
	for range 2 {
		c.save(l, journal.Change{Decided: again})
	}
	c.equal("fired", c.countsOf(journal.CountFired), map[string]int{"r ": 1})
	for rule, want := range map[string]journal.Reason{
		"r":     {Outcome: journal.Gathered, N: 1, Event: e.Seq, At: noon},
		"other": {Outcome: journal.False, Clause: "x", N: 1, Event: e.Seq, At: noon},
	} {
		reasons, err := c.statistics().Reasons(c.Context(), ws, rule, time.Time{})
		c.ok(err)
		c.equal("reasons of "+rule, reasons, []journal.Reason{want})
	}
}

func statisticsReplaced(c *check) {
	l := c.claimNew("a")
	for i := range 3 {
		c.begin(l, start(rules.Restart, run("a", "r", "x", fmt.Sprint(i))))
	}
	c.equal("ends", c.countsOf(journal.CountRuns), map[string]int{"r cancelled": 1})
}

func statisticsClock(c *check) {
	c.accept(event("1", "a"), event("2", "a"), event("3", "a"))
	l := c.claimLane(noon, "a")
	for _, e := range l.Events {
		e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.False, Clause: "x"}, {Rule: "fires", Outcome: journal.Fired}}
	}
	// The newest event is decided before the others, and by a clock that was ahead of theirs.
	c.save(l, journal.Change{At: at(time.Hour), Decided: l.Events[2:]})
	c.save(l, journal.Change{At: at(2 * time.Hour), Decided: l.Events[1:2]})
	c.save(l, journal.Change{At: noon, Decided: l.Events[:1]})
	reasons, err := c.statistics().Reasons(c.Context(), ws, "r", time.Time{})
	c.ok(err)
	c.equal("reasons", reasons, []journal.Reason{{Outcome: journal.False, Clause: "x", N: 3, Event: l.Events[2].Seq, At: at(time.Hour)}})
	fired, err := c.statistics().LastFired(c.Context())
	c.ok(err)
	c.equal("last fired", fired, map[journal.RuleName]time.Time{{Workspace: ws, Rule: "fires"}: noon})
}

func statisticsReasons(c *check) {
	for i := range 5 {
		c.accept(event(fmt.Sprint(i), "a"))
	}
	l := c.withAllEvents(c.claimLane(noon, "a"))
	for i, e := range l.Events {
		e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.False, Clause: "open()"}}
		if i == 1 {
			e.Verdicts[0] = journal.Verdict{Rule: "r", Outcome: journal.Failed, Clause: "open()", Error: "nobody knows"}
		}
		if i == 2 {
			e.Verdicts[0] = journal.Verdict{Rule: "r", Outcome: journal.Fired}
		}
	}
	c.save(l, journal.Change{At: at(-48 * time.Hour), Decided: l.Events[:1]})
	c.save(l, journal.Change{Decided: l.Events[1:4]})
	c.save(l, journal.Change{At: at(time.Hour), Decided: l.Events[4:]})
	reasons, err := c.statistics().Reasons(c.Context(), ws, "r", noon)
	c.ok(err)
	c.equal("reasons", reasons, []journal.Reason{
		{Outcome: journal.False, Clause: "open()", N: 2, Event: l.Events[4].Seq, At: at(time.Hour)},
		{Outcome: journal.Failed, Clause: "open()", N: 1, Event: l.Events[1].Seq, At: noon},
	})
	reasons, err = c.statistics().Reasons(c.Context(), ws, "r", time.Time{})
	c.ok(err)
	c.equal("of all time", reasons[0].N, 3)
	reasons, err = c.statistics().Reasons(c.Context(), "other", "r", time.Time{})
	c.ok(err)
	c.equal("of another workspace", len(reasons), 0)
}

func statisticsExtent(c *check) {
	empty, err := c.statistics().Extent(c.Context())
	c.ok(err)
	c.equal("nothing", []any{empty.Events, empty.Runs, empty.Oldest.IsZero()}, []any{int64(0), int64(0), true})
	late := event("2", "b")
	late.ReceivedAt = at(time.Hour)
	c.accept(late, event("1", "a"))
	c.begin(c.claimLane(noon, "a"), start(rules.Parallel, run("a", "r", "", "key")))
	e, err := c.statistics().Extent(c.Context())
	c.ok(err)
	c.equal("something", []any{e.Events, e.Runs, e.Oldest, e.Bytes > 0}, []any{int64(2), int64(1), noon, true})
}

func statisticsPrune(c *check) {
	c.accept(event("1", "a"))
	l := c.claimLane(noon, "a")
	l.Events[0].Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.False, Clause: "x"}, {Rule: "fires", Outcome: journal.Fired}}
	c.finishLane(l)
	look := func() []int {
		counts, err := c.statistics().Counts(c.Context(), journal.CountFilter{})
		c.ok(err)
		reasons, err := c.statistics().Reasons(c.Context(), ws, "r", time.Time{})
		c.ok(err)
		byRule, err := c.statistics().Counts(c.Context(), journal.CountFilter{Rules: true})
		c.ok(err)
		return []int{len(counts), len(byRule), len(reasons)}
	}
	c.pruneAll(at(keep - 4*time.Hour))
	c.equal("within its time", look(), []int{1, 1, 1})
	c.pruneAll(at(keep + 2*day))
	c.equal("after it", look(), []int{0, 0, 0})
}

func statisticsAudit(c *check) {
	var want []journal.AuditEntry
	for i := range 5 {
		e := journal.AuditEntry{At: at(time.Duration(i) * time.Minute), Who: "ana", From: "127.0.0.1", What: "pause", Subject: fmt.Sprint("rule ", i), Detail: "why"}
		c.ok(c.statistics().Audit(c.Context(), e))
		e.ID = int64(i + 1)
		want = append([]journal.AuditEntry{e}, want...)
	}
	first, err := c.statistics().Audits(c.Context(), 0, 3)
	c.ok(err)
	c.equal("the newest", first, want[:3])
	rest, err := c.statistics().Audits(c.Context(), first[2].ID, 3)
	c.ok(err)
	c.equal("the next page", rest, want[3:])
}
