package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/console/internal/studio"
	"github.com/quandohq/quando/rules/editor"
)

// TestCheckInPortuguese shows that the editor and the rule's page tell problems in the language of
// the page.
func TestCheckInPortuguese(t *testing.T) {
	d := newEditorDesk(t)
	portuguese := func(r *http.Request) { r.Header.Set("Accept-Language", "pt-BR") }
	text := "rules:\n  - id: hello\n    when: message.received\n    do: [{ send_mesage: x }]\n"
	for _, tt := range []struct {
		path   string
		fields url.Values
		want   []string
	}{
		{"/write/check", url.Values{}, []string{`verbo desconhecido \"send_mesage\"`, `você quis dizer \"send_message\"?`}},
		{"/write/save", url.Values{"stage": {"live"}}, []string{"verbo desconhecido &#34;send_mesage&#34;"}},
	} {
		tt.fields.Set("workspace", "default")
		tt.fields.Set("text", text)
		tt.fields.Set("rule", "x")
		body := d.ask("POST", tt.path, tt.fields, portuguese).Body.String()
		for _, want := range tt.want {
			if !strings.Contains(body, want) {
				t.Errorf("%s does not say %s: %s", tt.path, want, body)
			}
		}
	}
}

// TestCheck shows that problems are reported with their position, by the checker of the loader,
// together with the other files.
func TestCheck(t *testing.T) {
	d := newEditorDesk(t)
	for _, tt := range []struct {
		name, text   string
		line, column int
		message      string
	}{
		{"a name that is wrong", "rules:\n  - id: x\n    when: message.received\n    if: mesage.text == \"é\"\n    do: [{ log: x }]\n", 4, 9, "mesage"},
		{"behind letters of several bytes", "rules:\n  - id: x\n    when: message.received\n    if: \"'éé' == mesage.text\"\n    do: [{ log: x }]\n", 4, 18, "mesage"},
		{"no YAML", "rules: [", 1, 0, ""},
		{"a calendar that is nowhere", "rules:\n  - id: x\n    when: message.received\n    if: closed(\"ofice\")\n    do: [{ log: x }]\n", 4, 0, "ofice"},
		{"an id of another file", "rules:\n  - id: hello\n    when: manual\n    do: [{ log: x }]\n", 2, 0, "another file"},
	} {
		got := jsonOf[checked](d, "/write/check", "text", tt.text, "rule", "x")
		i := slices.IndexFunc(got.Problems, func(p problemView) bool {
			return p.Line == tt.line && (tt.column == 0 || p.Column == tt.column) && strings.Contains(p.Message, tt.message)
		})
		if i < 0 || got.Errors == 0 {
			t.Errorf("%s: %+v", tt.name, got.Problems)
		}
	}
	got := jsonOf[checked](d, "/write/check", "text", awayTemplate, "rule", "nobody")
	if got.Errors > 0 || got.Rule != "away-reply" || !strings.Contains(strings.Join(got.Rail, ""), "is closed") || !strings.Contains(got.Words, "a customer writes") {
		t.Errorf("a rule that uses the calendar of another file: %+v", got)
	}
	if got := jsonOf[checked](d, "/write/check", "text", "rules: [", "rule", "x"); !strings.Contains(strings.Join(got.Rail, ""), "cannot be read as a rule just now") {
		t.Errorf("what cannot be read has a rail:\n%s", got.Rail)
	}
}

