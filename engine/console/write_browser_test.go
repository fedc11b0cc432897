package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// railIsThere is true when the rail and the editor can be used.
const railIsThere = `document.querySelector(".cm-content") && document.querySelector("#rail .card") && document.querySelector("#problems p")`

// fill sets a field of the rail, and then leaves it.
func (b *browser) fill(path, value string) {
	b.t.Helper()
	selector := fmt.Sprintf(`#rail [data-set=%q]`, path)
	b.until(fmt.Sprintf("document.querySelector(%q)", selector))
	script := fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); e.value = %q; e.dispatchEvent(new Event("change", { bubbles: true })); return true })()`, selector, value)
	look(b, "fill "+path, chromedp.Evaluate[bool](script))
}

// written waits for a text in the YAML.
func (b *browser) written(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.getElementById("text").value.includes(%q)`, text))
}

// watchPolicy notes what the policy of the pages refuses.
func (b *browser) watchPolicy() {
	b.t.Helper()
	source := `document.addEventListener("securitypolicyviolation", e => { (window.refused ||= []).push(e.violatedDirective + " " + e.blockedURI + " " + e.sourceFile + ":" + e.lineNumber) })`
	if _, err := chromedp.Call(b.ctx, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{Source: source}); err != nil {
		b.t.Fatal(err)
	}
}

// refused returns what the policy has refused on this page.
func (b *browser) refused() []string {
	b.t.Helper()
	list, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]string](`window.refused || []`))
	if err != nil {
		b.t.Fatal(err)
	}
	return list
}

// TestAPersonWrites does what a person does: builds a rule on the rail, sees it as YAML, tries
// it, lets it watch, makes it live, sees it act, finds out why it did not, stops everything, and
// goes back to the version before.
func TestAPersonWrites(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	d.pass(70 * time.Minute) // to seven, when the office is closed
	d.says(bento, "Bento Alves", "Alguém aí?")
	b := newBrowser(t, d.serve())
	b.do(chromedp.Navigate("about:blank"))
	b.watchPolicy()

	b.open("/rules")
	b.click(`a[href="/write"]`)
	b.click(`a[href$="template="]`)
	someone := &person{browser: b}
	someone.buildsTheAwayReply(false) // recorded events do not say when the team wrote
	b.fill("/id", "away")
	b.written("id: away")
	b.fill("/name", "Answer while we are away")
	b.written("name: Answer while we are away")

	b.click(`[data-at="/limit"] .x`)
	b.sees("the rule sends to every message, without a limit")
	b.click(`.complaint [data-edits]`)
	b.sees("No problems.")
	b.written("per: 12h")

	b.click("#tab-past")
	b.sees("It would have reached 1 person, with 1 message:")
	b.sees("We are away, Bento Alves.")
	b.click("#tab-story")
	b.sees("We are away, Marina.")
	if list := b.refused(); len(list) > 0 {
		t.Errorf("the policy refused %v", list)
	}
	effects := len(d.Effects())
	b.fill("/description", "Filled in and saved at once")
	b.click("#save-shadow")
	b.sees("It watches, and notes what it would have done.")

	if !strings.Contains(d.read("away.yaml"), "Filled in and saved at once") {
		t.Errorf("what was filled in last is lost:\n%s", d.read("away.yaml"))
	}
	d.says(bento, "Bento Alves", "Oi?")
	if got := len(d.Effects()); got != effects {
		t.Errorf("a rule in shadow had %d effects", got-effects)
	}
	b.open("/runs?rule=away")
	b.sees("would send to Bento Alves")
	b.open("/rules/default/away")
	b.until(railIsThere)
	b.click(`input[name="switch"][value="live"]`)
	b.until(`document.getElementById("save").textContent === "Save, and make it live"`)
	b.follow("#save")
	b.sees("It acts from the next event on.")

	b.open("/runs?rule=away&state=done")
	b.until("window.htmx")
	before := len(must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "away"})))
	d.says(marina, "Marina Souza", "Boa noite")
	if runs := must(d.journal.ListRuns(t.Context(), journal.RunFilter{Rule: "away"})); len(runs) != before+1 || runs[0].Stage != rules.Live {
		t.Fatalf("%d runs", len(runs)-before)
	}
	b.click(".news button") // the list was not empty, so the new run waits to be asked for
	b.click(fmt.Sprintf(`a[href="/runs/%d"]`, d.runOf("away")))
	b.sees("What it did")
	b.sees("We are away, Marina Souza.")

	d.says(marina, "Marina Souza", "Ainda aí?")
	events := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received", Limit: 1}))
	b.open("/events/" + itoa(events[0].Seq))
	b.sees("its limit was used up")

	d.stopsAndGoesBack(b)
}

