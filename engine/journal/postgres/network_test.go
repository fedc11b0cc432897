package postgres

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
)

func event(id, lane string) rules.Event {
	now := time.Now()
	return rules.Event{Workspace: "default", ID: id, Type: "message.received", Lane: lane, CreatedAt: now, ReceivedAt: now, Data: map[string]any{"id": id}}
}

func eventsOf(ids ...string) (list []rules.Event) {
	for _, id := range ids {
		list = append(list, event(id, "lane "+id))
	}
	return list
}

// accept records events that must be new.
func accept(t testing.TB, j *Journal, events ...rules.Event) {
	t.Helper()
	fresh, err := j.Accept(t.Context(), events)
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range fresh {
		if !f {
			t.Fatalf("%s is not fresh", events[i].ID)
		}
	}
}

// claimOne claims the only lane that is due.
func claimOne(t testing.TB, j *Journal) *journal.Lane {
	t.Helper()
	lanes, err := j.Claim(t.Context(), time.Now(), 10, nil)
	if err != nil || len(lanes) != 1 {
		t.Fatalf("claimed %d lanes, %v", len(lanes), err)
	}
	return lanes[0]
}

// count returns how many rows a query counts.
func count(t testing.TB, j *Journal, query string) (n int) {
	t.Helper()
	if err := j.pool.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestUntoldCommit breaks the connection between a commit and its answer, and before a commit: the
// result is what happened.
func TestUntoldCommit(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	p, address := server.Through(t, server.Database(t))
	address += "&default_query_exec_mode=exec" // so that a transaction's end is one round trip, without preparing statements
	var when atomic.Pointer[func()]
	j := open(t, address, Options{Fail: func(at Point) error {
		if at == BeforeCommit {
			if do := when.Swap(nil); do != nil {
				(*do)()
			}
		}
		return nil
	}})
	// The first is committed and the answer is lost. The second never reaches the server.
	for what, arm := range map[string]func(){
		"after the commit": func() {
			p.Deaf.Store(true)
			time.AfterFunc(300*time.Millisecond, func() { p.Deaf.Store(false) })
		},
		"before the commit": p.Cut,
	} {
		when.Store(&arm)
		accept(t, j, event(what, what), event(what+", too", what))
		l := claimOne(t, j)
		if len(l.Events) != 2 {
			t.Fatalf("%s: %d events", what, len(l.Events))
		}
		l.Events[0].Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}}
		run := &journal.Run{Key: what, Workspace: "default", Rule: "r", Version: "v", Home: what, Lane: what, By: what, State: journal.Running, Stage: rules.Live}
		s := &journal.Start{Run: run, Mode: rules.Single, Source: "source", Verdict: &l.Events[0].Verdicts[0]}
		slot := journal.Slot{Key: what, Times: 1, Per: time.Hour}
		when.Store(&arm)
		change := &journal.Change{At: time.Now(), Decided: l.Events, Starts: []*journal.Start{s}, Take: []journal.Slot{slot}, Caused: []journal.Caused{{Workspace: "default", Object: what}}}
		if err := j.Save(t.Context(), l, change); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !s.Begun || run.ID == 0 || change.Caused[0].ID == 0 {
			t.Errorf("%s: begun %v, run %d, caused %d", what, s.Begun, run.ID, change.Caused[0].ID)
		}
		if found, err := j.FindRun(t.Context(), run.ID); err != nil || found.Key != what {
			t.Errorf("%s: run %v, %v", what, found, err)
		}
		caused, err := j.Caused(t.Context(), "default", "", []string{what}, time.Time{})
		if err != nil || len(caused) != 1 || caused[0].ID != change.Caused[0].ID {
			t.Errorf("%s: caused %v, %v", what, caused, err)
		}
		when.Store(&arm)
		if err := j.Save(t.Context(), l, &journal.Change{At: time.Now(), Release: true}); err != nil {
			t.Errorf("%s: the release: %v", what, err)
		}
		if next, err := j.Due(t.Context(), nil); err != nil || !next.IsZero() {
			t.Errorf("%s: due at %v, %v", what, next, err)
		}
	}
}

// TestUntoldClaim loses the answer to a claim: a heartbeat of the engine releases its lanes.
func TestUntoldClaim(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	p, address := server.Through(t, server.Database(t))
	j := open(t, address+"&default_query_exec_mode=exec", Options{Lease: 500 * time.Millisecond})
	accept(t, j, event("1", "a"))
	p.Deaf.Store(true)
	if lanes, err := j.Claim(t.Context(), time.Now(), 10, nil); err == nil {
		t.Fatalf("claimed %v", lanes)
	}
	p.Deaf.Store(false)
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		lanes, err := j.Claim(t.Context(), time.Now(), 10, nil)
		if err == nil && len(lanes) == 1 {
			if err := j.Save(t.Context(), lanes[0], &journal.Change{At: time.Now(), Release: true}); err != nil {
				t.Error(err)
			}
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the lane was not given back: %v, %v", lanes, err)
		}
	}
}

