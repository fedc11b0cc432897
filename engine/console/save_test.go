package console

import (
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

// sumOf is the sum of a file as a page would have it.
func (d *desk) sumOf(name string) string {
	d.t.Helper()
	f, err := d.options.Workspaces[0].Editing.Store.Read(name)
	if err != nil {
		return ""
	}
	return f.Sum
}

// TestSave shows how a rule comes into use: as a draft that does nothing, as a shadow that watches,
// and live; with all of it written down.
func TestSave(t *testing.T) {
	d := newEditorDesk(t)
	text := strings.ReplaceAll(awayTemplate, `closed("office")`, `open("office")`)
	for _, stage := range []string{"draft", "shadow", "live"} {
		file := "away-reply.yaml"
		if stage == "draft" {
			file = ""
		}
		status, body, header := d.post("/write/save", "file", file, "rule", "away-reply", "text", text, "was", d.sumOf("away-reply.yaml"), "stage", stage, "reason", "because of "+stage)
		if status != http.StatusSeeOther || header.Get("Location") != "/rules/default/away-reply?said=saved."+stage {
			t.Fatalf("%s: %d %s %s", stage, status, header.Get("Location"), body)
		}
		text = d.read("away-reply.yaml")
		if !strings.Contains(text, "# the calendar of the desk") {
			t.Errorf("%s: a comment is lost:\n%s", stage, text)
		}
		if r := d.book().Set.Rule("away-reply"); r == nil || string(r.Stage) != stage {
			t.Errorf("%s: the rule in use is %+v", stage, r)
		}
		d.says(marina, "Marina", "hello "+stage)
	}
	var got []string
	for _, r := range must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "away-reply"})) {
		got = append(got, string(r.Stage))
	}
	if strings.Join(got, " ") != "live shadow" {
		t.Errorf("runs: %v", got)
	}
	history := d.page("/history?workspace=default&file=away-reply.yaml")
	for _, want := range []string{"Version 3", "because of live", "because of draft", "local", "&#43;     stage: draft", "-     stage: draft"} {
		if !strings.Contains(history, want) {
			t.Errorf("the history does not tell %q", want)
		}
	}
	if audit := d.page("/audit"); !strings.Contains(audit, "saved as shadow") || !strings.Contains(audit, "default/away-reply.yaml") || !strings.Contains(audit, "because of shadow") {
		t.Error("the audit does not tell")
	}
	// And back to when it watched.
	status, _, header := d.post("/history/restore", "file", "away-reply.yaml", "version", "2", "was", d.sumOf("away-reply.yaml"), "back", "/history?workspace=default&file=away-reply.yaml")
	if status != http.StatusSeeOther || !strings.Contains(header.Get("Location"), "said=restored") || d.book().Set.Rule("away-reply").Stage != rules.Shadow {
		t.Errorf("%d %s", status, header.Get("Location"))
	}
	if history := d.page("/history?workspace=default&file=away-reply.yaml"); !strings.Contains(history, "Version 4") || !strings.Contains(history, "back to version 2") {
		t.Error("the way back is not told")
	}
}