// stopsAndGoesBack stops everything, changes the rule by hand in the YAML, and goes back to the
// version before.
func (d *desk) stopsAndGoesBack(b *browser) {
	t := d.t
	t.Helper()
	b.click("details.stop > summary")
	b.click("details.stop button.danger")
	b.sees("Everything is stopped.")
	effects := len(d.Effects())
	d.says("+5511966665555", "Clara", "Olá")
	if got := len(d.Effects()); got != effects {
		t.Errorf("%d effects while everything is stopped", got-effects)
	}
	b.click("header button.go")
	b.sees("It goes on.")

	b.open("/rules/default/away")
	b.until(railIsThere)
	b.click("#tab-yaml")
	b.types("closed", "shut")
	b.sees("1 problem")
	b.until(`document.querySelector(".cm-lintRange-error") && document.querySelector('[data-at="/if"] .complaint') && document.querySelector('[data-at="/if"] .chip.hand')?.textContent.startsWith("shut")`)
	b.click("#save")
	b.sees("Nothing was saved")
	b.until(railIsThere)
	b.click("#tab-yaml")
	b.types("shut", "closed")
	b.types("away,", "gone")
	b.until(`document.querySelector(".bubble")?.textContent.startsWith("We are gone")`)
	b.click("#save")
	b.sees("It acts from the next event on.")
	if !strings.Contains(d.read("away.yaml"), "We are gone") {
		t.Errorf("it was not saved:\n%s", d.read("away.yaml"))
	}

	b.open("/history?workspace=default&file=away.yaml")
	b.until(`document.querySelector(".versions > li del")?.textContent === "away" && document.querySelector(".versions > li ins").textContent === "gone"`)
	b.click(".versions > li:nth-child(2) .confirm > summary")
	b.click(".versions > li:nth-child(2) form button")
	b.sees("The earlier version is in use again.")
	if !strings.Contains(d.read("away.yaml"), "We are away") || d.book().Set.Rule("away").Stage != rules.Live {
		t.Errorf("it did not go back:\n%s", d.read("away.yaml"))
	}
}

// TestNothingElseIsSaved shows that a rule is not saved while its rail says something that could
// not be put into the text, and that a text which was refused is not left without a word.
func TestNothingElseIsSaved(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	text := "rules:\n  - id: shared\n    name: &n Ours\n    when: message.received\n    do: [{ log: *n }]\n"
	d.write("shared.yaml", text)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	b.open("/rules/default/shared")
	b.sees("No problems.")
	b.fill("/name", "Theirs")
	b.click("#save-draft")
	b.sees("The form cannot be written into this text")
	b.click("#save-draft")
	b.until(`location.pathname === "/rules/default/shared" && document.querySelector('#rail [data-set="/name"]').value === "Theirs"`)
	if got := d.read("shared.yaml"); got != text {
		t.Errorf("something else than the rail says was saved:\n%s", got)
	}
	b.fill("/name", "Ours")
	b.sees("No problems.")
	b.click("#tab-yaml")
	b.types("received", "lost")
	b.sees("1 problem")
	b.click("#save-shadow")
	b.sees("Nothing was saved")
	b.sees("1 problem")
	b.until(`!window.dispatchEvent(new Event("beforeunload", { cancelable: true }))`)
	b.until(railIsThere)
	b.click("#tab-yaml")
	b.types("lost", "received")
	b.sees("No problems.")
	b.click("#save-draft")
	b.sees("Saved")
}

