//go:build cgo

package sqlite

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/quandohq/quando/rules"
)

// TestFollowFaults makes transactions of Follow fail: before the commit, and after it.
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
