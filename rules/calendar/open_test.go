package calendar

import (
	"testing"
	"time"
)

func TestNextOpenAndClose(t *testing.T) {
	tests := []struct {
		name      string
		at        string
		open      bool
		nextOpen  string
		nextClose string
	}{
		{"before work", "2026-11-12T07:00:00-03:00", false, "2026-11-12T08:00:00-03:00", "2026-11-12T12:00:00-03:00"},
		{"at the opening", "2026-11-12T08:00:00-03:00", true, "2026-11-12T13:30:00-03:00", "2026-11-12T12:00:00-03:00"},
		{"a moment before the close", "2026-11-12T11:59:59.999-03:00", true, "2026-11-12T13:30:00-03:00", "2026-11-12T12:00:00-03:00"},
		{"at the close", "2026-11-12T12:00:00-03:00", false, "2026-11-12T13:30:00-03:00", "2026-11-12T18:00:00-03:00"},
		{"a moment before the opening", "2026-11-12T07:59:59.5-03:00", false, "2026-11-12T08:00:00-03:00", "2026-11-12T12:00:00-03:00"},
		{"Friday evening", "2026-11-13T18:30:00-03:00", false, "2026-11-14T09:00:00-03:00", "2026-11-14T13:00:00-03:00"},
		{"Saturday, before a holiday on Sunday", "2026-11-14T12:00:00-03:00", true, "2026-11-16T08:00:00-03:00", "2026-11-14T13:00:00-03:00"},
		{"a holiday", "2026-11-20T10:00:00-03:00", false, "2026-11-21T09:00:00-03:00", "2026-11-21T13:00:00-03:00"},
		{"asked from another zone", "2026-11-12T11:00:00Z", true, "2026-11-12T13:30:00-03:00", "2026-11-12T12:00:00-03:00"},
	}
	c := office(t)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := when(t, tt.at)
			if got := c.Open(now); got != tt.open {
				t.Errorf("Open = %v, want %v", got, tt.open)
			}
			if got, ok := c.NextOpen(now); !ok || got.Format(time.RFC3339) != tt.nextOpen {
				t.Errorf("NextOpen = %s, %v, want %s", got, ok, tt.nextOpen)
			}
			if got, ok := c.NextClose(now); !ok || got.Format(time.RFC3339) != tt.nextClose {
				t.Errorf("NextClose = %s, %v, want %s", got, ok, tt.nextClose)
			}
		})
	}
}

func TestNextOpenAndCloseGiveUpAfterTwoYears(t *testing.T) {
	now := when(t, "2026-03-02T12:00:00Z")
	always := newCalendar(t, "Europe/London", nil, "00:00-24:00")
	if got, ok := always.NextOpen(now); ok {
		t.Errorf("always open: NextOpen = %s", got)
	}
	if got, ok := always.NextClose(now); ok {
		t.Errorf("always open: NextClose = %s", got)
	}

	var holidays []Date
	for d := now; d.Before(now.AddDate(3, 0, 0)); d = d.AddDate(0, 0, 1) {
		holidays = append(holidays, dateOf(d))
	}
	never := newCalendar(t, "Europe/London", holidays, "08:00-18:00")
	if got, ok := never.NextOpen(now); ok {
		t.Errorf("on holiday for three years: NextOpen = %s", got)
	}
	if got, ok := never.NextClose(now); ok {
		t.Errorf("on holiday for three years: NextClose = %s", got)
	}
	soon := now.AddDate(2, 0, 0)
	if got, ok := never.NextOpen(soon); !ok || got.Format(time.RFC3339) != "2029-03-02T08:00:00Z" {
		t.Errorf("on holiday for one more year: NextOpen = %s, %v", got, ok)
	}
}

func TestOpeningsStopAfterTenYears(t *testing.T) {
	from := when(t, "2026-03-02T12:00:00Z")
	got := newCalendar(t, "UTC", nil, "00:00-24:00").Openings(from, from.AddDate(100, 0, 0))
	if len(got) != 1 || got[0].To.Year() != 2036 {
		t.Errorf("Openings = %v, want one that ends in 2036", got)
	}
}
