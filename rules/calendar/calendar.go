// Package calendar answers questions about opening hours and business time.
package calendar

import (
	"cmp"
	"slices"
	"time"
	_ "time/tzdata" // so that a zone means the same on a machine without zone files

	"github.com/quandohq/quando/rules/phrases"
)

// Config says when a desk is open.
type Config struct {
	// Location is the zone whose wall clock the desk lives by. Required.
	Location *time.Location
	// Open holds the shifts that start on each weekday. At least one is required. Shifts may overlap.
	Open map[time.Weekday][]Shift
	// Holidays are dates on which no shift starts.
	Holidays []Date
	// Countries are codes, as IsCountry knows them, whose national holidays count as Holidays too.
	// They are known for the years 1970 to 2100.
	Countries []string
	// Special holds the shifts of single days. They go before everything else: on such a day
	// neither Open nor holidays nor Closed count.
	Special []SpecialDay
	// Closed are hours of single days that are cut out of the shifts of Open.
	Closed []ClosedHours
}

// Calendar knows when a desk is open.
//
// An instant is open if its local wall clock lies within a shift of the date on which that shift
// starts. The shifts of a date are those of Special, where it has the date; none on a holiday; and
// else those of its weekday, without the closed hours. A shift over midnight belongs to the day it
// starts on: the hours after midnight stay open when the next day is a holiday, and are closed when
// the day before was one. Where summer time skips local time, that time does not exist; where it
// repeats local time, the time counts twice. Before the year 1 and after 9999 nothing is open.
//
// A Calendar does not change and may be used by many goroutines.
type Calendar struct {
	location *time.Location
	shifts   [7][]shift  // by weekday; ascending by start
	holidays [][]holiday // of each country and of the dates given, each ascending by day
	special  specialDays
	closed   []shift // from 1970-01-01 on, by the wall clock; ascending, and no two of them touch
}

// shift is a Shift in seconds.
type shift struct{ start, end int64 }

const (
	secondsPerDay = 24 * 60 * 60
	year          = 365*24*time.Hour + 6*time.Hour
)

// New checks the configuration and returns its calendar.
func New(cfg Config) (*Calendar, error) {
	if cfg.Location == nil {
		return nil, phrases.Sprintf("a calendar needs a time zone, for example America/Sao_Paulo")
	}
	c := &Calendar{location: cfg.Location}
	shifts := 0
	for weekday, list := range cfg.Open {
		if weekday < time.Sunday || weekday > time.Saturday {
			return nil, phrases.Sprintf("%d is not a day of the week", int(weekday))
		}
		for _, s := range list {
			if err := s.check(); err != nil {
				return nil, phrases.Sprintf("%s: %v", phrases.Word(weekday.String()), err)
			}
		}
		c.shifts[weekday] = inSeconds(list)
		shifts += len(list)
	}
	if shifts == 0 {
		return nil, phrases.Sprintf("the calendar is never open: give at least one day a shift, for example mon-fri: [08:00-18:00]")
	}
	var err error
	if c.holidays, err = listHolidays(cfg.Countries, cfg.Holidays); err != nil {
		return nil, err
	}
	if c.special, err = newSpecialDays(cfg.Special); err != nil {
		return nil, err
	}
	if c.closed, err = joinClosed(cfg.Closed); err != nil {
		return nil, err
	}
	return c, nil
}

// Location returns the zone whose wall clock the calendar lives by.
func (c *Calendar) Location() *time.Location { return c.location }

// inSeconds returns the shifts of one day by their start. They may overlap; walk joins them, as it
// must join those of one day and the next.
func inSeconds(list []Shift) []shift {
	shifts := make([]shift, 0, len(list))
	for _, s := range list {
		shifts = append(shifts, shift{seconds(s.Start), seconds(s.End)})
	}
	sortByStart(shifts)
	return shifts
}

func sortByStart(shifts []shift) {
	slices.SortFunc(shifts, func(a, b shift) int { return cmp.Compare(a.start, b.start) })
}
