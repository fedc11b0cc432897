package calendar

import (
	"cmp"
	"fmt"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// Date is a day of the civil calendar, the same in every zone.
type Date struct {
	Year  int
	Month time.Month
	Day   int
}

// ParseDate reads a date such as "2026-12-24". The date must exist: 2026-02-30 is an error.
func ParseDate(s string) (Date, error) {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		return Date{}, phrases.Sprintf("%q is not a date: write year-month-day of a day that exists, for example 2026-12-24", s)
	}
	return dateOf(t), nil
}

// String returns the date as ParseDate reads it.
func (d Date) String() string { return fmt.Sprintf("%04d-%02d-%02d", d.Year, int(d.Month), d.Day) }

// Compare returns -1, 0 or +1 as d is before, on or after other.
func (d Date) Compare(other Date) int {
	return cmp.Or(cmp.Compare(d.Year, other.Year), cmp.Compare(d.Month, other.Month), cmp.Compare(d.Day, other.Day))
}

// dateOf returns the date that t's own wall clock shows.
func dateOf(t time.Time) Date {
	y, m, d := t.Date()
	return Date{y, m, d}
}

// midnight returns the start of the date on a clock without a zone.
func (d Date) midnight() time.Time { return time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC) }

// exists reports whether the date is on the civil calendar.
func (d Date) exists() bool { return dateOf(d.midnight()) == d }

// dayNumber counts the days from 1970-01-01 to d.
func (d Date) dayNumber() int64 { return floorDiv(d.midnight().Unix(), secondsPerDay) }

// dateOfDay is the inverse of dayNumber.
func dateOfDay(day int64) Date { return dateOf(time.Unix(day*secondsPerDay, 0).UTC()) }

// floorDiv divides rounding down, also below zero, where Go's own division rounds up.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
