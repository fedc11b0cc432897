package engine

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSignOfLife shows which times an engine counts as an absence.
func TestSignOfLife(t *testing.T) {
	noon := time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)
	at := func(d time.Duration) time.Time { return noon.Add(d) }
	before := absence{at(-2 * time.Minute), at(-time.Minute)}
	for name, tt := range map[string]struct {
		seen     time.Time
		absences []absence
		starts   bool
		want     []absence
	}{
		"the very first start":             {starts: true, want: []absence{{time.Time{}, noon}}},
		"a start":                          {seen: at(-time.Hour), starts: true, want: []absence{{at(-time.Hour), noon}}},
		"a start beside others":            {seen: at(-5 * time.Second), starts: true, absences: []absence{before}, want: []absence{before, {at(-5 * time.Second), noon}}},
		"a start after nobody has looked":  {seen: at(-time.Minute), starts: true, absences: []absence{before}, want: []absence{{before.From, noon}}},
		"another sign":                     {seen: at(-10 * time.Second), absences: []absence{before}, want: []absence{before}},
		"another sign, and it is over":     {seen: at(-10 * time.Second), absences: []absence{{at(-time.Hour), at(-6 * time.Minute)}}},
		"the machine slept":                {seen: at(-10 * time.Minute), want: []absence{{at(-10 * time.Minute), noon}}},
		"the other's clock is a bit ahead": {seen: at(time.Second), starts: true, want: []absence{{noon, noon}}},
		"the clock was wrong":              {seen: at(24 * time.Hour), want: []absence{{time.Time{}, noon}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, missed := presence{tt.seen, tt.absences}.heartbeat(noon, tt.starts, 5*time.Minute)
			if len(got.Absences) == 0 {
				got.Absences = nil
			}
			if diff := cmp.Diff(presence{noon, tt.want}, got); diff != "" {
				t.Error(diff)
			}
			if added := len(tt.want) > 0 && tt.want[len(tt.want)-1].To.Equal(noon); missed != added {
				t.Errorf("missed is %v", missed)
			}
		})
	}
}
