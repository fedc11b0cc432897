package console

import (
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/hours"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
)

// calendarsPage lists the calendars.
type calendarsPage struct {
	Calendars []calendarView
	New       []string // workspaces that can have another
	Many      bool
}

// A calendarView is one calendar, with a week of it.
type calendarView struct {
	Name, Workspace string
	Many            bool
	Link, Edit      string // Edit is empty for those who may not
	Zone            string
	Open            bool
	Status          string
	In              time.Duration // until that changes; zero is never
	Week            []hours.Row
	Rules           ruleUsers
}

// calendarPage is one calendar: a week of it, and what a person asks about it.
type calendarPage struct {
	calendarView
	WeekName             string
	Previous, Next, This string // addresses of other weeks; This is empty on this week
	Ask                  string // the time that was asked about, as the field has it
	Asked                string // the answer
	AskedOpen, AskWrong  bool
	Span                 string
	SpanWrong            bool
	End                  time.Time // of the span; zero if it never ends
	Holidays             []holidayView
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
	askTime          = "2006-01-02T15:04"
)

// calendars shows when the desks are open.
func (c *Console) calendars(q *request) error {
	p := calendarsPage{Many: len(c.workspaces) > 1}
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
		if q.editable(w.Name) {
			p.New = append(p.New, w.Name)
		}
		set := w.book().Set
		for _, name := range slices.Sorted(maps.Keys(set.Calendars)) {
			if cal := set.Calendars[name]; cal != nil { // else it has problems
				p.Calendars = append(p.Calendars, c.calendarView(q, w, name, cal, q.now))
			}
		}
	}
	return q.show("calendars", "calendars", q.words().T("nav.calendars"), p)
}

// calendarView shows a calendar with the week of a day.
func (c *Console) calendarView(q *request, w *Workspace, name string, cal *calendar.Calendar, day time.Time) calendarView {
	v := calendarView{Name: engine.Harmless(name), Workspace: w.Name, Many: len(c.workspaces) > 1, Link: calendarLink(w.Name, name), Zone: cal.Location().String()}
	if q.editable(w.Name) {
		v.Edit = v.Link + "/edit"
	}
	v.Open, v.Status = hours.Status(q.words(), cal, q.now)
	next := cal.NextOpen
	if v.Open {
		next = cal.NextClose
	}
	if at, ok := next(q.now); ok {
		v.In = at.Sub(q.now)
	}
	v.Week = hours.Week(q.words(), cal, hours.Monday(day.In(cal.Location())), q.now)
	for _, r := range c.usersOf(w, name) {
		v.Rules = append(v.Rules, c.ruleView(w.Name, r.ID))
	}
	return v
}

func calendarLink(workspace, name string) string {
	return "/calendars/" + url.PathEscape(workspace) + "/" + url.PathEscape(name)
}

// usersOf returns the rules that use a calendar.
func (c *Console) usersOf(w *Workspace, name string) (list []*rules.Rule) {
	set := w.book().Set
	index := c.index.of(w.Name, set)
	for _, r := range set.Rules {
		if slices.Contains(index[r].calendars, name) {
			list = append(list, r)
		}
	}
	return list
}

// calendarOf returns the calendar that a request names.
func (c *Console) calendarOf(q *request) (*Workspace, string, *calendar.Calendar, error) {
	w, name := c.workspaces[q.r.PathValue("workspace")], q.r.PathValue("calendar")
	if w == nil || w.book().Set.Calendars[name] == nil {
		return nil, "", nil, errNotFound
	}
	return w, name, w.book().Set.Calendars[name], nil
}

// calendar shows one calendar.
func (c *Console) calendar(q *request) error {
	w, name, cal, err := c.calendarOf(q)
	if err != nil {
		return err
	}
	ask := q.r.URL.Query()
	day := q.now.In(cal.Location())
	if chosen, err := time.ParseInLocation(time.DateOnly, ask.Get("week"), cal.Location()); err == nil {
		day = chosen
	}
	monday := hours.Monday(day)
	p := calendarPage{calendarView: c.calendarView(q, w, name, cal, day), WeekName: q.words().DayMonth(monday), Ask: words.Cut(ask.Get("at"), 20), Span: words.Cut(ask.Get("span"), 20)}
	week := func(monday time.Time) string { return p.Link + "?week=" + monday.Format(time.DateOnly) }
	p.Previous, p.Next = week(monday.AddDate(0, 0, -7)), week(monday.AddDate(0, 0, 7))
	if !hours.Monday(q.now.In(cal.Location())).Equal(monday) {
		p.This = p.Link
	}
	if p.Ask != "" {
		at, err := time.ParseInLocation(askTime, p.Ask, cal.Location())
		if p.AskWrong = err != nil; !p.AskWrong {
			p.AskedOpen, p.Asked = hours.Ask(q.words(), cal, at)
		}
	} else {
		p.Ask = q.now.In(cal.Location()).Format(askTime)
	}
	if p.Span == "" {
		p.Span = calendarSpan
	}
	span, err := duration.Parse(p.Span)
	if p.SpanWrong = err != nil || span < 0; !p.SpanWrong {
		if end, err := cal.Add(q.now, span); err == nil {
			p.End = end.In(cal.Location())
		}
	}
	p.Holidays = holidaysOf(cal, q.now.In(cal.Location()))
	return q.show("calendar", "calendars", p.Name, p)
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
