package hours

import (
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/calendar"
)

// dayMinutes is how wide the row of a day is.
const dayMinutes = 24 * 60

// A Bar is a stretch of opening hours in the row of a day, in minutes from midnight.
type Bar struct {
	From, Width int
}

// A Row is one day of a week as it is drawn.
type Row struct {
	Day     time.Time // its noon
	Name    string    // of the day of the week
	Date    string
	Bars    []Bar
	Hours   string // in words
	Note    string // a holiday, or what a special day is called
	Closed  bool   // because of the note
	IsToday bool
	NowAt   int // minutes from midnight, on today
}

// Monday returns the noon of the Monday of a week.
func Monday(t time.Time) time.Time {
	return time.Date(t.Year(), t.Month(), t.Day()-place(t.Weekday()), 12, 0, 0, 0, t.Location())
}

// Week returns the seven days from a Monday on.
func Week(w words.Language, cal *calendar.Calendar, monday, now time.Time) (rows []Row) {
	now = now.In(cal.Location())
	for i := range 7 {
		y, m, d := monday.Date()
		noon := time.Date(y, m, d+i, 12, 0, 0, 0, cal.Location())
		row := Row{Day: noon, Name: DayName(w, noon.Weekday()), Date: w.DayMonth(noon)}
		var spans []Span
		row.Bars, spans = barsOf(cal, noon)
		row.Hours = SpansName(w, spans)
		special, changed := cal.Special(noon)
		holiday, closed := cal.Holiday(noon)
		switch row.Closed = closed; {
		case changed:
			row.Note = noteName(w, special, "hours.special")
		case closed:
			row.Note = noteName(w, holiday, "hours.holiday")
		}
		if row.IsToday = noon.Format(time.DateOnly) == now.Format(time.DateOnly); row.IsToday {
			row.NowAt = now.Hour()*60 + now.Minute()
		}
		rows = append(rows, row)
	}
	return rows
}

// noteName is what a holiday or special day is called: those without a name go by their date.
func noteName(w words.Language, name, otherwise string) string {
	if _, err := calendar.ParseDate(name); err == nil {
		return w.T(otherwise)
	}
	return engine.Harmless(name)
}

// barsOf returns the opening hours of a day by the clock on the wall.
func barsOf(cal *calendar.Calendar, noon time.Time) (bars []Bar, spans []Span) {
	y, m, d := noon.Date()
	from, to := time.Date(y, m, d, 0, 0, 0, 0, noon.Location()), time.Date(y, m, d+1, 0, 0, 0, 0, noon.Location())
	for _, open := range cal.Openings(from, to) {
		start, end := open.From.Hour()*60+open.From.Minute(), open.To.Hour()*60+open.To.Minute()
		span := Span{open.From.Format("15:04"), open.To.Format("15:04")}
		if !open.To.Before(to) {
			end, span.To = dayMinutes, "24:00"
		}
		bars, spans = append(bars, Bar{start, max(end-start, 0)}), append(spans, span)
	}
	return bars, spans
}

// Status says whether it is open, and until when: "open until 18:00".
func Status(w words.Language, cal *calendar.Calendar, now time.Time) (open bool, said string) {
	open = cal.Open(now)
	next, key := cal.NextOpen, "hours.opens_at"
	if open {
		next, key = cal.NextClose, "hours.open_until"
	}
	at, ok := next(now)
	switch {
	case ok:
		return open, w.T(key, Soon(w, at.In(cal.Location()), now))
	case open:
		return open, w.T("hours.always")
	}
	return open, w.T("hours.never")
}

// Soon writes a time as people say it: "18:00" today, "Monday 08:00" in these days, else with its
// date.
func Soon(w words.Language, at, now time.Time) string {
	now = now.In(at.Location())
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, now.Location())
	switch {
	case !at.Before(today) && at.Before(today.AddDate(0, 0, 1)):
		return at.Format("15:04")
	case !at.Before(today) && at.Before(today.AddDate(0, 0, 7)):
		return DayName(w, at.Weekday()) + " " + at.Format("15:04")
	}
	return w.DayMonth(at) + " " + at.Format("15:04")
}

// Ask says whether it is open at a time, and why.
func Ask(w words.Language, cal *calendar.Calendar, at time.Time) (open bool, said string) {
	at = at.In(cal.Location())
	noon := time.Date(at.Year(), at.Month(), at.Day(), 12, 0, 0, 0, at.Location())
	_, spans := barsOf(cal, noon)
	day := DayName(w, at.Weekday()) + ", " + w.DayMonth(at)
	if cal.Open(at) {
		end, ok := cal.NextClose(at)
		if !ok {
			return true, w.T("hours.ask.always")
		}
		return true, w.T("hours.ask.open", day, Soon(w, end.In(cal.Location()), at))
	}
	holiday, closed := cal.Holiday(at)
	special, changed := cal.Special(at)
	_, err := calendar.ParseDate(holiday)
	switch {
	case closed && changed:
		return false, w.T("hours.ask.special_closed", day, noteName(w, special, "hours.special"))
	case closed && err == nil:
		return false, w.T("hours.ask.holiday", day)
	case closed:
		return false, w.T("hours.ask.holiday_named", day, engine.Harmless(holiday))
	case changed:
		return false, w.T("hours.ask.special", day, noteName(w, special, "hours.special"), SpansName(w, spans))
	case len(spans) == 0:
		return false, w.T("hours.ask.closed", day)
	}
	return false, w.T("hours.ask.hours", day, SpansName(w, spans))
}