// TestLineEnds shows that a file keeps the ends of its lines, whatever the browser makes of them,
// and that they do not count as a difference.
func TestLineEnds(t *testing.T) {
	d := newEditorDesk(t)
	windows := strings.ReplaceAll(greetRules, "\n", "\r\n")
	d.write("hello.yaml", windows)
	d.write("hello_test.yaml", "tests:\r\n  - name: one\r\n    steps:\r\n      - { customer: Marina, says: hi, expect: [] }\r\n")
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	sent := strings.Replace(windows, "Hello, ", "Good day, ", 1) // as a form sends it
	was := d.sumOf("hello.yaml")
	if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", sent, "was", was, "stage", "shadow"); status != http.StatusSeeOther {
		t.Fatal(status, body)
	}
	if got, want := d.read("hello.yaml"), strings.Replace(sent, "    when:", "    stage: shadow\r\n    when:", 1); got != want {
		t.Errorf("%q", got)
	}
	_, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", sent, "was", was, "stage", "draft")
	if !strings.Contains(body, "stage: shadow") || strings.Count(body, `class="diff-out"`) != 1 {
		t.Errorf("another's change is shown as %s", regexp.MustCompile(`(?s)<pre.*?</pre>`).FindString(body))
	}
	item := "- name: two\r\n  steps:\r\n    - { customer: Marina, says: hi, expect: [] }\r\n"
	if status, body, _ := d.post("/tests", "file", "hello_test.yaml", "rule", "hello", "text", item, "was", d.sumOf("hello_test.yaml")); status != http.StatusSeeOther {
		t.Fatal(status, body)
	}
	if got := d.read("hello_test.yaml"); strings.Count(got, "\n") != strings.Count(got, "\r\n") || strings.Count(got, "tests:") != 1 {
		t.Errorf("%q", got)
	}
}

// TestLongHistory shows that every version of a file can be reached, however many there are, and
// that one can go back to it from there.
func TestLongHistory(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	d := newEditorDesk(t)
	const all = versionsShown + 3
	for i := range all {
		text := strings.Replace(greetRules, "Hello, ", "Hello "+itoa(int64(i+1))+", ", 1)
		if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", text, "was", d.sumOf("hello.yaml"), "stage", "live"); status != http.StatusSeeOther {
			t.Fatal(status, body)
		}
	}
	var seen []string
	older := regexp.MustCompile(`href="(/history\?[^"]*before=[^"]*)"`)
	for path := "/history?workspace=default&file=hello.yaml"; path != ""; {
		page := d.page(path)
		for _, n := range regexp.MustCompile(`<h2>Version (\d+)`).FindAllStringSubmatch(page, -1) {
			seen = append(seen, n[1])
		}
		if at := strings.Count(page, "in use"); (at > 0) != (len(seen) <= versionsShown) {
			t.Errorf("%s: %d versions are called the one in use", path, at)
		}
		path = ""
		if next := older.FindStringSubmatch(page); next != nil {
			path = html.UnescapeString(next[1])
		}
	}
	if len(seen) != all+1 || seen[0] != itoa(all+1) || seen[all] != "1" { // the first was there before
		t.Errorf("%d versions: %v", len(seen), seen)
	}
}

// TestStage shows that a rule's stage is changed on its page, with nothing else of its file.
func TestStage(t *testing.T) {
	d := newEditorDesk(t)
	if text := d.page("/rules/default/hello"); !strings.Contains(text, `name="switch" value="live" checked`) || !strings.Contains(text, `action="/write/save" data-own`) || !strings.Contains(text, "/history?") {
		t.Error("the page of a rule does not offer to change it")
	}
	if w := d.ask("GET", "/write?workspace=default&rule=hello", nil); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/rules/default/hello" {
		t.Errorf("the old address of the page leads to %d %s", w.Code, w.Header().Get("Location"))
	}
	status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "own", "hello", "text", greetRules, "was", d.sumOf("hello.yaml"), "stage", "shadow", "reason", "let us watch first")
	if status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	if text := timed(d.page("/rules/default/hello")); !strings.Contains(text, "since 17:50, <bdi>local</bdi>") {
		t.Error("the page does not say who changed the stage, and when")
	}
	if d.book().Set.Rule("hello").Stage != rules.Shadow || strings.Replace(d.read("hello.yaml"), "    stage: shadow\n", "", 1) != greetRules {
		t.Errorf("the file is now\n%s", d.read("hello.yaml"))
	}
	for _, stage := range []string{"", "dead", "Live"} {
		if status, _, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", greetRules, "was", d.sumOf("hello.yaml"), "stage", stage); status != http.StatusBadRequest {
			t.Errorf("%q: %d", stage, status)
		}
	}
}

