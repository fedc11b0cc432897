package rules_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestMayBeTrue holds the checker to say nothing of conditions that make sense: a warning that is
// wrong teaches people to read none.
func TestMayBeTrue(t *testing.T) {
	for _, condition := range []string{
		`now().Hour() >= 22 or now().Hour() < 7`,
		`now().Hour() >= 9 and now().Hour() <= 9`,
		`now().Hour() > 8 and now().Hour() < 10`,
		`conversation.kind == "direct" and not (contact.city in ["a", "b"]) and contact.city != "c" and contact.city in ["b", "d"]`,
		`message.by == "customer"`,
		`true`,
		`event.type == "message.received"`,
		`not has_label("x") or has_label("y")`,
		`has_label("x") and has_label("y")`,
		`(open("office") or contact.city == nil) and (closed("office") or contact.city != nil)`,
		`open("office") and closed("night")`,
		`customer_waiting() > duration("1h") and customer_waiting() < duration("2h")`,
		`message.text == "1" or message.text == "2"`,
		`message.text != "1" and message.text != "2"`,
		`contact.company == nil or contact.company == "Aurora"`,
		`contact.city == nil and contact.company == nil`,
		`message.created_at < now() and message.created_at > now() - duration("1h")`,
		`vars.on and vars.city == contact.city`,
		`contact.city == vars.city and contact.city == contact.company`,
		`let n = len(message.text); n > 3 and n < 2 + 9`,
		`now().Format("15:04") >= "22:00" or now().Format("15:04") < "06:00"`,
		`count_events("message.received", "1h") == 0`,
		strings.Repeat(`(contact.city == "a" or contact.city == "b") and `, 12) + `contact.city == "c"`, // more than the bounds of the analysis
	} {
		text := fmt.Sprintf(`vars: { on: false, city: Recife }
calendars:
  office: { timezone: America/Sao_Paulo, open: { mon-fri: [08:00-18:00] } }
  night: { timezone: America/Sao_Paulo, open: { mon-fri: [22:00-06:00] } }
rules:
  - id: r
    when: message.received
    if: %q
    do: [{ log: x }]
`, condition)
		if _, problems := compile("rules.yaml", text); len(problems) > 0 {
			t.Errorf("%s: %v", condition, problems)
		}
	}
}
