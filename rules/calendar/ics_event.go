package calendar

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// event is what a VEVENT says about dates. Times are kept as written, on a clock without a zone.
type event struct {
	line      line // of its BEGIN
	uid       string
	start     time.Time
	end       time.Time     // exclusive; zero when there is none
	length    time.Duration // instead of end
	repeats   *yearly       // nil when it happens once
	also      []Date        // further starts
	except    []Date        // starts that do not happen
	replaces  Date          // the start of the occurrence that this one stands in for
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
		e.start, err = p.time(p.value)
	case "DTEND":
		e.end, err = p.time(p.value)
	case "DURATION":
		e.length, err = p.duration()
	case "RRULE":
		if e.repeats != nil {
			return p.errorf("the event has a second RRULE: make two events of it")
		}
		e.repeats, err = parseYearly(p)
	case "RDATE":
		e.also, err = p.appendDates(e.also)
	case "EXDATE":
		e.except, err = p.appendDates(e.except)
	case "RECURRENCE-ID":
		if strings.Contains(p.parameters, "RANGE=") {
			return p.errorf("RECURRENCE-ID with RANGE is not supported: end the yearly event with UNTIL and begin another")
		}
		var t time.Time
		t, err = p.time(p.value)
		e.replaces = dateOf(t)
	case "EXRULE":
		return p.errorf("EXRULE is not supported: list the dates with EXDATE")
	}
	return err
}

// finish checks what only the whole event shows.
func (e *event) finish() error {
	switch {
	case e.start.IsZero():
		return e.line.errorf("the event has no DTSTART: say on which date it starts, for example DTSTART;VALUE=DATE:20261224")
	case e.end.IsZero():
		e.end = e.start.Add(e.length)
	case e.end.Before(e.start):
		return e.line.errorf("the event ends before it starts: correct its DTEND")
	}
	if e.repeats != nil {
		return e.repeats.fits(e.start)
	}
	return nil
}

// dates returns the dates that the event covers with all its occurrences but the replaced ones, or
// an error when there are more than most.
func (e *event) dates(replaced map[Date]bool, most int) ([]Date, error) {
	first := dateOf(e.start).midnight()
	// The end is exclusive, so an end at midnight does not touch the date it is on.
	last := dateOf(e.end.Add(-1)).midnight()
	covers := max(1, int(last.Sub(first)/day)+1)
	starts := []Date{dateOf(e.start)}
	if e.repeats != nil {
		starts = e.repeats.starts(e.start)
	}
	starts = append(starts, e.also...)
	except := map[Date]bool{}
	for _, d := range e.except {
		except[d] = true
	}
	starts = slices.DeleteFunc(starts, func(d Date) bool { return except[d] || replaced[d] })
	if len(starts)*covers > most {
		return nil, e.line.errorf("with this event the file covers more than %d dates: correct its DTEND, or export only the holidays", maxICSDates)
	}
	var dates []Date
	for _, start := range starts {
		for i := range covers {
			dates = append(dates, dateOf(start.midnight().AddDate(0, 0, i)))
		}
	}
	return dates, nil
}

// time reads a date (20261224) or a date with a time (20261224T090000, with a Z for UTC).
func (p property) time(value string) (time.Time, error) {
	if t, err := time.Parse("20060102", value); err == nil {
		return t, nil
	}
	if t, err := time.Parse("20060102T150405", strings.TrimSuffix(value, "Z")); err == nil {
		return t, nil
	}
	return time.Time{}, p.errorf("%s %s is not a date that exists: write it as 20261224 or 20261224T090000", p.name, quote(value))
}

// appendDates appends the dates of a list.
func (p property) appendDates(dates []Date) ([]Date, error) {
	for value := range strings.SplitSeq(p.value, ",") {
		t, err := p.time(strings.TrimSpace(value))
		if err != nil {
			return nil, err
		}
		dates = append(dates, dateOf(t))
	}
	return dates, nil
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
