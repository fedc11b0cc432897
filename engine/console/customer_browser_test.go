package console

import (
	"html"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// newCustomer lets João wait for an answer from Friday until Saturday, with the rules of the
// examples.
func newCustomer(t testing.TB) *desk {
	t.Helper()
	d := newDesk(t)
	var files []*rules.File
	for _, name := range []string{"sla-escalation", "card-on-first-contact", "satisfaction", "away-reply", "blocked-words", "keyword-routing"} {
		files = append(files, rules.Parse(name+".yaml", must(os.ReadFile(filepath.Join("..", "..", "examples", name, "rules.yaml")))))
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	d.set = set
	if err := d.engine.SetRules("default", set); err != nil {
		t.Fatal(err)
	}
	directory := service.NewDirectory(d.client)
	if err := directory.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	names := map[string]string{}
	for _, list := range directory.Snapshot().Lists {
		for _, e := range list.Entries {
			names[e.ID] = e.Name
		}
	}
	d.options.Names = func(_, id string) string { return names[id] }
	d.explains()
	d.pass(-10 * time.Minute)
	d.says("+5511900000004", "João", "Oi, o meu pedido chegou com defeito. Podem me ajudar?")
	d.pass(time.Minute)
	for d.clock().Before(friday.Add(10 * time.Minute)) {
		d.pass(5 * time.Minute)
	}
	return d
}

// saturday lets the rest of the story happen.
func (d *desk) saturday() {
	d.t.Helper()
	joao := strings.TrimPrefix(d.laneOf("João"), "conversation:")
	d.pass(friday.Add(15*time.Hour + 10*time.Minute).Sub(d.clock()))
	d.pass(25 * time.Minute)
	d.pass(11 * time.Minute)
	must(d.TeamMessage(sandbox.TeamMessage{Conversation: joao, Person: "Carla", Text: "Bom dia, João! Desculpe a demora, vamos trocar o produto."}))
	d.rest()
	d.pass(2 * time.Minute)
	must(d.MoveCard(sandbox.MoveCard{Card: "João", Stage: "Proposal", Person: "Bruno"}))
	d.rest()
	d.pass(2 * time.Minute)
	must(d.TeamClose(sandbox.TeamClose{Conversation: joao, Person: "Carla", Reason: "solved"}))
	d.rest()
	d.pass(5 * time.Minute)
}

// codes is what is for programs, and stands on a page only under its technical details.
var codes = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-|\b[a-z]+_[a-z_]+\b|\d{4}-\d{2}-\d{2}T|\bconversation:`)

// textOf returns what people read on a page.
func textOf(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	page, _, _ = strings.Cut(page, "</main>")
	return html.UnescapeString(regexp.MustCompile(`<[^>]*(?:"[^"]*"[^>]*)*>`).ReplaceAllString(technical.ReplaceAllString(page, ""), " "))
}

// TestCustomerInWords shows that the page of a customer says why he was escalated, in words of the
// desk, in both languages and all views.
func TestCustomerInWords(t *testing.T) {
	t.Parallel()
	d := newCustomer(t)
	d.saturday()
	here := conversationLink("default", d.laneOf("João"))
	for language, want := range map[string][]string{
		"en": {"João was escalated to Carla because still nobody had answered after another 30 office minutes.", "Escalated to Supervisors", "nobody had answered in 15 office minutes", "office was open", "Office closed: the clock pauses"},
		"pt": {"João foi escalado para Carla porque ainda ninguém tinha respondido depois de mais 30 minutos de office.", "Escalado para Supervisors", "Office fechou: o relógio para"},
	} {
		in := func(r *http.Request) { r.Header.Set("Accept-Language", language) }
		page := d.page(here, in)
		for _, words := range want {
			if !strings.Contains(page, words) {
				t.Errorf("%s: %q is missing in\n%s", language, words, textOf(page))
			}
		}
		paths := []string{here, here + "&view=events", here + "&view=rules", "/conversations", "/conversations?q=jo"}
		for _, m := range regexp.MustCompile(`href="([^"]*why=[^"]*)"`).FindAllStringSubmatch(page, -1) {
			paths = append(paths, html.UnescapeString(m[1]))
		}
		if len(paths) < 15 {
			t.Errorf("%s: there are only %d lines to ask about", language, len(paths))
		}
		for _, path := range paths {
			text := textOf(d.page(path, in))
			if found := codes.FindAllString(text, -1); found != nil {
				t.Errorf("%s in %s shows %q in\n%s", path, language, found, text)
			}
			if strings.Contains(text, "%!") {
				t.Errorf("%s in %s: a text misses something:\n%s", path, language, text)
			}
		}
	}
	if text := textOf(d.page("/conversations")); !strings.Contains(text, "de 1 a 5, como foi o nosso atendimento?") || !strings.Contains(text, "Waits for an answer until") {
		t.Errorf("the list does not say what happened last, and what waits:\n%s", text)
	}
}

// TestCustomerInABrowser shows that the answer stands there without a click, that a click on
// another line changes it alone, and that what happens meanwhile is appended.
func TestCustomerInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newCustomer(t)
	b := newBrowser(t, d.serve())
	here := conversationLink("default", d.laneOf("João"))
	b.open(here)
	b.sees("João was escalated to Supervisors because nobody had answered in 15 office minutes.")
	look(b, "mark the page", chromedp.Evaluate[bool](`window.stays = document.querySelector("ol.story li"), true`))
	b.click(`a[data-why^="e"]`)
	b.until(`document.querySelector("#why .lead").innerText === "Attendance ATD-000001 was opened."`)
	b.until(`window.stays.isConnected && location.search.includes("why=e") && document.querySelectorAll("a[data-why][aria-current]").length === 1`)
	d.saturday()
	b.sees("Bruno moved the card to Proposal")
	b.until(`window.stays.isConnected && document.querySelector("#why .lead").innerText === "Attendance ATD-000001 was opened." && document.querySelectorAll("a[data-why][aria-current]").length === 1`)
	pages := []struct{ name, path string }{{"customer", here}, {"customer-events", here + "&view=events"}, {"customer-rules", here + "&view=rules"}, {"customers", "/conversations"}}
	for l, lang := range words.Languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		for n, p := range pages {
			if inTurn(n, l, len(words.Languages)) {
				b.open(p.path)
				b.isGood(p.name, lang.Code)
			}
		}
	}
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	for name, path := range map[string]string{"phone-customer": here, "phone-customers": "/conversations"} {
		b.open(path)
		if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
			t.Errorf("%s is %d pixels wider than a phone", path, wide)
		}
		b.picture(name, "pt", "light")
	}
}
