package backfill

import (
	"testing"
	"time"
)

// A lease is its holder's until it expires or is released.
func TestMayLease(t *testing.T) {
	noon := time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	for _, tt := range []struct {
		kept   string
		holder string
		now    time.Duration
		want   bool
	}{
		{"", "one", 0, true},
		{"torn", "one", 0, true},
		{formatLease("one", at(time.Minute)), "one", 0, true},
		{formatLease("one", at(time.Minute)), "two", 59 * time.Second, false},
		{formatLease("one", at(time.Minute)), "two", time.Minute, true},
		{formatLease("a host 7", at(time.Minute)), "a host 7", 0, true},
		{formatLease("a host 7", at(time.Minute)), "a", 0, false},
		{formatLease("one", noon), "two", 0, true},
	} {
		if got := mayLease(tt.kept, tt.holder, at(tt.now)); got != tt.want {
			t.Errorf("%q, %s after %s: %v", tt.kept, tt.holder, tt.now, got)
		}
	}
}