// TestEdits shows that what one does on the rail is done to the text, and nothing else.
func TestEdits(t *testing.T) {
	d := newEditorDesk(t)
	text, rule := greetRules, "hello"
	change := func(want string, edits ...string) {
		t.Helper()
		got := jsonOf[checked](d, "/write/edit", "text", text, "rule", rule, "file", "hello.yaml", "edits", "["+strings.Join(edits, ",")+"]")
		text, rule = got.Text, got.Rule
		if !strings.Contains(text, want) {
			t.Fatalf("%q is missing:\n%s", want, text)
		}
		for _, comment := range []string{"# A first word.", "# groups are left alone"} {
			if !strings.Contains(text, comment) {
				t.Fatalf("%q is lost:\n%s", comment, text)
			}
		}
	}
	change("name: Welcome everybody", `{"op":"set","path":"/name","value":"Welcome everybody"}`)
	change("times: 2", `{"op":"set","path":"/limit/times","value":"2"}`)
	change(`closed("office")`, `{"op":"add","path":"/if/~if/of/1","value":{"sentence":"open","not":true,"blanks":{"calendar":{"kind":"text","text":"office"}}}}`)
	change("id: welcome", `{"op":"set","path":"/id","value":"welcome"}`)
	change("add_labels: [vip, after-hours]", `{"op":"add","path":"/do/1","value":{"verb":"add_labels"}}`, `{"op":"set","path":"/do/1/args/labels","value":["vip","after-hours"]}`)
	change("Olá, {{ contact.name }}", `{"op":"set","path":"/do/0/args/text","value":"Olá, {{ contact.name }}"}`)
	change("attendance.opened", `{"op":"add","path":"/when/events/1","value":"attendance.opened"}`)
	change("- add_labels", `{"op":"move","path":"/do/1","to":"/do/0"}`)
	if strings.Index(text, "add_labels") > strings.Index(text, "send_message") {
		t.Errorf("the step was not moved:\n%s", text)
	}
	change("send_message", `{"op":"remove","path":"/do/0"}`)
	change("welcome", `{"op":"remove","path":"/limit"}`)
	if strings.Contains(text, "add_labels") || strings.Contains(text, "limit") {
		t.Errorf("what was taken away is still there:\n%s", text)
	}
	change("transfer: Supervisors", `{"op":"add","path":"/do/1","value":{"verb":"transfer"}}`, `{"op":"set","path":"/do/1/args/sector","value":"Supervisors"}`, `{"op":"set","path":"/do/1/args/person","value":""}`)
	if got := jsonOf[checked](d, "/write/check", "text", text, "rule", rule, "file", "hello.yaml"); got.Errors > 0 {
		t.Errorf("%+v\n%s", got.Problems, text)
	}
	for _, wrong := range []string{`{"op":"remove","path":"/do/9"}`, `{"op":"set","path":"/when","value":"x"}`, `7`} {
		if status, _, _ := d.post("/write/edit", "text", text, "rule", rule, "edits", "["+wrong+"]"); status != 400 {
			t.Errorf("%v: %d", wrong, status)
		}
	}
	if status, _, _ := d.post("/write/edit", "text", "rules: [", "rule", rule, "edits", "[]"); status != 409 {
		t.Errorf("a text that cannot be read: %d", status)
	}
}

// TestChoices shows that a place is offered what can be said there, by what starts the rule and the
// steps before.
func TestChoices(t *testing.T) {
	d := newEditorDesk(t)
	text := "rules:\n  - id: x\n    when: message.received\n    do:\n      - wait_for: { event: message.received, timeout: 1h }\n        id: answer\n      - stop\n"
	ask := func(fields ...string) (labels []string) {
		got := jsonOf[studio.Choices](d, "/write/choices", append([]string{"text", text, "rule", "x"}, fields...)...)
		for _, o := range got.Conditions {
			labels = append(labels, o.Label)
		}
		for _, v := range got.Values {
			labels = append(labels, v.Label)
		}
		return append(labels, got.Text)
	}
	for _, tt := range []struct {
		fields []string
		want   string
		is     bool
	}{
		{[]string{"path", "/if/~if/of/0"}, "calendar is closed", true},
		{[]string{"path", "/if/~if/of/0"}, "customer's name", true},
		{[]string{"path", "/if/~if/of/0"}, "text of the answer", false},
		{[]string{"path", "/do/1/if/~if/of/0"}, "text of the answer", true},
		{[]string{"path", "/if", "value", `{"kind":"name","text":"contact.city"}`}, "the customer's city contains text", true},
		{[]string{"path", "/if", "print", `{"kind":"name","text":"contact.city"}`}, "{{ contact.city }}", true},
	} {
		if labels := ask(tt.fields...); slices.Contains(labels, tt.want) != tt.is {
			t.Errorf("%v, %q: %q", tt.fields, tt.want, labels)
		}
	}
	if status, _, _ := d.post("/write/choices", "text", text, "rule", "x", "value", "{"); status != 400 {
		t.Errorf("%d", status)
	}
}

