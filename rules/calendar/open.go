package calendar

import "time"

// horizon is how far ahead the next opening or closing is searched.
const horizon = 2 * year

// Open reports whether the calendar is open at t.
func (c *Calendar) Open(t time.Time) bool {
	if unix := t.Unix(); unix < earliest || unix >= latest {
		return false
	}
	day, second := c.local(t)
	return within(c.shiftsOn(day), second) || within(c.shiftsOn(day-1), second+secondsPerDay)
}

// NextOpen returns the next instant after t at which the calendar turns from closed to open: when t
// is closed, the first open instant after it; when t is open, the start of the next opening after
// the current one has closed. It is false if there is none within two years.
func (c *Calendar) NextOpen(t time.Time) (time.Time, bool) {
	from := t.Unix()
	for start := range c.spans(from, from+seconds(horizon)) {
		if start > from {
			return c.instant(start), true
		}
	}
	return time.Time{}, false
}

// NextClose returns the next instant after t at which the calendar turns from open to closed: when
// t is open, the end of the current opening; when t is closed, the end of the next one. It is false
// if there is none within two years.
func (c *Calendar) NextClose(t time.Time) (time.Time, bool) {
	from := t.Unix()
	to := from + seconds(horizon)
	for _, end := range c.spans(from, to) {
		// An opening that reaches the end of the search has not closed there.
		return c.instant(end), end < to
	}
	return time.Time{}, false
}

// Interval is the time from From up to, but not including, To.
type Interval struct{ From, To time.Time }

// Openings returns when the calendar is open between two instants, in order. Openings under way at
// from or to are cut there; what lies more than ten years after from is left out.
func (c *Calendar) Openings(from, to time.Time) []Interval {
	if limit := from.Add(reach); to.After(limit) {
		to = limit
	}
	var openings []Interval
	for start, end := range c.spans(from.Unix(), ceilSecond(to)) {
		next := Interval{c.instant(start), c.instant(end)}
		// Openings begin and end on whole seconds; from and to need not.
		if next.From.Before(from) {
			next.From = from.In(c.location)
		}
		if next.To.After(to) {
			next.To = to.In(c.location)
		}
		if next.From.Before(next.To) {
			openings = append(openings, next)
		}
	}
	return openings
}

// local returns the day, counted from 1970-01-01, and the second of that day that the wall clock
// shows at t.
func (c *Calendar) local(t time.Time) (day, second int64) {
	_, offset := t.In(c.location).Zone()
	clock := t.Unix() + int64(offset)
	day = floorDiv(clock, secondsPerDay)
	return day, clock - day*secondsPerDay
}

func within(shifts []shift, second int64) bool {
	for _, s := range shifts {
		if s.start <= second && second < s.end {
			return true
		}
	}
	return false
}

func (c *Calendar) instant(unix int64) time.Time { return time.Unix(unix, 0).In(c.location) }

func seconds(d time.Duration) int64 { return int64(d / time.Second) }

// ceilSecond returns the first whole second that is not before t.
func ceilSecond(t time.Time) int64 {
	if t.Nanosecond() > 0 {
		return t.Unix() + 1
	}
	return t.Unix()
}
