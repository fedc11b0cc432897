package calendar

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rickar/cal/v2"

	"github.com/quandohq/quando/rules/phrases"
)

// Holidays of countries are computed once, for these years.
const (
	firstYear = 1970
	lastYear  = 2100
)

// holiday is a day, counted from 1970-01-01, on which no shift starts.
type holiday struct {
	day  int64
	name string
}

// Holiday returns the name of the holiday on the local date of t, and whether there is one. The
// holiday of a country has its name in the country's language; a date from Config.Holidays goes by
// the date itself, such as "2026-12-24". A special day is a holiday if it has no shifts, and only
// then; its own name goes before others.
//
// A desk may be open on a holiday: a shift that started the evening before continues past midnight.
func (c *Calendar) Holiday(t time.Time) (string, bool) {
	day, _ := c.local(t)
	return c.holidayOn(day)
}

func (c *Calendar) holidayOn(day int64) (string, bool) {
	shifts, special := c.special.on(day)
	if special && len(shifts) > 0 {
		return "", false
	}
	if name := c.special.name(day); special && name != "" {
		return name, true
	}
	for _, list := range c.holidays {
		if i, ok := slices.BinarySearchFunc(list, day, func(h holiday, day int64) int { return cmp.Compare(h.day, day) }); ok {
			return list[i].name, true
		}
	}
	if special {
		return dateOfDay(day).String(), true
	}
	return "", false
}

// listHolidays returns the holidays of countries and the given dates. Countries come first, so a
// day keeps its most telling name.
func listHolidays(codes []string, dates []Date) ([][]holiday, error) {
	var lists [][]holiday
	for _, code := range codes {
		list, ok := nationalHolidays(strings.ToLower(code))
		if !ok {
			return nil, phrases.Sprintf("the holidays of %q are not known: list their dates or use an .ics file, or name one of %s",
				code, strings.Join(Countries(), ", "))
		}
		lists = append(lists, list)
	}
	var own []holiday
	for _, d := range dates {
		if !d.exists() {
			return nil, phrases.Sprintf("the holiday %s does not exist: write year-month-day, for example 2026-12-24", d)
		}
		own = append(own, holiday{d.dayNumber(), d.String()})
	}
	if len(own) > 0 {
		lists = append(lists, inOrder(own))
	}
	return lists, nil
}

// national caches the holidays of countries. Calendars share them.
var national struct {
	sync.Mutex
	byCode map[string][]holiday
}

func nationalHolidays(code string) ([]holiday, bool) {
	definitions, ok := countries[code]
	if !ok {
		return nil, false
	}
	national.Lock()
	defer national.Unlock()
	list, known := national.byCode[code]
	if !known {
		for _, h := range definitions {
			list = append(list, occurrences(h)...)
		}
		list = inOrder(list)
		if national.byCode == nil {
			national.byCode = make(map[string][]holiday)
		}
		national.byCode[code] = list
	}
	return list, true
}

// inOrder sorts holidays by day, each day once.
func inOrder(list []holiday) []holiday {
	slices.SortStableFunc(list, func(a, b holiday) int { return cmp.Compare(a.day, b.day) })
	return slices.CompactFunc(list, func(a, b holiday) bool { return a.day == b.day })
}

// occurrences returns the days of a country's holiday. Where the law moves a holiday that falls on
// a weekend, both the day itself and the day it moves to are holidays: staff is at home on either.
func occurrences(h *cal.Holiday) []holiday {
	var list []holiday
	// New Year's Day may move back into the year before, so one year more counts too.
	for year := firstYear; year <= lastYear+1; year++ {
		start, _ := h.Calc(year)
		if start.IsZero() {
			continue
		}
		// Calc returns midnight of the machine's own zone. Where summer time skips that midnight, it is
		// 23:00 of the day before; noon is on the right day either way.
		actual := dateOf(start.Add(12 * time.Hour))
		day := actual.dayNumber()
		list = append(list, holiday{day, h.Name})
		for _, alternative := range h.Observed {
			if alternative.Day == actual.midnight().Weekday() {
				list = append(list, holiday{day + int64(alternative.Offset), h.Name})
				break
			}
		}
	}
	end := Date{lastYear + 1, time.January, 1}.dayNumber()
	return slices.DeleteFunc(list, func(h holiday) bool { return h.day >= end })
}
