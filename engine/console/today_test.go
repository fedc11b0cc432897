package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// leadRules are what a desk has that answers while it is closed, escalates and asks for a score.
const leadRules = `
calendars:
  office: { timezone: America/Sao_Paulo, open: { mon-fri: [08:00-18:00] } }
rules:
  - id: away
    name: Closed now
    when: message.received
    if: [closed("office"), conversation.kind == "direct"]
    limit: { times: 1, per: 12h }
    do: [{ send_message: We are closed. }]
  - id: sla
    name: Two levels
    when: message.received
    if: [message.text == "hello"]
    cancel_on: [attendance.closed]
    do:
      - wait: 15m of office
      - stop_if: attendance.first_response != nil
      - add_labels: [vip]
      - wait: 15m of office
      - stop_if: attendance.first_response != nil
      - send_message: Sorry for the wait.
  - id: survey
    name: How was it
    when: message.received
    if: [message.text == "bye"]
    do:
      - send_message: From 1 to 5?
      - wait_for: { event: message.received, timeout: 24h }
        id: answer
      - stop_if: answer == nil
      - set: { score: "{{ int(trim(answer.message.text)) }}" }
`

// newLeadDesk is a desk on Monday morning, before it opens.
func newLeadDesk(t *testing.T) *desk {
	t.Helper()
	d := newEditorDesk(t)
	d.write("office.yaml", leadRules)
	d.write("hello.yaml", "rules: []\n")
	if err := d.reload(); err != nil || len(d.set.Rules) != 3 {
		t.Fatal(err, d.set.Broken)
	}
	d.pass(time.Date(2026, 11, 16, 7, 50, 0, 0, saoPaulo).Sub(d.clock()))
	return d
}

// dayRows are the rows of what rules did, as they are read, with their addresses.
func dayRows(page string) map[string]string {
	found := map[string]string{}
	_, list, _ := strings.Cut(page, `class="rows dayrules"`)
	list, _, _ = strings.Cut(list, "</ul>")
	for _, m := range regexp.MustCompile(`(?s)<a class="row" href="([^"]*)">(.*?)</a>`).FindAllStringSubmatch(list, -1) {
		found[plainText(m[2])] = strings.ReplaceAll(m[1], "&amp;", "&")
	}
	return found
}

// TestTodaySumsUp shows that Today says what rules did since the desk opened, as what they are for,
// each with a link to exactly that.
func TestTodaySumsUp(t *testing.T) {
	t.Parallel()
	d := newLeadDesk(t)
	d.says(marina, "Marina Souza", "are you there?")
	if rows := dayRows(d.page("/")); rows["1 away reply Closed now"] == "" {
		t.Errorf("before it opens: %v", rows)
	}
	d.pass(20 * time.Minute)
	d.says(marina, "Marina Souza", "hello")
	d.says(bento, "Bento", "hello")
	d.says(bento, "Bento", "bye")
	d.pass(time.Minute)
	d.says(bento, "Bento", "4")
	d.pass(20 * time.Minute)
	if rows := dayRows(d.page("/")); rows["2 escalations Two levels"] == "" {
		t.Errorf("at the first level: %v", rows)
	}
	d.says(bento, "Bento", "bye")
	d.pass(20 * time.Minute)
	page := timed(d.page("/"))
	has(t, plainText(page), "Since 08:00", "1 waits now")
	rows := dayRows(page)
	for _, want := range []string{"2 escalations (2 reached the second level) Two levels", "2 surveys, 1 answered, average 4.0 How was it"} {
		if rows[want] == "" {
			t.Errorf("%q is not among %v", want, rows)
		}
	}
	if len(rows) != 2 {
		t.Errorf("what was done before it opened: %v", rows)
	}
	list := d.page(rows["2 escalations (2 reached the second level) Two levels"])
	if strings.Count(list, "<li data-row=") != 2 || !strings.Contains(list, `<option value="08:00" selected>since 08:00`) {
		t.Error("the link does not lead to these two")
	}
	has(t, plainText(d.page("/", func(r *http.Request) { r.Header.Set("Accept-Language", "pt-BR") })), "2 atendimentos escalados (2 chegaram ao segundo nível)", "2 pesquisas, 1 respondida, nota média 4,0")

	// A run that began yesterday counts for what it did today.
	d.pass(10 * time.Hour)
	d.says(marina, "Marina Souza", "bye")
	d.pass(14 * time.Hour)
	d.says(marina, "Marina Souza", "5")
	if rows := dayRows(d.page("/")); len(rows) != 1 || rows["1 answered, average 5.0 How was it"] == "" {
		t.Errorf("the next day: %v", rows)
	}
}

// TestTodaySumsUpMany shows that a desk with more runs than are read has its day summed up from
// counts.
func TestTodaySumsUpMany(t *testing.T) {
	t.Parallel()
	since := time.Date(2026, 11, 16, 8, 0, 0, 0, saoPaulo)
	for now, want := range map[string]string{"08:30": "03:00", "09:30": "09:00", "17:50": "09:00"} {
		at, _ := clockToday(now, since)
		if got := countedSince(since, at).Format("15:04"); got != want {
			t.Errorf("at %s it is summed up since %s, not %s", now, got, want)
		}
	}
}

