//go:build linux && cgo

package powercut

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
)

// A load is a process that uses a journal and writes down what the journal has acknowledged.
type load struct {
	file   string
	name   string // of the load: a prefix of what it records
	random *rand.Rand
	record *os.File
	number atomic.Int64
	left   atomic.Int64 // operations
}

const (
	workers    = 4
	operations = 60 // per session
	sessions   = 3
)

// run opens the journal, works, and closes it, several times. It closes the last session only if it
// is to end well.
func (l *load) run(endsWell bool) error {
	for session := range sessions {
		j, err := sqlite.Open(context.Background(), l.file, sqlite.Options{})
		if err != nil {
			return err
		}
		if err := l.work(j); err != nil {
			return err
		}
		if session == sessions-1 && !endsWell {
			return nil
		}
		if err := j.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (l *load) work(j *sqlite.Journal) error {
	l.left.Store(operations)
	var group sync.WaitGroup
	failed := make(chan error, workers+1)
	for range workers {
		random := rand.New(rand.NewPCG(l.random.Uint64(), 0))
		group.Go(func() {
			for l.left.Add(-1) >= 0 {
				if err := l.operate(j, random); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	done, moved := make(chan struct{}), make(chan struct{})
	random := rand.New(rand.NewPCG(l.random.Uint64(), 1))
	go func() {
		defer close(moved)
		failed <- l.checkpoint(done, random)
	}()
	group.Wait()
	close(done)
	<-moved
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkpoint moves the log into the database file now and then, as the journal does with a log that
// is longer than any here.
func (l *load) checkpoint(done chan struct{}, random *rand.Rand) error {
	db, err := sql.Open("sqlite3", "file:"+l.file+"?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000")
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for {
		select {
		case <-done:
			return nil
		case <-time.After(time.Duration(random.IntN(20)) * time.Millisecond):
		}
		mode := []string{"PASSIVE", "PASSIVE", "RESTART", "TRUNCATE"}[random.IntN(4)]
		if _, err := db.Exec(`PRAGMA wal_checkpoint(` + mode + `)`); err != nil {
			return err
		}
	}
}

// ack writes down an acknowledgement of the journal.
func (l *load) ack(format string, args ...any) {
	if _, err := l.record.Write(entry{kind: acknowledged, data: fmt.Appendf(nil, format, args...)}.bytes()); err != nil {
		panic(err)
	}
}

// operate runs one operation.
func (l *load) operate(j *sqlite.Journal, random *rand.Rand) error {
	ctx := context.Background()
	n := l.number.Add(1)
	id := fmt.Sprintf("%s-%d", l.name, n)
	lane := fmt.Sprintf("lane-%d", random.IntN(12))
	switch random.IntN(8) {
	case 0, 1, 2:
		if _, err := j.Accept(ctx, []rules.Event{eventOf(id, lane)}); err != nil {
			return err
		}
		l.ack("event %s", id)
	case 3, 4, 5:
		return l.atOnce(j, random, id, lane)
	case 6:
		if err := j.SetCursor(ctx, "cursor-"+lane, id); err != nil {
			return err
		}
		// Other sessions set it too, and the last value is not known; but it is set.
		l.ack("cursor cursor-%s", lane)
	default:
		_, err := workDue(ctx, j, l.ack)
		return err
	}
	return nil
}

// atOnce records an event with its run, takes steps, and lets the run end or wait.
func (l *load) atOnce(j *sqlite.Journal, random *rand.Rand, id, lane string) error {
	ctx := context.Background()
	claim := j.Open("default", lane)
	if claim == nil {
		return nil // the lane is claimed
	}
	e := &journal.Event{Event: eventOf(id, lane), Decided: true, Verdicts: []journal.Verdict{{Rule: "greet", Outcome: journal.Fired}}}
	c := &journal.Change{At: time.Now(), Fresh: e, Decided: []*journal.Event{e}}
	r := runOf(e)
	c.Starts = []*journal.Start{{Run: r, Mode: rules.Parallel, Source: "source", Verdict: &e.Verdicts[0]}}
	if err := j.Save(ctx, claim, c); errors.Is(err, journal.ErrOccupied) {
		j.Drop(claim)
		return nil
	} else if err != nil {
		return err
	}
	l.ack("decided %s", id)
	l.ack("run %s %d", r.Key, len(r.Steps))
	for range random.IntN(4) {
		last := r.Steps[len(r.Steps)-1]
		last.State, last.Record = journal.StepDone, []byte(`{"answer":1}`)
		r.Steps = append(r.Steps, stepOf(r, len(r.Steps)))
		if err := j.Save(ctx, claim, &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: r, Steps: r.Steps[len(r.Steps)-2:]}}}); err != nil {
			return err
		}
		l.ack("run %s %d", r.Key, len(r.Steps))
	}
	if random.IntN(3) == 0 {
		r.State = journal.Waiting
		r.WakeAt = time.Now().Add(time.Duration(random.IntN(200)) * time.Millisecond)
		if err := j.Save(ctx, claim, &journal.Change{At: time.Now(), Runs: []*journal.RunChange{{Run: r}}, Release: true, Next: r.WakeAt}); err != nil {
			return err
		}
		l.ack("run %s %d", r.Key, len(r.Steps))
		return nil
	}
	return endRuns(ctx, j, claim, &journal.Change{}, []*journal.Run{r}, l.ack)
}

// workDue claims lanes that are due, decides their events, ends their runs, and releases them. It
// reports whether there were any.
func workDue(ctx context.Context, j *sqlite.Journal, ack func(string, ...any)) (bool, error) {
	lanes, err := j.Claim(ctx, time.Now(), 3, nil)
	for _, lane := range lanes {
		c := &journal.Change{}
		for _, e := range lane.Events {
			e.Decided, e.Verdicts = true, []journal.Verdict{{Rule: "greet", Outcome: journal.False}}
			c.Decided = append(c.Decided, e)
		}
		if lane.More {
			c.Next = time.Now()
		}
		if err = endRuns(ctx, j, lane, c, lane.Runs, ack); err != nil {
			break
		}
	}
	return len(lanes) > 0, err
}

// endRuns ends runs with a change that releases their lane.
func endRuns(ctx context.Context, j *sqlite.Journal, lane *journal.Lane, c *journal.Change, runs []*journal.Run, ack func(string, ...any)) error {
	c.At, c.Release = time.Now(), true
	for _, r := range runs {
		if r.State.Finished() {
			continue
		}
		last := r.Steps[len(r.Steps)-1]
		last.State, r.State, r.FinishedAt, r.WakeAt = journal.StepDone, journal.Done, c.At, time.Time{}
		c.Runs = append(c.Runs, &journal.RunChange{Run: r, Steps: []*journal.Step{last}})
	}
	if err := j.Save(ctx, lane, c); err != nil {
		return err
	}
	for _, e := range c.Decided {
		ack("decided %s", e.ID)
	}
	for _, r := range c.Runs {
		ack("done %s %d", r.Run.Key, len(r.Run.Steps))
	}
	return nil
}

func eventOf(id, lane string) rules.Event {
	now := time.Now()
	return rules.Event{Workspace: "default", ID: id, Type: "message.received", Lane: lane, CreatedAt: now, ReceivedAt: now, Data: map[string]any{"id": id, "text": strings.Repeat(id, 20)}}
}

func runOf(e *journal.Event) *journal.Run {
	r := &journal.Run{
		Key: "run-" + e.ID, Workspace: "default", Rule: "greet", Version: "v", Home: e.Lane, Lane: e.Lane, By: e.Lane, State: journal.Running, Stage: rules.Live, StartedAt: e.ReceivedAt,
	}
	r.Steps = []*journal.Step{stepOf(r, 0)}
	return r
}

func stepOf(r *journal.Run, n int) *journal.Step {
	return &journal.Step{N: n, Path: fmt.Sprint(n + 1), Verb: "send_message", Key: fmt.Sprint(r.Key, "/", n), State: journal.StepOpen, Attempts: 1, Record: []byte(`{"intent":1}`)}
}
