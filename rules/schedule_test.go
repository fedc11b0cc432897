package rules_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

func schedule(t testing.TB, when string) *rules.Schedule {
	t.Helper()
	set, problems := compile("r.yaml", "rules:\n  - { id: r, when: "+when+", do: [{ log: x }] }\n")
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set.Rules[0].When.Schedule
}

func TestScheduleNext(t *testing.T) {
	tests := []struct{ name, when, after, want string }{
		{"every 5 minutes", "{ every: 5m }", "2026-11-13T12:03:20Z", "2026-11-13T12:05:00Z"},
		{"strictly after", "{ every: 5m }", "2026-11-13T12:05:00Z", "2026-11-13T12:10:00Z"},
		{"every week, on Mondays", "{ every: 1w }", "2026-11-13T12:00:00Z", "2026-11-16T00:00:00Z"},
		{"at nine on weekdays", `{ at: "09:00", on: mon-fri, timezone: America/Sao_Paulo }`, "2026-11-13T12:00:00Z", "2026-11-16T12:00:00Z"},
		{"two times a day", `{ at: ["14:00", "09:00"], timezone: America/Sao_Paulo }`, "2026-11-13T12:30:00Z", "2026-11-13T17:00:00Z"},
		{"the workspace's zone", `{ at: "09:00" }`, "2026-11-13T00:00:00Z", "2026-11-13T12:00:00Z"},
		{"a cron", `{ cron: "30 8 1 * *", timezone: Europe/Lisbon }`, "2026-11-13T00:00:00Z", "2026-12-01T08:30:00Z"},
		{"29 February", `{ cron: "0 0 29 2 *", timezone: UTC }`, "2096-03-01T00:00:00Z", "2104-02-29T00:00:00Z"},
		{"the 15th or a Monday", `{ cron: "0 9 15 * 1", timezone: UTC }`, "2026-11-14T00:00:00Z", "2026-11-15T09:00:00Z"},
		// In Lisbon 01:30 does not exist on 29 March 2026: the clock jumps from 01:00 to 02:00.
		{"skipped by summer time", `{ at: "01:30", timezone: Europe/Lisbon }`, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"skipped, by cron", `{ cron: "30 1 * * *", timezone: Europe/Lisbon }`, "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z"},
		{"and the day after", `{ at: "01:30", timezone: Europe/Lisbon }`, "2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"},
		// And 01:30 comes twice on 25 October 2026.
		{"repeated by the change back", `{ at: "01:30", timezone: Europe/Lisbon }`, "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z"},
		{"only once", `{ at: "01:30", timezone: Europe/Lisbon }`, "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"},
		// In São Paulo midnight itself was skipped on 4 November 2018.
		{"a midnight that is skipped", `{ at: "00:00", timezone: America/Sao_Paulo }`, "2018-11-03T12:00:00Z", "2018-11-04T03:00:00Z"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			after, err := time.Parse(time.RFC3339, tt.after)
			if err != nil {
				t.Fatal(err)
			}
			if got := schedule(t, tt.when).Next(after, location("America/Sao_Paulo")).UTC().Format(time.RFC3339); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// TestScheduleAgainstClock steps through summer-time changes minute by minute with a clock on the
// wall: each local time that was asked for comes exactly once a day, when it is first shown or has
// just been jumped over.
func TestScheduleAgainstClock(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	rnd := rand.New(rand.NewPCG(7, 7))
	changes := map[string][]string{
		"Europe/Lisbon":       {"2026-03-28", "2026-10-24"},
		"America/New_York":    {"2026-03-07", "2026-10-31"},
		"America/Sao_Paulo":   {"2018-11-03", "2018-02-17"},
		"Australia/Lord_Howe": {"2026-04-04", "2026-10-03"},
		"Africa/Casablanca":   {"2026-02-14", "2026-03-21"},
		"Pacific/Apia":        {"2011-12-29"},
	}
	for zone, days := range changes {
		for _, first := range days {
			for range 40 {
				hour, minute := rnd.IntN(4), rnd.IntN(60)
				if rnd.IntN(3) == 0 {
					hour = 22 + rnd.IntN(2)
				}
				s := schedule(t, fmt.Sprintf(`{ cron: "%d %d * * *", timezone: %s }`, minute, hour, zone))
				start, err := time.ParseInLocation(time.DateOnly, first, location(zone))
				if err != nil {
					t.Fatal(err)
				}
				want := clockTicks(start, start.Add(72*time.Hour), hour*60+minute)
				var got []string
				for at := s.Next(start.Add(-time.Minute), time.UTC); at.Before(start.Add(72 * time.Hour)); at = s.Next(at, time.UTC) {
					if !at.Before(start) {
						got = append(got, at.UTC().Format(time.RFC3339))
					}
				}
				if strings.Join(want, " ") != strings.Join(got, " ") {
					t.Fatalf("%s, %02d:%02d from %s:\nclock    %v\nschedule %v", zone, hour, minute, first, want, got)
				}
			}
		}
	}
}

// clockTicks watches the clock of a zone and notes when it first shows a time of day, or jumps over
// it, each day.
func clockTicks(from, to time.Time, minuteOfDay int) []string {
	var ticks []string
	type date struct{ y, d int }
	done := make(map[date]bool)
	civil := func(t time.Time) time.Time {
		return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC)
	}
	last := civil(from.Add(-time.Minute))
	for at := from; at.Before(to); at = at.Add(time.Minute) {
		now := civil(at)
		// Every local minute from the last one shown to this one has come, whether shown or jumped over.
		for m := last.Add(time.Minute); !m.After(now); m = m.Add(time.Minute) {
			if key := (date{m.Year(), m.YearDay()}); m.Hour()*60+m.Minute() == minuteOfDay && !done[key] {
				done[key] = true
				ticks = append(ticks, at.UTC().Format(time.RFC3339))
			}
		}
		if now.After(last) {
			last = now
		}
	}
	return slices.Compact(ticks) // two days at one moment are one tick
}
