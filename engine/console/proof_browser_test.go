package console

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
)

// shows waits for a text in a part of the page.
func (b *browser) shows(selector, text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q)?.textContent.includes(%q)", selector, text))
}

// drag drags something to the middle of the minute that is a share of its line.
func (b *browser) drag(selector string, share float64) {
	b.t.Helper()
	at := look(b, "find "+selector, chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => {
		const grip = document.querySelector(%q); grip.scrollIntoView({ block: "center" });
		const a = grip.getBoundingClientRect(), b = grip.parentElement.getBoundingClientRect();
		return [a.x + a.width / 2, a.y + a.height / 2, b.x + b.width * %f];
	})()`, selector, share)))
	mouse := func(kind input.DispatchMouseEventType, x float64) {
		b.t.Helper()
		_, err := chromedp.Call(b.ctx, input.DispatchMouseEvent, input.DispatchMouseEventParams{Type: kind, X: x, Y: at[1], Button: input.MouseButtonLeft, Buttons: 1, ClickCount: 1})
		if err != nil {
			b.t.Fatal(err)
		}
	}
	mouse(input.DispatchMouseEventTypeMousePressed, at[0])
	for i := range 5 {
		mouse(input.DispatchMouseEventTypeMouseMoved, at[0]+(at[2]-at[0])*float64(i+1)/5)
	}
	mouse(input.DispatchMouseEventTypeMouseReleased, at[2])
}

// TestProofOfAChange shows the difference to the version in use, as soon as a condition was
// changed.
func TestProofOfAChange(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	d.says(marina, "Marina Souza", "price please")
	d.says(bento, "Bento Alves", "hello")
	d.pass(time.Minute)
	d.write("second.yaml", strings.Replace(greetRules2, "    do:", "    if: message.text contains \"price\"\n    do:", 1))
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&rule=second")
	b.until(railIsThere)
	b.click("#tab-past")
	b.shows("#past", "nothing of it was changed")
	b.shows("#past", "Marina Souza")
	b.click(`[data-at="/if"] .x`) // everybody gets it now
	b.shows(".fate-same summary", "the same for 1 customer")
	b.shows(".fate-new summary", "1 would get it now who did not")
	b.click(".fate-new summary")
	b.until(`document.querySelector(".fate-new[open] li")?.textContent.includes("Bento Alves")`)
	b.picture("proof-past", "en", "light")
}

// TestProofByDragging shows that an escalation vanishes when the team's answer is dragged to before
// it, by a pointer and by keys, and comes back when it is typed to be later.
func TestProofByDragging(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := withSLA(t)
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&rule=sla")
	b.until(railIsThere)
	b.click("#tab-story")
	b.shows("#chat", "15 minutes of office hours")
	b.shows("#chat", "transferred Marina to Supervisors")
	b.click(`[data-add="team"]`)
	b.until(`document.querySelector('.grip-team') && !document.querySelector("#chat").textContent.includes("transferred")`)
	b.shows("#chat", "the rule stops here")
	b.picture("proof-story", "en", "light")
	b.drag(".grip-team", 0.9)
	b.shows("#chat", "transferred Marina to Supervisors")
	b.shows(".ask", "And if the team answers at")
	b.drag(".grip-team", 0.2)
	b.until(`!document.querySelector("#chat").textContent.includes("transferred")`)
	b.click(`.grip-team`)
	look(b, "take the grip", chromedp.Evaluate[bool](`document.querySelector(".grip-team").focus(), true`))
	for range 2 {
		look(b, "press a key", chromedp.Evaluate[bool](`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: "PageUp", bubbles: true, cancelable: true })), true`))
	}
	b.shows("#chat", "transferred Marina to Supervisors")
	// At the width of a phone the same times are a list.
	b.do(chromedp.EmulateViewport(390, 800))
	look(b, "type a time", chromedp.Evaluate[bool](`(() => { const at = [...document.querySelectorAll(".entries li")].find(li => li.textContent.includes("the team answers")).querySelector("[type=datetime-local]");
		at.value = document.querySelector(".entries [type=datetime-local]").value; at.dispatchEvent(new Event("change", { bubbles: true })); return true })()`))
	b.until(`!document.querySelector("#chat").textContent.includes("transferred")`)
	b.picture("phone-proof-story", "en", "light")
}

// TestProofHoldsBack records a conversation as a test, breaks the rule, and shows that it does not
// go live, that it may watch, and what the tab says.
func TestProofHoldsBack(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := withSLA(t)
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&rule=sla")
	b.until(railIsThere)
	b.click("#tab-story")
	b.shows("#chat", "transferred Marina to Supervisors")
	look(b, "name the test", chromedp.Evaluate[bool](`document.querySelector("#test-name").value = "nobody answers", true`))
	b.click("#record")
	b.shows("#recorded", "Recorded.")
	b.shows("#passed", "1/1")
	b.click("#tab-tests")
	b.shows(".tests .passed", "nobody answers")
	b.click("[data-faults]")
	b.shows("#tests", "Run with faults.")
	b.shows("#passed", "1/1")
	b.click(`[data-at="/do/3"] .menu summary`)
	b.click(`[data-at="/do/3"] .sheet button:last-child`) // the escalation is gone
	b.until(`!document.getElementById("text").value.includes("Supervisors")`)
	b.shows("#passed", "0/1")
	b.shows(".tests .red", "this did not happen: transfer Marina to Supervisors.")
	b.click(`input[name="switch"][value="live"]`)
	b.click("#save")
	b.sees("the rule does not go live while a test of it fails")
	b.isGood("proof-held", "en")
	b.until(railIsThere)
	if strings.Contains(d.read("sla.yaml"), "Supervisors") == false {
		t.Errorf("it was saved:\n%s", d.read("sla.yaml"))
	}
	b.click("#save-shadow")
	b.sees("It watches, and notes what it would have done.")
	if r := d.book().Set.Rule("sla"); r.Stage != rules.Shadow || strings.Contains(d.read("sla.yaml"), "Supervisors") {
		t.Errorf("it is %s:\n%s", r.Stage, d.read("sla.yaml"))
	}
}

// TestProofForEverybody shows that every tab works with a screen reader, a dark screen or a phone,
// in both languages, and that the policy refuses nothing of it.
func TestProofForEverybody(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := withSLA(t)
	d.says(marina, "Marina Souza", "price please")
	d.pass(time.Hour)
	jsonOf[testsAnswer](d, "/write/record", ofSLA(slaRules, "story", slaStory(false), "name", "nobody answers")...)
	d.write("sla.yaml", strings.Replace(slaRules, "Supervisors", "Sales", 1))
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	b.do(chromedp.Navigate("about:blank"))
	b.watchPolicy()
	tabs := []struct{ name, shows string }{{"words", "#words p"}, {"past", "#past p"}, {"story", "#chat .talk-in"}, {"tests", ".tests .red"}, {"yaml", ".cm-content"}}
	for l, lang := range words.Languages {
		d.languageCookie(b, lang.Code)
		for w, width := range []int64{1280, 390} {
			if !inTurn(l, w, 2) {
				continue
			}
			b.do(chromedp.EmulateViewport(width, 900))
			b.theme("light")
			b.open("/write?workspace=default&rule=sla")
			b.until(railIsThere)
			for _, tab := range tabs {
				b.theme("light")
				b.click("#tab-" + tab.name)
				b.until(fmt.Sprintf("document.querySelector(%q)", tab.shows))
				b.until(`!document.querySelector('[role=tabpanel]:not([hidden]) [aria-busy="true"]')`)
				b.isGood(fmt.Sprintf("proof-%s-%d", tab.name, width), lang.Code)
				if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
					t.Errorf("%s is %d pixels wider than the screen of %d", tab.name, wide, width)
				}
			}
			if list := b.refused(); len(list) > 0 {
				t.Errorf("the policy refused %v", list)
			}
		}
	}
}