// TestNothingWrongIsSaved shows that a text with problems never takes the place of one without: as
// a draft it is kept aside, and otherwise refused.
func TestNothingWrongIsSaved(t *testing.T) {
	d := newEditorDesk(t)
	standing := d.book().Set.Rule("hello").Version
	unknown := strings.Replace(greetRules, "message.received", "mesage.received", 1)
	for name, text := range map[string]string{
		"an event that is none": unknown, "no YAML": greetRules + "  - [", "two rules of one id": greetRules + strings.TrimPrefix(greetRules, "rules:\n"), "no rule": "# nothing\n",
		"a rule of another file": greetRules + "  - id: other\n    when: manual\n    do: [{ log: x }]\n",
	} {
		if name == "a rule of another file" {
			d.write("other.yaml", "rules:\n  - id: other\n    when: manual\n    do: [{ log: x }]\n")
			if err := d.reload(); err != nil {
				t.Fatal(err)
			}
		}
		for _, stage := range []string{"live", "shadow"} {
			status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", text, "was", d.sumOf("hello.yaml"), "stage", stage)
			if status != http.StatusUnprocessableEntity || !strings.Contains(body, "Nothing was saved") || !strings.Contains(body, `name="text"`) {
				t.Errorf("%s as %s: %d %.300s", name, stage, status, body)
			}
		}
	}
	// One file loses a calendar that another file's rule uses.
	d.write("away.yaml", awayTemplate)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := d.post("/history/restore", "file", "office.yaml", "version", "1", "was", "x"); status != http.StatusNotFound {
		t.Errorf("a version that there is not: %d %.200s", status, body)
	}
	status, _, header := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", unknown, "was", d.sumOf("hello.yaml"), "stage", "draft")
	if status != http.StatusSeeOther || !strings.Contains(header.Get("Location"), "said=unfinished") {
		t.Fatalf("an unfinished draft: %d %s", status, header.Get("Location"))
	}
	if d.read("hello.yaml") != greetRules || d.book().Set.Rule("hello").Version != standing || len(d.book().Set.Broken) > 0 {
		t.Error("what is unfinished is in use")
	}
	if text := d.page(header.Get("Location")); !strings.Contains(text, "mesage.received") {
		t.Error("what is unfinished is not shown to go on with")
	}
	if text := d.page("/rules/default/hello"); !strings.Contains(text, "local left an unfinished version") || strings.Contains(text, "mesage.received") {
		t.Error("nobody tells that there is something unfinished")
	}
	if text := d.page("/write"); !strings.Contains(text, "hello.yaml") {
		t.Error("what is unfinished is not listed")
	}
	if status, _, _ := d.post("/write/discard", "file", "hello.yaml"); status != http.StatusSeeOther {
		t.Error("it cannot be thrown away")
	}
	if text := d.page("/rules/default/hello"); strings.Contains(text, "unfinished version") {
		t.Error("it is still there")
	}
}

// TestSpoilsOthers shows that a file cannot take away what others need.
func TestSpoilsOthers(t *testing.T) {
	d := newEditorDesk(t)
	d.write("mixed.yaml", officeRules2+greetRules2)
	d.write("away.yaml", strings.ReplaceAll(awayTemplate, "office", "lunch"))
	if err := d.reload(); err != nil || d.book().Set.Rule("away-reply") == nil {
		t.Fatal(err)
	}
	status, body, _ := d.post("/write/save", "file", "mixed.yaml", "rule", "second", "text", greetRules2, "was", d.sumOf("mixed.yaml"), "stage", "live")
	if status != http.StatusUnprocessableEntity || !strings.Contains(body, "lunch") {
		t.Errorf("%d %.300s", status, body)
	}
}

const (
	officeRules2 = "calendars:\n  lunch:\n    timezone: America/Sao_Paulo\n    open: { mon-fri: [12:00-13:00] }\n"
	greetRules2  = "rules:\n  - id: second\n    when: message.received\n    do:\n      - send_message: Hello\n"
)

