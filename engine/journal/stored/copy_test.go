package stored_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// An anyJournal has all interfaces of a journal.
type anyJournal interface {
	journal.Journal
	journal.Reader
	journal.Statistics
	journal.Auditor
	Close() error
}

type store interface {
	stored.Store
	Close() error
}

func isAddress(where string) bool { return strings.HasPrefix(where, "postgres") }

// open opens a journal as an engine does.
func open(t *testing.T, where string) (j anyJournal, err error) {
	if isAddress(where) {
		return postgres.Open(t.Context(), where, postgres.Options{})
	}
	return sqlite.Open(t.Context(), where, sqlite.Options{})
}

func openStore(t *testing.T, where string, from bool) (store, error) {
	if isAddress(where) {
		return postgres.OpenCopy(t.Context(), where, from)
	}
	return sqlite.OpenCopy(t.Context(), where, from)
}

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var noon = time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)

// event returns an event with texts that some databases do not accept unchanged.
func event(i int) rules.Event {
	return rules.Event{Workspace: "default", ID: fmt.Sprint("event ", i), Type: "message.received", Lane: fmt.Sprintf("lane\x00 %d\xff", i%7), CreatedAt: noon, ReceivedAt: noon,
		Data: map[string]any{"contact": map[string]any{"name": fmt.Sprint("Maria ", i), "phone": fmt.Sprintf("%08d", i)}, "text": "a\x00b"}}
}

// fill writes rows into every table of a journal.
func fill(t *testing.T, where string, events int) {
	t.Helper()
	j := must[anyJournal](t)(open(t, where))
	ctx := t.Context()
	var list []rules.Event
	for i := range events {
		list = append(list, event(i))
	}
	must[[]bool](t)(j.Accept(ctx, list))
	lanes := must[[]*journal.Lane](t)(j.Claim(ctx, noon, 3, nil))
	for i, l := range lanes {
		e := l.Events[0]
		e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}, {Rule: "other", Outcome: journal.False, Clause: "open()"}}
		r := &journal.Run{Key: fmt.Sprint("key ", i), Workspace: "default", Rule: "r", Version: "v", Event: e.Seq, Gathered: []int64{e.Seq}, Home: l.Name, Lane: l.Name, By: "by", State: journal.Waiting, Stage: rules.Live,
			StartedAt: noon, WakeAt: noon.Add(time.Hour), Steps: []*journal.Step{{N: 0, Path: "1", Verb: "send_message", Key: "k", State: journal.StepDone, Record: []byte(`{"a":1}`)}}}
		ok(t, j.Save(ctx, l, &journal.Change{
			At: noon, Decided: l.Events[:1], Release: true, Next: noon.Add(time.Hour), Take: []journal.Slot{{Key: "bound", Times: 5, Per: time.Hour}},
			Starts: []*journal.Start{{Run: r, Mode: rules.Queued, Max: 10, Source: "rules: []", Verdict: &e.Verdicts[0]}},
			Gather: []journal.Gather{{Workspace: "default", Rule: "g", By: l.Name, Events: []int64{e.Seq}, Quiet: time.Minute}},
			Caused: []journal.Caused{{Workspace: "default", Lane: l.Name, Event: "message.sent", Object: "o", Set: json.RawMessage(`{"x":1}`), Used: i == 1}},
		}))
	}
	run := must[*journal.Run](t)(j.(journal.Reader).FindRun(ctx, 1))
	ok(t, j.Ask(ctx, noon, run.ID, journal.Ask{What: journal.AskCancel, At: noon}))
	_, err := j.Hold(ctx, journal.Hold{Workspace: "default", Rule: "r", Kind: journal.HoldPerson, Since: noon})
	ok(t, err)
	ok(t, j.Mute(ctx, journal.MuteChange{Mute: journal.Mute{Workspace: "default", Lane: "l\x00", Rule: "r", Run: 1, Since: noon, Until: noon.Add(time.Hour)}}))
	ok(t, j.SetCursor(ctx, "tick", "now"))
	finder := j.(journal.Finder)
	found := event(events)
	found.ID, found.Identity = rules.FoundID("m\x00"), "m\x00"
	must[[]bool](t)(finder.AcceptFound(ctx, []rules.Finding{{Event: found, Lanes: []string{found.Lane}, Identify: func(rules.Event) string { return "" }}}))
	ok(t, finder.SetSeen(ctx, noon, "default", "card", map[string]string{"c\x00": "here"}))
	ok(t, j.Audit(ctx, journal.AuditEntry{At: noon, Who: "ana", What: "pause"}))
	for more := true; more; {
		more = must[bool](t)(j.Follow(ctx))
	}
	ok(t, j.Close())
}

