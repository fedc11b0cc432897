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
