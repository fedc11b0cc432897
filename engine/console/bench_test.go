package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// longRule is a rule of so many steps, of the kinds that rules mostly have.
func longRule(steps int) string {
	var b strings.Builder
	b.WriteString("rules:\n  - id: long\n    name: A long one\n    when: message.received\n    if: conversation.kind == \"direct\"\n    limit: { times: 1, per: 12h }\n    do:\n")
	for n := 0; n < steps; n += 8 {
		fmt.Fprintf(&b, "      - send_message: \"Hello {{ contact.name }}, this is message %d.\"\n", n)
		b.WriteString("      - add_labels: [vip]\n      - wait: 15m of office\n      - stop_if: attendance.first_response != nil\n      - choose:\n")
		b.WriteString("          - if: contact_has_label(\"vip\")\n            do:\n              - transfer: Supervisors\n          - else:\n              - { log: \"{{ contact.name }}\", if: closed(\"office\") }\n              - send_message: One moment\n")
	}
	return b.String()
}

// BenchmarkEdit changes a text of a rule with 200 steps again and again, as the studio does.
func BenchmarkEdit(b *testing.B) {
	d := newEditorDesk(b)
	text := longRule(200)
	d.write("long.yaml", text)
	if err := d.reload(); err != nil {
		b.Fatal(err)
	}
	sent, shown := 0, ""
	for n := 0; b.Loop(); n++ {
		edits := fmt.Sprintf(`[{"op":"set","path":"/do/50/args/text/text","value":"changed %d"}]`, n)
		status, body, _ := d.post("/write/edit", "workspace", "default", "file", "long.yaml", "rule", "long", "own", "long", "was", "", "text", text, "shown", shown, "edits", edits)
		var answer struct{ Text, Shown string }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || status != http.StatusOK {
			b.Fatal(body)
		}
		text, shown, sent = answer.Text, answer.Shown, len(body)
	}
	b.ReportMetric(float64(sent)/1024, "KiB-answer")
}
