package calendar

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is what a VEVENT says about dates and hours.
type event struct {
	line      line // of its BEGIN
	zones     *zoneNames
	uid       string
	start     moment
	end       moment // exclusive; in the zone of the start when the event is finished
	length    time.Duration
	repeats   *yearly  // nil when it happens once
	also      []moment // further starts
	except    []moment // starts that do not happen
	instead   moment   // the start of the occurrence that this one stands in for
	replaces  Date     // of instead, in the zone of the start
	cancelled bool
}

// set takes over a property of the event.
func (e *event) set(p property) error {
	var err error
	switch p.name {
	case "UID":
		e.uid = p.value
	case "STATUS":
		e.cancelled = strings.EqualFold(p.value, "CANCELLED")
	case "DTSTART":
		e.start, err = e.zones.moment(p, p.value)
	case "DTEND":
		e.end, err = e.zones.moment(p, p.value)
	case "DURATION":
		e.length, err = p.duration()
	case "RRULE":
		if e.repeats != nil {
			return p.errorf("the event has a second RRULE: make two events of it")
		}
		e.repeats, err = parseYearly(p, e.zones)
	case "RDATE":
		e.also, err = e.zones.appendMoments(e.also, p)
	case "EXDATE":
		e.except, err = e.zones.appendMoments(e.except, p)
	case "RECURRENCE-ID":
		if _, ranged := p.parameter("RANGE"); ranged {
			return p.errorf("RECURRENCE-ID with RANGE is not supported: end the yearly event with UNTIL and begin another")
		}
		e.instead, err = e.zones.moment(p, p.value)
	case "EXRULE":
		return p.errorf("EXRULE is not supported: list the dates with EXDATE")
	}
	return err
}

// finish checks what only the whole event shows.
func (e *event) finish() error {
	if e.start.clock.IsZero() {
		return e.line.errorf("the event has no DTSTART: say on which date it starts, for example DTSTART;VALUE=DATE:20261224")
	}
	zone := e.start.zone
	if e.end = e.end.in(zone); e.end.clock.IsZero() {
		e.end.clock = e.start.clock.Add(e.length)
	}
	switch length := e.end.clock.Sub(e.start.clock); {
	case length < 0:
		return e.line.errorf("the event ends before it starts: correct its DTEND")
	case length == 0 && e.start.timed:
		return e.line.errorf("the event has a time and ends when it starts: give it a DTEND, or a DTSTART without a time, for example DTSTART;VALUE=DATE:20261224, to close the day")
	}
	if !e.instead.clock.IsZero() {
		e.replaces = dateOf(e.instead.in(zone).clock)
	}
	for _, m := range e.also {
		if m = m.in(zone); m.timed && (!e.start.timed || clockOf(m.clock) != clockOf(e.start.clock)) {
			return e.line.errorf("an RDATE of the event has another time than its DTSTART: make it an event of its own")
		}
	}
	if e.repeats != nil {
		return e.repeats.fits(e.start.clock)
	}
	return nil
}

// starts returns the dates on which the event starts, in its own zone, but for the replaced ones.
func (e *event) starts(replaced map[Date]bool) []Date {
	starts := []Date{dateOf(e.start.clock)}
	if e.repeats != nil {
		starts = e.repeats.starts(e.start)
	}
	for _, m := range e.also {
		starts = append(starts, dateOf(m.in(e.start.zone).clock))
	}
	except := map[Date]bool{}
	for _, m := range e.except {
		except[dateOf(m.in(e.start.zone).clock)] = true
	}
	return slices.DeleteFunc(starts, func(d Date) bool { return except[d] || replaced[d] })
}

// covers returns how many dates one occurrence of the event covers, in its own zone.
func (e *event) covers() int {
	first := dateOf(e.start.clock).midnight()
	// The end is exclusive, so an end at midnight does not touch the date it is on.
	last := dateOf(e.end.clock.Add(-1)).midnight()
	return max(1, int(last.Sub(first)/day)+1)
}

// days returns the dates that an event of whole days covers when it starts on a date.
func (e *event) days(start Date) []Date {
	var dates []Date
	for i := range e.covers() {
		dates = append(dates, dateOf(start.midnight().AddDate(0, 0, i)))
	}
	return dates
}

// hours returns the hours that an event with hours covers when it starts on a date, on the wall
// clock of a zone. Parts of minutes count as whole.
func (e *event) hours(start Date, zone *time.Location) []ClosedHours {
	sinceMidnight := clockOf(e.start.clock)
	first := moment{start.midnight().Add(sinceMidnight), e.start.zone, true}
	last := moment{first.clock.Add(e.end.clock.Sub(e.start.clock)), e.start.zone, true}
	from := first.in(zone).clock.Truncate(time.Minute)
	to := last.in(zone).clock.Add(time.Minute - 1).Truncate(time.Minute)
	if !to.After(from) {
		// The clock is set back between them.
		to = from.Add(last.clock.Sub(first.clock) + time.Minute - 1).Truncate(time.Minute)
	}
	var hours []ClosedHours
	for at := from; at.Before(to); {
		midnight := dateOf(at).midnight()
		end := midnight.Add(day)
		if to.Before(end) {
			end = to
		}
		// Outside these years nothing is open.
		if date := dateOf(at); date.Year >= 1 && date.Year <= 9999 {
			hours = append(hours, ClosedHours{date, Shift{at.Sub(midnight), end.Sub(midnight)}})
		}
		at = end
	}
	return hours
}

var durationForm = regexp.MustCompile(`^\+?P(?:(\d{1,4})W|(?:(\d{1,5})D)?(?:T(?:(\d{1,6})H)?(?:(\d{1,6})M)?(?:(\d{1,6})S)?)?)$`)

// duration reads the length of an event, such as P1D.
func (p property) duration() (time.Duration, error) {
	match := durationForm.FindStringSubmatch(strings.ToUpper(p.value))
	if match == nil {
		return 0, p.errorf("DURATION %s is not a length of time: write it as P1D for a day, or give the event a DTEND", quote(p.value))
	}
	var length time.Duration
	for i, unit := range []time.Duration{7 * day, day, time.Hour, time.Minute, time.Second} {
		n, _ := strconv.Atoi(match[i+1]) // absent is zero
		length += time.Duration(n) * unit
	}
	return length, nil
}
