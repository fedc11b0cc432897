package view

import (
	"testing"
	"time"
)

func TestTimesInWords(t *testing.T) {
	zone := time.FixedZone("-03", -3*60*60)
	v := &View{Zone: zone, Now: time.Date(2026, 11, 16, 6, 0, 0, 0, zone)} // a Monday
	for after, want := range map[time.Duration]string{
		-time.Hour:              "2026-11-16 05:00:00, which is due",
		30 * time.Second:        "06:00:30, in 30s",
		3 * time.Hour:           "Mon 09:00, in 3h",
		26*time.Hour + 90*1e9:   "Tue 08:01, in 1d2h",
		6*24*time.Hour + 1e9:    "Sun 2026-11-22 06:00, in 6d",
		40 * 24 * time.Hour:     "Sat 2026-12-26 06:00, in 40d",
		59*time.Minute + 59*1e9: "Mon 06:59, in 59m",
	} {
		if got := v.Ahead(v.Now.Add(after)); got != want {
			t.Errorf("%v ahead: %q, want %q", after, got, want)
		}
	}
	if got, want := v.Ago(v.Now.Add(-100*time.Minute)), "2026-11-16 04:20:00, 1h40m ago"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for since, want := range map[string]string{
		"90m":                  "2026-11-16T04:30:00-03:00",
		"14d":                  "2026-11-02T06:00:00-03:00",
		"2026-11-13":           "2026-11-13T00:00:00-03:00",
		"2026-11-13 17:50":     "2026-11-13T17:50:00-03:00",
		"2026-11-13T17:50:01":  "2026-11-13T17:50:01-03:00",
		"2026-11-13T20:50:00Z": "2026-11-13T17:50:00-03:00",
	} {
		if got, err := v.ParseSince(since); err != nil || got.In(zone).Format(time.RFC3339) != want {
			t.Errorf("--since %s: %v %v, want %s", since, got, err, want)
		}
	}
}
