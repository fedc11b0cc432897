//go:build cgo

package sqlite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quandohq/quando/rules"
)

// TestFollowFaults lets transactions that take up mentions fail: before the commit, and after it.
func TestFollowFaults(t *testing.T) {
	t.Parallel()
	var when Point = -1
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, Options{Fail: func(p Point) error {
		if p == when {
			return errFault
		}
		return nil
	}})
	for i, p := range []Point{BeforeCommit, AfterCommit} {
		e := events("lane", fmt.Sprint(i))[0]
		e.Data["contact"] = map[string]any{"name": fmt.Sprint("Maria", i), "phone": "12345678"}
		if _, err := j.Accept(t.Context(), []rules.Event{e}); err != nil {
			t.Fatal(err)
		}
		when = p
		if _, err := j.Follow(t.Context()); !errors.Is(err, errFault) {
			t.Error(err)
		}
		if found, err := j.FindLanes(t.Context(), fmt.Sprint("maria", i), 2); err != nil || len(found) != i {
			t.Errorf("while nothing can be recorded: %v, %v", found, err)
		}
		when = -1
		if more, err := j.Follow(t.Context()); err != nil || more {
			t.Error(more, err)
		}
		if found, err := j.FindLanes(t.Context(), fmt.Sprint("maria", i), 2); err != nil || len(found) != 1 || found[0].Phone != "12345678" {
			t.Errorf("%v, %v", found, err)
		}
	}
	var names, keys int
	if err := j.reads.QueryRow(`SELECT (SELECT count(*) FROM known), (SELECT count(*) FROM mentions)`).Scan(&names, &keys); err != nil || names != 1 || keys != 3 {
		t.Errorf("%d lanes are known by %d keys, %v", names, keys, err)
	}
}

// TestFollowYields shows how long following waits for others.
func TestFollowYields(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &writer{lately: time.Now()}
		waits := func(want, patience time.Duration) {
			t.Helper()
			began := time.Now()
			w.quiet(t.Context(), patience)
			if got := time.Since(began); got != want {
				t.Errorf("it waited for %s, not %s", got, want)
			}
		}
		waits(aMoment, time.Second) // after a transaction
		waits(0, time.Second)       // when nobody has recorded anything for a moment
		w.queue = []*operation{{}}
		waits(time.Second, time.Second) // while somebody has something to record
		w.queue = nil
		go func() {
			time.Sleep(5 * time.Millisecond)
			w.mu.Lock()
			defer w.mu.Unlock()
			w.lately = time.Now()
		}()
		w.lately = time.Now()
		waits(5*time.Millisecond+aMoment, time.Second) // when another transaction comes meanwhile
		w.lately = time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		began := time.Now()
		w.quiet(ctx, time.Second)
		if got := time.Since(began); got != time.Millisecond {
			t.Errorf("it waited for %s after it was called off", got)
		}
	})
}