// TestTodayAgainstYesterday shows what was done by the same time on the day and the week before.
func TestTodayAgainstYesterday(t *testing.T) {
	t.Parallel()
	d := newLeadDesk(t)
	d.says(marina, "Marina Souza", "hello") // the away reply and the escalation begin
	if text := d.page("/"); strings.Contains(text, "by this time") {
		t.Error("a desk without a past is compared with it")
	}
	d.pass(24*time.Hour - time.Minute)
	has(t, plainText(d.page("/")), "by this time: yesterday 2, a week ago 0")
	d.pass(6 * 24 * time.Hour)
	has(t, plainText(d.page("/")), "by this time: yesterday 0, a week ago 2")
}

// TestTodayChanges shows what was changed and by whom, the newest first, and nothing that did not
// work.
func TestTodayChanges(t *testing.T) {
	t.Parallel()
	d := newLeadDesk(t)
	has(t, plainText(d.page("/")), "Nobody has changed anything in 7 days.")
	text := strings.Replace(leadRules, "We are closed.", "We are closed!", 1)
	if status, body, _ := d.post("/write/save", "file", "office.yaml", "rule", "away", "text", text, "was", d.sumOf("office.yaml"), "stage", "live"); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	d.pass(time.Minute)
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"sla"}, "reason": {"the queue is empty"}})
	d.says(marina, "Marina Souza", "hello")
	lane := d.laneOf("Marina")
	d.pass(time.Minute)
	d.ask("POST", "/mute", url.Values{"workspace": {"default"}, "lane": {lane}, "for": {"1d"}})
	page := plainText(d.page("/"))
	at := 0
	for _, want := range []string{"Somebody muted Marina Souza 07:52", "Somebody paused the rule “Two levels”: the queue is empty 07:51", "Somebody saved the rule “Closed now” as live 07:50"} {
		next := strings.Index(page, want)
		if next < at {
			t.Errorf("%q is missing, or out of order, in\n%s", want, page)
		}
		at = next
	}
	must(0, d.journal.Audit(t.Context(), journal.AuditEntry{At: d.clock(), Who: "ana", What: "resume", Subject: "default/sla"}))
	must(0, d.journal.Audit(t.Context(), journal.AuditEntry{At: d.clock(), Who: "ana", What: "failed", Subject: "default/sla", Detail: "resume: the disk is full"}))
	if strings.Contains(d.page("/"), "ana resumed") {
		t.Error("what did not work was changed")
	}
	d.pass(8 * 24 * time.Hour)
	has(t, plainText(d.page("/")), "Nobody has changed anything in 7 days.")
}

// TestTodayOfAnEmptyDesk shows that a desk where nothing has happened gets a first step, and no
// zeros.
func TestTodayOfAnEmptyDesk(t *testing.T) {
	t.Parallel()
	d := newEditorDesk(t)
	page := d.page("/")
	has(t, page, "No rule has started yet.")
	if strings.Contains(page, `class="figure"`) || strings.Contains(page, "<svg class=\"chart\"") {
		t.Error("there are zeros")
	}
	d.write("office.yaml", "rules: []\n")
	d.write("hello.yaml", "rules: []\n")
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	has(t, d.page("/"), "There are no rules yet.", `href="/write">Write a rule from a template`)
	d.write("hello.yaml", greetRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	d.says(marina, "Marina Souza", "Oi!")
	if page := d.page("/"); strings.Contains(page, "No rule has started yet.") || !strings.Contains(page, `class="figure"`) {
		t.Error("the first step stays although a rule has started")
	}
}

// TestNeedsInPlainWords shows that what a service answered in code is said in words, and what it
// was exactly is folded away.
func TestNeedsInPlainWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t, fine)
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 422}); err != nil {
		t.Fatal(err)
	}
	d.says(marina, "Marina Souza", "Oi!")
	d.says(bento, "Bento", "please tell the erp")
	d.pass(2 * time.Minute)
	page := d.page("/")
	said := plainText(technical.ReplaceAllString(page, " "))
	has(t, said, "the service refused it: “a fault was asked for”", "Look on the other side whether it arrived, then decide. Decide")
	if strings.Contains(said, "422") || strings.Contains(page, "repeatable") || !strings.Contains(page, "422") {
		t.Error("what was answered is said, or nowhere")
	}
}

// TestRuleOverWeeks shows what a rule did on each day, and when it was changed.
func TestRuleOverWeeks(t *testing.T) {
	t.Parallel()
	d := newLeadDesk(t)
	if text := d.page("/rules/default/survey/activity"); strings.Contains(text, "The last 4 weeks") {
		t.Error("a rule that did nothing has weeks")
	}
	d.pass(2 * time.Hour)
	d.says(bento, "Bento", "bye")
	d.pass(time.Minute)
	d.says(bento, "Bento", "4")
	d.pass(24 * time.Hour)
	for _, text := range []string{"From 1 to 5!", "From 1 to 5, please?"} {
		if status, body, _ := d.post("/write/save", "file", "office.yaml", "rule", "survey", "text", strings.Replace(leadRules, "From 1 to 5?", text, 1), "was", d.sumOf("office.yaml"), "stage", "live"); status != http.StatusSeeOther {
			t.Fatalf("%d %s", status, body)
		}
	}
	d.says(bento, "Bento", "bye")
	d.says(marina, "Marina Souza", "bye")
	text := plainText(d.page("/rules/default/survey/activity"))
	has(t, text, "Day Started Messages and changes Escalated Answered Failed Tue 17 Nov the rule was changed 2 2 0 0 0 Mon 16 Nov 1 1 0 1 0")
	if n := strings.Count(d.page("/rules/default/survey/activity"), `class="mark"`); n != 1 {
		t.Errorf("%d days are marked", n)
	}
}
