package console

import (
	"html"
	"net/http"
	"strings"
	"testing"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

const slaRules = `rules:
  - id: sla
    name: Nobody waits
    stage: shadow
    when: attendance.opened
    do:
      - wait: 15m of office
      - read_attendance: {}
      - stop_if: attendance.first_response != nil
      - transfer: Supervisors
`

// withSLA is a desk with a rule that escalates when nobody answers.
func withSLA(t *testing.T) *desk {
	t.Helper()
	d := newEditorDesk(t)
	d.write("sla.yaml", slaRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	return d
}

// slaStory is a story in which nobody of the team answers, or somebody in time.
func slaStory(answers bool) string {
	entries := `{"do":"customer","at":"2026-11-16T09:00","text":"Hello"}`
	if answers {
		entries += `,{"do":"team","at":"2026-11-16T09:10","text":"Yes?"}`
	}
	return `{"customer":"Marina","entries":[` + entries + `],"until":"2026-11-16T10:00"}`
}

// of returns the fields of the rule with a text.
func ofSLA(text string, more ...string) []string {
	return append([]string{"file", "sla.yaml", "rule", "sla", "text", text}, more...)
}

// TestRecordedTests shows that a conversation is recorded as a test beside the rule, that the tests
// run on the text as it is written, with faults too, and that a failing one says why in words.
func TestRecordedTests(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	d := withSLA(t)
	if got := jsonOf[testsAnswer](d, "/write/tests", ofSLA(slaRules)...); got.Total != 0 || !strings.Contains(got.HTML, "The rule has no tests yet.") {
		t.Errorf("without tests: %+v", got)
	}
	got := jsonOf[testsAnswer](d, "/write/record", ofSLA(slaRules, "story", slaStory(false), "name", "nobody answers")...)
	if got.Passed != 1 || got.Total != 1 || !strings.Contains(got.HTML, "nobody answers") {
		t.Errorf("one test: %+v", got)
	}
	got = jsonOf[testsAnswer](d, "/write/record", ofSLA(slaRules, "story", slaStory(true), "name", "somebody answers")...)
	if got.Passed != 2 || got.Total != 2 {
		t.Errorf("two tests: %+v", got)
	}
	file := d.read("sla_test.yaml")
	for _, want := range []string{`name: "nobody answers"`, `- transfer: { sector: "Supervisors" }`, `name: "somebody answers"`, "expect: []"} {
		if !strings.Contains(file, want) {
			t.Errorf("%q is not in the file:\n%s", want, file)
		}
	}
	if !strings.Contains(d.page("/history?workspace=default&file=sla_test.yaml"), "a test") || !strings.Contains(d.page("/audit"), "sla_test.yaml") {
		t.Error("the history or the audit does not tell of it")
	}
	if status, body, _ := d.post("/write/record", ofSLA(slaRules, "story", slaStory(true), "name", "somebody answers")...); status != http.StatusUnprocessableEntity || !strings.Contains(body, "two tests with this name") {
		t.Errorf("the same name: %d %s", status, body)
	}
	if status, body, _ := d.post("/write/record", "rule", "new", "text", strings.Replace(slaRules, "id: sla", "id: new", 1), "story", slaStory(true)); status != http.StatusConflict || !strings.Contains(body, "Save the rule first") {
		t.Errorf("a rule that is not saved: %d %s", status, body)
	}
	if got := jsonOf[testsAnswer](d, "/write/tests", ofSLA(slaRules, "faults", "yes")...); got.Passed != 2 {
		t.Errorf("with faults: %+v", got)
	}
	got = jsonOf[testsAnswer](d, "/write/tests", ofSLA(strings.Replace(slaRules, "transfer: Supervisors", "transfer: Sales", 1))...)
	if got.Passed != 1 || !strings.Contains(got.HTML, "expected: transfer Marina to Supervisors. Instead: transfer Marina to Sales.") {
		t.Errorf("another sector: %+v", got)
	}
	got = jsonOf[testsAnswer](d, "/write/tests", ofSLA(strings.Replace(slaRules, "wait: 15m of office", "wait: 5m", 1))...)
	if got.Passed != 1 || !strings.Contains(got.HTML, "this was not expected: transfer Marina to Supervisors.") {
		t.Errorf("too early: %+v", got)
	}
}

// TestRemovedTests shows that a test is removed, one of several and the last one, and comes back as
// it was.
func TestRemovedTests(t *testing.T) {
	d := withSLA(t)
	for name, answers := range map[string]bool{"nobody answers": false, "somebody answers": true} {
		jsonOf[testsAnswer](d, "/write/record", ofSLA(slaRules, "story", slaStory(answers), "name", name)...)
	}
	got := jsonOf[testsAnswer](d, "/write/untest", ofSLA(slaRules, "name", "nobody answers")...)
	if got.Total != 1 || !strings.Contains(got.HTML, "The test was removed.") || strings.Contains(d.read("sla_test.yaml"), "nobody") {
		t.Errorf("one of two: %+v\n%s", got, d.read("sla_test.yaml"))
	}
	_, rest, _ := strings.Cut(got.HTML, `data-again="`)
	item, _, _ := strings.Cut(rest, `"`)
	if got := jsonOf[testsAnswer](d, "/write/untest", ofSLA(slaRules, "name", "somebody answers")...); got.Total != 0 {
		t.Errorf("the last: %+v\n%s", got, d.read("sla_test.yaml"))
	}
	if got := jsonOf[testsAnswer](d, "/write/untest", ofSLA(slaRules, "again", html.UnescapeString(item))...); got.Passed != 1 || !strings.Contains(got.HTML, "nobody answers") {
		t.Errorf("again: %+v\n%s", got, d.read("sla_test.yaml"))
	}
	if status, _, _ := d.post("/write/untest", ofSLA(slaRules, "name", "never was")...); status != http.StatusNotFound {
		t.Errorf("one that never was: %d", status)
	}
}

// TestTestsInTheSameFile shows that where all rules stand in one file, a recorded test goes into
// the text on the page, to be saved with the rule.
func TestTestsInTheSameFile(t *testing.T) {
	d := newEditorDesk(t, func(o *Options) {
		e := o.Workspaces[0].Editing
		e.Store = store.New(store.Options{Path: e.Store.Path("office.yaml")})
	})
	text := officeRules + slaRules
	got := jsonOf[testsAnswer](d, "/write/record", "file", "office.yaml", "rule", "sla", "text", text, "story", slaStory(false), "name", "nobody answers")
	if got.Passed != 1 || !strings.HasPrefix(got.Text, text) || !strings.Contains(got.Text, "nobody answers") {
		t.Errorf("%+v", got)
	}
	if d.read("office.yaml") != officeRules {
		t.Error("the file was written")
	}
}

// TestRedTestsHoldBack shows that a rule does not go live while a test of it fails,
// that it may watch, and that it goes live when it is mended.
func TestRedTestsHoldBack(t *testing.T) {
	d := withSLA(t)
	jsonOf[testsAnswer](d, "/write/record", ofSLA(slaRules, "story", slaStory(false), "name", "nobody answers")...)
	broken := strings.Replace(slaRules, "Supervisors", "Sales", 1)
	status, body, _ := d.post("/write/save", ofSLA(broken, "was", d.sumOf("sla.yaml"), "stage", "live")...)
	if status != http.StatusUnprocessableEntity || d.read("sla.yaml") != slaRules {
		t.Fatalf("%d\n%s", status, d.read("sla.yaml"))
	}
	for _, want := range []string{"does not go live while a test of it fails", "nobody answers", "transfer Marina to Sales", "Save it as shadow", "transfer: Sales"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is missing:\n%s", want, body)
		}
	}
	if status, body, _ := d.post("/write/save", ofSLA(broken, "was", d.sumOf("sla.yaml"), "stage", "shadow")...); status != http.StatusSeeOther {
		t.Fatalf("in shadow: %d %s", status, body)
	}
	if r := d.book().Set.Rule("sla"); r.Stage != rules.Shadow {
		t.Errorf("it is %s", r.Stage)
	}
	if status, body, _ := d.post("/write/save", ofSLA(slaRules, "was", d.sumOf("sla.yaml"), "stage", "live")...); status != http.StatusSeeOther || d.book().Set.Rule("sla").Stage != rules.Live {
		t.Errorf("mended: %d %s", status, body)
	}
}