// TestCutOff separates an engine from its database until another has claimed its lanes.
func TestCutOff(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	database := server.Database(t)
	p, address := server.Through(t, database)
	j, other := open(t, address, Options{Lease: 4 * time.Second}), open(t, database, Options{Lease: 4 * time.Second})
	accept(t, j, event("1", "a"))
	first := claimOne(t, j)
	p.Closed.Store(true)
	p.Cut()
	var second []*journal.Lane
	for end := time.Now().Add(30 * time.Second); len(second) == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		var err error
		if second, err = other.Claim(t.Context(), time.Now(), 10, nil); err != nil {
			t.Fatal(err)
		}
	}
	if len(second) != 1 {
		t.Fatal("the lane was not taken over")
	}
	if err := j.Save(t.Context(), first, &journal.Change{At: time.Now(), Release: true}); err == nil || errors.Is(err, journal.ErrLost) {
		t.Errorf("saved without a database: %v", err)
	}
	if _, err := j.Accept(t.Context(), []rules.Event{event("2", "b")}); err == nil {
		t.Error("accepted without a database")
	}
	p.Closed.Store(false)
	if err := j.Save(t.Context(), first, &journal.Change{At: time.Now(), Decided: first.Events, Release: true}); !errors.Is(err, journal.ErrLost) {
		t.Errorf("saved what is another's: %v", err)
	}
	if err := other.Save(t.Context(), second[0], &journal.Change{At: time.Now(), Decided: second[0].Events, Release: true}); err != nil {
		t.Error(err)
	}
	// It works like any other engine when it is back.
	if err := j.heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	accept(t, j, event("2", "b"))
	l := claimOne(t, j)
	if lanes, err := other.Claim(t.Context(), time.Now(), 10, nil); err != nil || len(lanes) != 0 {
		t.Errorf("%d lanes, %v", len(lanes), err)
	}
	if err := j.Save(t.Context(), l, &journal.Change{At: time.Now(), Decided: l.Events, Release: true}); err != nil {
		t.Error(err)
	}
}

// TestLeaseIsKept holds a lane for longer than a lease, on a slow connection.
func TestLeaseIsKept(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	database := server.Database(t)
	p, address := server.Through(t, database)
	p.Delay.Store(int64(20 * time.Millisecond))
	const lease = 6 * time.Second
	j, other := open(t, address, Options{Lease: lease}), open(t, database, Options{Lease: lease})
	accept(t, j, event("1", "a"))
	l := claimOne(t, j)
	for end := time.Now().Add(lease + lease/2); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		lanes, err := other.Claim(t.Context(), time.Now().Add(time.Hour), 10, nil)
		if err != nil || len(lanes) != 0 {
			t.Fatalf("%d lanes, %v", len(lanes), err)
		}
	}
	if err := j.Save(t.Context(), l, &journal.Change{At: time.Now(), Decided: l.Events, Release: true}); err != nil {
		t.Error(err)
	}
}

// TestCuts cuts connections while two engines record and decide: everything is decided once, and
// what was acknowledged is recorded.
func TestCuts(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	database := server.Database(t)
	p, address := server.Through(t, database)
	disturbed(t, []*Journal{open(t, address, Options{Lease: time.Second}), open(t, address, Options{Lease: time.Second})}, p.Cut, 12)
}

// TestRestarts crashes and restarts the database while two engines record and decide.
func TestRestarts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	postgrestest.Needs(t)
	server, err := postgrestest.Start(true)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Stop() })
	address := server.Database(t)
	disturbed(t, []*Journal{open(t, address, Options{Lease: time.Second}), open(t, address, Options{Lease: time.Second})}, func() {
		if err := server.Down(); err != nil {
			t.Error(err)
		}
		if err := server.Up(); err != nil {
			t.Error(err)
		}
	}, 3)
}