// TestConflict shows that no change is lost when two users edit the same file.
func TestConflict(t *testing.T) {
	d := newEditorDesk(t)
	opened := d.sumOf("hello.yaml")
	mine := strings.Replace(greetRules, "Hello, ", "Welcome, ", 1)
	d.write("hello.yaml", strings.Replace(greetRules, "Hello, ", "Hi, ", 1))
	status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", mine, "was", opened, "stage", "live")
	if status != http.StatusConflict || !strings.Contains(body, "has changed since you opened it") || !strings.Contains(body, "Hi, ") || !strings.Contains(body, "Welcome, ") {
		t.Fatalf("%d %.500s", status, body)
	}
	if !strings.Contains(d.read("hello.yaml"), "Hi, ") {
		t.Error("the other's change is lost")
	}
	if !strings.Contains(body, `name="was" value="`+d.sumOf("hello.yaml")+`"`) {
		t.Error("whoever has seen the difference cannot save")
	}
	if status, _, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", mine, "was", d.sumOf("hello.yaml"), "stage", "live"); status != http.StatusSeeOther {
		t.Errorf("%d", status)
	}
	if text := d.page("/history?workspace=default&file=hello.yaml"); !strings.Contains(text, "changed outside of this console") || !strings.Contains(text, "Hi, ") {
		t.Error("the other's change is not in the history")
	}
}

// TestTwins shows that two users who save two files at the same moment do not create a conflict
// between them.
func TestTwins(t *testing.T) {
	var d *desk
	other := make(chan int, 1)
	var reads atomic.Int32
	save := func(file string) int {
		status, _, _ := d.post("/write/save", "file", file, "rule", "second", "text", greetRules2, "stage", "live")
		return status
	}
	d = newEditorDesk(t, func(o *Options) {
		e := o.Workspaces[0].Editing
		read := e.Files
		e.Files = func() ([]*rules.File, error) {
			list, err := read()
			if reads.Add(1) == 3 { // the first has run its tests, and read what it is held against
				go func() { other <- save("b.yaml") }()
				select {
				case status := <-other:
					other <- status
				case <-time.After(200 * time.Millisecond): // it waits for the lock
				}
			}
			return list, err
		}
	})
	reads.Store(0)
	if first, second := save("a.yaml"), <-other; first != http.StatusSeeOther || second != http.StatusUnprocessableEntity {
		t.Errorf("the first was answered %d, the second %d", first, second)
	}
}

// TestReadOnly shows that rules which the configuration keeps as they are cannot be changed by any
// way, and that no page offers it.
func TestReadOnly(t *testing.T) {
	d := newEditorDesk(t, func(o *Options) {
		e := o.Workspaces[0].Editing
		e.Store = store.New(store.Options{Path: filepath.Dir(e.Store.Path("hello.yaml")), ReadOnly: true})
	})
	d.says(marina, "Marina", "hello")
	before := d.read("hello.yaml")
	for _, tt := range [][]string{
		{"/write/save", "file", "hello.yaml", "rule", "hello", "text", greetRules + "# x\n", "was", d.sumOf("hello.yaml"), "stage", "live"},
		{"/write/save", "rule", "other", "text", greetRules2, "stage", "live"},
		{"/write/save", "file", "hello.yaml", "rule", "hello", "text", "x", "was", d.sumOf("hello.yaml"), "stage", "draft"},
		{"/write/discard", "file", "hello.yaml"},
		{"/tests", "file", "hello_test.yaml", "rule", "hello", "text", "- name: x\n  steps: [{ at: +1m, expect: [] }]\n"},
	} {
		if status, body, _ := d.post(tt[0], tt[1:]...); status == http.StatusSeeOther || status == http.StatusOK {
			t.Errorf("%v: %d %.200s", tt[0], status, body)
		}
	}
	if w := d.ask("GET", "/write", nil); w.Code != http.StatusConflict || !strings.Contains(w.Body.String(), "read-only") {
		t.Errorf("%d", w.Code)
	}
	entries, _ := os.ReadDir(d.folder)
	if d.read("hello.yaml") != before || len(entries) != 2 {
		t.Errorf("something was written: %v", entries)
	}
	for _, path := range []string{"/rules", "/rules/default/hello", "/events/1", "/runs/1"} {
		if text := d.page(path); strings.Contains(text, `href="/write`) || strings.Contains(text, `id="write"`) || strings.Contains(text, "studio.js") || strings.Contains(text, "/test\"") {
			t.Errorf("%s offers to change what cannot be changed", path)
		}
	}
}

