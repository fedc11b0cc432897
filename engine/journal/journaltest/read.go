package journaltest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var readTests = []test{
	{"events are read by their numbers", readEvents},
	{"what happened in a lane is found", readHappened},
	{"events are listed", readListEvents},
	{"events since a time are listed that were recorded out of its order", readOutOfOrder},
	{"runs are listed", readListRuns},
	{"runs are counted", readCountRuns},
}

func readEvents(c *check) {
	c.accept(event("1", "a"), event("2", "a"), event("3", "b"))
	listed, err := c.ListEvents(c.Context(), journal.EventFilter{})
	c.ok(err)
	c.equal("listed", ids(listed), []string{"3", "2", "1"})
	one, two, three := listed[2].Seq, listed[1].Seq, listed[0].Seq
	got, err := c.Events(c.Context(), three, one, three+100, two)
	c.ok(err)
	c.equal("events", ids(got), []string{"3", "1", "2"})
	c.equal("the first", got[0], listed[0])
	got, err = c.Events(c.Context())
	c.ok(err)
	c.equal("none", len(got), 0)
	if _, err := c.FindEvent(c.Context(), "other", "1"); !errors.Is(err, journal.ErrNoEvent) {
		c.Errorf("an event of another workspace: %v", err)
	}
}

func readHappened(c *check) {
	for i, e := range []struct {
		workspace, lane, typ string
		minute               int
	}{
		{ws, "a", "message.received", 5}, {ws, "a", "message.sent", 2}, {ws, "a", "message.received", 1}, {ws, "b", "message.received", 3},
		{"other", "a", "message.received", 3}, {ws, "a", "card", 4}, {ws, "a", "message.received", 2},
		{ws, "a", "tick", 4}, {ws, "a", "tick", 4}, {ws, "a", "tick", 4},
	} {
		ev := event(fmt.Sprint(i), e.lane)
		ev.Workspace, ev.Type, ev.CreatedAt = e.workspace, e.typ, at(time.Duration(e.minute)*time.Minute)
		c.accept(ev)
	}
	check := func(types []string, since, max int, want ...string) {
		c.Helper()
		got, err := c.Happened(c.Context(), ws, "a", types, at(time.Duration(since)*time.Minute), max)
		c.ok(err)
		c.equal("happened", ids(got), want)
	}
	check([]string{"message.received"}, 0, 10, "2", "6", "0")
	check([]string{"message.received", "message.sent"}, 2, 10, "1", "6", "0")
	check([]string{"message.received", "message.sent", "card"}, 2, 2, "1", "6")
	check([]string{"tick"}, 0, 2, "7", "8") // with equal times, in the order of recording
	check([]string{"tick"}, 4, 10, "7", "8", "9")
	check(nil, 0, 10)
	check([]string{"message.received"}, 6, 10)
	for since, want := range map[int]int{0: 3, 2: 2, 5: 1, 6: 0} {
		n, err := c.Count(c.Context(), ws, "a", "message.received", at(time.Duration(since)*time.Minute))
		c.ok(err)
		c.equal(fmt.Sprint("count since ", since), n, want)
	}
}

func readListEvents(c *check) {
	for i := range 250 {
		e := event(fmt.Sprint(i), fmt.Sprint("lane ", i%2))
		e.Workspace, e.Type, e.ReceivedAt = []string{ws, ws, "other"}[i%3], fmt.Sprint("type ", i%5), at(time.Duration(i)*time.Second)
		c.accept(e)
	}
	for _, l := range c.claimAfter(200 * time.Second) { // all lanes are due, because all had events before
		for i, e := range l.Events {
			e.Verdicts = []journal.Verdict{{Rule: fmt.Sprint("rule ", i%4), Outcome: journal.False}, {Rule: "every", Outcome: journal.False}}
		}
		c.finishLane(l)
	}
	all := func(f journal.EventFilter) (found []*journal.Event) {
		c.Helper()
		for {
			page, err := c.ListEvents(c.Context(), f)
			c.ok(err)
			found = append(found, page...)
			if len(page) == 0 || f.Before == 0 && f.Limit == 0 && len(page) < 100 {
				return found
			}
			f.Before = page[len(page)-1].Seq
		}
	}
	first, err := c.ListEvents(c.Context(), journal.EventFilter{})
	c.ok(err)
	c.equal("a page", []any{len(first), first[0].ID, first[99].ID}, []any{100, "249", "150"})
	everything := all(journal.EventFilter{Limit: 7})
	c.equal("all", len(everything), 250)
	for i, e := range everything {
		c.equal("in order", e.ID, fmt.Sprint(249-i))
	}
	for _, f := range []journal.EventFilter{
		{Workspace: ws}, {Type: "type 3"}, {Lane: "lane 1"}, {Since: at(200 * time.Second)}, {Rule: "rule 2"}, {Rule: "every"}, {Rule: "none"},
		{Workspace: "other", Type: "type 1", Lane: "lane 0", Since: at(30 * time.Second), Rule: "every", Limit: 2}, {Lane: "lane 0", Since: at(249 * time.Second)},
		{Until: at(30 * time.Second)}, {Since: at(40 * time.Second), Until: at(60 * time.Second), Type: "type 1"}, {Until: at(time.Hour)}, {Since: at(249 * time.Second)}, {Since: at(250 * time.Second)}, {After: everything[9].Seq}, {After: everything[99].Seq, Type: "type 2"},
	} {
		var want []string
		for _, e := range everything {
			rule := f.Rule == ""
			for _, v := range e.Verdicts {
				rule = rule || v.Rule == f.Rule
			}
			if rule && (f.Workspace == "" || f.Workspace == e.Workspace) && (f.Type == "" || f.Type == e.Type) && (f.Lane == "" || f.Lane == e.Lane) && !e.ReceivedAt.Before(f.Since) && (f.Until.IsZero() || e.ReceivedAt.Before(f.Until)) && e.Seq > f.After {
				want = append(want, e.ID)
			}
		}
		c.equal(fmt.Sprintf("%+v", f), ids(all(f)), want)
		var forward []*journal.Event
		for f.Forward = true; ; f.After = forward[len(forward)-1].Seq {
			page, err := c.ListEvents(c.Context(), f)
			c.ok(err)
			if forward = append(forward, page...); len(page) == 0 {
				break
			}
		}
		slices.Reverse(forward)
		c.equal(fmt.Sprintf("%+v", f), ids(forward), want)
	}
}