// disturbed has engines record events and decide them, and calls disturb so many times, whenever a
// few more events are recorded.
func disturbed(t *testing.T, engines []*Journal, disturb func(), times int) {
	var over atomic.Bool
	var producers, workers sync.WaitGroup
	var mu sync.Mutex
	acknowledged := map[string]bool{} // events that were acknowledged
	begun := map[string]int64{}       // runs whose start was acknowledged, by key
	for p := range 4 {
		j := engines[p%len(engines)]
		producers.Go(func() {
			for i := 0; !over.Load(); i++ {
				id := fmt.Sprintf("%d-%d", p, i)
				fresh, err := j.Accept(t.Context(), []rules.Event{event(id, fmt.Sprint("lane ", i%7))})
				if err != nil {
					time.Sleep(5 * time.Millisecond)
					continue // the sender retries
				}
				mu.Lock()
				acknowledged[id] = true
				mu.Unlock()
				if !fresh[0] {
					t.Errorf("%s was told of once and is not fresh", id)
				}
			}
		})
	}
	for w := range 4 {
		j := engines[w%len(engines)]
		workers.Go(func() {
			for idle := 0; idle < 200; {
				lanes, err := j.Claim(t.Context(), time.Now(), 2, nil)
				if err != nil || len(lanes) == 0 {
					if over.Load() {
						idle++
					}
					time.Sleep(10 * time.Millisecond)
					continue
				}
				idle = 0
				for _, l := range lanes {
					work(t, j, l, func(r *journal.Run) {
						mu.Lock()
						defer mu.Unlock()
						begun[r.Key] = r.ID
					})
				}
			}
		})
	}
	for i := range times + 1 {
		for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
			mu.Lock()
			n := len(acknowledged)
			mu.Unlock()
			if n >= 5*(i+1) {
				break
			}
		}
		if i < times {
			disturb()
		}
	}
	over.Store(true)
	producers.Wait()
	workers.Wait()

	j := engines[0]
	if len(acknowledged) < 5*(times+1) {
		t.Errorf("only %d events were recorded, which proves little", len(acknowledged))
	}
	if n := count(t, j, `SELECT count(*) FROM quando.events WHERE NOT decided`); n != 0 {
		t.Errorf("%d events are undecided", n)
	}
	for id := range acknowledged {
		if _, err := j.FindEvent(t.Context(), "default", id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
	for key, id := range begun {
		if r, err := j.FindRun(t.Context(), id); err != nil || r.Key != key {
			t.Errorf("run %d of %s: %v, %v", id, key, r, err)
		}
	}
	for what, query := range map[string]string{
		"events without a run":             `SELECT count(*) FROM quando.events e WHERE NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.event = e.seq)`,
		"runs that are not done":           `SELECT count(*) FROM quando.runs WHERE state <> 'done'`,
		"runs that caused something twice": `SELECT count(*) FROM (SELECT run FROM quando.caused GROUP BY run HAVING count(*) > 1) x`,
		"leases that nobody has":           `SELECT count(*) FROM quando.leases`,
	} {
		if n := count(t, j, query); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
}

// work decides the events of a lane with a run for each, finishes the runs, and releases the lane
// as an engine does: it retries until it gets an answer.
func work(t *testing.T, j *Journal, l *journal.Lane, began func(*journal.Run)) {
	change := &journal.Change{At: time.Now(), Decided: l.Events}
	for _, e := range l.Events {
		e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}}
		change.Starts = append(change.Starts, &journal.Start{Mode: rules.Queued, Source: "source", Verdict: &e.Verdicts[0], Run: &journal.Run{
			Key: e.ID, Workspace: "default", Rule: "r", Version: "v", Event: e.Seq, Home: l.Name, Lane: l.Name, By: l.Name, State: journal.Running, Stage: rules.Live}})
	}
	if err := j.Save(t.Context(), l, change); err != nil {
		giveBack(t, j, l)
		return
	}
	after := &journal.Change{At: time.Now(), Release: true}
	for _, s := range change.Starts {
		if s.Begun {
			began(s.Run)
			s.Run.State = journal.Done
			after.Runs = append(after.Runs, &journal.RunChange{Run: s.Run})
			after.Caused = append(after.Caused, journal.Caused{Workspace: "default", Object: s.Run.Key, Run: s.Run.ID})
		}
	}
	for _, r := range l.Runs {
		if r.State == journal.Running {
			r.State = journal.Done
			after.Runs = append(after.Runs, &journal.RunChange{Run: r})
			after.Caused = append(after.Caused, journal.Caused{Workspace: "default", Object: r.Key, Run: r.ID})
		}
	}
	if err := j.Save(t.Context(), l, after); err != nil {
		giveBack(t, j, l)
	}
}

func giveBack(t *testing.T, j *Journal, l *journal.Lane) {
	for {
		err := j.Save(t.Context(), l, &journal.Change{At: time.Now(), Release: true, Next: time.Now()})
		if err == nil || errors.Is(err, journal.ErrLost) || t.Context().Err() != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