// TestViewersDoNotWrite shows that viewers get no way to edit, and are refused, and that the
// editor's page allows no style but the editor's.
func TestViewersDoNotWrite(t *testing.T) {
	d := newEditorDesk(t, guarded)
	d.says(marina, "Marina", "hello")
	vera, _ := d.enters("vera", "correct horse")
	for _, path := range []string{"/rules", "/rules/default/hello", "/events/1", "/runs/1"} {
		if text := d.page(path, vera); strings.Contains(text, `href="/write`) || strings.Contains(text, `id="write"`) || strings.Contains(text, "studio.js") || strings.Contains(text, `/test"`) {
			t.Errorf("%s offers a viewer what he may not do", path)
		}
	}
	d.page("/history?workspace=default&file=hello.yaml", vera)
	edu, _ := d.enters("edu", "correct horse")
	seen := map[string]bool{}
	for range 2 {
		w := d.ask("GET", "/rules/default/hello", nil, edu)
		policy := w.Header().Get("Content-Security-Policy")
		nonce := regexp.MustCompile(`style-src 'self' 'nonce-(\w{20,})';`).FindStringSubmatch(policy)
		if w.Code != http.StatusOK || nonce == nil || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "script-src 'self';") || !strings.Contains(w.Body.String(), `content="`+nonce[1]+`"`) {
			t.Fatalf("%d %s", w.Code, policy)
		}
		if seen[nonce[1]] {
			t.Error("the word is known before")
		}
		seen[nonce[1]] = true
	}
	if w := d.ask("POST", "/write/save", url.Values{"file": {"hello.yaml"}, "rule": {"hello"}, "text": {greetRules}, "was": {d.sumOf("hello.yaml")}, "stage": {"shadow"}}, edu); w.Code != http.StatusSeeOther {
		t.Errorf("an editor: %d", w.Code)
	}
	if versions := must(d.options.Workspaces[0].Editing.Store.Versions("hello.yaml", 0, 5)); versions[0].Who != "edu" {
		t.Errorf("%+v", versions[0])
	}
}

