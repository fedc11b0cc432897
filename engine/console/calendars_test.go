package console

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const officeEdit = "/calendars/default/office/edit"

// officeForm is the form of the office as a page has it, with some of its fields changed.
func (d *desk) officeForm(changes ...string) url.Values {
	d.t.Helper()
	form := url.Values{"was": {regexp.MustCompile(`name="was" value="([^"]+)"`).FindStringSubmatch(d.page(officeEdit))[1]}}
	for _, day := range []string{"day0", "day1", "day2", "day3", "day4"} {
		form[day+".from"], form[day+".to"] = []string{"08:00", "13:30"}, []string{"12:00", "18:00"}
	}
	for i := 0; i < len(changes); i += 2 {
		form[changes[i]] = strings.Split(changes[i+1], " ")
	}
	return form
}

// TestNewHours shows that a desk without opening hours gets its first ones on the console, and that
// a name is used once.
func TestNewHours(t *testing.T) {
	t.Parallel()
	d := newEditorDesk(t)
	d.write("office.yaml", "rules: []\n")
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	if page := d.page("/calendars"); !strings.Contains(page, "There are no opening hours yet.") || !strings.Contains(page, `action="/calendars/default"`) {
		t.Error("nothing leads to the first opening hours")
	}
	w := d.ask("POST", "/calendars/default", url.Values{"name": {"São Paulo"}})
	if to := w.Header().Get("Location"); w.Code != http.StatusSeeOther || to != "/calendars/default/sao-paulo/edit" {
		t.Fatalf("%d %s %s", w.Code, to, w.Body)
	}
	if page := d.page("/calendars/default/sao-paulo/edit"); !strings.Contains(page, `name="day0.from" value="09:00"`) {
		t.Error("the hours cannot be changed")
	}
	if got := d.read("sao-paulo-hours.yaml"); !strings.Contains(got, "timezone: America/Sao_Paulo\n") {
		t.Errorf("the file is\n%s", got)
	}
	for name, want := range map[string]string{"são paulo": "There are opening hours called sao-paulo already", "!?": "Give the hours a name"} {
		if w := d.ask("POST", "/calendars/default", url.Values{"name": {name}}); w.Code < 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %d %s", name, w.Code, w.Body)
		}
	}
}

// TestHours shows that opening hours are changed in every file that has them, with what changes
// said before and written down.
func TestHours(t *testing.T) {
	t.Parallel()
	d := withSLA(t)
	d.write("other.yaml", officeRules+"rules: []\n")
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	if page := d.page(officeEdit); !strings.Contains(page, "stand in 2 files") || !strings.Contains(page, "Nothing yet.") {
		t.Error("the page does not say that two files have these hours")
	}
	form := d.officeForm("day4.to", "12:00 17", "holiday", "br")
	check := d.ask("POST", "/calendars/default/office/check", form).Body.String()
	for _, want := range []string{"Friday: closes at 17:00 instead of 18:00", "Holidays of Brazil: closed from now on", "used by 1 rule", "Nobody waits"} {
		if !strings.Contains(check, want) {
			t.Errorf("%q is missing:\n%s", want, check)
		}
	}
	w := d.ask("POST", "/calendars/default/office/save", form)
	if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/calendars/default/office?said=saved_hours" {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	want := strings.Replace(officeRules, "{ mon-fri: [08:00-12:00, 13:30-18:00] }\n", "{ mon-thu: [08:00-12:00, 13:30-18:00], fri: [08:00-12:00, 13:30-17:00] }\n    holidays: [br]\n", 1)
	if got := d.read("office.yaml"); got != want {
		t.Errorf("the file is\n%s", got)
	}
	if got := d.read("other.yaml"); got != want+"rules: []\n" {
		t.Errorf("the other file is\n%s", got)
	}
	if page := d.page("/calendars"); !strings.Contains(page, "closed, opens") { // it is ten to six on a Friday
		t.Error("the hours are not in use")
	}
	if history := d.page("/history?workspace=default&file=office.yaml"); !strings.Contains(history, "opening hours office") || !strings.Contains(history, "closes at 17:00") {
		t.Error("the history does not tell of it")
	}
	if audit := d.page("/audit"); !strings.Contains(audit, "changed opening hours") {
		t.Error("it is not audited")
	}
}

