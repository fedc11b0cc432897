package calendar

import (
	"iter"
	"math"
	"time"
)

// Nothing is open outside the years 1 to 9999. Far outside them, a sum of times would wrap around
// and a walk would not end.
const (
	earliest = -62_135_596_800
	latest   = 253_402_300_800
)

// pieces yields the open time between two Unix times in order, as half-open pieces that never
// overlap but may touch.
//
// Within a period in which the zone's offset does not change, local time is Unix time plus that
// offset, so each shift maps to one piece, cut where the period begins and ends. This is what makes
// skipped and repeated local time exact. All boundaries are whole seconds, since offsets and shifts
// are.
func (c *Calendar) pieces(from, to int64) iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) { c.walk(from, to, yield) }
}

func (c *Calendar) walk(from, to int64, yield func(start, end int64) bool) {
	from, to = max(from, earliest), min(to, latest)
	for from < to {
		offset, periodEnd := c.zone(from)
		periodEnd = min(periodEnd, to)
		done := from
		day := floorDiv(from+offset, secondsPerDay)
		before := c.shiftsOn(day - 1)
		for ; day*secondsPerDay-offset < periodEnd; day++ {
			midnight := day*secondsPerDay - offset
			today := c.shiftsOn(day)
			shifts := withNight(before, today)
			before = today
			for _, s := range shifts {
				start := max(midnight+s.start, done)
				end := min(midnight+min(s.end, secondsPerDay), periodEnd)
				if start >= end {
					continue
				}
				if !yield(start, end) {
					return
				}
				done = end
			}
		}
		from = periodEnd
	}
}

// withNight returns the shifts of a day and what reaches into it of those of the day before, by
// their start.
func withNight(before, today []shift) []shift {
	var all []shift
	for _, s := range before {
		if s.end > secondsPerDay {
			all = append(all, shift{max(s.start-secondsPerDay, 0), s.end - secondsPerDay})
		}
	}
	if all == nil {
		return today
	}
	all = append(all, today...)
	sortByStart(all)
	return all
}

// spans yields the open time like pieces, with pieces that touch joined: where a span starts the
// calendar opens, and where it ends the calendar closes, but for the ends of the range itself.
func (c *Calendar) spans(from, to int64) iter.Seq2[int64, int64] {
	return func(yield func(int64, int64) bool) { c.join(from, to, yield) }
}

func (c *Calendar) join(from, to int64, yield func(start, end int64) bool) {
	var start, end int64 // the span so far; empty before the first piece
	for s, e := range c.pieces(from, to) {
		if s == end && start < end {
			end = e
			continue
		}
		if start < end && !yield(start, end) {
			return
		}
		start, end = s, e
	}
	if start < end {
		yield(start, end)
	}
}

// zone returns the offset of local time in force at a Unix time, and until when it certainly stays
// so.
func (c *Calendar) zone(at int64) (offset, until int64) {
	t := time.Unix(at, 0).In(c.location)
	_, seconds := t.Zone()
	_, end := t.ZoneBounds()
	switch {
	case end.IsZero():
		until = math.MaxInt64
	case end.Unix() > at:
		until = end.Unix()
	default:
		// Where a zone follows a yearly rule, ZoneBounds takes every year for 365 days long, and so on
		// the last day of a leap year it gives an end that is already past. That day ends with the year,
		// in UTC.
		until = (floorDiv(at, secondsPerDay) + 1) * secondsPerDay
	}
	return int64(seconds), until
}

// shiftsOn returns the shifts that start on a day, counted from 1970-01-01.
func (c *Calendar) shiftsOn(day int64) []shift {
	if shifts, ok := c.special.on(day); ok {
		return shifts
	}
	const thursday = int64(time.Thursday) // 1970-01-01
	shifts := c.shifts[((day+thursday)%7+7)%7]
	if len(shifts) == 0 {
		return nil
	}
	if _, ok := c.holidayOn(day); ok {
		return nil
	}
	return c.cut(day, shifts)
}
