package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

// sends posts a form to a rule's page, as a person who sees its file as it stands.
func (d *desk) sends(path string, fields ...string) (int, string, http.Header) {
	d.t.Helper()
	return d.post(path, append([]string{"was", d.sumOf("hello.yaml"), "back", "/rules/default/hello"}, fields...)...)
}

// TestRename shows that a rule gets another name and tags, and nothing else of its file changes.
func TestRename(t *testing.T) {
	d := newEditorDesk(t)
	version := d.book().Set.Rule("hello").Version
	status, body, header := d.sends("/rules/default/hello/rename", "name", "  Boas-vindas:  “oi” ")
	if status != http.StatusSeeOther || header.Get("Location") != "/rules/default/hello?said=renamed" {
		t.Fatal(status, body)
	}
	if got, want := d.read("hello.yaml"), strings.Replace(greetRules, "name: A first word", `name: "Boas-vindas: “oi”"`, 1); got != want && got != strings.Replace(greetRules, "name: A first word", `name: 'Boas-vindas: “oi”'`, 1) {
		t.Errorf("%s", got)
	}
	if status, body, _ := d.sends("/rules/default/hello/tags", "tags", "welcome,  first  contact, welcome,"); status != http.StatusSeeOther {
		t.Fatal(status, body)
	}
	r := d.book().Set.Rule("hello")
	if strings.Join(r.Tags, "|") != "welcome|first contact" || r.Version != version || !strings.Contains(d.read("hello.yaml"), "# groups are left alone") {
		t.Errorf("%q\n%s", r.Tags, d.read("hello.yaml"))
	}
	if page := d.page("/rules/default/hello"); !strings.Contains(page, `value="welcome, first contact"`) || !strings.Contains(page, "<bdi>local</bdi>, <time") {
		t.Error("the page does not tell of the tags, or of who set them")
	}
	if status, _, _ := d.sends("/rules/default/hello/tags", "tags", ""); status != http.StatusSeeOther || len(d.book().Set.Rule("hello").Tags) > 0 {
		t.Error("tags cannot be taken away")
	}
	if audit := d.page("/audit"); !strings.Contains(audit, "renamed a rule") || !strings.Contains(audit, "changed tags of a rule") {
		t.Error("the audit does not tell")
	}
	if history := d.page("/history?workspace=default&file=hello.yaml"); !strings.Contains(history, "renamed") {
		t.Error("the history does not tell")
	}
}

// TestDuplicate shows that a copy does nothing, and that a double click makes one.
func TestDuplicate(t *testing.T) {
	d := newEditorDesk(t)
	was := d.sumOf("hello.yaml")
	status, body, header := d.sends("/rules/default/hello/duplicate")
	if status != http.StatusSeeOther || header.Get("Location") != "/rules/default/hello-copy?said=duplicated" {
		t.Fatal(status, body)
	}
	if status, _, _ := d.post("/rules/default/hello/duplicate", "was", was); status != http.StatusConflict {
		t.Errorf("a second click: %d", status)
	}
	if status, _, header := d.sends("/rules/default/hello/duplicate"); status != http.StatusSeeOther || !strings.Contains(header.Get("Location"), "/hello-copy-2?") {
		t.Error(status, header)
	}
	copied := d.book().Set.Rule("hello-copy")
	if copied == nil || copied.Stage != rules.Draft || copied.Name != "A first word (copy)" || !strings.HasPrefix(d.read("hello.yaml"), greetRules) {
		t.Errorf("%+v\n%s", copied, d.read("hello.yaml"))
	}
	d.says(marina, "Marina", "hi")
	if runs := must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "hello-copy"})); len(runs) > 0 {
		t.Error("the copy acts")
	}
}

const patientRules = `rules:
  # The only one.
  - id: patient
    name: Waits a while
    when: message.received
    do:
      - wait: 2h
      - send_message: Still there?
`

