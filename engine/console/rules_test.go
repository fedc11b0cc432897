package console

import (
	"fmt"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules/store"
)

const listedRules = `vars:
  plans: [gold, silver]
  api_token: swordfish
rules:
  - id: vip
    name: Route important people
    description: They wait least.
    tags: [routing, sales]
    when: message.received
    if: has_label("VIP")
    do:
      - send_message: "Olá, {{ contact.name }}, plano {{ vars.plans[0] }}"
  - id: invoice
    name: Answer who asks for an invoice
    tags: [billing]
    stage: shadow
    when: message.received
    if: says("boleto", "2ª via")
    do:
      - send_message: "A cobrança já vai."
      - log: "{{ vars.api_token }}"
  - id: morning
    name: Morning report
    tags: [billing]
    when: { every: 1h }
    do:
      - log: good morning
`

// ruleLink finds the rules that a page lists.
var ruleLink = regexp.MustCompile(`<a href="/rules/default/([a-z0-9-]+)"`)

// listed returns the ids of the rules on a page, in its order.
func listed(page string) (ids []string) {
	for _, m := range ruleLink.FindAllStringSubmatch(page, -1) {
		ids = append(ids, m[1])
	}
	return ids
}

// TestRuleSearch shows how a rule is found among others, without JavaScript.
func TestRuleSearch(t *testing.T) {
	d := newEditorDesk(t)
	d.write("desk.yaml", listedRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	d.ask("POST", "/pause", map[string][]string{"workspace": {"default"}, "rule": {"vip"}})
	for _, tt := range []struct{ name, query, want string }{
		{"all, by tag", "", "invoice morning vip hello"},
		{"name", "?q=REPORT", "morning"},
		{"id", "?q=invoice", "invoice"},
		{"description", "?q=wait+least", "vip"},
		{"a tag", "?q=sales", "vip"},
		{"what it names", "?q=vip", "vip"},
		{"what it hears", "?q=boleto", "invoice"},
		{"what it sends, without the accent", "?q=cobranca", "invoice"},
		{"a variable's value", "?q=silver", "vip"},
		{"every word must be there", "?q=boleto+vip", ""},
		{"a secret is not found", "?q=swordfish", ""},
		{"a part of a secret is not found", "?q=swordf", ""},
		{"stage", "?stage=shadow", "invoice"},
		{"stopped", "?stage=stopped", "vip"},
		{"tag", "?tag=billing", "invoice morning"},
		{"a second tag", "?tag=sales", "vip"},
		{"all together", "?tag=billing&stage=live&q=report", "morning"},
		{"a folded group", "?fold=billing", "vip hello"},
		{"the group without a tag, folded", "?fold=", "invoice morning vip"},
	} {
		if got := strings.Join(listed(d.page("/rules"+tt.query)), " "); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	if w := d.ask("GET", "/rules?stage=nonsense", nil); w.Code != http.StatusBadRequest {
		t.Error(w.Code)
	}
	// A group is unfolded by its own link, and the search stays.
	link := regexp.MustCompile(`<a href="([^"]*)" aria-expanded="false">`).FindStringSubmatch(d.page("/rules?q=re&fold=billing&fold=routing"))
	if link == nil || html.UnescapeString(link[1]) != "/rules?fold=routing&q=re" {
		t.Errorf("%q", link)
	}
}

// TestWhoChangedARule shows whom the list names: of two rules in one file each has its own last
// change, and a file that was changed elsewhere since tells nothing.
func TestWhoChangedARule(t *testing.T) {
	d := newEditorDesk(t)
	d.write("desk.yaml", listedRules)
	files := d.options.Workspaces[0].Editing.Store
	save := func(who, old, new string) {
		t.Helper()
		f := must(files.Read("desk.yaml"))
		must(files.Save("desk.yaml", strings.Replace(f.Text, old, new, 1), f.Sum, store.Change{Who: who, What: "live"}))
	}
	save("Ana", "good morning", "good day")
	d.pass(2 * time.Hour)
	save("Bruno", "They wait least.", "They wait less.")
	d.pass(time.Hour)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	who := func() map[string]string {
		found := map[string]string{}
		for row := range strings.SplitSeq(d.page("/rules"), "<tr>") {
			if id := ruleLink.FindStringSubmatch(row); id != nil {
				if m := regexp.MustCompile(`<span class="muted"><bdi>(.*?)</bdi>, <time[^>]*>(.*?)</time>`).FindStringSubmatch(row); m != nil {
					found[id[1]] = m[1] + ", " + m[2]
				}
			}
		}
		return found
	}
	if got := fmt.Sprint(who()); got != "map[morning:Ana, 3 h ago vip:Bruno, 1 h ago]" {
		t.Error(got)
	}
	d.write("desk.yaml", d.read("desk.yaml")+"# by hand\n")
	if got := who(); len(got) > 0 {
		t.Error(got)
	}
}

// manyRules writes rules, each into its own file; with a history, which takes seconds, or without.
func (d *desk) manyRules(n int, history bool) {
	d.t.Helper()
	files := d.options.Workspaces[0].Editing.Store
	for i := range n {
		text := fmt.Sprintf("rules:\n  - id: rule-%d\n    name: Rule number %d\n    tags: [group-%d]\n    stage: draft\n    when: message.received\n    if: says(\"word%d\")\n    do:\n      - send_message: \"Hello, {{ contact.name }}: %d\"\n", i, i, i%7, i, i)
		name := fmt.Sprintf("rule-%d.yaml", i)
		d.write(name, text)
		if !history {
			continue
		}
		must(files.Save(name, text+"# again\n", d.sumOf(name), store.Change{Who: "Ana", What: "draft"}))
	}
	if err := d.reload(); err != nil {
		d.t.Fatal(err)
	}
}

// TestManyRules shows that the list of 500 rules is as large as a page, however many there are, and
// that every rule can be reached.
func TestManyRules(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	d := newEditorDesk(t)
	d.manyRules(500, false)
	next := regexp.MustCompile(`<a class="button" href="([^"]*from=[^"]*)"`)
	var seen []string
	for path := "/rules"; path != ""; {
		page := d.page(path)
		ids := listed(page)
		if len(ids) > rulesShown {
			t.Fatalf("%s lists %d rules", path, len(ids))
		}
		seen = append(seen, ids...)
		path = ""
		if m := next.FindStringSubmatch(page); m != nil {
			path = html.UnescapeString(m[1])
		}
	}
	slices.Sort(seen)
	if got := len(slices.Compact(seen)); got != 501 {
		t.Errorf("%d rules can be reached", got)
	}
	if got := listed(d.page("/rules?q=word417")); len(got) != 1 || got[0] != "rule-417" {
		t.Error(got)
	}
}

// BenchmarkRuleList lists 500 rules, each in its own file with a history.
func BenchmarkRuleList(b *testing.B) {
	d := newEditorDesk(b)
	d.manyRules(500, true)
	for _, path := range []string{"/rules", "/rules?q=word417", "/rules?fold=group-1&stage=draft"} {
		began := time.Now()
		d.page(path)
		b.Logf("%s takes %s the first time", path, time.Since(began))
		b.Run(path, func(b *testing.B) {
			for b.Loop() {
				d.page(path)
			}
		})
	}
}

// TestManyUsers shows that a page names the first rules that use something, and counts the others.
func TestManyUsers(t *testing.T) {
	d := newEditorDesk(t)
	text := "calendars:\n  shop: { timezone: America/Sao_Paulo, open: { mon-fri: [09:00-18:00] } }\nrules:\n"
	for i := range 60 {
		text += fmt.Sprintf("  - { id: many-%02d, when: message.received, if: 'closed(\"shop\")', do: [{ log: x }] }\n", i)
	}
	d.write("desk.yaml", text)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/calendars", "/calendars/default/shop", "/variables"} {
		page := d.page(path)
		if n := strings.Count(page, "/rules/default/many-"); n != 50 || !strings.Contains(page, "used by 60 rules") || !strings.Contains(page, "and 10 more rules") {
			t.Errorf("%s names %d rules\n%s", path, n, page)
		}
	}
}

// TestVariables shows what rules share, by which rules, and no secrets.
func TestVariables(t *testing.T) {
	d := newEditorDesk(t)
	d.write("desk.yaml", strings.Replace(listedRules, "good morning", `"{{ vars.plans[1] }}"`, 1))
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	page := d.page("/variables")
	_, plans, _ := strings.Cut(page, "<bdi>plans</bdi>")
	if got := strings.Join(listed(plans), " "); got != "morning vip" || !strings.Contains(plans, "used by 2 rules") || !strings.Contains(plans, "silver") {
		t.Errorf("%s\n%s", got, page)
	}
	if strings.Contains(page, "swordfish") || !strings.Contains(page, "<bdi>api_token</bdi>") {
		t.Error("a secret is shown, or its name is not")
	}
}
