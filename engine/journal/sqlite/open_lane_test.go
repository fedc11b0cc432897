//go:build cgo

package sqlite

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// decided returns an event that a rule has decided on, and the change that records it.
func decided(id, lane string) (*journal.Event, *journal.Change) {
	e := &journal.Event{Event: rules.Event{Workspace: "default", ID: id, Type: "message.received", Lane: lane, ReceivedAt: time.Now(), Data: map[string]any{"text": id}}, Decided: true}
	e.Verdicts = []journal.Verdict{{Rule: "greet", Outcome: journal.Fired}}
	return e, &journal.Change{At: time.Now(), Fresh: e, Decided: []*journal.Event{e}, Release: true}
}

// starts adds a run in a state to a change.
func starts(c *journal.Change, state journal.State) *journal.Run {
	e := c.Fresh
	r := &journal.Run{
		Key: "default/greet/" + e.ID, Workspace: "default", Rule: "greet", Version: "v", Home: e.Lane, Lane: e.Lane, By: e.Lane, State: state, Stage: rules.Live,
		StartedAt: c.At, Steps: []*journal.Step{{Path: "1", Verb: "send_message", Key: "k", State: journal.StepOpen}},
	}
	c.Starts = []*journal.Start{{Run: r, Source: "source", Verdict: &e.Verdicts[0]}}
	return r
}

func claimed(t *testing.T, j *Journal) (names []string) {
	t.Helper()
	lanes, err := j.Claim(t.Context(), time.Now().Add(time.Minute), 10, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lanes {
		names = append(names, l.Name)
	}
	return names
}

// An event that is recorded with its verdicts gets its number, which its run has too, and nothing
// is left to do.
func TestOpenedLane(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	if _, err := j.Accept(t.Context(), events("other", "first")); err != nil {
		t.Fatal(err)
	}
	lane := j.Open("default", "lane")
	if lane == nil || j.Open("default", "lane") != nil {
		t.Fatalf("%v, or it is opened twice", lane)
	}
	e, c := decided("second", "lane")
	run := starts(c, journal.Done)
	if err := j.Save(t.Context(), lane, c); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Accept(t.Context(), events("other", "third")); err != nil {
		t.Fatal(err)
	}
	kept, err := j.FindEvent(t.Context(), "default", "second")
	third, err2 := j.FindEvent(t.Context(), "default", "third")
	if err != nil || err2 != nil || kept.Seq != 2 || e.Seq != 2 || run.Event != 2 || third.Seq != 3 || !kept.Decided || len(kept.Verdicts) != 1 || kept.Verdicts[0].Run != run.Key || !lane.Calm {
		t.Errorf("%v %v: %+v, its run has %d, the next event %d", err, err2, kept, run.Event, third.Seq)
	}
	if got := claimed(t, j); len(got) != 1 || got[0] != "other" {
		t.Errorf("the lanes %v are due", got)
	}
}

// An event is not recorded as fresh if something is pending in its lane, nor twice.
func TestOccupiedLane(t *testing.T) {
	t.Parallel()
	for name, occupy := range map[string]func(t *testing.T, j *Journal){
		"the event is known": func(t *testing.T, j *Journal) {
			lane := j.Open("default", "another")
			_, c := decided("it", "another")
			if err := j.Save(t.Context(), lane, c); err != nil {
				t.Fatal(err)
			}
		},
		"another waits": func(t *testing.T, j *Journal) {
			if _, err := j.Accept(t.Context(), events("lane", "another")); err != nil {
				t.Fatal(err)
			}
		},
		"a run waits for somebody": func(t *testing.T, j *Journal) {
			lane := j.Open("default", "lane")
			_, c := decided("another", "lane")
			starts(c, journal.Waiting)
			if err := j.Save(t.Context(), lane, c); err != nil {
				t.Fatal(err)
			}
		},
		"a run is somewhere else": func(t *testing.T, j *Journal) {
			lane := j.Open("default", "lane")
			_, c := decided("another", "lane")
			starts(c, journal.Waiting).Lane = "card:1"
			if err := j.Save(t.Context(), lane, c); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
			occupy(t, j)
			lane := j.Open("default", "lane")
			if lane == nil {
				t.Fatal("it is not opened")
			}
			e, c := decided("it", "lane")
			if err := j.Save(t.Context(), lane, c); !errors.Is(err, journal.ErrOccupied) || e.Seq != 0 {
				t.Errorf("%v, the event has the number %d", err, e.Seq)
			}
			j.Drop(lane)
			if j.Open("default", "lane") != nil {
				t.Error("it is opened again, in vain")
			}
		})
	}
}

// A lane that was opened and whose run is unfinished when the process ends is due for the next
// process.
func TestOpenedLaneIsDueAfterAnEnd(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, Options{})
	lane := j.Open("default", "lane")
	_, c := decided("it", "lane")
	c.Release = false
	starts(c, journal.Running)
	if err := j.Save(t.Context(), lane, c); err != nil {
		t.Fatal(err)
	}
	if got := claimed(t, j); len(got) != 0 {
		t.Errorf("the lanes %v are claimed while somebody works on them", got)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, file, Options{})
	if got := claimed(t, j); len(got) != 1 || got[0] != "lane" {
		t.Errorf("the lanes %v are due", got)
	}
}

// Whatever arrives while an opened lane is claimed makes the lane due when it is released.
func TestNewsOfAnOpenedLane(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	lane := j.Open("default", "lane")
	_, c := decided("it", "lane")
	c.Release = false
	run := starts(c, journal.Running)
	if err := j.Save(t.Context(), lane, c); err != nil {
		t.Fatal(err)
	}
	if _, err := j.Accept(t.Context(), events("lane", "another")); err != nil {
		t.Fatal(err)
	}
	run.State = journal.Done
	if err := j.Save(t.Context(), lane, &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: run}}, Release: true}); err != nil {
		t.Fatal(err)
	}
	if lane.Calm {
		t.Error("nobody is told that there is something to do")
	}
	if got := claimed(t, j); len(got) != 1 {
		t.Errorf("the lanes %v are due", got)
	}
}

// Claim does not return a lane that was opened after Claim has read what is due.
func TestOpenedBeforeItIsTaken(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	lane := j.Open("default", "lane")
	if taken := j.claims.acquire([]*journal.Lane{{Workspace: "default", Name: "lane"}, {Workspace: "default", Name: "other"}}); len(taken) != 1 || taken[0].Name != "other" {
		t.Errorf("%+v are taken", taken)
	}
	_, c := decided("it", "lane")
	if err := j.Save(t.Context(), lane, c); err != nil {
		t.Error(err)
	}
}
