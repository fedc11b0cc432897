package hours

import (
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/calendar"
)

// DayName is what a day of the week is called.
func DayName(w words.Language, d time.Weekday) string { return w.T("hours.day." + d.String()) }

// DaysName is what days of a Sheet's week are called: "Monday to Friday".
func DaysName(w words.Language, days []int) string {
	if len(days) == len(Weekdays) {
		return w.T("hours.daily")
	}
	var names []string
	for i := 0; i < len(days); i++ {
		first := i
		for i+1 < len(days) && days[i+1] == days[i]+1 {
			i++
		}
		if i-first >= 2 {
			names = append(names, w.T("hours.range", DayName(w, Weekdays[days[first]]), DayName(w, Weekdays[days[i]])))
			continue
		}
		for _, d := range days[first : i+1] {
			names = append(names, DayName(w, Weekdays[d]))
		}
	}
	return listed(w, names)
}

// listed joins words: "a, b and c".
func listed(w words.Language, list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	return w.T("hours.and", strings.Join(list[:len(list)-1], ", "), list[len(list)-1])
}

// SpansName says when a day is open: "08:00–12:00 and 13:30–18:00".
func SpansName(w words.Language, spans []Span) string {
	if len(spans) == 0 {
		return w.T("hours.closed")
	}
	var list []string
	for _, s := range spans {
		list = append(list, s.From+"–"+s.To)
	}
	return listed(w, list)
}

// DateName is what a date of a special day is called.
func DateName(w words.Language, date string) string {
	d, err := calendar.ParseSpecialDate(date)
	if err != nil {
		return engine.Harmless(date)
	}
	day := time.Date(d.Year, d.Month, d.Day, 0, 0, 0, 0, time.UTC)
	if d.Year == 0 {
		return w.T("hours.yearly", w.DayMonth(day))
	}
	return w.Date(day)
}

// HolidayName is what an entry of the holidays is called: a country, a day, hours of a day, or a
// file.
func HolidayName(w words.Language, entry string) string {
	code := strings.ToLower(entry)
	if calendar.IsCountry(entry) {
		return w.T("hours.holidays_of", w.Or("country.", code))
	}
	date, hours, timed := strings.Cut(entry, " ")
	if _, err := calendar.ParseDate(date); err != nil {
		return w.T("hours.holidays_in", engine.Harmless(entry))
	}
	if timed {
		return w.T("hours.closed_on", DateName(w, date), strings.Replace(strings.TrimSpace(hours), "-", "–", 1))
	}
	return DateName(w, date)
}

// Changes says what differs between two states of a calendar, a sentence each.
func Changes(w words.Language, was, now *Sheet) (list []string) {
	type change struct {
		days []int
		said string
	}
	var week []change
	for i := range now.Week {
		said := spansChange(w, was.Week[i], now.Week[i])
		at := slices.IndexFunc(week, func(c change) bool { return c.said == said })
		switch {
		case said == "":
		case at < 0:
			week = append(week, change{[]int{i}, said})
		default:
			week[at].days = append(week[at].days, i)
		}
	}
	for _, c := range week {
		list = append(list, w.T("hours.change", DaysName(w, c.days), c.said))
	}
	for _, d := range now.Special {
		at := slices.IndexFunc(was.Special, func(old Day) bool { return old.Date == d.Date })
		if at < 0 || !was.Special[at].same(d) {
			list = append(list, w.T("hours.change", dayTitle(w, d), openName(w, d.Spans)))
		}
	}
	for _, d := range was.Special {
		if !slices.ContainsFunc(now.Special, func(other Day) bool { return other.Date == d.Date }) {
			list = append(list, w.T("hours.change", dayTitle(w, d), w.T("hours.ordinary")))
		}
	}
	for _, h := range now.Holidays {
		if !slices.Contains(was.Holidays, h) {
			list = append(list, w.T("hours.change", HolidayName(w, h), w.T("hours.counts")))
		}
	}
	for _, h := range was.Holidays {
		if !slices.Contains(now.Holidays, h) {
			list = append(list, w.T("hours.change", HolidayName(w, h), w.T("hours.counts_not")))
		}
	}
	return list
}

// dayTitle is the date of a special day, with its name.
func dayTitle(w words.Language, d Day) string {
	if d.Name == "" {
		return DateName(w, d.Date)
	}
	return DateName(w, d.Date) + " (" + engine.Harmless(d.Name) + ")"
}

func openName(w words.Language, spans []Span) string {
	if len(spans) == 0 {
		return w.T("hours.closed")
	}
	return w.T("hours.open", SpansName(w, spans))
}

// spansChange says what differs between the hours of a day; empty is nothing.
func spansChange(w words.Language, was, now []Span) string {
	switch {
	case sameSpans(was, now):
		return ""
	case len(now) == 0:
		return w.T("hours.shut", SpansName(w, was))
	case len(was) == 0:
		return w.T("hours.opened", SpansName(w, now))
	}
	if len(was) == len(now) {
		last := len(now) - 1
		open, shut := slices.Clone(was), slices.Clone(was)
		open[0].From, shut[last].To = now[0].From, now[last].To
		switch {
		case sameSpans(shut, now):
			return w.T("hours.closes", now[last].To, was[last].To)
		case sameSpans(open, now):
			return w.T("hours.opens", now[0].From, was[0].From)
		}
	}
	return w.T("hours.instead", SpansName(w, now), SpansName(w, was))
}

// Problems says what is wrong with a sheet that a person filled in.
func (s *Sheet) Problems(w words.Language) (list []string) {
	open := false
	for i, spans := range s.Week {
		open = open || len(spans) > 0
		list = append(list, spansProblems(w, DayName(w, Weekdays[i]), spans)...)
	}
	if !open {
		list = append(list, w.T("hours.wrong.never"))
	}
	seen := map[string]bool{}
	for _, d := range s.Special {
		if _, err := calendar.ParseSpecialDate(d.Date); err != nil {
			list = append(list, w.T("hours.wrong.date", engine.Harmless(d.Date)))
			continue
		}
		if seen[d.Date] {
			list = append(list, w.T("hours.wrong.twice", DateName(w, d.Date)))
		}
		seen[d.Date] = true
		list = append(list, spansProblems(w, DateName(w, d.Date), d.Spans)...)
	}
	return list
}

func spansProblems(w words.Language, day string, spans []Span) (list []string) {
	for i, s := range spans {
		from, to, ok := s.Minutes()
		if !ok {
			for _, text := range []string{s.From, s.To} {
				if _, err := calendar.ParseTimeOfDay(text); err != nil {
					return append(list, w.T("hours.wrong.time", day, engine.Harmless(words.Cut(text, 20))))
				}
			}
			return append(list, w.T("hours.wrong.empty", day, s.From))
		}
		for _, other := range spans[:i] {
			if start, end, ok := other.Minutes(); ok && start < to && from < end {
				return append(list, w.T("hours.wrong.overlap", day, SpansName(w, []Span{other, s})))
			}
		}
	}
	return list
}