func readOutOfOrder(c *check) {
	for i, after := range []int{0, 50, 10, 60, 20, 55, 5} { // seconds, as of engines with different clocks
		e := event(fmt.Sprint(i), "a")
		e.ReceivedAt = at(time.Duration(after) * time.Second)
		c.accept(e)
	}
	f := journal.EventFilter{Since: at(50 * time.Second), Forward: true, Limit: 2}
	first, err := c.ListEvents(c.Context(), f)
	c.ok(err)
	c.equal("the first ones", ids(first), []string{"1", "3"})
	f.After = first[1].Seq
	rest, err := c.ListEvents(c.Context(), f)
	c.ok(err)
	c.equal("the rest", ids(rest), []string{"5"})
}

func readListRuns(c *check) {
	states := []journal.State{journal.Running, journal.Waiting, journal.Held, journal.Uncertain, journal.Done, journal.FailedRun, journal.Cancelled}
	var events []*journal.Event // in three lanes
	for i := range 42 {
		c.accept(event(fmt.Sprint("event ", i), fmt.Sprint("lane ", i%3)))
	}
	lanes := c.claim(noon, "lane 0", "lane 1", "lane 2")
	for _, l := range lanes {
		events = append(events, c.withAllEvents(l).Events...)
	}
	slices.SortFunc(events, func(a, b *journal.Event) int { return cmp.Compare(a.Seq, b.Seq) })
	var everything []*journal.Run
	for i := range 210 {
		e := events[i/5]
		r := run(e.Lane, fmt.Sprint("rule ", i%2), fmt.Sprint(i), fmt.Sprint(i))
		r.State, r.Event, r.StartedAt, r.Workspace = states[i%len(states)], e.Seq, at(time.Duration(i)*time.Second), []string{ws, "other"}[i%5/4]
		r.Steps = []*journal.Step{{Path: r.Key}, {N: 1, Path: "2"}}
		s := start(rules.Parallel, r)
		c.save(lanes[i/5%3], journal.Change{Starts: []*journal.Start{s}})
		everything = append([]*journal.Run{c.find(s.Run.ID)}, everything...)
	}
	first, err := c.ListRuns(c.Context(), journal.RunFilter{})
	c.ok(err)
	c.equal("a page", first, everything[:100])
	for _, f := range []journal.RunFilter{
		{Limit: 70}, {Workspace: "other"}, {Rule: "rule 1"}, {Lane: "lane 2"}, {Event: events[2].Seq}, {Events: []int64{events[2].Seq, events[6].Seq, 1000}}, {Lane: "lane 2", Event: events[2].Seq}, {Lane: "lane 1", Event: events[2].Seq}, {Since: at(150 * time.Second)}, {State: journal.Running}, {State: journal.Done}, {State: journal.FailedRun},
		{State: journal.Waiting, Rule: "rule 0", Lane: "lane 1", Workspace: ws, Since: at(10 * time.Second), Limit: 3}, {Event: 1000}, {State: journal.Queued}, {Until: at(20 * time.Second)}, {Since: at(10 * time.Second), Until: at(40 * time.Second), Rule: "rule 1"}, {Until: at(time.Hour), Limit: 90},
	} {
		var want, got []*journal.Run
		for _, r := range everything {
			if (f.Workspace == "" || f.Workspace == r.Workspace) && (f.Rule == "" || f.Rule == r.Rule) && (f.Lane == "" || f.Lane == r.Home) &&
				(f.Event == 0 || f.Event == r.Event) && (f.Events == nil || slices.Contains(f.Events, r.Event)) && (f.State == "" || f.State == r.State) && !r.StartedAt.Before(f.Since) && (f.Until.IsZero() || r.StartedAt.Before(f.Until)) {
				want = append(want, r)
			}
		}
		for page := f; ; {
			runs, err := c.ListRuns(c.Context(), page)
			c.ok(err)
			if len(runs) == 0 {
				break
			}
			got = append(got, runs...)
			page.Before = runs[len(runs)-1].ID
		}
		c.equal(fmt.Sprintf("%+v", f), got, want)
	}
}

func readCountRuns(c *check) {
	l := c.claimNew("a")
	for i, state := range []journal.State{journal.Running, journal.Waiting, journal.Waiting, journal.Done, journal.Done, journal.FailedRun, journal.Done} {
		r := run("a", "r", "", fmt.Sprint(i))
		c.begin(l, start(rules.Parallel, r))
		r.State = state
		if state.Finished() {
			r.FinishedAt = at(time.Duration(i) * time.Minute)
		}
		c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: r}}})
	}
	counts, err := c.CountRuns(c.Context())
	c.ok(err)
	c.equal("counts", counts, map[journal.State]int{journal.Running: 1, journal.Waiting: 2})
}
