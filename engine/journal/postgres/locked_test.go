package postgres

import (
	"errors"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
)

// begun claims a lane and begins a run in it.
func begun(t *testing.T, j *Journal, name string) (*journal.Lane, *journal.Run) {
	t.Helper()
	e := rules.Event{Workspace: "default", ID: "event of " + name, Type: "message.received", Lane: name, CreatedAt: time.Now(), ReceivedAt: time.Now()}
	record(t, j, e)
	lanes, err := j.Claim(t.Context(), time.Now().Add(time.Minute), 1, nil)
	if err != nil || len(lanes) != 1 {
		t.Fatalf("%v: %d lanes", err, len(lanes))
	}
	r := &journal.Run{Key: name, Workspace: "default", Rule: "r", Version: "v", Event: lanes[0].Events[0].Seq, Home: name, Lane: name, By: name, State: journal.Running, Stage: rules.Live}
	if err := j.Save(t.Context(), lanes[0], &journal.Change{At: time.Now(), Decided: lanes[0].Events, Starts: []*journal.Start{{Run: r, Mode: rules.Queued, Max: 100}}}); err != nil {
		t.Fatal(err)
	}
	return lanes[0], r
}

// TestLockedRun has another session lock a run: other conversations continue in the meantime, and
// delivered events are recorded.
func TestLockedRun(t *testing.T) {
	t.Parallel()
	j := open(t, postgrestest.Shared(t).Database(t), Options{})
	one, locked := begun(t, j, "one")
	other, free := begun(t, j, "other")
	stranger, err := j.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Rollback(t.Context())
	if _, err := stranger.Exec(t.Context(), `SELECT 1 FROM quando.runs WHERE id = $1 FOR UPDATE`, locked.ID); err != nil {
		t.Fatal(err)
	}

	// An event whose run would be queued behind the locked one is refused as Fresh, to be recorded by
	// Accept.
	lane := j.Open("default", "third")
	e := &journal.Event{Event: rules.Event{Workspace: "default", ID: "third", Type: "message.received", Lane: "third", ReceivedAt: time.Now()}, Decided: true}
	r := &journal.Run{Key: "third", Workspace: "default", Rule: "r", Version: "v", Home: "third", Lane: "third", By: "one", State: journal.Running, Stage: rules.Live}
	err = j.Save(t.Context(), lane, &journal.Change{At: time.Now(), Fresh: e, Decided: []*journal.Event{e}, Starts: []*journal.Start{{Run: r, Mode: rules.Queued, Max: 100}}})
	if !errors.Is(err, journal.ErrOccupied) {
		t.Errorf("an event whose rule needs the locked run: %v", err)
	}
	j.Drop(lane)
	record(t, j, e.Event)

	// Changes that share a transaction with one of the locked run are recorded.
	first := make(chan error, 2)
	for range 2 { // the second waits for the first, and then shares a transaction
		go func() {
			first <- j.Save(t.Context(), one, &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: locked}}})
		}()
		time.Sleep(200 * time.Millisecond)
	}
	second := make(chan error)
	go func() {
		second <- j.Save(t.Context(), other, &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: free}}, Release: true})
	}()
	if err := <-second; err != nil {
		t.Errorf("another conversation: %v", err)
	}
	for range 2 {
		if err := <-first; err == nil {
			t.Error("the run that a stranger has locked was changed")
		}
	}
	if err := stranger.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := j.Save(t.Context(), one, &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: locked}}, Release: true}); err != nil {
		t.Errorf("after it was unlocked: %v", err)
	}
}
