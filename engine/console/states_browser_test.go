package console

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

//go:embed testdata/states.js
var statesScript string

// statesRule has something of everything that a rule can be given.
const statesRule = `vars: { team: Sales }
rules:
  - id: states
    name: Every kind of chip
    when: { type: [message.received, attendance.opened] }
    if: |
      closed("office") and (contact_has_label("vip") or message.text contains "boleto") and not (attendance.sector == "Sales") and len(message.text) > 3
    limit: { times: 1, per: 12h }
    cancel_on: [attendance.closed]
    do:
      - send_message: Hello {{contact.name}}, we open {{weekday_time(next_open("office"))}}
      - wait: 15m of office
      - id: answer
        wait_for: { event: message.received, timeout: 2h }
      - choose:
          - if: answer.text == "1"
            do:
              - transfer: { sector: Sales }
              - add_labels: [vip]
          - else:
              - send_media: { file: price-list.pdf, caption: Our prices }
      - for_each: { in: attendance.labels, as: label, do: [{ log: "{{label}}" }] }
      - create_card: { board: Care, stage: To call, title: "{{contact.name}}" }
      - set: { n: "1 + 2 * 3" }
      - http_request: { url: https://example.com/in }
      - send_message: { to: { phone: "+5511999990000", channel: Main }, text: Look here }
  - id: clock
    when: { schedule: { at: ["08:00", "18:00"], on: weekdays } }
    do: [{ log: morning }]
  - id: sweep
    when: { schedule: { every: 15m, each: { attendances: { status: waiting } } } }
    do: [{ log: morning }]
`

// TestEveryState shows that axe finds nothing in any state of the studio: every picker, sheet and
// menu is opened, on a phone, and with -looks on a screen too.
func TestEveryState(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	d.write("states.yaml", statesRule)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	for w, width := range []int64{390, 1280} {
		if !inTurn(0, w, 2) {
			continue
		}
		b.do(chromedp.EmulateViewport(width, 800))
		seen := []string{}
		for _, rule := range []string{"states", "clock", "sweep"} {
			b.open("/write?workspace=default&rule=" + rule)
			b.until(railIsThere)
			look(b, "bring axe", chromedp.Evaluate[bool](axe+"; true"))
			known := must(json.Marshal(seen))
			got := look(b, "open everything", chromedp.Evaluate[struct{ Found, Seen []string }](fmt.Sprintf("(%s)(%s)", statesScript, known), chromedp.EvalAwaitPromise))
			for _, complaint := range got.Found {
				t.Errorf("%d pixels, %s: %s", width, rule, complaint)
			}
			seen = got.Seen
		}
		t.Logf("%d states at %d pixels", len(seen), width)
		if len(seen) < 40 {
			t.Errorf("only %d states were seen: %q", len(seen), seen)
		}
	}
}