// TestDelete shows that a deleted rule starts nothing, that what it began goes on as the page said,
// and that it comes back as a draft with its comments.
func TestDelete(t *testing.T) {
	d := newEditorDesk(t)
	d.write("patient.yaml", patientRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	d.says(marina, "Marina", "hi")
	asks := d.page("/rules/default/patient/delete")
	if !strings.Contains(asks, `<a href="/runs?rule=patient&amp;state=waiting">1 run</a>`) || !strings.Contains(asks, "They go on to their end as they began") {
		t.Error(asks)
	}
	was := d.sumOf("patient.yaml")
	status, body, header := d.post("/rules/default/patient/delete", "was", was, "reason", "too pushy")
	if status != http.StatusSeeOther || header.Get("Location") != "/deleted?said=deleted" || d.book().Set.Rule("patient") != nil || len(d.book().Set.Broken) > 0 {
		t.Fatal(status, body, d.read("patient.yaml"))
	}
	if status, _, _ := d.post("/rules/default/patient/delete", "was", was); status != http.StatusNotFound {
		t.Errorf("deleted twice: %d", status)
	}
	d.says(bento, "Bento", "hi")
	before := len(d.Effects())
	d.pass(2*60*60e9 + 1e9)
	if run := must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "patient"})); len(run) != 1 || run[0].State != journal.Done || len(d.Effects()) == before {
		t.Errorf("what had begun does not go on: %+v", run)
	}
	page := d.page("/deleted")
	if !strings.Contains(page, "Waits a while") || !strings.Contains(page, "too pushy") {
		t.Error(page)
	}
	back := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="(file|rule|version)" value="([^"]*)">`).FindAllStringSubmatch(page, -1) {
		back.Set(m[1], m[2])
	}
	fields := []string{"file", back.Get("file"), "rule", back.Get("rule"), "version", back.Get("version")}
	if status, body, header := d.post("/deleted", fields...); status != http.StatusSeeOther || header.Get("Location") != "/rules/default/patient?said=undeleted" {
		t.Fatal(status, body)
	}
	if got := d.read("patient.yaml"); got != strings.Replace(patientRules, "    when:", "    stage: draft\n    when:", 1) {
		t.Error(got)
	}
	if status, _, _ := d.post("/deleted", fields...); status == http.StatusSeeOther {
		t.Error("it comes back twice")
	}
	if page := d.page("/deleted"); strings.Contains(page, "Waits a while") {
		t.Error("it is listed though it is back")
	}
	if audit := d.page("/audit"); !strings.Contains(audit, "deleted a rule") || !strings.Contains(audit, "patient too pushy") || !strings.Contains(audit, "brought back a rule") {
		t.Error("the audit does not tell")
	}
}

// TestDeletedBesideOthers shows that a rule comes back without undoing what others changed in its
// file since.
func TestDeletedBesideOthers(t *testing.T) {
	d := newEditorDesk(t)
	d.write("hello.yaml", greetRules+strings.TrimPrefix(patientRules, "rules:\n"))
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := d.sends("/rules/default/patient/delete"); status != http.StatusSeeOther {
		t.Fatal(status, body)
	}
	if status, body, _ := d.sends("/rules/default/hello/rename", "name", "Renamed since"); status != http.StatusSeeOther {
		t.Fatal(status, body)
	}
	if status, body, _ := d.post("/deleted", "file", "hello.yaml", "rule", "patient", "version", "2"); status != http.StatusSeeOther {
		t.Fatal(status, body)
	}
	set := d.book().Set
	if r := set.Rule("patient"); r == nil || r.Stage != rules.Draft || set.Rule("hello").Name != "Renamed since" {
		t.Error(d.read("hello.yaml"))
	}
}

// TestRuleChangesAreRefused shows when nothing is changed: the file has changed, somebody has an
// unfinished text, the rules are read-only, or another file would be wrong.
func TestRuleChangesAreRefused(t *testing.T) {
	d := newEditorDesk(t)
	standing := d.read("hello.yaml")
	long := strings.Repeat("x", 121)
	for _, tt := range []struct {
		name, path string
		fields     []string
		status     int
	}{
		{"an empty name", "rename", []string{"was", d.sumOf("hello.yaml"), "name", "  "}, 400},
		{"a long name", "rename", []string{"was", d.sumOf("hello.yaml"), "name", long}, 400},
		{"letters that turn around", "rename", []string{"was", d.sumOf("hello.yaml"), "name", "x\u202ey"}, 400},
		{"a long tag", "tags", []string{"was", d.sumOf("hello.yaml"), "tags", long}, 400},
		{"a file that has changed", "rename", []string{"was", "other", "name", "x"}, 409},
		{"a delete of a file that has changed", "delete", []string{"was", "other"}, 409},
	} {
		if status, body, _ := d.post("/rules/default/hello/"+tt.path, tt.fields...); status != tt.status {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
	}
	files := d.options.Workspaces[0].Editing.Store
	if err := files.Keep("hello.yaml", "rules: [", d.sumOf("hello.yaml"), "Ana"); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := d.sends("/rules/default/hello/delete"); status != http.StatusConflict || must(files.Kept("hello.yaml")) == nil {
		t.Errorf("an unfinished text: %d", status)
	}
	if err := files.Drop("hello.yaml"); err != nil {
		t.Fatal(err)
	}
	d.write("hello_test.yaml", "tests:\n  - name: one\n    rules: [hello]\n    steps:\n      - { customer: Marina, says: hi, expect: [] }\n")
	if status, body, _ := d.sends("/rules/default/hello/delete"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "hello_test.yaml") {
		t.Errorf("a rule that a test names: %d %s", status, body)
	}
	d.options.Workspaces[0].Editing.Store = store.New(store.Options{Path: d.folder, ReadOnly: true})
	for _, path := range []string{"rename", "tags", "duplicate", "delete"} {
		if status, _, _ := d.sends("/rules/default/hello/"+path, "name", "x"); status != http.StatusConflict {
			t.Errorf("%s of read-only rules: %d", path, status)
		}
	}
	if strings.Contains(d.page("/rules/default/hello"), "/delete") || d.read("hello.yaml") != standing {
		t.Error("read-only rules can be changed")
	}
}
