package console

import (
	"html/template"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/picture"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
)

// calendarsPage shows the calendars.
type calendarsPage struct {
	Span      string
	Wrong     bool // the span cannot be read
	Calendars []calendarView
}

// A calendarView is one calendar.
type calendarView struct {
	Name, Workspace string
	Many            bool
	Zone            string
	Now             time.Time
	Open            bool
	Next            time.Time // when that changes; zero is never
	In              time.Duration
	End             time.Time // of the span; zero if it never ends
	Week            template.HTML
	Holidays        []holidayView
}

// A holidayView is a day on which the desk is closed.
type holidayView struct {
	Day  time.Time
	Name string
}

const (
	calendarSpan     = "15m"
	calendarHolidays = 10  // that are listed
	calendarAhead    = 366 // days searched for them
)

// calendars shows when the desks are open.
func (c *Console) calendars(q *request) error {
	p := calendarsPage{Span: words.Cut(q.r.URL.Query().Get("span"), 20)}
	if p.Span == "" {
		p.Span = calendarSpan
	}
	span, err := duration.Parse(p.Span)
	p.Wrong = err != nil || span < 0
	for _, w := range c.options.Workspaces {
		set := w.book().Set
		for _, name := range slices.Sorted(maps.Keys(set.Calendars)) {
			cal := set.Calendars[name]
			if cal == nil {
				continue // it has problems
			}
			v := calendarView{Name: engine.Harmless(name), Workspace: w.Name, Many: len(c.workspaces) > 1, Zone: cal.Location().String(), Now: q.now.In(cal.Location()), Open: cal.Open(q.now), Week: picture.Week(q.words(), cal, q.now)}
			next := cal.NextOpen
			if v.Open {
				next = cal.NextClose
			}
			if at, ok := next(q.now); ok {
				v.Next, v.In = at.In(cal.Location()), at.Sub(q.now)
			}
			if !p.Wrong {
				if end, err := cal.Add(q.now, span); err == nil {
					v.End = end.In(cal.Location())
				}
			}
			v.Holidays = holidaysOf(cal, v.Now)
			p.Calendars = append(p.Calendars, v)
		}
	}
	return q.show("calendars", "calendars", q.words().T("nav.calendars"), p)
}

// holidaysOf lists the holidays to come.
func holidaysOf(cal *calendar.Calendar, now time.Time) (list []holidayView) {
	noon := time.Date(now.Year(), now.Month(), now.Day(), 12, 0, 0, 0, now.Location())
	for i := 0; i < calendarAhead && len(list) < calendarHolidays; i++ {
		day := noon.AddDate(0, 0, i)
		if name, ok := cal.Holiday(day); ok {
			list = append(list, holidayView{day, engine.Harmless(name)})
		}
	}
	return list
}
