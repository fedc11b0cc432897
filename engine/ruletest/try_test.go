package ruletest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

const draft = `
rules:
  - id: ask
    stage: draft
    when: message.received
    if: message.text contains "broken"
    do:
      - send_message: "{{ contact.name }}, we are on it."
      - wait: 2h
      - transfer: Night shift
      - http_request: { method: POST, url: "https://erp.example.com/orders", json: { text: "{{ message.text }}" } }
tests:
  - name: a made-up one
    start: 2026-11-13T19:00:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - { customer: Marina, says: "It is broken" }
      - { at: +1m, customer: Marina, says: "Hello?" }
      - { at: +1d, expect: [] }
`

// TestTry shows that a draft is tried as if it were live, through its waits, with what was done, to
// whom and when, and why nothing was.
func TestTry(t *testing.T) {
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(draft))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	trial, err := Try(t.Context(), Options{Set: set}, set.Tests[0])
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range trial.Effects {
		got = append(got, e.At.UTC().Format("15:04 ")+e.Verb+" "+e.On)
	}
	if want := []string{"22:00 send_message Marina", "00:00 transfer Marina", "00:00 http_request erp.example.com"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if text := trial.Effects[0].Args["text"]; text != "Marina, we are on it." {
		t.Errorf("%v was sent", text)
	}
	if !strings.Contains(trial.Trace.String(), `ask: false, message.text contains "broken"`) {
		t.Errorf("it does not say why nothing came of the second message:\n%s", trial.Trace.String())
	}
	if want := set.Tests[0].Start.Add(24*time.Hour + time.Minute); !trial.Until.Equal(want) {
		t.Errorf("it ends at %s", trial.Until)
	}
	story := *set.Tests[0]
	story.Steps = []rules.TestStep{{Fields: map[string]any{"team": "Nobody Atall", "says": "x", "to": "Marina"}}}
	if _, err := Try(t.Context(), Options{Set: set}, &story); err == nil {
		t.Error("a story that cannot be told was told")
	} else if _, ok := errors.AsType[*StoryError](err); !ok {
		t.Errorf("%T: %v", err, err)
	}
}
