package console

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/quandohq/quando/engine/journal"
)

const campaignRules = `rules:
  - id: campaign
    name: Tell a customer of the campaign
    when: manual
    if: event.data.discount == nil or event.data.discount > 5
    do:
      - send_message: "{{ contact.name }}, {{ event.data.city }} tem desconto."
  - id: planned
    name: Not ready
    stage: draft
    when: manual
    do:
      - log: x
`

// newCampaign is a desk with rules that people start, and a customer.
func newCampaign(t *testing.T) *desk {
	t.Helper()
	d := newEditorDesk(t)
	d.write("hello.yaml", campaignRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	d.says(marina, "Marina Souza", "oi")
	if !strings.Contains(d.page("/conversations?q=Marina"), "Marina Souza") {
		t.Fatal("nobody is found")
	}
	return d
}

var (
	keyField  = regexp.MustCompile(`name="key" value="([^"]*)"`)
	laneField = regexp.MustCompile(`name="lane" value="(conversation:[^"]*)"`)
)

// startForm opens the page that starts a rule, and returns the key and the conversation that it
// offers.
func (d *desk) startForm() (key, lane string) {
	d.t.Helper()
	page := d.page("/rules/default/campaign/start?q=Marina")
	k, l := keyField.FindStringSubmatch(page), laneField.FindStringSubmatch(page)
	if k == nil || l == nil {
		d.t.Fatal(page)
	}
	return k[1], l[1]
}

// TestStartByHand shows that a rule starts for the customer that was chosen by name, with values,
// once for each form however often it is sent.
func TestStartByHand(t *testing.T) {
	d := newCampaign(t)
	if page := d.page("/rules/default/campaign"); !strings.Contains(page, `href="/rules/default/campaign/start"`) {
		t.Error("the rule's page has no button")
	}
	key, lane := d.startForm()
	before := len(d.Effects())
	fields := []string{"key", key, "lane", lane, "value.city", "Recife", "value.discount", "7,5", "kind.discount", "number"}
	var group sync.WaitGroup
	answers := make([]string, 4)
	for i := range answers { // clicks faster than the page
		group.Go(func() {
			status, body, header := d.post("/rules/default/campaign/start", fields...)
			if answers[i] = header.Get("Location"); status != http.StatusSeeOther {
				t.Errorf("%d %s", status, body)
			}
		})
	}
	group.Wait()
	d.rest()
	status, _, header := d.post("/rules/default/campaign/start", fields...) // and once more, much later
	if status != http.StatusSeeOther || header.Get("Location") != answers[0] {
		t.Errorf("%d %s, first %v", status, header.Get("Location"), answers)
	}
	d.rest()
	runs := must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "campaign"}))
	if len(runs) != 1 || runs[0].Home != lane || runs[0].State != journal.Done || len(d.Effects()) != before+1 {
		t.Fatalf("%d runs, %d effects", len(runs), len(d.Effects())-before)
	}
	if sent := fmt.Sprintf("%s", d.Effects()[before]); !strings.Contains(sent, "Marina Souza, Recife tem desconto.") {
		t.Error(sent)
	}
	path, _, _ := strings.Cut(answers[0], "?")
	if page := d.page(path); !strings.Contains(page, fmt.Sprintf(`href="/runs/%d"`, runs[0].ID)) {
		t.Error("the page does not lead to what it did")
	}
	if audit := d.page("/audit"); !strings.Contains(audit, "started a rule by hand") || !strings.Contains(audit, lane) {
		t.Error("the audit does not tell")
	}
	// Another form is another start.
	again, _ := d.startForm()
	if status, _, _ := d.post("/rules/default/campaign/start", "key", again, "lane", lane, "value.city", "Olinda"); status != http.StatusSeeOther {
		t.Error(status)
	}
	d.rest()
	if got := len(must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "campaign"}))); got != 2 {
		t.Errorf("%d runs", got)
	}
}

// TestStartIsRefused shows what starts nothing, and that the page says why.
func TestStartIsRefused(t *testing.T) {
	d := newCampaign(t)
	key, lane := d.startForm()
	if status, _, _ := d.post("/rules/default/campaign/start", "key", key, "lane", "none", "value.city", "Recife"); status != http.StatusSeeOther {
		t.Error(status)
	}
	other, _ := d.startForm()
	for _, tt := range []struct {
		name, rule string
		fields     []string
		status     int
		says       string
	}{
		{"the same form for somebody else", "campaign", []string{"key", key, "lane", lane, "value.city", "Recife"}, 409, "sent before"},
		{"the same form with other values", "campaign", []string{"key", key, "lane", "none", "value.city", "Natal"}, 409, "sent before"},
		{"a key of one's own", "campaign", []string{"key", "x", "lane", lane}, 400, "cannot be read"},
		{"nobody chosen", "campaign", []string{"key", other}, 400, "Choose one"},
		{"an unknown conversation", "campaign", []string{"key", other, "lane", "conversation:nobody"}, 400, "Choose one"},
		{"a number that is none", "campaign", []string{"key", other, "lane", lane, "value.discount", "much", "kind.discount", "number"}, 400, "a number for discount"},
		{"a draft", "planned", []string{"key", other, "lane", lane}, 409, "draft"},
		{"no such rule", "nothing", []string{"key", other, "lane", lane}, 404, ""},
	} {
		before := len(must(d.journal.ListEvents(t.Context(), journal.EventFilter{})))
		status, body, _ := d.post("/rules/default/"+tt.rule+"/start", tt.fields...)
		if status != tt.status || !strings.Contains(body, tt.says) || len(must(d.journal.ListEvents(t.Context(), journal.EventFilter{}))) != before {
			t.Errorf("%s: %d %s", tt.name, status, body)
		}
	}
	if strings.Contains(d.page("/rules/default/planned"), "/start") {
		t.Error("a draft has a button")
	}
}