// TestEveryVerbHasACard shows that every verb has its card.
func TestEveryVerbHasACard(t *testing.T) {
	d := newEditorDesk(t)
	for _, s := range d.options.Workspaces[0].Editing.Rules.Catalog.Schemas() {
		text := "rules:\n  - id: x\n    when: message.received\n    do:\n      - " + s.Verb + ": " + strings.ReplaceAll(s.Example, "\n", "\n        ") + "\n"
		got := jsonOf[checked](d, "/write/check", "text", text, "rule", "x")
		if !strings.Contains(strings.Join(got.Rail, ""), `data-at="/do/0"`) || strings.Contains(strings.Join(got.Rail, ""), "⟦") || strings.Contains(strings.Join(got.Rail, ""), "%!") {
			t.Errorf("%s:\n%s", s.Verb, got.Rail)
		}
	}
}

// TestComplete shows what is offered at places of a text that is being written: what is before the
// bar is there already.
func TestComplete(t *testing.T) {
	d := newEditorDesk(t)
	const head = "rules:\n  - id: x\n    when: message.received\n"
	for _, tt := range []struct {
		name, text string
		want       []string
		not        string
		length     int
	}{
		{"the file", "|", []string{"rules", "calendars"}, "when", 0},
		{"a rule", "rules:\n  - id: x\n    |", []string{"when", "if", "do", "limit"}, "send_message", 0},
		{"a rule's key that was begun", "rules:\n  - id: x\n    wh|", []string{"when"}, "do", 2},
		{"an event", "rules:\n  - id: x\n    when: mess|", []string{"message.received", "message.sent"}, "attendance.opened", 4},
		{"an event of several", "rules:\n  - id: x\n    when: [message.received, att|", []string{"attendance.opened"}, "", 3},
		{"a stage", head + "    stage: |", []string{"draft", "shadow", "live"}, "", 0},
		{"a verb", head + "    do:\n      - se|", []string{"send_message", "set_sector"}, "wait", 2},
		{"a verb without indentation", head + "    do:\n    - |", []string{"send_message", "wait"}, "", 0},
		{"the verb of a way", head + "    do:\n      - choose:\n          - if: true\n            do:\n              - tr|", []string{"transfer"}, "", 2},
		{"an argument", head + "    do:\n      - transfer: { |", []string{"sector", "person", "reason"}, "", 0},
		{"an argument in a line of its own", head + "    do:\n      - transfer:\n          se|", []string{"sector"}, "person", 2},
		{"a sector", head + "    do:\n      - transfer: { sector: |", []string{"Support", "Supervisors"}, "vip", 0},
		{"a label", head + "    do:\n      - add_labels: [|", []string{"vip", "after-hours"}, "Support", 0},
		{"a label as an item", head + "    do:\n      - add_labels:\n          - v|", []string{"vip"}, "", 1},
		{"a file", head + "    do:\n      - send_message: { text: x, media: |", []string{"price-list.pdf"}, "", 0},
		{"a choice", head + "    do:\n      - http_request: { method: |", []string{"GET", "POST"}, "", 0},
		{"a wait", head + "    do:\n      - wait: |", []string{"15m of office"}, "", 0},
		{"a fact", head + "    if: conv|", []string{"conversation"}, "contact", 4},
		{"a function", head + "    if:\n      - hum|", []string{"human_active"}, "", 3},
		{"a part of a fact", head + "    if: conversation.sec|", []string{"sector", "sector_name"}, "kind", 3},
		{"a value of a fact", head + "    if: conversation.kind == \"|", []string{"direct", "group"}, "", 0},
		{"a name in a condition", head + "    if: conversation.sector_name == \"Su|", []string{"Support", "Supervisors"}, "Sales", 2},
		{"a calendar", head + "    if: closed(\"|", []string{"office"}, "", 0},
		{"a label in a condition", head + "    if: has_label('|", []string{"vip"}, "", 0},
		{"within a text", head + "    do:\n      - send_message: \"Olá, {{ contact.na|", []string{"name"}, "", 2},
		{"behind letters of several bytes", head + "    do:\n      - send_message: \"Olá, é {{ cont|", []string{"contact"}, "", 4},
	} {
		text, behind, _ := strings.Cut(tt.text, "|")
		lines := strings.Split(text, "\n")
		last := []rune(lines[len(lines)-1])
		got := jsonOf[editor.Completions](d, "/write/complete", "text", text+behind, "line", itoa(int64(len(lines))), "column", itoa(int64(len(last)+1)))
		var labels []string
		for _, o := range got.Options {
			labels = append(labels, o.Label)
		}
		for _, want := range tt.want {
			if !slices.Contains(labels, want) {
				t.Errorf("%s: %s is missing in %v", tt.name, want, labels)
			}
		}
		if tt.not != "" && slices.Contains(labels, tt.not) || got.Length != tt.length {
			t.Errorf("%s: %d characters, %v", tt.name, got.Length, labels)
		}
	}
	for _, place := range [][2]string{{"0", "0"}, {"999999", "999999"}, {"-5", "3"}} {
		jsonOf[editor.Completions](d, "/write/complete", "text", "x", "line", place[0], "column", place[1])
	}
	if status, _, _ := d.post("/write/complete", "text", "x", "line", "one", "column", "1"); status != 400 {
		t.Errorf("%d", status)
	}
}

