package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// tried is what a trial answers, as plain text.
func (d *desk) tried(path string, fields ...string) string {
	d.t.Helper()
	return jsonOf[map[string]string](d, path, fields...)["html"]
}

// TestTryOnThePast shows what an unsaved rule would have done on recorded events, and that the
// trial has no effects.
func TestTryOnThePast(t *testing.T) {
	d := newEditorDesk(t)
	d.says(marina, "Marina Souza", "Oi")
	d.says(bento, "Bento", "Alguém aí?")
	d.pass(time.Minute)
	before, runs := len(d.Effects()), len(must(d.journal.ListRuns(t.Context(), journal.RunFilter{})))
	text := d.tried("/write/past", "rule", "away-reply", "text", strings.ReplaceAll(awayTemplate, "closed", "open"))
	for _, want := range []string{"It would have reached 2 people, with 2 messages", "send to Marina Souza:", "We are away, Bento.", "Nobody was asked and nothing was sent"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if text := d.tried("/write/past", "rule", "away-reply", "text", awayTemplate); !strings.Contains(text, "It would have done nothing.") {
		t.Errorf("while the office is open:\n%s", text)
	}
	if text := d.tried("/write/past", "rule", "away-reply", "text", strings.ReplaceAll(awayTemplate, "closed", "shut")); !strings.Contains(text, "has to be right before it can be tried") || !strings.Contains(text, "shut") {
		t.Errorf("a rule that is wrong:\n%s", text)
	}
	if got := len(d.Effects()); got != before || len(must(d.journal.ListRuns(t.Context(), journal.RunFilter{}))) != runs {
		t.Errorf("the trial had %d effects", got-before)
	}
}

// TestDifferenceToTheVersionInUse shows for whom a changed rule would do something else, by name,
// worked out for both versions on the same events, whatever was done then.
func TestDifferenceToTheVersionInUse(t *testing.T) {
	d := newEditorDesk(t)
	d.says(marina, "Marina Souza", "price please")
	d.says(bento, "Bento", "hello")
	d.says("+5511966665555", "Clara <b>", "price and hello")
	d.pass(time.Minute)
	used := strings.Replace(greetRules2, "    do:", "    if: message.text contains \"price\"\n    do:", 1)
	d.write("second.yaml", used) // it came after the events, so that nothing of it is recorded
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	fields := func(text string) []string { return []string{"file", "second.yaml", "rule", "second", "text", text} }
	text := d.tried("/write/past", fields(strings.Replace(used, "price", "hello", 1))...)
	for _, want := range []string{
		"Compared with the version in use", `fate-same"><summary>the same for 1 customer</summary><ul><li><strong><bdi>Clara &lt;b&gt;`,
		`fate-new"><summary>1 would get it now who did not</summary><ul><li><strong><bdi>Bento`, `fate-gone"><summary>1 no longer</summary><ul><li><strong><bdi>Marina Souza`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	text = d.tried("/write/past", fields(strings.Replace(used, "Hello", "Good day", 1))...)
	if !strings.Contains(text, "the same for 0 customers") || !strings.Contains(text, "2 would get something else, or at another time") {
		t.Errorf("another text:\n%s", text)
	}
	if text := d.tried("/write/past", fields(used+"\n# a remark\n")...); !strings.Contains(text, "nothing of it was changed") || !strings.Contains(text, "It would have reached 2 people") {
		t.Errorf("nothing was changed:\n%s", text)
	}
	if text := d.tried("/write/past", "rule", "third", "text", strings.Replace(used, "second", "third", 1)); !strings.Contains(text, "No version is in use") {
		t.Errorf("a new rule:\n%s", text)
	}
}

// TestTryOnAStory shows what a rule would do about something that is made up, through its waits,
// and why it would do nothing.
func TestTryOnAStory(t *testing.T) {
	d := newEditorDesk(t)
	before := len(d.Effects())
	rule := `rules:
  - id: ask
    when: message.received
    if: message.text contains "broken"
    do:
      - send_message: "{{ contact.name }}, we are on it."
      - wait: 2h
      - transfer: Supervisors
      - wait_for: { event: message.received, timeout: 2d }
        id: answer
      - stop_if: answer == nil
      - send_message: "You said: {{ answer.message.text }}"
`
	story := []string{"rule", "ask", "text", rule, "story.kind", "message.received", "story.customer", "Zoë <b>", "story.text", "It is broken", "story.at", "2026-11-13T19:00", "story.pass", "1d"}
	text := d.tried("/write/story", story...)
	for _, want := range []string{"It would do this:", "Zoë &lt;b&gt;, we are on it.", "2026-11-13 19:00:00", "transfer Zoë &lt;b&gt; to Supervisors", "2026-11-13 21:00:00", "Nobody was reached"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	if text := d.tried("/write/story", append(story, "story.answer", "thanks", "story.after", "5h")...); !strings.Contains(text, "You said: thanks") {
		t.Errorf("what the customer writes later:\n%s", text)
	}
	story[9] = "Hello"
	story[7] = "Bento"
	if text := d.tried("/write/story", story...); !strings.Contains(text, "It would do nothing.") || !strings.Contains(text, "a condition was not true") || !strings.Contains(text, "message.text contains") {
		t.Errorf("why not:\n%s", text)
	}
	for _, kind := range storyKinds {
		event := kind
		body := strings.Replace(greetRules2, "message.received", event, 1)
		if kind == "schedule" {
			body = strings.Replace(greetRules2, "message.received", "{ every: 1h, each: attendances }", 1)
		}
		if strings.HasPrefix(kind, "kanban") {
			body = strings.Replace(strings.Replace(greetRules2, "message.received", event, 1), "send_message: Hello", `update_card: { priority: high }`, 1)
		}
		text := d.tried("/write/story", "rule", "second", "text", body, "story.kind", kind, "story.text", "Won", "story.at", "2026-11-13T19:00", "story.pass", "2h")
		if !strings.Contains(text, "It would do this:") {
			t.Errorf("%s:\n%s", kind, text)
		}
	}
	if status, _, _ := d.post("/write/story", "rule", "ask", "text", rule, "story.at", "yesterday", "story.pass", "1d"); status != 400 {
		t.Errorf("a time that is none: %d", status)
	}
	if status, _, _ := d.post("/write/story", "rule", "ask", "text", rule, "story.at", "2026-11-13T19:00", "story.pass", "400d"); status != 400 {
		t.Errorf("a story that is too long: %d", status)
	}
	if got := len(d.Effects()); got != before {
		t.Errorf("the trial had %d effects on the service itself", got-before)
	}
}

// TestTrialsAreBounded shows that everything that runs a rule counts as a trial, also if it looks
// like a page.
func TestTrialsAreBounded(t *testing.T) {
	d := newEditorDesk(t)
	d.says(marina, "Marina", "Hello")
	event := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))[0].Seq
	for range tryMost {
		d.console.trying <- struct{}{}
	}
	for _, path := range []string{"/events/" + itoa(event) + "/test", "/runs/" + itoa(d.runOf("hello")) + "/test"} {
		if w := d.ask("GET", path, nil); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/write/past", "/write/story"} {
		if status, _, _ := d.post(path, "rule", "second", "text", greetRules2); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, status)
		}
	}
}
