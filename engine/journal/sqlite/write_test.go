//go:build cgo

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var errFault = errors.New("a fault")

func events(lane string, ids ...string) (list []rules.Event) {
	for _, id := range ids {
		list = append(list, rules.Event{Workspace: "default", ID: id, Lane: lane, Data: map[string]any{"text": strings.Repeat("x", 1000)}})
	}
	return list
}

// recorded reports whether an event is in the journal.
func recorded(t *testing.T, j *Journal, id string) bool {
	t.Helper()
	_, err := j.FindEvent(t.Context(), "default", id)
	if err != nil && !errors.Is(err, journal.ErrNoEvent) {
		t.Fatal(err)
	}
	return err == nil
}

// pragma sets something on the connection of an idle writer.
func pragma(t *testing.T, j *Journal, query string) {
	t.Helper()
	if _, err := j.writer.conn.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	pragma(t, j, `PRAGMA max_page_count = 100`)
	var mu sync.Mutex
	acknowledged := map[string]bool{}
	var group sync.WaitGroup
	for w := range 20 {
		group.Go(func() {
			for i := range 20 {
				a, b := fmt.Sprintf("%d-%d-a", w, i), fmt.Sprintf("%d-%d-b", w, i)
				_, err := j.Accept(t.Context(), events("lane", a, b))
				if err != nil && !strings.Contains(err.Error(), "disk is full") {
					t.Error(err)
				}
				mu.Lock()
				acknowledged[a], acknowledged[b] = err == nil, err == nil
				mu.Unlock()
			}
		})
	}
	group.Wait()
	count := 0
	for id, ok := range acknowledged {
		if recorded(t, j, id) != ok {
			t.Errorf("event %s: told %v", id, ok)
		}
		if ok {
			count++
		}
	}
	if count == 0 || count == len(acknowledged) {
		t.Errorf("%d of %d events were recorded, which proves little", count, len(acknowledged))
	}

	// A lane that was claimed before stays claimed, and can be saved when there is space again.
	lanes, err := j.Claim(t.Context(), time.Now(), 1, nil)
	if err != nil || len(lanes) != 1 || len(lanes[0].Events) != min(count, journal.MostEvents) {
		t.Fatalf("claimed %v, %v", lanes, err)
	}
	change := &journal.Change{At: time.Now(), Decided: lanes[0].Events, Release: true}
	for i := range lanes[0].Events {
		lanes[0].Events[i].Verdicts = []journal.Verdict{{Error: strings.Repeat("y", 5000)}}
	}
	if err := j.Save(t.Context(), lanes[0], change); err == nil {
		t.Fatal("saved on a full disk")
	}
	pragma(t, j, `PRAGMA max_page_count = 100000`)
	if err := j.Save(t.Context(), lanes[0], change); err != nil {
		t.Fatal(err)
	}
	if next, err := j.Due(t.Context(), nil); err != nil || !next.IsZero() {
		t.Errorf("due %v, %v", next, err)
	}
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	pragma(t, j, `PRAGMA query_only = true`)
	if _, err := j.Accept(t.Context(), events("lane", "1")); err == nil {
		t.Error("accepted")
	}
	pragma(t, j, `PRAGMA query_only = false`)
	if fresh, err := j.Accept(t.Context(), events("lane", "1")); err != nil || !fresh[0] {
		t.Error(fresh, err)
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	var when Point = -1
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{Fail: func(p Point) error {
		if p == when {
			return errFault
		}
		return nil
	}})
	try := func(p Point, id string, kept bool) {
		t.Helper()
		when = p
		_, err := j.Accept(t.Context(), events("lane "+id, id))
		when = -1
		if !errors.Is(err, errFault) || recorded(t, j, id) != kept {
			t.Errorf("%v, recorded is not %v", err, kept)
		}
	}
	try(BeforeCommit, "1", false)
	try(AfterCommit, "2", true)

	lanes, err := j.Claim(t.Context(), time.Now(), 10, nil)
	if err != nil || len(lanes) != 1 {
		t.Fatal(lanes, err)
	}
	change := &journal.Change{At: time.Now(), Decided: lanes[0].Events, Release: true}
	when = BeforeCommit
	if err := j.Save(t.Context(), lanes[0], change); !errors.Is(err, errFault) {
		t.Error(err)
	}
	when = AfterCommit
	if err := j.Save(t.Context(), lanes[0], change); !errors.Is(err, errFault) {
		t.Error(err)
	}
	when = -1
	if err := j.Save(t.Context(), lanes[0], change); !errors.Is(err, journal.ErrLost) {
		t.Errorf("after a release of which nobody was told: %v", err)
	}
}

