package words

import (
	"fmt"
	"html/template"
	"slices"
	"time"
)

// WithClock returns the language with the clock that says which day is today. Without one it is the
// machine's.
func (w Language) WithClock(now func() time.Time) Language {
	w.now = now
	return w
}

// Moment writes a time as people say it, as close as the day needs: 17:55, yesterday 17:55, 13 Nov
// 17:55, 13 Nov 2025 17:55. It is in the time's own zone. None is a dash.
func (w Language) Moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	today, clock := w.today(t.Location()), t.Format("15:04")
	switch day := t.Format(time.DateOnly); {
	case day == today.Format(time.DateOnly):
		return clock
	case day == today.AddDate(0, 0, -1).Format(time.DateOnly):
		return w.T("moment.yesterday", clock)
	case day == today.AddDate(0, 0, 1).Format(time.DateOnly):
		return w.T("moment.tomorrow", clock)
	case t.Year() == today.Year():
		return w.DayMonth(t) + " " + clock
	}
	return w.DayMonth(t) + t.Format(" 2006 15:04")
}

// Day writes a day: Fri 13 Nov.
func (w Language) Day(t time.Time) string {
	text := w.T("day."+t.Weekday().String()) + " " + w.DayMonth(t)
	if t.Year() != w.today(t.Location()).Year() {
		text += t.Format(" 2006")
	}
	return text
}

func (w Language) today(zone *time.Location) time.Time {
	if w.now == nil {
		return time.Now().In(zone)
	}
	return w.now().In(zone)
}

// FullMoment writes a time with its day, seconds and zone.
func (w Language) FullMoment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	zone := t.Location().String()
	if zone == "Local" {
		zone = t.Format("MST")
	}
	return w.DayMonth(t) + t.Format(" 2006 15:04:05 ") + zone
}

// DayMonth writes 13 Nov, or 13 nov.
func (w Language) DayMonth(t time.Time) string {
	month := []rune(w.T("fixed.month." + t.Month().String()))
	switch {
	case w.Code == "en":
		month = month[:3]
	case len(month) > 4:
		month = append(month[:3:3], '.')
	}
	return fmt.Sprintf("%d %s", t.Day(), string(month))
}

// momentElement is a moment on a page, with the full time on hover. In an attribute only its text
// is left.
func (w Language) momentElement(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s">%s</time>`, t.Format(time.RFC3339), template.HTMLEscapeString(w.FullMoment(t)), template.HTMLEscapeString(w.Moment(t)))) // #nosec G203 -- each part is escaped
}

// text returns a message of the catalogue for a page. Arguments that are markup stay so; then the
// others are escaped here.
func (w Language) text(key string, args ...any) any {
	if !slices.ContainsFunc(args, isMarkup) {
		return w.T(key, args...)
	}
	given := slices.Clone(args)
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			given[i] = template.HTMLEscapeString(text)
		}
	}
	return template.HTML(w.T(key, given...)) // #nosec G203 -- what is no markup is escaped
}

func isMarkup(arg any) bool {
	_, ok := arg.(template.HTML)
	return ok
}

// Date writes a day with its year: 13 Nov 2026, 13 nov. 2026.
func (w Language) Date(t time.Time) string { return w.DayMonth(t) + t.Format(" 2006") }
