package calendar

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// SpecialDay holds the shifts that start on one day; without shifts the day is closed.
type SpecialDay struct {
	// Date is the day. The year 0 stands for every year, in which a day with its year goes before it.
	Date   Date
	Shifts []Shift
	Name   string // what people call the day; may be empty
}

// leapYear has every day that a year can have.
const leapYear = 2024

// ParseSpecialDate reads the date of a SpecialDay: "2026-12-24", or "12-24" for every year.
func ParseSpecialDate(s string) (Date, error) {
	if t, err := time.Parse(time.DateOnly, s); err == nil && t.Year() > 0 {
		return dateOf(t), nil
	}
	if t, err := time.Parse(time.DateOnly, fmt.Sprintf("%d-%s", leapYear, s)); err == nil {
		return Date{0, t.Month(), t.Day()}, nil
	}
	return Date{}, phrases.Sprintf("%q is not a day: write year-month-day, for example 2026-12-24, or month-day for every year, for example 12-24", s)
}

// specialDays finds the shifts of special days.
type specialDays struct {
	once   map[int64][]shift // by days from 1970-01-01
	yearly map[Date][]shift  // by dates of the year 0
	names  map[Date]string   // by dates of either kind
}

func newSpecialDays(list []SpecialDay) (specialDays, error) {
	s := specialDays{once: map[int64][]shift{}, yearly: map[Date][]shift{}, names: map[Date]string{}}
	for _, special := range list {
		for _, shift := range special.Shifts {
			if err := shift.check(); err != nil {
				return specialDays{}, phrases.Sprintf("%s: %v", special.Date, err)
			}
		}
		date := special.Date
		if date.Year == 0 {
			date.Year = leapYear
		}
		if !date.exists() {
			return specialDays{}, phrases.Sprintf("the special day %s does not exist", special.Date)
		}
		if special.Date.Year == 0 {
			s.yearly[special.Date] = inSeconds(special.Shifts)
		} else {
			s.once[date.dayNumber()] = inSeconds(special.Shifts)
		}
		s.names[special.Date] = special.Name
	}
	return s, nil
}

// on returns the shifts of a day, counted from 1970-01-01, and whether it is special.
func (s specialDays) on(day int64) ([]shift, bool) {
	if shifts, ok := s.once[day]; ok {
		return shifts, true
	}
	if len(s.yearly) == 0 {
		return nil, false
	}
	date := dateOfDay(day)
	shifts, ok := s.yearly[Date{0, date.Month, date.Day}]
	return shifts, ok
}

// name returns the name of a special day; empty is none.
func (s specialDays) name(day int64) string {
	date := dateOfDay(day)
	if _, ok := s.once[day]; !ok {
		date.Year = 0
	}
	return s.names[date]
}

// Special returns the name of the special day on the local date of t, or else the date itself, and
// whether there is one.
func (c *Calendar) Special(t time.Time) (string, bool) {
	day, _ := c.local(t)
	if _, ok := c.special.on(day); !ok {
		return "", false
	}
	return cmp.Or(c.special.name(day), dateOfDay(day).String()), true
}

// ClosedHours are hours of one day in which a desk is closed. Like a shift they may cross midnight.
type ClosedHours struct {
	Date  Date
	Hours Shift
}

// ParseClosedHours reads closed hours such as "2026-12-24 14:00-18:00".
func ParseClosedHours(s string) (ClosedHours, error) {
	date, hours, ok := strings.Cut(s, " ")
	if !ok {
		return ClosedHours{}, phrases.Sprintf("%q are not hours of a day: write them like 2026-12-24 14:00-18:00", s)
	}
	d, err := ParseDate(date)
	if err != nil {
		return ClosedHours{}, err
	}
	shift, err := ParseShift(strings.TrimSpace(hours))
	return ClosedHours{d, shift}, err
}

// String returns the hours as ParseClosedHours reads them.
func (h ClosedHours) String() string { return h.Date.String() + " " + h.Hours.String() }

func (h ClosedHours) compare(other ClosedHours) int {
	return cmp.Or(h.Date.Compare(other.Date), cmp.Compare(h.Hours.Start, other.Hours.Start), cmp.Compare(h.Hours.End, other.Hours.End))
}

// joinClosed returns closed hours in seconds from 1970-01-01, in order, those that touch as one.
func joinClosed(list []ClosedHours) ([]shift, error) {
	closed := make([]shift, 0, len(list))
	for _, h := range list {
		if err := h.Hours.check(); err != nil || !h.Date.exists() {
			return nil, phrases.Sprintf("the closed hours %s do not exist", h)
		}
		midnight := h.Date.dayNumber() * secondsPerDay
		closed = append(closed, shift{midnight + seconds(h.Hours.Start), midnight + seconds(h.Hours.End)})
	}
	sortByStart(closed)
	joined := closed[:0]
	for _, next := range closed {
		if last := len(joined) - 1; last >= 0 && next.start <= joined[last].end {
			joined[last].end = max(joined[last].end, next.end)
			continue
		}
		joined = append(joined, next)
	}
	return joined, nil
}

// cut returns the shifts of a day without the closed hours.
func (c *Calendar) cut(day int64, shifts []shift) []shift {
	midnight := day * secondsPerDay
	// A shift ends at the latest with the next day.
	first, _ := slices.BinarySearchFunc(c.closed, midnight, func(h shift, at int64) int {
		if h.end <= at {
			return -1
		}
		return 1
	})
	closed := c.closed[first:]
	if len(closed) == 0 || closed[0].start >= midnight+2*secondsPerDay {
		return shifts
	}
	var open []shift
	for _, s := range shifts {
		for _, h := range closed {
			start, end := h.start-midnight, h.end-midnight
			if start >= s.end {
				break
			}
			if end <= s.start {
				continue
			}
			if s.start < start {
				open = append(open, shift{s.start, start})
			}
			s.start = end
		}
		if s.start < s.end {
			open = append(open, s)
		}
	}
	sortByStart(open)
	return open
}