// types double-clicks on a word of the YAML, and types another in its place.
func (b *browser) types(word, other string) {
	b.t.Helper()
	// The page may still move what is clicked at, until the check of the last change is there.
	for end := time.Now().Add(browserStep); !b.selectsWord(word); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("%q cannot be selected", word)
		}
	}
	b.do(chromedp.KeyEvent(other))
	b.written(other)
}

// selectsWord clicks twice at a word of the editor, and reports whether that has selected it.
func (b *browser) selectsWord(word string) bool {
	b.t.Helper()
	at, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => {
		const walk = document.createTreeWalker(document.querySelector(".cm-content"), NodeFilter.SHOW_TEXT);
		for (let n = walk.nextNode(); n; n = walk.nextNode()) {
			const at = n.data.indexOf(%q);
			if (at < 0) continue;
			n.parentElement.scrollIntoView({ block: "center" });
			const range = document.createRange();
			range.setStart(n, at);
			range.setEnd(n, at + %d);
			const box = range.getBoundingClientRect();
			return [box.x + box.width / 2, box.y + box.height / 2];
		}
		return [];
	})()`, word, len(word))))
	if err != nil || len(at) != 2 {
		b.t.Fatalf("there is no %s: %v", word, err)
	}
	b.do(chromedp.MouseClickXY(at[0], at[1], chromedp.ClickCount(2)))
	selected := strings.TrimSpace(evaluate[string](b, `getSelection().toString()`))
	return selected != "" && strings.HasPrefix(word, selected)
}

// TestWritingInABrowser shows that these pages work with a keyboard, a screen reader, a dark screen
// or a phone, and that the policy refuses nothing of their own.
func TestWritingInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	d.pass(70 * time.Minute)
	d.says(marina, "Marina", "Oi")
	d.write("wrong.yaml", "rules:\n  - id: wrong\n    when: nonsense\n    do: [{ log: x }]\n")
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", greetRules, "was", d.sumOf("hello.yaml"), "stage", "shadow", "reason", "let us watch"); status != 303 {
		t.Fatal(body)
	}
	b := newBrowser(t, d.serve())
	b.do(chromedp.Navigate("about:blank"))
	b.watchPolicy()
	pages := []struct{ name, path string }{
		{"begin", "/write"}, {"write", "/write?workspace=default&template=away-reply"}, {"write-wrong", "/rules/default/wrong"}, {"history", "/history?workspace=default&file=hello.yaml"}, {"totest", "/runs/" + itoa(d.runOf("hello")) + "/test"},
	}
	for l, lang := range words.Languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		for n, p := range pages {
			if !inTurn(n, l, len(words.Languages)) {
				continue
			}
			b.open(p.path)
			b.until(`window.htmx && document.readyState === "complete"`)
			if strings.HasPrefix(p.name, "write") {
				b.until(railIsThere)
				b.click("#tab-story")
				b.until(`document.querySelector("#chat .talks, #chat .error")`)
			}
			b.isGood(p.name, lang.Code)
			if p.name == "write" {
				b.theme("light")
				b.click(`[data-at="/if"] [data-op="add"]`)
				b.until(`document.querySelector("#picker[open] [role=option].active")`)
				if found := b.complaints("light"); len(found) > 0 {
					t.Errorf("a picker, %s:\n%s", lang.Code, strings.Join(found, "\n"))
				}
				b.picture("write-picker", lang.Code, "light")
				b.do(chromedp.KeyEvent(kb.Escape))
			}
			if list := b.refused(); len(list) > 0 {
				t.Errorf("%s: the policy refused %v", p.name, list)
			}
		}
	}
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	for _, p := range pages {
		b.open(p.path)
		b.until(`window.htmx && document.readyState === "complete"`)
		if strings.HasPrefix(p.name, "write") {
			b.until(railIsThere)
		}
		wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`))
		if err != nil || wide > 0 {
			t.Errorf("%s is %d pixels wider than a phone: %v", p.path, wide, err)
		}
		b.picture("phone-"+p.name, words.Languages[len(words.Languages)-1].Code, "light")
	}
}