// held returns a journal with these events whose writer blocks before its next commit until release
// is called.
func held(t *testing.T, first ...rules.Event) (j *Journal, release func()) {
	t.Helper()
	stopped, free := make(chan struct{}), make(chan struct{})
	var once sync.Once
	var armed bool
	j = open(t, filepath.Join(t.TempDir(), "quando.db"), Options{Fail: func(p Point) error {
		if p == BeforeCommit && armed {
			once.Do(func() { close(stopped); <-free })
		}
		return nil
	}})
	if _, err := j.Accept(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	armed = true
	go j.SetCursor(context.WithoutCancel(t.Context()), "first", "")
	<-stopped
	return j, sync.OnceFunc(func() { close(free) })
}

// queue waits until so many operations are pending.
func queue(t *testing.T, j *Journal, n int) {
	t.Helper()
	for j.writer.Len() < n {
		time.Sleep(time.Millisecond)
		if t.Context().Err() != nil {
			t.Fatal("nobody is waiting")
		}
	}
}

func TestTakenBack(t *testing.T) {
	t.Parallel()
	j, release := held(t)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	answers := make(chan error, 2)
	go func() { _, err := j.Accept(ctx, events("lane", "taken back")); answers <- err }()
	queue(t, j, 1)
	cancel()
	if err := <-answers; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	go func() { _, err := j.Accept(t.Context(), events("lane", "kept")); answers <- err }()
	queue(t, j, 2)
	release()
	if err := <-answers; err != nil {
		t.Error(err)
	}
	if recorded(t, j, "taken back") || !recorded(t, j, "kept") {
		t.Error("the event that was taken back is recorded, or the other is not")
	}
}

// TestReleasedOnce puts two changes that release the same lane into one transaction.
func TestReleasedOnce(t *testing.T) {
	t.Parallel()
	j, release := held(t, events("lane", "1")...)
	defer release()
	lanes, err := j.Claim(t.Context(), time.Now(), 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 2)
	for i := range 2 {
		go func() {
			answers <- j.Save(t.Context(), lanes[0], &journal.Change{At: time.Now(), Release: true})
		}()
		queue(t, j, i+1)
	}
	release()
	if first, second := <-answers, <-answers; (first == nil) == (second == nil) || !errors.Is(errors.Join(first, second), journal.ErrLost) {
		t.Error(first, second)
	}
}

// TestOneBreaks puts an operation that fails after it has written something into one transaction
// with others.
func TestOneBreaks(t *testing.T) {
	t.Parallel()
	j, release := held(t)
	defer release()
	answers := make([]error, 10)
	var group sync.WaitGroup
	for i := range answers {
		group.Go(func() {
			if i == 4 {
				answers[i] = j.writer.write(t.Context(), directOperation(1, func(x *tx) error {
					if _, err := x.exec(`INSERT INTO cursors (name, value) VALUES ('half', 'x')`); err != nil {
						return err
					}
					_, err := x.exec(`INSERT INTO cursors (name, value) VALUES ('half', 'y')`)
					return err
				}, nil))
				return
			}
			fresh, err := j.Accept(t.Context(), events("lane", fmt.Sprint(i)))
			if answers[i] = err; err == nil && !fresh[0] {
				t.Errorf("event %d is not fresh", i)
			}
		})
		queue(t, j, i+1)
	}
	release()
	group.Wait()
	for i, err := range answers {
		if (err != nil) != (i == 4) {
			t.Errorf("operation %d: %v", i, err)
		}
		if recorded(t, j, fmt.Sprint(i)) != (i != 4) {
			t.Errorf("event %d is there, or not", i)
		}
	}
	if half, err := j.Cursor(t.Context(), "half"); err != nil || half != "" {
		t.Errorf("half of an operation is there: %q, %v", half, err)
	}
}

// TestCountedOnce checks the counts of transactions that failed at first and were retried.
func TestCountedOnce(t *testing.T) {
	t.Parallel()
	const lanes = 5
	var first []rules.Event
	for i := range lanes {
		first = append(first, events(fmt.Sprint("lane ", i), fmt.Sprint(i))...)
	}
	j, release := held(t, first...)
	defer release()
	claimed, err := j.Claim(t.Context(), time.Now(), lanes, nil)
	if err != nil || len(claimed) != lanes {
		t.Fatal(claimed, err)
	}
	var group sync.WaitGroup
	for i, l := range claimed {
		group.Go(func() {
			l.Events[0].Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.False, Clause: "x"}, {Rule: "fires", Outcome: journal.Fired}}
			if err := j.Save(t.Context(), l, &journal.Change{At: time.Now(), Decided: l.Events, Release: true}); err != nil {
				t.Error(err)
			}
		})
		queue(t, j, i+1)
	}
	group.Go(func() {
		err := j.writer.write(t.Context(), directOperation(1, func(x *tx) error {
			_, err := x.exec(`INSERT INTO cursors (name, value) VALUES ('half', NULL)`)
			return err
		}, nil))
		if err == nil {
			t.Error("it did not break")
		}
	})
	queue(t, j, lanes+1)
	release()
	group.Wait()
	counts, err := j.Counts(t.Context(), journal.CountFilter{})
	if err != nil || len(counts) != 1 || counts[0].N != lanes {
		t.Errorf("%+v, %v", counts, err)
	}
	reasons, err := j.Reasons(t.Context(), "default", "r", time.Time{})
	if err != nil || len(reasons) != 1 || reasons[0].N != lanes {
		t.Errorf("%+v, %v", reasons, err)
	}
}

func TestCloseWaits(t *testing.T) {
	t.Parallel()
	j, release := held(t)
	defer release()
	var group sync.WaitGroup
	for i := range 50 {
		group.Go(func() {
			if _, err := j.Accept(t.Context(), events("lane", fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		})
	}
	queue(t, j, 50)
	closed := make(chan error)
	go func() { closed <- j.Close() }()
	release()
	if err := <-closed; err != nil {
		t.Error(err)
	}
	group.Wait()
	again := open(t, j.file, Options{})
	recorded, err := again.ListEvents(t.Context(), journal.EventFilter{Lane: "lane"})
	if err != nil || len(recorded) != 50 {
		t.Error(recorded, err)
	}
}

// TestSynced: what is recorded is synced to disk, whatever the build's own settings of SQLite are.
func TestSynced(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	var mode string
	var level int
	err := j.writer.conn.QueryRowContext(t.Context(), `SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous`).Scan(&mode, &level)
	if full := 2; err != nil || mode != "wal" || level != full {
		t.Errorf("the journal mode is %s, and synchronous is %d: %v", mode, level, err)
	}
}
