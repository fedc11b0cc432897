//go:build cgo

package sqlite

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/journaltest"
	"github.com/quandohq/quando/rules"
)

// TestSlotsAreForgotten checks that Prune deletes slots whose windows are over, in batches, and
// that the others stay, also those that are taken in the meantime.
func TestSlotsAreForgotten(t *testing.T) {
	j, err := Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	if _, err := j.Accept(t.Context(), []rules.Event{journaltest.Message(1, 1)}); err != nil {
		t.Fatal(err)
	}
	lanes, err := j.Claim(t.Context(), time.Now(), 1, nil)
	if err != nil || len(lanes) != 1 {
		t.Fatalf("%d lanes: %v", len(lanes), err)
	}
	const many = 2*pruneSize + 100
	take := func(at time.Time, slots ...journal.Slot) {
		t.Helper()
		if err := j.Save(t.Context(), lanes[0], &journal.Change{At: at, Take: slots}); err != nil {
			t.Fatal(err)
		}
	}
	prune := func(now time.Time) (parts int) {
		t.Helper()
		for more := true; more; parts++ {
			if more, err = j.Prune(t.Context(), now, 365*24*time.Hour); err != nil {
				t.Fatal(err)
			}
		}
		return parts
	}
	checkLeft := func(what string, want int) {
		t.Helper()
		var n int
		if err := j.reads.QueryRowContext(t.Context(), `SELECT count(*) FROM slots`).Scan(&n); err != nil || n != want {
			t.Errorf("%s: %d slots are left, want %d: %v", what, n, want, err)
		}
	}
	noon := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	var slots []journal.Slot
	for i := range many {
		slots = append(slots, journal.Slot{Key: fmt.Sprint("short ", i), Times: 5, Per: time.Minute})
	}
	take(noon, append(slots, journal.Slot{Key: "long", Times: 5, Per: 30 * 24 * time.Hour})...)
	prune(noon.Add(time.Hour))
	checkLeft("right after", many+1)
	take(noon.Add(25*time.Hour), slots[:3]...)
	if parts := prune(noon.Add(40 * time.Hour)); parts < 3 {
		t.Errorf("it was done in %d parts", parts)
	}
	checkLeft("more than a day after", 1+3)
	take(noon.Add(41*time.Hour), slots[3:8]...)
	prune(noon.Add(41 * time.Hour))
	checkLeft("with what was taken since", 1+3+5)
	prune(noon.Add(80 * time.Hour))
	checkLeft("another day after", 1)
}
