package calendar

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// newCalendar opens the same shifts on every day.
func newCalendar(t testing.TB, zone string, holidays []Date, shifts ...string) *Calendar {
	t.Helper()
	cfg := Config{Location: mustZone(t, zone), Open: map[time.Weekday][]Shift{}, Holidays: holidays}
	for _, text := range shifts {
		s, err := ParseShift(text)
		if err != nil {
			t.Fatal(err)
		}
		for d := time.Sunday; d <= time.Saturday; d++ {
			cfg.Open[d] = append(cfg.Open[d], s)
		}
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// office is the desk of the examples: split shifts from Monday to Friday and a short Saturday, with
// Brazil's holidays.
func office(t testing.TB) *Calendar {
	t.Helper()
	cfg := Config{Location: mustZone(t, "America/Sao_Paulo"), Countries: []string{"br"}, Open: map[time.Weekday][]Shift{}}
	for d := time.Monday; d <= time.Friday; d++ {
		cfg.Open[d] = []Shift{{8 * time.Hour, 12 * time.Hour}, {13*time.Hour + 30*time.Minute, 18 * time.Hour}}
	}
	cfg.Open[time.Saturday] = []Shift{{9 * time.Hour, 13 * time.Hour}}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func when(t testing.TB, s string) time.Time {
	t.Helper()
	v, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestOpenings(t *testing.T) {
	tests := []struct {
		name     string
		zone     string
		shifts   []string
		holidays []Date
		from, to string
		want     []string // from and to
	}{
		{
			name: "shifts that overlap or touch are one opening",
			zone: "UTC", shifts: []string{"10:00-12:00", "08:00-11:00", "12:00-13:00"},
			from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z",
			want: []string{"2026-03-02T08:00:00Z 2026-03-02T13:00:00Z"},
		},
		{
			name: "a range cuts the openings under way, to the nanosecond",
			zone: "UTC", shifts: []string{"08:00-12:00"},
			from: "2026-03-02T09:00:00.5Z", to: "2026-03-02T10:00:00.25Z",
			want: []string{"2026-03-02T09:00:00.5Z 2026-03-02T10:00:00.25Z"},
		},
		{
			name: "a day and the next are one opening when open around the clock",
			zone: "UTC", shifts: []string{"00:00-24:00"}, holidays: []Date{{2026, 3, 4}},
			from: "2026-03-02T00:00:00Z", to: "2026-03-06T00:00:00Z",
			want: []string{"2026-03-02T00:00:00Z 2026-03-04T00:00:00Z", "2026-03-05T00:00:00Z 2026-03-06T00:00:00Z"},
		},
		{
			name: "a shift over midnight belongs to the day it starts on",
			zone: "UTC", shifts: []string{"22:00-02:00"}, holidays: []Date{{2026, 3, 3}},
			from: "2026-03-02T12:00:00Z", to: "2026-03-05T00:00:00Z",
			want: []string{"2026-03-02T22:00:00Z 2026-03-03T02:00:00Z", "2026-03-04T22:00:00Z 2026-03-05T00:00:00Z"},
		},
		{
			name: "an hour that is skipped does not exist",
			zone: "America/New_York", shifts: []string{"01:30-03:30"},
			from: "2026-03-08T00:00:00-05:00", to: "2026-03-08T12:00:00-04:00",
			want: []string{"2026-03-08T01:30:00-05:00 2026-03-08T03:30:00-04:00"},
		},
		{
			name: "a shift within the skipped hour does not take place",
			zone: "America/New_York", shifts: []string{"02:00-03:00"},
			from: "2026-03-08T00:00:00-05:00", to: "2026-03-09T00:00:00-04:00",
		},
		{
			name: "an hour that is repeated counts twice",
			zone: "America/New_York", shifts: []string{"01:00-01:30"},
			from: "2026-11-01T00:00:00-04:00", to: "2026-11-02T00:00:00-05:00",
			want: []string{"2026-11-01T01:00:00-04:00 2026-11-01T01:30:00-04:00", "2026-11-01T01:00:00-05:00 2026-11-01T01:30:00-05:00"},
		},
		{
			name: "a shift around the repeated hour is one hour longer",
			zone: "America/New_York", shifts: []string{"00:30-04:00"},
			from: "2026-11-01T00:00:00-04:00", to: "2026-11-02T00:00:00-05:00",
			want: []string{"2026-11-01T00:30:00-04:00 2026-11-01T04:00:00-05:00"},
		},
		{
			name: "half an hour of summer time on Lord Howe Island",
			zone: "Australia/Lord_Howe", shifts: []string{"01:45-02:15"},
			from: "2026-04-05T00:00:00+11:00", to: "2026-04-06T00:00:00+10:30",
			want: []string{"2026-04-05T01:45:00+11:00 2026-04-05T02:00:00+11:00", "2026-04-05T01:45:00+10:30 2026-04-05T02:15:00+10:30"},
		},
		{
			name: "Samoa had no 30 December 2011, but the wall clock reads as after it",
			zone: "Pacific/Apia", shifts: []string{"09:00-10:00", "22:00-02:00"},
			from: "2011-12-29T12:00:00-10:00", to: "2011-12-31T12:00:00+14:00",
			want: []string{
				"2011-12-29T22:00:00-10:00 2011-12-31T02:00:00+14:00", // four hours
				"2011-12-31T09:00:00+14:00 2011-12-31T10:00:00+14:00",
			},
		},
		{
			name: "São Paulo skipped midnight until 2018",
			zone: "America/Sao_Paulo", shifts: []string{"00:00-02:00"},
			from: "2018-11-03T12:00:00-03:00", to: "2018-11-04T12:00:00-02:00",
			want: []string{"2018-11-04T01:00:00-02:00 2018-11-04T02:00:00-02:00"},
		},
		{
			name: "Morocco turns the clock back for Ramadan",
			zone: "Africa/Casablanca", shifts: []string{"02:00-03:30"},
			from: "2025-02-23T00:00:00+01:00", to: "2025-02-23T12:00:00Z",
			want: []string{"2025-02-23T02:00:00+01:00 2025-02-23T03:30:00Z"},
		},
		{
			name: "Kathmandu is 5:45 ahead",
			zone: "Asia/Kathmandu", shifts: []string{"09:00-10:00"},
			from: "2026-03-02T00:00:00Z", to: "2026-03-03T00:00:00Z",
			want: []string{"2026-03-02T09:00:00+05:45 2026-03-02T10:00:00+05:45"},
		},
		{
			name: "the last day of a leap year",
			zone: "America/New_York", shifts: []string{"08:00-20:00"},
			from: "2040-12-31T00:00:00-05:00", to: "2041-01-01T10:00:00-05:00",
			want: []string{"2040-12-31T08:00:00-05:00 2040-12-31T20:00:00-05:00", "2041-01-01T08:00:00-05:00 2041-01-01T10:00:00-05:00"},
		},
		{
			name: "nothing when the range is empty",
			zone: "UTC", shifts: []string{"00:00-24:00"},
			from: "2026-03-02T00:00:00Z", to: "2026-03-02T00:00:00Z",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCalendar(t, tt.zone, tt.holidays, tt.shifts...)
			var want []Interval
			for _, w := range tt.want {
				from, to, _ := strings.Cut(w, " ")
				want = append(want, Interval{when(t, from), when(t, to)})
			}
			got := c.Openings(when(t, tt.from), when(t, tt.to))
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("openings (-want +got):\n%s", diff)
			}
			var sum time.Duration
			for _, i := range got {
				sum += i.To.Sub(i.From)
			}
			if between := c.Between(when(t, tt.from), when(t, tt.to)); between != sum {
				t.Errorf("Between = %s, but the openings last %s", between, sum)
			}
		})
	}
}
