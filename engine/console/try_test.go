package console

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
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
	entries := `{"do":"customer","at":"2026-11-13T19:00","text":"It is broken"}`
	text := d.told(rule, "ask", "Zoë <b>", entries, "2026-11-14T19:00").Chat
	for _, want := range []string{
		"talk-in", "It is broken", "Zoë &lt;b&gt;, we are on it.", "Fri 19:00 · office closed", "… 2 hours …", "… waits for it, at the longest 2 days …", "transferred Zoë &lt;b&gt; to Supervisors", "Fri 21:00", "the rule still waits",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing:\n%s", want, text)
		}
	}
	later := entries + `,{"do":"customer","at":"2026-11-14T00:00","text":"thanks"}`
	if text := d.told(rule, "ask", "Zoë", later, "2026-11-14T19:00").Chat; !strings.Contains(text, "You said: thanks") {
		t.Errorf("what the customer writes later:\n%s", text)
	}
	hello := `{"do":"customer","at":"2026-11-13T19:00","text":"Hello"}`
	if text := d.told(rule, "ask", "Bento", hello, "2026-11-13T20:00").Chat; !strings.Contains(text, "It would do nothing.") || !strings.Contains(text, "because this is not so: the message&#39;s text contains broken") {
		t.Errorf("why not:\n%s", text)
	}
	if text := d.told(rule, "ask", "Bento", `{"do":"closes","at":"2026-11-13T19:00"}`, "2026-11-13T20:00").Chat; !strings.Contains(text, "the customer has to write before") {
		t.Errorf("what cannot be:\n%s", text)
	}
	off := jsonOf[storyTold](d, "/write/story", "rule", "ask", "text", rule, "off", "yes", "story", `{"customer":"Bento","entries":[`+entries+`],"until":"2026-11-13T22:00"}`)
	if !strings.Contains(string(off.Story), "2026-11-14T19:00") { // a Saturday: this desk keeps no holidays
		t.Errorf("on a day off: %s", off.Story)
	}
	for _, story := range []string{
		"{", `{"customer":"Bento","entries":[],"until":"yesterday"}`, `{"customer":"Bento","entries":[` + entries + `],"until":"2027-11-13T19:00"}`,
		`{"customer":"Bento","entries":[{"do":"dances","at":"2026-11-13T19:00"}],"until":"2026-11-13T19:00"}`,
	} {
		if status, _, _ := d.post("/write/story", "rule", "ask", "text", rule, "story", story); status != 400 {
			t.Errorf("%s: %d", story, status)
		}
	}
	if got := len(d.Effects()); got != before {
		t.Errorf("the trial had %d effects on the service itself", got-before)
	}
}

// told is what a story answers.
func (d *desk) told(text, rule, customer, entries, until string) storyTold {
	d.t.Helper()
	story := ""
	if entries != "" {
		story = `{"customer":` + strconv.Quote(customer) + `,"entries":[` + entries + `],"until":"` + until + `"}`
	}
	return jsonOf[storyTold](d, "/write/story", "rule", rule, "text", text, "story", story)
}

// storyTold is what a page gets of a story.
type storyTold struct {
	Chat, Entries string
	Story         json.RawMessage
}

// TestAStoryToBeginWith shows that a conversation begins with something that the rule acts on: at a
// time, with words and by a customer that its conditions ask for.
func TestAStoryToBeginWith(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	d := newEditorDesk(t)
	d.console.searching = time.Minute // on any machine
	rule := func(when, rest string) string { return "rules:\n  - id: one\n    when: " + when + "\n" + rest }
	const hello = "    do: [{ send_message: Here we are }]\n"
	for name, text := range map[string]string{
		"while closed": rule("message.received", "    if: closed(\"office\")\n"+hello),
		"while open":   rule("message.received", "    if: open(\"office\")\n"+hello),
		"words":        rule("message.received", "    if: message.text contains \"boleto\"\n"+hello),
		"a label":      rule("message.received", "    if: has_label(\"gold\")\n"+hello),
		"opened":       rule("attendance.opened", "    do: [{ wait: 15m of office }, { send_message: Here we are }]\n"),
		"closed":       rule("attendance.closed", hello),
		"sent":         rule("message.sent", hello),
		"changed":      rule("conversation.updated", hello),
		"scheduled":    rule("{ at: \"18:00\", each: attendances }", hello),
		"card":         rule("kanban.card.created", "    do: [{ update_card: { priority: high } }]\n"),
		"moved":        rule("kanban.card.moved", "    if: card.stage_name == \"Won\"\n    do: [{ update_card: { priority: high } }]\n"),
	} {
		answer := d.told(text, "one", "", "", "")
		if strings.Contains(answer.Chat, "It would do nothing.") || !strings.Contains(answer.Chat, "talks") || !strings.Contains(answer.Chat, "Here we are") && !strings.Contains(answer.Chat, "priority") {
			t.Errorf("%s: %s\n%s", name, answer.Story, answer.Chat)
		}
	}
}

// TestTrialsAreBounded shows that everything that runs a rule counts as a trial, also if it looks
// like a page.
func TestTrialsAreBounded(t *testing.T) {
	d := newEditorDesk(t)
	d.says(marina, "Marina", "Hello")
	event := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))[0].Seq
	d.console.patience = time.Millisecond
	for range tryMost {
		d.console.trying <- struct{}{}
	}
	for _, path := range []string{"/events/" + itoa(event) + "/test", "/runs/" + itoa(d.runOf("hello")) + "/test"} {
		if w := d.ask("GET", path, nil); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
	for _, path := range []string{"/write/past", "/write/story", "/write/tests"} {
		if status, _, _ := d.post(path, "rule", "second", "text", greetRules2); status != http.StatusServiceUnavailable {
			t.Errorf("%s: %d", path, status)
		}
	}
}

// TestTrialsOfOnePerson shows that a person has one trial at a time, and that one whose page has
// given it up lets the next begin.
func TestTrialsOfOnePerson(t *testing.T) {
	d := newEditorDesk(t)
	leave := must(d.console.tried.enter(t.Context(), "operator local"))
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan int)
	go func() {
		form := url.Values{"workspace": {"default"}, "rule": {"second"}, "text": {greetRules2}}
		ended <- d.ask("POST", "/write/past", form, func(r *http.Request) { *r = *r.WithContext(ctx) }).Code
	}()
	select {
	case <-ended:
		t.Error("it did not wait")
	case <-time.After(50 * time.Millisecond):
	}
	giveUp()
	<-ended
	leave()
	if text := d.tried("/write/past", "rule", "second", "text", greetRules2); !strings.Contains(text, "It would have done nothing.") {
		t.Errorf("the next one:\n%s", text)
	}
}
