package journaltest

import (
	"fmt"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

var statisticsTests = []test{
	{"verdicts, ends of runs and effects are counted by the hour", statisticsCounts},
	{"it is told why a rule did not fire", statisticsReasons},
	{"conversations are found by name, phone and protocol", statisticsFind},
	{"how much there is", statisticsExtent},
	{"what was summed up is forgotten with the rest", statisticsPrune},
	{"what people changed is kept", statisticsAudit},
}

// sums returns the side of the journal that sums up. Not every journal has one.
func (c *check) sums() summing {
	c.Helper()
	s, ok := c.Journal.(summing)
	if !ok {
		c.Skip("this journal sums nothing up")
	}
	return s
}

func statisticsCounts(c *check) {
	rule := engine.RuleName{Workspace: ws, Rule: "r"}
	c.accept(event("1", "a"))
	l := c.lane(noon, "a")
	r := run("a", "r", "", "key")
	s := start(rules.Parallel, r)
	l.Events[0].Verdicts = []engine.Verdict{{Rule: "r", Outcome: engine.Fired}, {Rule: "other", Outcome: engine.False, Clause: "x"}}
	s.Verdict = &l.Events[0].Verdicts[0]
	c.save(l, engine.Change{Decided: l.Events, Starts: []*engine.Start{s}})
	r.State = engine.Waiting
	c.save(l, engine.Change{At: at(time.Hour), Runs: []*engine.RunChange{{Run: r, Effects: 2}}})
	r.State, r.FinishedAt = engine.FailedRun, at(2*time.Hour)
	c.save(l, engine.Change{At: at(2 * time.Hour), Runs: []*engine.RunChange{{Run: r}}})
	// One that has ended and changes all the same does not end again.
	c.save(l, engine.Change{At: at(3 * time.Hour), Runs: []*engine.RunChange{{Run: r, Answered: true}}})
	shadow := run("a", "r", "", "shadow")
	shadow.State, shadow.Stage, shadow.FinishedAt = engine.Done, rules.Shadow, at(4*time.Hour)
	c.save(l, engine.Change{At: at(4 * time.Hour), Starts: []*engine.Start{start(rules.Parallel, shadow)}})

	counts, err := c.sums().Counts(c.Context(), engine.CountFilter{Since: at(30 * time.Minute), Rules: true})
	c.ok(err)
	c.equal("counts by the rule", counts, []engine.Count{
		{From: noon, RuleName: engine.RuleName{Workspace: ws, Rule: "other"}, What: engine.CountVerdicts, Detail: "false", N: 1},
		{From: noon, RuleName: rule, What: engine.CountEffects, N: 2},
		{From: noon, RuleName: rule, What: engine.CountRuns, Detail: "failed", N: 1},
		{From: noon, RuleName: rule, What: engine.CountRuns, Detail: engine.CountShadow, N: 1},
		{From: noon, RuleName: rule, What: engine.CountVerdicts, Detail: "fired", N: 1},
	})
	counts, err = c.sums().Counts(c.Context(), engine.CountFilter{Since: at(time.Hour)})
	c.ok(err)
	c.equal("counts by the hour", counts, []engine.Count{
		{From: at(time.Hour), RuleName: engine.RuleName{Workspace: ws}, What: engine.CountEffects, N: 2},
		{From: at(2 * time.Hour), RuleName: engine.RuleName{Workspace: ws}, What: engine.CountRuns, Detail: "failed", N: 1},
		{From: at(4 * time.Hour), RuleName: engine.RuleName{Workspace: ws}, What: engine.CountRuns, Detail: engine.CountShadow, N: 1},
	})
	counts, err = c.sums().Counts(c.Context(), engine.CountFilter{Since: at(4 * time.Hour)})
	c.ok(err)
	c.equal("counts of the last hour", len(counts), 1)
	counts, err = c.sums().Counts(c.Context(), engine.CountFilter{Since: noon, Every: 3 * time.Hour})
	c.ok(err)
	c.equal("counts of all rules, three hours at a time", counts, []engine.Count{
		{From: noon, RuleName: engine.RuleName{Workspace: ws}, What: engine.CountEffects, N: 2},
		{From: noon, RuleName: engine.RuleName{Workspace: ws}, What: engine.CountRuns, Detail: "failed", N: 1},
		{From: noon, RuleName: engine.RuleName{Workspace: ws}, What: engine.CountVerdicts, Detail: "false", N: 1},
		{From: noon, RuleName: engine.RuleName{Workspace: ws}, What: engine.CountVerdicts, Detail: "fired", N: 1},
		{From: at(3 * time.Hour), RuleName: engine.RuleName{Workspace: ws}, What: engine.CountRuns, Detail: engine.CountShadow, N: 1},
	})
	fired, err := c.sums().LastFired(c.Context())
	c.ok(err)
	c.equal("last fired", fired, map[engine.RuleName]time.Time{rule: noon})
}

func statisticsReasons(c *check) {
	for i := range 5 {
		c.accept(event(fmt.Sprint(i), "a"))
	}
	l := c.lane(noon, "a")
	for i, e := range l.Events {
		e.Verdicts = []engine.Verdict{{Rule: "r", Outcome: engine.False, Clause: "open()"}}
		if i == 1 {
			e.Verdicts[0] = engine.Verdict{Rule: "r", Outcome: engine.Failed, Clause: "open()", Error: "nobody knows"}
		}
		if i == 2 {
			e.Verdicts[0] = engine.Verdict{Rule: "r", Outcome: engine.Fired}
		}
	}
	c.save(l, engine.Change{At: at(-48 * time.Hour), Decided: l.Events[:1]})
	c.save(l, engine.Change{Decided: l.Events[1:4]})
	c.save(l, engine.Change{At: at(time.Hour), Decided: l.Events[4:]})
	reasons, err := c.sums().Reasons(c.Context(), ws, "r", noon)
	c.ok(err)
	c.equal("reasons", reasons, []engine.Reason{
		{Outcome: engine.False, Clause: "open()", N: 2, Event: l.Events[4].Seq, At: at(time.Hour)},
		{Outcome: engine.Failed, Clause: "open()", N: 1, Event: l.Events[1].Seq, At: noon},
	})
	reasons, err = c.sums().Reasons(c.Context(), ws, "r", time.Time{})
	c.ok(err)
	c.equal("of all time", reasons[0].N, 3)
	reasons, err = c.sums().Reasons(c.Context(), "other", "r", time.Time{})
	c.ok(err)
	c.equal("of another workspace", len(reasons), 0)
}

func statisticsFind(c *check) {
	add := func(id, name, phone, protocol string) {
		c.Helper()
		e := event(fmt.Sprint("event ", serial()), "conversation:"+id)
		e.Data = map[string]any{
			"contact":    map[string]any{"name": name, "phone": phone},
			"attendance": map[string]any{"protocol": protocol, "conversation": map[string]any{"contact": map[string]any{"name": name}}},
		}
		c.accept(e)
	}
	add("1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	add("1", "Maria José da Silva", "+55 11 98888-7777", "AT-000123")
	add("2", "João Silvério", "+55 21 3333-4444", "AT-000124")
	add("3", "Old Name", "", "")
	e := event("renamed", "conversation:3")
	e.ReceivedAt = at(24 * time.Hour)
	e.Data = map[string]any{"contact": map[string]any{"name": "New Name"}}
	c.accept(e)
	for text, want := range map[string][]string{
		"jose": {"1"}, "SILV": {"1", "2"}, "silva maria": {"1"}, "silva joao": nil, "joão": {"2"}, "(11) 8888-7777": {"1"}, "1198888777": nil, "11 98888 7777": {"1"},
		"4444": {"2"}, "at-000124": {"2"}, "123": {"1"}, "at 0001": {"1", "2"}, "new": {"3"}, "": nil, "%": nil, "nobody": nil,
	} {
		found, err := c.sums().FindLanes(c.Context(), text, 10)
		c.ok(err)
		var got []string
		for _, w := range found {
			got = append(got, w.Lane[len("conversation:"):])
		}
		c.equal(fmt.Sprintf("found by %q", text), got, want)
	}
	one, err := c.sums().FindLanes(c.Context(), "silv", 1)
	c.ok(err)
	c.equal("a bounded list", len(one), 1)
	who, err := c.sums().Who(c.Context(), ws, []string{"conversation:1", "conversation:3", "conversation:9"})
	c.ok(err)
	c.equal("who", who, map[string]engine.Who{
		"conversation:1": {Workspace: ws, Lane: "conversation:1", Name: "Maria José da Silva", Phone: "+55 11 98888-7777", Protocol: "AT-000123", Seen: at(-12 * time.Hour)},
		"conversation:3": {Workspace: ws, Lane: "conversation:3", Name: "New Name", Seen: at(12 * time.Hour)},
	})
}

func statisticsExtent(c *check) {
	empty, err := c.sums().Extent(c.Context())
	c.ok(err)
	c.equal("nothing", []any{empty.Events, empty.Runs, empty.Oldest.IsZero()}, []any{int64(0), int64(0), true})
	late := event("2", "b")
	late.ReceivedAt = at(time.Hour)
	c.accept(late, event("1", "a"))
	c.begin(c.lane(noon, "a"), start(rules.Parallel, run("a", "r", "", "key")))
	e, err := c.sums().Extent(c.Context())
	c.ok(err)
	c.equal("something", []any{e.Events, e.Runs, e.Oldest, e.Bytes > 0}, []any{int64(2), int64(1), noon, true})
}

func statisticsPrune(c *check) {
	e := event("1", "a")
	e.Data = map[string]any{"contact": map[string]any{"name": "Maria"}}
	c.accept(e)
	l := c.lane(noon, "a")
	l.Events[0].Verdicts = []engine.Verdict{{Rule: "r", Outcome: engine.False, Clause: "x"}}
	c.done(l)
	look := func() []int {
		counts, err := c.sums().Counts(c.Context(), engine.CountFilter{})
		c.ok(err)
		reasons, err := c.sums().Reasons(c.Context(), ws, "r", time.Time{})
		c.ok(err)
		found, err := c.sums().FindLanes(c.Context(), "maria", 10)
		c.ok(err)
		byRule, err := c.sums().Counts(c.Context(), engine.CountFilter{Rules: true})
		c.ok(err)
		return []int{len(counts), len(byRule), len(reasons), len(found)}
	}
	prune := func(now time.Time) {
		for more := true; more; {
			var err error
			more, err = c.Prune(c.Context(), now, 24*time.Hour)
			c.ok(err)
		}
	}
	prune(at(20 * time.Hour))
	c.equal("within its time", look(), []int{1, 1, 1, 1})
	prune(at(72 * time.Hour))
	c.equal("after it", look(), []int{0, 0, 0, 0})
}

func statisticsAudit(c *check) {
	var want []engine.AuditEntry
	for i := range 5 {
		e := engine.AuditEntry{At: at(time.Duration(i) * time.Minute), Who: "ana", From: "127.0.0.1", What: "pause", Subject: fmt.Sprint("rule ", i), Detail: "why"}
		c.ok(c.sums().Audit(c.Context(), e))
		e.ID = int64(i + 1)
		want = append([]engine.AuditEntry{e}, want...)
	}
	first, err := c.sums().Audits(c.Context(), 0, 3)
	c.ok(err)
	c.equal("the newest", first, want[:3])
	rest, err := c.sums().Audits(c.Context(), first[2].ID, 3)
	c.ok(err)
	c.equal("the next page", rest, want[3:])
}
