package console

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/hours"
	"github.com/quandohq/quando/engine/console/internal/proof"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/store"
)

// newHours begins a calendar with a usual week, in a file of its own, and goes on to changing it.
// No rule asks for it yet.
func (c *Console) newHours(q *request) error {
	w, err := c.writable(q.r.PathValue("workspace"))
	if err != nil {
		return err
	}
	name := hours.NameOf(q.r.PostFormValue("name"))
	if name == "" {
		return problem(http.StatusUnprocessableEntity, "error.hours_name")
	}
	if _, there := w.book().Set.Calendars[name]; there {
		return problem(http.StatusConflict, "error.hours_there", name)
	}
	f := &draftFile{space: w, file: w.freeName(name + "-hours"), text: hours.New(name, w.Location.String())}
	wrong, err := c.saveRight(q, store.Change{Who: q.user.Name, What: "hours " + name}, f)
	switch {
	case errors.Is(err, store.ErrChanged): // somebody else did the same
		return problem(http.StatusConflict, "error.hours_there", name)
	case err != nil:
		return err
	case len(wrong) > 0:
		return problem(http.StatusUnprocessableEntity, "error.wrong", engine.Harmless(wrong[0].In(q.words().RulesLanguage()).Error()))
	}
	return q.redirect(calendarLink(w.Name, name) + "/edit")
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
	Rules       ruleUsers
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
