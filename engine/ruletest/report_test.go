package ruletest

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// TestReport shows a report as a person reads it.
func TestReport(t *testing.T) {
	r := tell(t, `
rules:
  - id: escalate
    when: attendance.opened
    do:
      - wait: 15m
      - send_message: "{{ contact.name }}, somebody of our team will be with you in a moment. We are sorry for the delay, and thank you for your patience."
      - transfer: { sector: Supervisors, reason: nobody answered }
  - id: vip
    when: attendance.opened
    if: contact.company != nil
    do: [{ add_labels: [vip] }]
tests:
  - name: it
    start: 2026-11-13T17:50:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - { customer: Marina, says: Hello }
      - at: "18:15"
        expect:
          - send_message: "Marina, somebody of our team will be with you in a moment. We are sorry for the delay, and thank you for your patience."
          - transfer: Supervisor
`)
	want := `
rules.yaml:19: number 2 of what happened is not as expected: sector is "Supervisors", not
  "Supervisor"

  expected                                       | actual
  send_message: {text: "Marina, somebody of our  | 18:05:00 send_message: {text: "Marina, somebody
    team will be with you in a moment. We are    |   of our team will be with you in a moment. We
    sorry for the delay, and thank you for your  |   are sorry for the delay, and thank you for
    patience."}                                  |   your patience."} (Marina)
  transfer: {sector: "Supervisor"}               ≠ 18:05:00 transfer: {reason: "nobody answered",
                                                 |   sector: "Supervisors"} (Marina)

what the engine did:
  Fri 17:50:00 attendance.opened
      escalate: fired
      vip: false, contact.company != nil
        {contact.company: nothing}
  Fri 17:50:00 run of escalate: done
      1 wait: done
      2 send_message: done
      3 transfer: done
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), r.Report()); diff != "" {
		t.Error(diff)
	}
}

func TestFold(t *testing.T) {
	for text, want := range map[string]string{
		"short":                       "short",
		"ten chars and more of them":  "ten chars/  and more/  of them",
		"unbreakably-long-words here": "unbreakabl/  y-long-w/  ords/  here",
		"      indented text":         "      inde/  nted/  text",
		"two\nlines":                  "two/lines",
		"ção ção ção ção":             "ção ção/  ção ção",
	} {
		got := fold(text, 10, 2)
		if strings.Join(got, "/") != want {
			t.Errorf("%q is folded as %q", text, got)
		}
		for _, line := range got {
			if utf8.RuneCountInString(line) > 10 {
				t.Errorf("%q is too long", line)
			}
		}
	}
}

// TestReportOfRulesThatDidNothing shows that a report says of every rule that could have acted why
// it did not: the event ruled it out, it is a draft or in shadow, or its step was skipped.
func TestReportOfRulesThatDidNothing(t *testing.T) {
	t.Parallel()
	r := tell(t, `
rules:
  - { id: elsewhere, when: message.received, if: contact.city == "Rio", do: [{ send_message: Hi }] }
  - { id: draft, stage: draft, when: message.received, do: [{ send_message: Hi }] }
  - { id: shadow, stage: shadow, when: message.received, do: [{ send_message: Hi }] }
  - { id: quiet, when: message.received, do: [{ mute: 1h }, { send_message: Hi }] }
  - { id: other, when: attendance.closed, do: [{ send_message: Hi }] }
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given: { contacts: [{ name: Marina, city: Recife }] }
    steps: [{ customer: Marina, says: Hello }, { at: +5m, expect: [send_message] }]
`)
	r.fails(t, `elsewhere: false, contact.city == "Rio" {contact.city: "Recife"}`, "draft: not run, it is a draft", "run of shadow, in shadow: done 1 send_message: would",
		"2 send_message: skipped, the conversation is muted until 2026-11-13 11:00")
	if strings.Contains(r.Report(), "other") {
		t.Errorf("the report has a rule for another event:\n%s", r.Report())
	}
}
