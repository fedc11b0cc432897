package journaltest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var runTests = []test{
	{"a run comes back as it was", runKeeps},
	{"a run's key is unique", runKey},
	{"a run changes with its steps", runChanges},
	{"a lane is loaded with the steps that its runs keep", runKeepsSteps},
	{"a run that travels is seen in its lane and at home", runTravels},
	{"a run can begin in another lane", runBeginsAway},
	{"a finished run is not seen, and can be taken up again", runFinished},
}

// fullRun returns a run in which every field is set.
func fullRun(lane string) *journal.Run {
	r := run(lane, "r", "by", "key")
	r.Event, r.Gathered, r.Ancestry = 7, []int64{5, 6, 7}, []string{"a", "b"}
	r.Because(phrases.New(phrases.StepFailed, "1", "log", phrases.New(phrases.GivenUp, 2, "\"why\":{\x00")))
	r.About = actions.Subject{Conversation: "c", Contact: "p", Attendance: "at", Card: "k", Message: "m"}
	r.State, r.Stage, r.WakeAt = journal.Waiting, rules.Shadow, at(time.Hour+time.Microsecond)
	r.Steps = []*journal.Step{
		{N: 0, Path: "1", Verb: "send_message", Key: "k1", State: journal.StepDone, Attempts: 2, Error: "e", Record: json.RawMessage(`{"a":[1,"x"]}`)},
		{N: 1, Path: "2.else.1", Verb: "wait", State: journal.StepWaiting},
	}
	return r
}

func runKeeps(c *check) {
	l := c.claimNew("a")
	s := start(rules.Queued, fullRun("a"))
	c.save(l, journal.Change{Starts: []*journal.Start{s}, Decided: l.Events, Release: true, Next: noon})
	if s.Run.ID == 0 || !s.Begun {
		c.Fatalf("the start: id %d, begun %v", s.Run.ID, s.Begun)
	}
	want := fullRun("a")
	want.ID = s.Run.ID
	c.equal("found", c.find(s.Run.ID), want)
	c.equal("claimed", c.claimLane(noon, "a").Runs, []*journal.Run{want})
}

func runKey(c *check) {
	l := c.claimNew("a")
	first := start(rules.Parallel, run("a", "r", "", "key"))
	c.begin(l, first)
	again := start(rules.Parallel, run("a", "r", "", "key"))
	again.Limit = &journal.Slot{Key: "untouched", Times: 1, Per: time.Hour}
	again.Run.Steps = []*journal.Step{{Verb: "again"}}
	c.save(l, journal.Change{Starts: []*journal.Start{again}, Release: true})
	if again.Begun || again.Run.ID != first.Run.ID || again.Verdict.Outcome != journal.Fired {
		c.Errorf("the second: begun %v, id %d of %d, %s", again.Begun, again.Run.ID, first.Run.ID, again.Verdict.Outcome)
	}
	l = c.claimNew("b")
	third := start(rules.Parallel, run("b", "r", "", "other"))
	third.Limit = again.Limit
	c.begin(l, third)
	c.equal("begun", third.Begun, true)
	runs, err := c.ListRuns(c.Context(), journal.RunFilter{})
	c.ok(err)
	c.equal("runs", len(runs), 2)
	c.equal("steps", len(runs[1].Steps), 0)
}

func runChanges(c *check) {
	l := c.claimNew("a")
	s := start(rules.Queued, fullRun("a"))
	c.begin(l, s)
	c.ok(c.Ask(c.Context(), noon, s.Run.ID, journal.Ask{What: journal.AskCancel, Reason: "why", At: noon}))

	want := c.find(s.Run.ID)
	changed := *want
	changed.State, changed.WakeAt, changed.About.Card, changed.Asked = journal.Held, time.Time{}, "k2", nil
	changed.Because(phrases.Text("held"))
	steps := []*journal.Step{{N: 1, Path: "2.else.1", Verb: "wait", State: journal.StepDone, Attempts: 1}, {N: 2, Path: "3", Verb: "stop", State: journal.StepOpen}}
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: &changed, Steps: steps}}})

	want.State, want.WakeAt, want.Reason, want.Why, want.About.Card = journal.Held, time.Time{}, "held", nil, "k2"
	want.Steps = []*journal.Step{want.Steps[0], steps[0], steps[1]}
	c.equal("the run", c.find(s.Run.ID), want)

	gone := run("a", "r", "", "gone")
	gone.ID = s.Run.ID + 1000
	if err := c.Save(c.Context(), l, &journal.Change{At: noon, Runs: []*journal.RunChange{{Run: gone}}}); err == nil {
		c.Error("a change of a run that is not there was recorded")
	}
	c.save(l, journal.Change{Release: true}) // the other changes had no effect on the lane
}