// TestHoursRefused shows what is not saved: what is wrong, what somebody else has changed
// meanwhile, and by whom it may not be.
func TestHoursRefused(t *testing.T) {
	t.Parallel()
	d := withSLA(t)
	for _, tt := range []struct{ field, value, want string }{
		{"day4.to", "12:00 x", "Friday: &#34;x&#34; is not a time"},
		{"day4.to", "14:00 18:00", "overlap"},
	} {
		if w := d.ask("POST", "/calendars/default/office/save", d.officeForm(tt.field, tt.value)); w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %d %s", tt.value, w.Code, w.Body)
		}
	}
	mine := d.officeForm("day4.to", "12:00 17:00")
	d.write("office.yaml", strings.Replace(officeRules, "08:00-12:00", "07:00-12:00", 1)+"# somebody else was here\n")
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	w := d.ask("POST", "/calendars/default/office/save", mine)
	if w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "changed meanwhile") || !strings.Contains(w.Body.String(), "opens at 08:00 instead of 07:00") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	mine["was"] = d.officeForm()["was"]
	if w := d.ask("POST", "/calendars/default/office/save", mine); w.Code != http.StatusSeeOther || !strings.Contains(d.read("office.yaml"), "fri: [08:00-12:00, 13:30-17:00]") || !strings.HasSuffix(d.read("office.yaml"), "# somebody else was here\n") {
		t.Errorf("%d\n%s", w.Code, d.read("office.yaml"))
	}

	g := newEditorDesk(t, guarded)
	viewer, _ := g.enters("vera", "correct horse")
	if page := g.page("/calendars", viewer); strings.Contains(page, "/edit") {
		t.Error("a viewer is offered to change the hours")
	}
	for _, path := range []string{"/calendars/default/office/save", "/calendars/default/office/check"} {
		if w := g.ask("POST", path, mine, viewer); w.Code != http.StatusForbidden {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}

// TestHoursRunTests shows that tests of rules which use the hours are run before, and that a person
// may decide that the hours count.
func TestHoursRunTests(t *testing.T) {
	t.Parallel()
	d := withSLA(t)
	jsonOf[testsAnswer](d, "/write/record", ofSLA(slaRules, "story", slaStory(false), "name", "nobody answers")...)
	form := d.officeForm("day0.from", "10:30 13:30")
	w := d.ask("POST", "/calendars/default/office/save", form)
	if w.Code != http.StatusUnprocessableEntity || d.read("office.yaml") != officeRules {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for _, want := range []string{"some tests of rules fail", "nobody answers", "Save all the same", `value="10:30"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	form.Set("anyway", "yes")
	if w := d.ask("POST", "/calendars/default/office/save", form); w.Code != http.StatusSeeOther || !strings.Contains(d.read("office.yaml"), "mon: [10:30-12:00, 13:30-18:00]") {
		t.Errorf("%d\n%s", w.Code, d.read("office.yaml"))
	}
	if open := d.book().Set.Calendars["office"]; open.Open(friday.AddDate(0, 0, 3).Add(-9 * time.Hour)) {
		t.Error("the hours are not in use")
	}
	// A special day of every year; a row that nobody filled in is none.
	form = d.officeForm("day0.from", "10:30 13:30", "special", "0 1000", "special0.date", "2026-12-24", "special0.name", "Eve", "special0.every", "year", "special0.from", "9", "special0.to", "12", "special1000.date", "", "anyway", "yes")
	if w := d.ask("POST", "/calendars/default/office/save", form); w.Code != http.StatusSeeOther || !strings.Contains(d.read("office.yaml"), "12-24: { open: [09:00-12:00], name: Eve }") {
		t.Errorf("%d\n%s", w.Code, d.read("office.yaml"))
	}
	if page := d.page(officeEdit); !strings.Contains(page, `value="2026-12-24"`) || !slices.Contains(regexp.MustCompile(`<option value="year"( selected)?>`).FindStringSubmatch(page), " selected") {
		t.Error("the special day is not shown as one of every year")
	}
}
