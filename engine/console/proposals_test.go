package console

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/store"
)

const proposedRules = `rules:
  - id: thanks
    name: Thank who thanks
    stage: draft
    when: message.received
    if: message.text contains "obrigad"
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Nós é que agradecemos!"
tests:
  - name: one answer to thanks
    start: 2026-11-13T10:00:00-03:00
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }]
    steps:
      - { customer: Marina, says: obrigada }
      - { at: +10m, expect: [send_message, send_message] } # the first is of the rule hello
`

// proposes keeps a proposal as an assistant makes it.
func (d *desk) proposes(file, rule, text string, saved bool) {
	d.t.Helper()
	files := d.options.Workspaces[0].Editing.Store
	p := store.Proposal{Rule: rule, Stage: "draft", Text: text, Who: "assistant claude", Why: "people should feel <b>seen</b>", Saved: saved}
	if standing, err := files.Read(file); err == nil {
		p.Was = standing.Sum
	}
	if saved {
		p.Was = must(files.Save(file, text, p.Was, store.Change{Who: p.Who, What: "draft"})).Sum
		d.mustReload()
	}
	if err := files.Propose(file, p); err != nil {
		d.t.Fatal(err)
	}
}

// TestProposal shows that a person sees what an assistant proposes with its tests and its past,
// that nothing acts before it is made live, and that it acts then.
func TestProposal(t *testing.T) {
	d := newEditorDesk(t)
	d.says(marina, "Marina", "muito obrigada")
	d.proposes("thanks.yaml", "thanks", proposedRules, true)
	for path, texts := range map[string][]string{
		"/":          {"A rule is proposed: Thank who thanks", "The assistant claude proposed this: people"},
		"/rules":     {"1 proposal waits"},
		"/proposals": {"Thank who thanks", "assistant claude"},
		"/proposal?workspace=default&file=thanks.yaml": {"people should feel &lt;b&gt;seen", "one answer to thanks", "Nós é que agradecemos!", "It would have reached 1 person", "Make it live", "Decline"},
	} {
		page := d.page(path)
		for _, text := range texts {
			if !strings.Contains(page, text) {
				t.Errorf("%s does not show %q:\n%s", path, text, page)
			}
		}
	}
	if r := d.book().Set.Rule("thanks"); r == nil || r.Stage != rules.Draft {
		t.Fatal("looking at a proposal changes it")
	}
	b := newBrowser(t, d.serve())
	b.narrow("/proposals", "/proposal?workspace=default&file=thanks.yaml")
	for _, lang := range words.Languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		b.do(chromedp.EmulateViewport(1280, 800))
		b.open("/")
		b.isGood("proposal-today", lang.Code)
		b.open("/proposals")
		b.isGood("proposals", lang.Code)
		b.open("/proposal?workspace=default&file=thanks.yaml")
		b.isGood("proposal", lang.Code)
		b.do(chromedp.EmulateViewport(390, 800))
		b.isGood("phone-proposal", lang.Code)
	}
	d.languageCookie(b, words.Languages[0].Code)
	b.open("/proposal?workspace=default&file=thanks.yaml")
	b.follow(`form[action="/proposal/accept"] button`)
	b.sees("It acts from the next event on.")
	d.says(bento, "Bento", "obrigado!")
	if runs := must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "thanks"})); len(runs) != 1 || runs[0].Stage != rules.Live || runs[0].State != journal.Done {
		t.Errorf("the accepted rule does not act: %+v", runs)
	}
	if page := d.page("/"); strings.Contains(page, "is proposed") {
		t.Error("Today still asks for a decision")
	}
	if page := d.page("/proposals"); !strings.Contains(page, "No proposal waits.") {
		t.Error(page)
	}
	if page := d.page("/history?workspace=default&file=thanks.yaml"); !strings.Contains(page, "proposed by assistant claude") {
		t.Error(page)
	}
}

// TestProposalOfALiveRule shows that a change of a live rule waits beside it, is declined without a
// trace in the rule, and cannot be accepted when it is out of date, unseen, or its tests fail.
func TestProposalOfALiveRule(t *testing.T) {
	d := newEditorDesk(t)
	shorter := strings.Replace(greetRules, "Hello, ", "Hi, ", 1)
	d.proposes("hello.yaml", "hello", shorter, false)
	if page := d.page("/proposal?workspace=default&file=hello.yaml"); !strings.Contains(page, "Hi, ") || !strings.Contains(page, `class="changed"`) {
		t.Errorf("the change is not shown:\n%s", page)
	}
	if status, _, _ := d.post("/proposal/accept", "file", "hello.yaml", "seen", "2026-01-01T00:00:00Z"); status != http.StatusConflict {
		t.Errorf("what was not seen is accepted: %d", status)
	}
	if status, _, header := d.post("/proposal/decline", "file", "hello.yaml", "seen", d.seen("hello.yaml")); status != http.StatusSeeOther || header.Get("Location") != "/proposals?said=declined" {
		t.Error(status, header)
	}
	if d.read("hello.yaml") != greetRules {
		t.Error(d.read("hello.yaml"))
	}
	if page := d.page("/audit"); !strings.Contains(page, "declined a proposal") {
		t.Error(page)
	}

	red := shorter + "tests:\n  - name: it fails\n    start: 2026-11-13T10:00:00-03:00\n    given: { contacts: [{ name: Marina, phone: \"+5511988887777\" }] }\n    steps:\n      - { customer: Marina, says: oi }\n      - { at: +10m, expect: [] }\n"
	d.proposes("hello.yaml", "hello", red, false)
	if status, body, _ := d.post("/proposal/accept", "file", "hello.yaml", "seen", d.seen("hello.yaml")); status != http.StatusUnprocessableEntity || !strings.Contains(body, "it fails") {
		t.Errorf("a red test does not hold it back: %d", status)
	}

	d.proposes("hello.yaml", "hello", shorter, false)
	old := d.seen("hello.yaml")
	d.write("hello.yaml", greetRules+"# by hand\n")
	d.mustReload()
	if status, _, _ := d.post("/proposal/accept", "file", "hello.yaml", "seen", old); status != http.StatusConflict || !strings.Contains(d.read("hello.yaml"), "Hello, ") {
		t.Errorf("a proposal overwrites what somebody changed: %d\n%s", status, d.read("hello.yaml"))
	}

	d.proposes("hello.yaml", "hello", shorter, false)
	if status, body, header := d.post("/proposal/accept", "file", "hello.yaml", "seen", d.seen("hello.yaml")); status != http.StatusSeeOther || header.Get("Location") != "/rules/default/hello?said=saved.live" || !strings.Contains(d.read("hello.yaml"), "Hi, ") {
		t.Errorf("%d %s", status, body)
	}
}

// seen returns what the page of a proposal sends with a decision.
func (d *desk) seen(file string) string {
	d.t.Helper()
	_, rest, _ := strings.Cut(d.page("/proposal?workspace=default&file="+file), `name="seen" value="`)
	value, _, _ := strings.Cut(rest, `"`)
	return strings.ReplaceAll(value, "&#43;", "+")
}

func (d *desk) mustReload() {
	d.t.Helper()
	if err := d.reload(); err != nil {
		d.t.Fatal(err)
	}
}