// rowsOf returns all rows of a journal.
func rowsOf(t *testing.T, where string) map[string][][]any {
	t.Helper()
	s := must[store](t)(openStore(t, where, true))
	defer s.Close()
	all := map[string][][]any{}
	for _, table := range stored.Tables {
		all[table.Name] = must[[][]any](t)(s.Rows(t.Context(), table, nil, 1_000_000))
	}
	return all
}

// An interruptedStore is a store whose transactions fail after a number of them, before or after
// their commit.
type interruptedStore struct {
	stored.Store
	puts  int // transactions that still succeed
	after bool
}

var errKilled = errors.New("killed")

func (b *interruptedStore) Put(ctx context.Context, t *stored.Table, rows [][]any, cursor, value string) error {
	if b.puts--; b.puts >= 0 {
		return b.Store.Put(ctx, t, rows, cursor, value)
	}
	if b.after && b.puts == -1 {
		return errors.Join(b.Store.Put(ctx, t, rows, cursor, value), errKilled)
	}
	return errKilled
}

// copyJournal copies a journal until the target's store fails.
func copyJournal(t *testing.T, source, target string, b interruptedStore) error {
	t.Helper()
	from, err := openStore(t, source, true)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := openStore(t, target, false)
	if err != nil {
		return err
	}
	defer to.Close()
	b.Store = to
	_, err = stored.Copy(t.Context(), from, &b, func(*stored.Table, int64, int64) {})
	return err
}

const unlimited = 1 << 30

// TestCopy copies a journal from one database to the other and back: the rows are the same, and an
// engine can continue with it.
func TestCopy(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	first, second, third := filepath.Join(folder, "1.db"), postgrestest.Shared(t).Database(t), filepath.Join(folder, "3.db")
	fill(t, first, 2500)
	want := rowsOf(t, first)
	for name, rows := range want {
		if len(rows) == 0 {
			t.Errorf("nothing in %s, which proves little", name)
		}
	}
	ok(t, copyJournal(t, first, second, interruptedStore{puts: unlimited}))
	ok(t, copyJournal(t, second, third, interruptedStore{puts: unlimited}))
	for where, got := range map[string]map[string][][]any{"in PostgreSQL": rowsOf(t, second), "in SQLite again": rowsOf(t, third)} {
		for name := range want {
			byKey := cmp.Transformer("byKey", func(rows [][]any) map[string]string { // databases sort texts differently
				m := map[string]string{}
				for _, r := range rows {
					m[fmt.Sprint(r)] = ""
				}
				return m
			})
			if !cmp.Equal(want[name], got[name], byKey) {
				t.Errorf("%s %s: %.2000s", name, where, cmp.Diff(want[name], got[name], byKey))
			}
		}
	}
	for _, where := range []string{second, third} {
		j := must[anyJournal](t)(open(t, where))
		delivered := event(3000)
		delivered.Identity = "m\x00" // the identity of the found event
		fresh := must[[]bool](t)(j.Accept(t.Context(), []rules.Event{event(0), event(2499), event(2500), delivered}))
		if !cmp.Equal(fresh, []bool{false, false, true, false}) {
			t.Errorf("fresh are %v", fresh)
		}
		lanes := must[[]*journal.Lane](t)(j.Claim(t.Context(), noon.Add(2*time.Hour), 100, nil))
		runs, events := 0, 0
		for _, l := range lanes {
			runs += len(l.Runs)
			for _, e := range l.Events {
				e.Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}}
			}
		}
		for _, e := range must[[]*journal.Event](t)(j.ListEvents(t.Context(), journal.EventFilter{Limit: 5000})) {
			if !e.Decided {
				events++
			}
		}
		if len(lanes) != 7 || runs != 3 || events != 2499 {
			t.Errorf("%d runs and %d events are due in %d lanes", runs, events, len(lanes))
		}
		bound := &journal.BoundError{}
		change := &journal.Change{At: noon.Add(time.Minute), Take: []journal.Slot{{Key: "bound", Times: 3, Per: time.Hour}}}
		if err := j.Save(t.Context(), lanes[0], change); !errors.As(err, &bound) {
			t.Errorf("a bound that was reached before: %v", err)
		}
		r := &journal.Run{Key: "another", Workspace: "default", Rule: "another", Version: "v", Home: lanes[0].Name, Lane: lanes[0].Name, State: journal.Waiting, Stage: rules.Live, StartedAt: noon}
		ok(t, j.Save(t.Context(), lanes[0], &journal.Change{At: noon, Starts: []*journal.Start{{Run: r, Mode: rules.Parallel}}, Decided: lanes[0].Events, Release: true}))
		if r.ID != 4 {
			t.Errorf("the next run is %d", r.ID)
		}
		ok(t, j.Close())
	}
}

