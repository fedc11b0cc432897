package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/hours"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/store"
)

// calendarsPage lists the calendars.
type calendarsPage struct {
	Calendars []calendarView
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
	Rules           []ruleView // that use it
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
	var p calendarsPage
	for i := range c.options.Workspaces {
		w := &c.options.Workspaces[i]
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

// A hoursDraft is a calendar that is being changed.
type hoursDraft struct {
	space     *Workspace
	name      string
	files     []*draftFile // that have the calendar, as they stand
	was, want *hours.Sheet // as it stands, and as it is to be
	mark      string       // of the calendar as it stands
	since     string       // of the calendar that the person began with
}

// hoursPage is the page on which a calendar is changed.
type hoursPage struct {
	Name, Link string
	Mark       string
	Files      int
	Week       []hoursDay
	Special    []hoursSpecial
	Holidays   []optionView
	Countries  []optionView
	Changes    hoursChanges
	Conflict   *conflictView
	Red        []testView // tests that fail with it
	NewSpan    hoursSpan
	NewSpecial hoursSpecial
}

// hoursChanges says what saving would change, or why it cannot be saved.
type hoursChanges struct {
	List, Wrong []string
	Rules       []ruleView
	Anyway      bool // a person was told of tests that fail
}

// An hoursDay is a day of the usual week, as the form has it.
type hoursDay struct {
	Name  string
	Index int
	Spans []hoursSpan
}

// An hoursSpecial is a special day, as the form has it.
type hoursSpecial struct {
	Index             int
	Date, Name, Title string
	Yearly            bool
	Spans             []hoursSpan
}

// An hoursSpan is a span with the field of its day and what that is called.
type hoursSpan struct {
	Field, Day string
	hours.Span
}

func hoursSpans(field, day string, spans []hours.Span) (list []hoursSpan) {
	for _, s := range spans {
		list = append(list, hoursSpan{field, day, s})
	}
	return list
}

// draftHours reads a calendar that may be changed, as its files have it.
func (c *Console) draftHours(q *request) (*hoursDraft, error) {
	w, name, _, err := c.calendarOf(q)
	if err != nil {
		return nil, err
	}
	if w.Editing == nil {
		return nil, errNotFound
	}
	if w.Editing.Store.ReadOnly() {
		return nil, errReadOnly
	}
	d := &hoursDraft{space: w, name: name}
	all, err := w.Editing.Files()
	if err != nil {
		return nil, err
	}
	for _, file := range all {
		stored, err := w.Editing.Store.Name(file.Name)
		if err != nil {
			continue // it is not one that can be written here
		}
		f, err := w.openFile(stored)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(f.text, "calendars") {
			continue
		}
		sheet, mark, err := hours.Read(f.text, name)
		if errors.Is(err, hours.ErrNone) {
			continue
		}
		if err != nil {
			return nil, problem(http.StatusConflict, "error.hours")
		}
		if d.was == nil {
			d.was, d.mark = sheet, mark
		}
		d.files = append(d.files, f)
	}
	if d.was == nil {
		return nil, problem(http.StatusConflict, "error.hours")
	}
	d.want, d.since = d.was, d.mark
	return d, nil
}

// hoursSent reads a calendar as a person has changed it.
func (c *Console) hoursSent(q *request) (*hoursDraft, error) {
	d, err := c.draftHours(q)
	if err != nil {
		return nil, err
	}
	form := q.r.PostForm
	spans := func(prefix string) (list []hours.Span) {
		to := form[prefix+".to"]
		for i, from := range form[prefix+".from"] {
			if i < len(to) && (strings.TrimSpace(from) != "" || strings.TrimSpace(to[i]) != "") {
				list = append(list, hours.Typed(from, to[i]))
			}
		}
		return list
	}
	d.want, d.since = &hours.Sheet{}, form.Get("was")
	for i := range d.want.Week {
		d.want.Week[i] = spans("day" + strconv.Itoa(i))
	}
	for _, i := range form["special"] {
		day := hours.Day{Date: form.Get("special" + i + ".date"), Name: strings.TrimSpace(words.Cut(form.Get("special"+i+".name"), 100)), Spans: spans("special" + i)}
		if year, rest, ok := strings.Cut(day.Date, "-"); ok && len(year) == 4 && form.Get("special"+i+".every") == "year" {
			day.Date = rest
		}
		if day.Date == "" && day.Name == "" && len(day.Spans) == 0 {
			continue // a row that nobody filled in
		}
		d.want.Special = append(d.want.Special, day)
	}
	for _, h := range form["holiday"] {
		if h != "" && !slices.Contains(d.want.Holidays, h) {
			d.want.Holidays = append(d.want.Holidays, h)
		}
	}
	return d, nil
}

// changes says what a draft would change.
func (c *Console) hoursChanges(q *request, d *hoursDraft) hoursChanges {
	v := hoursChanges{List: hours.Changes(q.words(), d.was, d.want), Wrong: d.want.Problems(q.words())}
	for _, r := range c.usersOf(d.space, d.name) {
		v.Rules = append(v.Rules, c.ruleView(d.space.Name, r.ID))
	}
	return v
}

// editHours shows the page on which a calendar is changed.
func (c *Console) editHours(q *request) error {
	d, err := c.draftHours(q)
	if err != nil {
		return err
	}
	return c.showHours(q, http.StatusOK, d, hoursPage{})
}

func (c *Console) showHours(q *request, status int, d *hoursDraft, p hoursPage) error {
	l := q.words()
	p.Name, p.Link, p.Mark, p.Files, p.NewSpecial.Index = engine.Harmless(d.name), calendarLink(d.space.Name, d.name), d.mark, len(d.files), -1
	anyway := p.Changes.Anyway
	p.Changes = c.hoursChanges(q, d)
	p.Changes.Anyway = anyway
	for i, spans := range d.want.Week {
		name := hours.DayName(l, hours.Weekdays[i])
		p.Week = append(p.Week, hoursDay{name, i, hoursSpans("day"+strconv.Itoa(i), name, spans)})
	}
	for i, day := range d.want.Special {
		row := hoursSpecial{Index: i, Date: day.Date, Name: day.Name, Title: hours.DateName(l, day.Date)}
		row.Spans = hoursSpans("special"+strconv.Itoa(i), row.Title, day.Spans)
		if date, err := calendar.ParseSpecialDate(day.Date); err == nil && date.Year == 0 {
			// The field needs a year: the next in which there is such a day.
			for date.Year = q.now.Year(); ; date.Year++ {
				if _, err := calendar.ParseDate(date.String()); err == nil {
					break
				}
			}
			row.Yearly, row.Date = true, date.String()
		}
		p.Special = append(p.Special, row)
	}
	for _, h := range d.want.Holidays {
		p.Holidays = append(p.Holidays, optionView{h, hours.HolidayName(l, h), true})
	}
	for _, h := range d.was.Holidays {
		if !slices.Contains(d.want.Holidays, h) {
			p.Holidays = append(p.Holidays, optionView{h, hours.HolidayName(l, h), false})
		}
	}
	for _, code := range calendar.Countries() {
		if !slices.ContainsFunc(d.want.Holidays, func(h string) bool { return strings.EqualFold(h, code) }) {
			p.Countries = append(p.Countries, optionView{Value: code, Label: l.Or("country.", code)})
		}
	}
	slices.SortFunc(p.Countries, func(a, b optionView) int { return strings.Compare(a.Label, b.Label) })
	q.here = p.Link + "/edit"
	return q.showAs(status, "hours", "calendars", l.T("hours.edit_title", p.Name), p)
}

// checkHours answers what saving would change, while a person changes it.
func (c *Console) checkHours(q *request) error {
	d, err := c.hoursSent(q)
	if err != nil {
		return err
	}
	html, err := q.renderPart("hours", "changes", c.hoursChanges(q, d))
	if err != nil {
		return err
	}
	q.w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = q.w.Write([]byte(html)) // the client may have disconnected
	return nil
}

// saveHours saves a calendar in every file that has it, unless somebody else has changed it
// meanwhile.
func (c *Console) saveHours(q *request) error {
	d, err := c.hoursSent(q)
	if err != nil {
		return err
	}
	changes := c.hoursChanges(q, d)
	switch {
	case len(changes.Wrong) > 0:
		return c.showHours(q, http.StatusUnprocessableEntity, d, hoursPage{})
	case d.since != d.mark:
		return c.hoursConflict(q, d)
	case len(changes.List) == 0:
		return q.redirect(calendarLink(d.space.Name, d.name))
	}
	for _, f := range d.files {
		if f.text, err = hours.Write(f.text, d.name, d.want); err != nil {
			return problem(http.StatusConflict, "error.hours")
		}
	}
	if q.r.PostFormValue("anyway") == "" {
		red, err := c.redHours(q, d)
		if err != nil {
			return err
		}
		if len(red) > 0 {
			return c.showHours(q, http.StatusUnprocessableEntity, d, hoursPage{Red: red, Changes: hoursChanges{Anyway: true}})
		}
	}
	by := store.Change{Who: q.user.Name, What: "hours " + d.name, Why: words.Cut(strings.Join(changes.List, "; "), 200)}
	wrong, err := c.saveRight(q, by, d.files...)
	switch {
	case errors.Is(err, store.ErrChanged):
		again, sent := c.hoursSent(q)
		if sent != nil {
			return sent
		}
		return c.hoursConflict(q, again)
	case err != nil:
		return err
	case len(wrong) > 0:
		return problem(http.StatusUnprocessableEntity, "error.wrong", engine.Harmless(wrong[0].In(q.words().RulesLanguage()).Error()))
	}
	return q.redirect(calendarLink(d.space.Name, d.name) + "?said=saved_hours")
}

// hoursConflict shows the page again: saving once more overwrites what somebody else has saved.
func (c *Console) hoursConflict(q *request, d *hoursDraft) error {
	view := &conflictView{}
	view.Who, view.At, _ = c.savedBy(d.files[0], d.files[0].was)
	return c.showHours(q, http.StatusConflict, d, hoursPage{Conflict: view})
}

// redHours returns the tests that fail with a calendar as it is to be, of rules that use it. Those
// that the time does not suffice for are left out.
func (c *Console) redHours(q *request, d *hoursDraft) (red []testView, err error) {
	seen := map[string]bool{}
	err = c.trial(q, func(ctx context.Context) error {
		set, err := whole(ctx, d.files...)
		if err != nil {
			return err
		}
		for _, user := range c.usersOf(d.space, d.name) {
			rule := set.Rule(user.ID)
			if rule == nil {
				continue // saving says why
			}
			for _, test := range proof.TestsOf(set, rule) {
				if key := test.File + "\n" + test.Name; seen[key] {
					continue
				} else {
					seen[key] = true
				}
				r, err := ruletest.Run(ctx, c.testOptions(d.space, proof.SetFor(set, test, rule), false), test)
				switch {
				case ctx.Err() != nil && q.ctx().Err() == nil:
					return nil
				case err != nil:
					return err
				case !r.OK:
					red = append(red, testView{Name: engine.Harmless(test.Name), Key: test.Name, Why: proof.Why(q.words(), &r)})
				}
			}
		}
		return nil
	})
	return red, err
}