// TestHostileEditors shows that no name leads out of the folder of the rules, and that what is too
// large or comes from elsewhere is refused.
func TestHostileEditors(t *testing.T) {
	d := newEditorDesk(t)
	secret := filepath.Join(filepath.Dir(d.folder), "quando.yaml")
	if err := os.WriteFile(secret, []byte("api_key: swordfish\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"../quando.yaml", "..%2fquando.yaml", secret, "/etc/passwd", ".history/hello.yaml", "x/../../quando.yaml", "..\\quando.yaml", "a\x00.yaml", "quando.yaml", "media/x.yaml", strings.Repeat("a", 5000) + ".yaml"} {
		for _, path := range []string{"/write?workspace=default&file=", "/history?workspace=default&file="} {
			if w := d.ask("GET", path+url.QueryEscape(name), nil); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "swordfish") {
				t.Errorf("%s%s: %d", path, name, w.Code)
			}
		}
		for _, path := range []string{"/write/save", "/write/check", "/write/discard", "/tests", "/history/restore", "/write/past"} {
			if status, body, _ := d.post(path, "file", name, "rule", "hello", "text", greetRules2, "stage", "live", "version", "1"); status != http.StatusBadRequest || strings.Contains(body, "swordfish") {
				t.Errorf("%s of %.40q: %d", path, name, status)
			}
		}
	}
	for _, rule := range []string{"../x", "a/b", "UPPER", "", strings.Repeat("a", 65), "x y", "x\n"} {
		if status, _, _ := d.post("/write/save", "rule", rule, "text", greetRules2, "stage", "live"); status != http.StatusBadRequest {
			t.Errorf("a rule named %q: %d", rule, status)
		}
	}
	if status, _, _ := d.post("/write/check", "text", strings.Repeat("# x\n", 70<<10)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a file that is too large: %d", status)
	}
	if status, _, _ := d.post("/write/check", "text", "", "reason", strings.Repeat("x", 2<<20)); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a request that is too large: %d", status)
	}
	if w := d.ask("POST", "/write/save", url.Values{"stage": {"live"}}, func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }); w.Code != http.StatusForbidden {
		t.Errorf("from another site: %d", w.Code)
	}
	if status, _, _ := d.post("/write/check", "workspace", "nobody", "text", ""); status != http.StatusOK {
		t.Errorf("the first workspace counts: %d", status)
	}
	if w := d.ask("POST", "/write/check", url.Values{"workspace": {"nobody"}}); w.Code != http.StatusNotFound {
		t.Errorf("a workspace that is none: %d", w.Code)
	}
	if got := must(os.ReadFile(secret)); string(got) != "api_key: swordfish\n" {
		t.Errorf("the configuration is %q", got)
	}
	entries := must(os.ReadDir(d.folder))
	if len(entries) != 2 {
		t.Errorf("something was written: %v", entries)
	}
}

// TestToTest shows that an event becomes a test that holds, without the customer's name, and is
// added to those that are there.
func TestToTest(t *testing.T) {
	d := newEditorDesk(t)
	d.says(marina, "Mariana Secreta", `Hello: "there" {{ 1 }}`)
	events := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))
	run := d.runOf("hello")
	for i, path := range []string{"/events/" + itoa(events[0].Seq), "/runs/" + itoa(run)} {
		if text := d.page(path); !strings.Contains(text, `href="`+path+`/test"`) {
			t.Errorf("%s does not offer it", path)
		}
		text := d.page(path + "/test")
		if strings.Contains(text, "Secreta") || !strings.Contains(text, "hello_test.yaml") || !strings.Contains(text, "Hello, Marina!") {
			t.Errorf("the test is\n%s", text)
		}
		item := textareaOf(text)
		if i > 0 {
			item = strings.Replace(item, "as in event", "once more, as in event", 1)
		}
		status, body, header := d.post("/tests", "file", "hello_test.yaml", "rule", "hello", "was", d.sumOf("hello_test.yaml"), "text", item, "back", path)
		if status != http.StatusSeeOther || header.Get("Location") != path+"?said=test" {
			t.Fatalf("%d %s\n%s", status, body, item)
		}
	}
	set := d.book().Set
	if len(set.Tests) != 2 || len(set.Broken) > 0 {
		t.Fatalf("%d tests:\n%s", len(set.Tests), d.read("hello_test.yaml"))
	}
	for _, test := range set.Tests {
		d.tells(set, test)
	}
	if status, body, _ := d.post("/tests", "file", "hello_test.yaml", "rule", "hello", "was", d.sumOf("hello_test.yaml"), "text", "- name: wrong\n  steps: [{ customer: x }]\n"); status != http.StatusUnprocessableEntity || !strings.Contains(body, "must say or send something") {
		t.Errorf("a test that is wrong: %d %.300s", status, body)
	}
}

// jsonOf sends a form and returns what the page's script is answered.
func jsonOf[T any](d *desk, path string, fields ...string) (out T) {
	d.t.Helper()
	status, body, _ := d.post(path, fields...)
	if status != http.StatusOK {
		d.t.Fatalf("%s: %d %s", path, status, body)
	}
	if err := json.Unmarshal([]byte(body), &out); err != nil {
		d.t.Fatalf("%s: %v", path, err)
	}
	return out
}