// TestCopyKilled interrupts a copy at every transaction, before and after its commit, and continues
// it.
func TestCopyKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	source := filepath.Join(t.TempDir(), "quando.db")
	fill(t, source, 1500)
	want := rowsOf(t, source)
	for _, after := range []bool{false, true} {
		target := filepath.Join(t.TempDir(), "quando.db")
		stops := 0
		for err := errKilled; err != nil; stops++ {
			if err = copyJournal(t, source, target, interruptedStore{puts: 2, after: after}); err != nil && !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			if err == nil {
				continue
			}
			if _, refused := open(t, target); !errors.Is(refused, stored.ErrUnfinished) {
				t.Fatalf("an engine that is given a part: %v", refused)
			}
		}
		if stops < len(stored.Tables)/3 {
			t.Errorf("it was stopped %d times", stops)
		}
		if diff := cmp.Diff(want, rowsOf(t, target)); diff != "" {
			t.Errorf("%.2000s", diff)
		}
	}
}

// TestCopyRefuses checks that Copy refuses journals that are in use.
func TestCopyRefuses(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"SQLite", "PostgreSQL"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			fresh := func() string {
				if kind == "SQLite" {
					return filepath.Join(t.TempDir(), "quando.db")
				}
				return postgrestest.Shared(t).Database(t)
			}
			refused := func(from, to, why string) {
				t.Helper()
				if err := copyJournal(t, from, to, interruptedStore{puts: unlimited}); err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("%v, not %q", err, why)
				}
			}
			full, empty := fresh(), fresh()
			refused(full, empty, "there is no")
			fill(t, full, 10)
			j := must[anyJournal](t)(open(t, full))
			refused(full, empty, "engine is using it")
			refused(filepath.Join(t.TempDir(), "none.db"), full, "there is no")
			ok(t, j.Close())

			other := fresh()
			fill(t, other, 1)
			refused(full, other, "the target is in use")

			j = must[anyJournal](t)(open(t, empty))
			refused(full, empty, "engine is using it")
			ok(t, j.Close())

			// A copy does not continue after its source has changed.
			if err := copyJournal(t, full, empty, interruptedStore{puts: 3}); !errors.Is(err, errKilled) {
				t.Fatal(err)
			}
			refused(empty, fresh(), stored.ErrUnfinished.Error())
			j = must[anyJournal](t)(open(t, full))
			ok(t, j.Close())
			refused(full, empty, "before an engine worked on it")
			if kind == "PostgreSQL" { // its engines do not lock a file
				s := must[store](t)(openStore(t, full, true))
				if _, err := open(t, full); err == nil || !strings.Contains(err.Error(), "being copied") {
					t.Errorf("an engine begins with a journal that is being copied: %v", err)
				}
				ok(t, s.Close())
			}
		})
	}
}