func runKeepsSteps(c *check) {
	l := c.claimNew("a")
	s, other := start(rules.Parallel, run("a", "r", "", "key")), start(rules.Parallel, run("a", "r", "", "other"))
	s.Run.About.Conversation = `"kept":{"from":9}` // a text that looks like a stored Kept
	for n := range 6 {
		for _, r := range []*journal.Run{s.Run, other.Run} {
			r.Steps = append(r.Steps, &journal.Step{N: n, Path: fmt.Sprint(n), Verb: "wait", State: journal.StepDone})
		}
	}
	c.begin(l, s, other)
	numbers := func(r *journal.Run) (list []int) {
		for _, s := range r.Steps {
			list = append(list, s.N)
		}
		return list
	}
	loaded := func(want ...int) {
		c.Helper()
		l = c.claimLane(noon, "a")
		c.equal("steps that are loaded", numbers(l.Runs[0]), want)
		c.equal("steps of the other run", numbers(l.Runs[1]), []int{0, 1, 2, 3, 4, 5})
		c.equal("what is kept", l.Runs[0].Kept, s.Run.Kept)
		c.equal("steps for who looks", len(c.find(s.Run.ID).Steps), s.Run.Reached())
	}
	change := func(kept journal.Kept, steps ...*journal.Step) {
		c.Helper()
		s.Run.Kept = kept
		s.Run.Steps = append(s.Run.Steps, steps...)
		c.save(l, journal.Change{Decided: l.Events, Runs: []*journal.RunChange{{Run: s.Run, Steps: steps}}, Release: true, Next: noon})
	}
	change(journal.Kept{})
	loaded(0, 1, 2, 3, 4, 5)
	change(journal.Kept{From: 4, Also: []int{0, 2}})
	loaded(0, 2, 4, 5)
	change(s.Run.Kept, &journal.Step{N: 6, Path: "6", Verb: "wait", State: journal.StepOpen}) // later steps are loaded in any case
	loaded(0, 2, 4, 5, 6)
	change(journal.Kept{From: 7, Also: []int{6}})
	loaded(6)
	change(journal.Kept{From: 7})
	loaded()
	c.save(l, journal.Change{Release: true})
}

func runTravels(c *check) {
	l := c.claimNew("home")
	s := start(rules.Queued, run("home", "r", "", "key"))
	c.begin(l, s)
	s.Run.Lane = "away"
	c.save(l, journal.Change{At: at(time.Second), Decided: l.Events, Runs: []*journal.RunChange{{Run: s.Run}}, Release: true})
	c.due(at(time.Second))
	away := c.claimLane(at(time.Second), "away")
	c.equal("runs there", len(away.Runs), 1)
	c.equal("its home", away.Runs[0].Home, "home")

	c.accept(event("news", "home"))
	home := c.claimLane(noon, "home")
	c.equal("runs at home", len(home.Runs), 1)
	c.equal("its lane", home.Runs[0].Lane, "away")
	c.finishLane(home)

	back := away.Runs[0]
	back.Lane = "home"
	c.save(away, journal.Change{At: at(time.Minute), Runs: []*journal.RunChange{{Run: back}}, Release: true})
	home = c.claimLane(at(time.Minute), "home")
	c.equal("runs at home", len(home.Runs), 1)
	c.equal("its lane", home.Runs[0].Lane, "home")
}

func runBeginsAway(c *check) {
	l := c.claimNew("home")
	r := run("home", "r", "", "key")
	r.Lane = "away"
	c.save(l, journal.Change{Decided: l.Events, Starts: []*journal.Start{start(rules.Queued, r)}, Release: true})
	away := c.claimLane(noon, "away")
	c.equal("runs", len(away.Runs), 1)
	c.finishLane(away)
	// The run may end at home, and then no other lane has to be visited.
	home := c.claimNew("home")
	c.finish(home, home.Runs[0], journal.Cancelled)
	c.finishLane(home)
	c.due(time.Time{})
}

func runFinished(c *check) {
	l := c.claimNew("a")
	s := start(rules.Queued, run("a", "r", "", "key"))
	c.begin(l, s)
	failed := *s.Run
	failed.State = journal.FailedRun // without FinishedAt, the time of the change counts
	c.save(l, journal.Change{At: at(time.Minute), Decided: l.Events, Runs: []*journal.RunChange{{Run: &failed}}, Release: true, Next: noon})
	got := c.find(s.Run.ID)
	c.equal("finished at", got.FinishedAt, at(time.Minute))
	c.equal("wakes at", got.WakeAt, time.Time{})
	l = c.claimLane(noon, "a")
	c.equal("runs", len(l.Runs), 0)

	got.State, got.FinishedAt, got.WakeAt = journal.Running, time.Time{}, at(time.Hour)
	c.save(l, journal.Change{Runs: []*journal.RunChange{{Run: got}}, Release: true, Next: noon})
	c.equal("runs", c.claimLane(noon, "a").Runs, []*journal.Run{got})
	if _, err := c.FindRun(c.Context(), got.ID+1); !errors.Is(err, journal.ErrNoRun) {
		c.Errorf("a run that is not there: %v", err)
	}
}
