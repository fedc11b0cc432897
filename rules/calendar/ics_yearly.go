package calendar

import (
	"strconv"
	"strings"
	"time"
)

// yearly is a recurrence on the same date every year, or every few years.
type yearly struct {
	property
	interval   int    // years
	count      int    // occurrences; 0 is no bound
	until      moment // the last start; zero is no bound
	month, day int    // what BYMONTH and BYMONTHDAY say; 0 is nothing
}

// parseYearly reads an RRULE. Unknown parts are an error, for a holiday on the wrong date is worse
// than none.
func parseYearly(p property, zones *zoneNames) (*yearly, error) {
	y := &yearly{property: p, interval: 1}
	isYearly := false
	for part := range strings.SplitSeq(strings.ToUpper(p.value), ";") {
		key, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		ok := true
		switch key {
		case "FREQ":
			isYearly = value == "YEARLY"
			ok = isYearly
		case "INTERVAL":
			y.interval, ok = positive(value)
		case "COUNT":
			y.count, ok = positive(value)
		case "BYMONTH":
			y.month, ok = positive(value)
		case "BYMONTHDAY":
			y.day, ok = positive(value)
		case "UNTIL":
			until, err := zones.moment(p, value)
			if err != nil {
				return nil, err
			}
			y.until = until
		case "WKST", "":
			// The first day of the week does not move a yearly date.
		default:
			ok = false
		}
		if !ok {
			return nil, y.unsupported(part)
		}
	}
	if !isYearly {
		return nil, y.unsupported(p.value)
	}
	return y, nil
}

func (y *yearly) unsupported(part string) error {
	return y.errorf("RRULE with %s is not supported, only FREQ=YEARLY on the date of DTSTART: write the dates as single events", quote(part))
}

// fits refuses a rule whose dates are not those of the event's start.
func (y *yearly) fits(start time.Time) error {
	if y.month != 0 && y.month != int(start.Month()) {
		return y.unsupported("BYMONTH=" + strconv.Itoa(y.month))
	}
	// Without a month, BYMONTHDAY means that day of every month.
	if y.day != 0 && (y.day != start.Day() || y.month == 0) {
		return y.unsupported("BYMONTHDAY=" + strconv.Itoa(y.day))
	}
	return nil
}

// starts returns the dates on which the event recurs, to the last year that is expanded. 29
// February recurs in leap years.
func (y *yearly) starts(start moment) []Date {
	var dates []Date
	last := dateOf(y.until.clock)
	if until := y.until.in(start.zone).clock; start.timed && y.until.timed {
		if last = dateOf(until); clockOf(until) < clockOf(start.clock) {
			last = dateOf(last.midnight().AddDate(0, 0, -1))
		}
	}
	for d := dateOf(start.clock); d.Year <= lastYear; d.Year += y.interval {
		if !y.until.clock.IsZero() && d.Compare(last) > 0 || y.count > 0 && len(dates) == y.count {
			break
		}
		if d.exists() {
			dates = append(dates, d)
		}
	}
	return dates
}

// positive reads a number from 1 to 9999.
func positive(s string) (int, bool) {
	n, ok := digits(s, 1, 4)
	return n, ok && n > 0
}
