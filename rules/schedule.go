package rules

import (
	"math/bits"
	"slices"
	"time"

	"github.com/robfig/cron/v3"
)

// maxDays bounds the search for the next tick: 29 February comes every eight years at the longest.
const maxDays = 9 * 366

// Next returns the first tick after a time, or the zero time when there is none. The zone is the
// workspace's, for a schedule that names none. A local time that a change to summer time skips
// comes when the clock has jumped over it, and one that the change back repeats comes once, at its
// first occurrence.
func (s *Schedule) Next(after time.Time, zone *time.Location) time.Time {
	if s.Every > 0 {
		return after.UTC().Truncate(s.Every).Add(s.Every)
	}
	if s.Timezone != "" {
		// The checker has loaded it before.
		if loc, err := time.LoadLocation(s.Timezone); err == nil {
			zone = loc
		}
	}
	// A tick of the day before may have been pushed over midnight.
	y, m, d := after.In(zone).Date()
	for i := -1; i < maxDays; i++ {
		day := time.Date(y, m, d+i, 0, 0, 0, 0, time.UTC)
		for _, offset := range s.timesOn(day) {
			if t := instant(day.Add(offset), zone); t.After(after) {
				return t
			}
		}
	}
	return time.Time{}
}

// timesOn returns the times of a day at which the schedule ticks, in order.
func (s *Schedule) timesOn(day time.Time) []time.Duration {
	if s.spec == nil {
		if len(s.On) > 0 && !slices.Contains(s.On, day.Weekday()) {
			return nil
		}
		return slices.Sorted(slices.Values(s.At))
	}
	if s.spec.Month&(1<<uint(day.Month())) == 0 || !cronDay(s.spec, day) {
		return nil
	}
	var times []time.Duration
	for hour := range bitsOf(s.spec.Hour) {
		for minute := range bitsOf(s.spec.Minute) {
			times = append(times, time.Duration(hour)*time.Hour+time.Duration(minute)*time.Minute)
		}
	}
	return times
}

// starBit marks a field of a cron that was written as a star.
const starBit = 1 << 63

// cronDay reports whether a day matches: if both the day of the month and the day of the week are
// given, either is enough.
func cronDay(spec *cron.SpecSchedule, day time.Time) bool {
	dayOfMonth := spec.Dom&(1<<uint(day.Day())) != 0
	dayOfWeek := spec.Dow&(1<<uint(day.Weekday())) != 0
	if spec.Dom&starBit != 0 || spec.Dow&starBit != 0 {
		return dayOfMonth && dayOfWeek
	}
	return dayOfMonth || dayOfWeek
}

// bitsOf yields the numbers whose bits are set, in order.
func bitsOf(set uint64) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for set &^= starBit; set != 0; set &= set - 1 {
			if !yield(bits.TrailingZeros64(set)) {
				return
			}
		}
	}
}

// instant returns when the clock of a zone shows a local time: the first time that it does, or,
// where it never does, the moment at which it jumps over it.
func instant(local time.Time, zone *time.Location) time.Time {
	// Around a change two offsets are in question: the one before and the one after.
	guess := time.Date(local.Year(), local.Month(), local.Day(), local.Hour(), local.Minute(), 0, 0, zone)
	_, before := guess.Add(-24 * time.Hour).Zone()
	_, after := guess.Add(24 * time.Hour).Zone()
	earliest := time.Time{}
	for _, offset := range []int{before, after} {
		t := local.Add(-time.Duration(offset) * time.Second).In(zone)
		if shown(t).Equal(local) && (earliest.IsZero() || t.Before(earliest)) {
			earliest = t
		}
	}
	if !earliest.IsZero() {
		return earliest
	}
	// The clock jumps from before the local time to behind it: find the jump.
	low, high := local.Add(-time.Duration(max(before, after))*time.Second).Add(-time.Hour), local.Add(-time.Duration(min(before, after))*time.Second).Add(time.Hour)
	for high.Sub(low) > time.Second {
		middle := low.Add(high.Sub(low) / 2).Truncate(time.Second)
		if shown(middle.In(zone)).Before(local) {
			low = middle
		} else {
			high = middle
		}
	}
	return high.In(zone)
}

// shown returns what the clock of a time's zone shows, on a clock without a zone.
func shown(t time.Time) time.Time {
	y, m, d := t.Date()
	return time.Date(y, m, d, t.Hour(), t.Minute(), t.Second(), 0, time.UTC)
}
