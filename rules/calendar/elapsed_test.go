package calendar

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestAdd(t *testing.T) {
	tests := []struct {
		name string
		from string
		d    time.Duration
		want string
	}{
		{"within a shift", "2026-11-12T09:00:00-03:00", 15 * time.Minute, "2026-11-12T09:15:00-03:00"},
		{"over lunch", "2026-11-12T11:50:00-03:00", 15 * time.Minute, "2026-11-12T13:35:00-03:00"},
		{"Friday evening runs over into Saturday", "2026-11-13T17:50:00-03:00", 15 * time.Minute, "2026-11-14T09:05:00-03:00"},
		{"used up as it closes", "2026-11-12T11:45:00-03:00", 15 * time.Minute, "2026-11-12T12:00:00-03:00"},
		{"a nanosecond more than until it closes", "2026-11-12T11:45:00-03:00", 15*time.Minute + 1, "2026-11-12T13:30:00.000000001-03:00"},
		{"from outside the hours", "2026-11-12T20:00:00-03:00", time.Minute, "2026-11-13T08:01:00-03:00"},
		{"nothing, from outside the hours", "2026-11-12T20:00:00-03:00", 0, "2026-11-12T20:00:00-03:00"},
		{"parts of a second", "2026-11-12T11:59:59.75-03:00", time.Second, "2026-11-12T13:30:00.75-03:00"},
		{"a week with a holiday", "2026-11-18T08:00:00-03:00", 40 * time.Hour, "2026-11-25T10:00:00-03:00"},
		{"before 1970", "1969-11-12T11:50:00-03:00", 15 * time.Minute, "1969-11-12T13:35:00-03:00"},
	}
	c := office(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			from := when(t, tt.from)
			got, err := c.Add(from, tt.d)
			if err != nil {
				t.Fatal(err)
			}
			if s := got.Format(time.RFC3339Nano); s != tt.want {
				t.Errorf("Add(%s, %s) = %s, want %s", tt.from, tt.d, s, tt.want)
			}
			if back := c.Between(from, got); back != tt.d {
				t.Errorf("Between(from, Add(from, %s)) = %s", tt.d, back)
			}
		})
	}
}

// Zone files list changes of the clock to 2037 at most, and give a rule for what follows. Under a
// rule, time.Time.ZoneBounds gives an end that is past on the last day of a leap year; what comes
// after must still keep summer time.
func TestAddFromTheEndOfALeapYear(t *testing.T) {
	c := newCalendar(t, "America/New_York", nil, "08:00-09:00")
	got, err := c.Add(when(t, "2040-12-31T12:00:00-05:00"), 182*time.Hour+30*time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if want := "2041-07-02T08:30:00-04:00"; got.Format(time.RFC3339) != want {
		t.Errorf("Add = %s, want %s", got.Format(time.RFC3339), want)
	}
}

func TestAddRefuses(t *testing.T) {
	from := when(t, "2026-11-12T09:00:00-03:00")
	tests := []struct {
		name string
		d    time.Duration
		want string
	}{
		{"a negative duration", -time.Minute, "negative"},
		{"more than ten years hold", 10 * year, "open too little"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := office(t).Add(from, tt.d)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Add = %s, %v, want an error with %q", got, err, tt.want)
			}
		})
	}
}

func TestBetween(t *testing.T) {
	tests := []struct {
		name     string
		from, to string
		want     time.Duration
	}{
		{"within a shift", "2026-11-12T09:00:00-03:00", "2026-11-12T09:15:00.5-03:00", 15*time.Minute + 500*time.Millisecond},
		{"over lunch", "2026-11-12T11:50:00-03:00", "2026-11-12T13:35:00-03:00", 15 * time.Minute},
		{"while closed", "2026-11-12T18:00:00-03:00", "2026-11-13T08:00:00-03:00", 0},
		{"within one closed second", "2026-11-12T18:00:00.1-03:00", "2026-11-12T18:00:00.9-03:00", 0},
		{"within one open second", "2026-11-12T17:59:59.1-03:00", "2026-11-12T17:59:59.9-03:00", 800 * time.Millisecond},
		{"a week with a holiday", "2026-11-16T00:00:00-03:00", "2026-11-23T00:00:00-03:00", 4*(8*time.Hour+30*time.Minute) + 4*time.Hour},
		{"backwards", "2026-11-12T13:35:00-03:00", "2026-11-12T11:50:00-03:00", -15 * time.Minute},
	}
	c := office(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := c.Between(when(t, tt.from), when(t, tt.to)); got != tt.want {
				t.Errorf("Between = %s, want %s", got, tt.want)
			}
		})
	}
}

func TestBetweenOfVeryLongStretches(t *testing.T) {
	c := newCalendar(t, "America/New_York", nil, "00:00-24:00")
	now := when(t, "2026-11-12T09:00:00Z")
	if got := c.Between(time.Time{}, now); got != longest {
		t.Errorf("Between since the year 1 = %s, want 290 years", got)
	}
	if got := c.Between(now, time.Time{}); got != -longest {
		t.Errorf("Between back to the year 1 = %s, want -290 years", got)
	}
	if got, want := c.Between(now, now.AddDate(200, 0, 0)), now.AddDate(200, 0, 0).Sub(now); got != want {
		t.Errorf("Between over 200 years = %s, want %s", got, want)
	}
}

func TestTimesOutOfReachAreClosed(t *testing.T) {
	c := newCalendar(t, "America/New_York", nil, "00:00-24:00")
	for _, unix := range []int64{math.MinInt64, earliest - 1, latest, math.MaxInt64} {
		far := time.Unix(unix, 0)
		if c.Open(far) {
			t.Errorf("open at %d", unix)
		}
		if unix >= latest {
			if got, err := c.Add(far, time.Minute); err == nil {
				t.Errorf("Add at %d = %s, want an error", unix, got)
			}
		}
	}
}

func TestQuestionsDoNotAllocate(t *testing.T) {
	c := office(t)
	from := when(t, "2026-11-12T09:00:00-03:00")
	to := from.AddDate(0, 1, 0)
	allocations := testing.AllocsPerRun(100, func() {
		c.Open(from)
		c.NextOpen(from)
		c.NextClose(from)
		c.Between(from, to)
		if _, err := c.Add(from, 40*time.Hour); err != nil {
			t.Error(err)
		}
	})
	if allocations > 0 {
		t.Errorf("%v allocations, want none", allocations)
	}
}

func BenchmarkOpen(b *testing.B) {
	c := office(b)
	from := when(b, "2026-11-12T09:00:00-03:00")
	b.ReportAllocs()
	for b.Loop() {
		c.Open(from)
	}
}

func BenchmarkAdd(b *testing.B) {
	for _, d := range []time.Duration{15 * time.Minute, 40 * time.Hour} {
		b.Run(d.String(), func(b *testing.B) {
			c := office(b)
			from := when(b, "2026-11-12T17:50:00-03:00")
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Add(from, d); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		office(b)
	}
}