// TestOnlyWhatChanged shows that the page is given the cards that it does not have yet, and that
// two pages of one person, which ask in turns, both show what they would be given as a whole.
func TestOnlyWhatChanged(t *testing.T) {
	d := newEditorDesk(t)
	type answer struct {
		Text, Shown string
		Rail        []string
	}
	edit := func(text, shown, path, value string) (a answer) {
		t.Helper()
		edits := fmt.Sprintf(`[{"op":"set","path":%q,"value":%q}]`, path, value)
		status, body, _ := d.post("/write/edit", "workspace", "default", "rule", "long", "text", text, "shown", shown, "edits", edits)
		if err := json.Unmarshal([]byte(body), &a); err != nil || status != http.StatusOK {
			t.Fatal(status, body)
		}
		return a
	}
	type page struct {
		answer
		path string
	}
	pages := []*page{{path: "/do/0/args/text/text"}, {path: "/do/5/args/text/text"}}
	text := longRule(16)
	for _, p := range pages {
		p.answer = edit(text, "", p.path, "begins")
	}
	for n := range 6 {
		p := pages[n/2%2] // twice each: at first the other one was given something since
		now := edit(p.Text, p.Shown, p.path, fmt.Sprintf("changed %d", n))
		given := 0
		for i, part := range now.Rail {
			if part == "" {
				now.Rail[i] = p.Rail[i]
			} else {
				given++
			}
		}
		if want := []int{len(now.Rail), 1}[n%2]; given != want {
			t.Errorf("change %d: %d parts were given instead of %d", n, given, want)
		}
		p.answer = now
	}
	for _, p := range pages {
		if whole := edit(p.Text, "", "/name", "A long one"); !slices.Equal(p.Rail, whole.Rail) {
			t.Errorf("the page shows something else than the rule: %q instead of %q", p.Rail, whole.Rail)
		}
	}
}
