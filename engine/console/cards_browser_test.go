package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// TestAChangeIsShownSoon prints how long a change of a rule with 200 steps takes from the click to
// the frame that shows it, and shows that it touches no card but its own.
func TestAChangeIsShownSoon(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	d.write("long.yaml", longRule(200))
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&rule=long")
	b.until(railIsThere)
	b.until(`document.querySelector("[aria-busy=false]") && !document.querySelector("[aria-busy=true]")`) // nobody changes it sooner
	look(b, "watch", chromedp.Evaluate[bool](`window.touched = new Set(), window.took = [], new MutationObserver(list => {
		list.forEach(m => touched.add(m.target.closest("[data-at]")?.dataset.at));
		requestAnimationFrame(() => { document.body.offsetHeight; took.push(performance.now() - began); });
	}).observe(document.getElementById("rail"), { childList: true, subtree: true }), true`))
	const card = `[data-at="/do/50"] > .card`
	for n := range 6 {
		b.click(card + ` > .menu > summary`)
		b.until(fmt.Sprintf(`document.querySelector(%q)`, card+` [data-edits*="enabled"]`))
		look(b, "come to rest", chromedp.Evaluate[bool](`new Promise((rest) => setTimeout(() => requestIdleCallback(() => rest(true)), 200))`, chromedp.EvalAwaitPromise)) // as people do who read the menu
		look(b, "switch a step off or on", chromedp.Evaluate[bool](fmt.Sprintf(`touched.clear(), took = [], window.began = performance.now(), document.querySelector(%q).click(), true`, card+` [data-edits*="enabled"]`)))
		b.until(fmt.Sprintf(`document.querySelector(%q).classList.contains("off") === %t && took.length`, card, n%2 == 0))
		took := look(b, "measure", chromedp.Evaluate[[]float64](`[took.at(-1), performance.getEntriesByType("resource").filter(e => e.name.endsWith("/write/edit")).at(-1).duration]`))
		t.Logf("shown after %.0f ms, of which the console took %.0f ms", took[0], took[1])
		if touched := look(b, "see what changed", chromedp.Evaluate[[]string](`[...touched]`)); len(touched) != 1 || touched[0] != "/do/50" {
			t.Errorf("the change of one card touched %v", touched)
		}
	}
}

const branchedRule = `rules:
  - id: ways
    when: message.received
    limit: { times: 1, per: 12h }
    do:
      - send_message: Hello
      - choose:
          - if: contact_has_label("vip")
            do:
              - transfer: Supervisors
          - else:
              - log: nothing
      - add_labels: [vip]
`

// opensRule opens the page of a rule that a desk gets.
func opensRule(t *testing.T, text, id string) (*desk, *person) {
	t.Helper()
	d := newEditorDesk(t)
	d.write(id+".yaml", text)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&rule=" + id)
	b.until(railIsThere)
	return d, &person{browser: b}
}

// middle returns the middle of something on the page.
func (b *browser) middle(selector string) (x, y float64) {
	b.t.Helper()
	at := look(b, "find "+selector, chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.scrollIntoView({ block: "nearest" }); const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2] })()`, selector)))
	return at[0], at[1]
}

// drags takes the card at a path by its grip to a place where a step can be added.
func (p *person) drags(path, to string) {
	p.t.Helper()
	grip := fmt.Sprintf(`[data-at=%q] > .card > .grip`, path)
	p.until(fmt.Sprintf("document.querySelector(%q)", grip))
	p.middle(grip) // the page may have to be moved for it
	p.middle(fmt.Sprintf(`[data-step=%q]`, to))
	x, y := p.middle(grip)
	tx, ty := p.middle(fmt.Sprintf(`[data-step=%q]`, to))
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, x, y, chromedp.Button("left"), chromedp.ClickCount(1)))
	for _, part := range []float64{.2, .6, 1} {
		p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, x+(tx-x)*part, y+(ty-y)*part, chromedp.Button("left")))
	}
	p.until(fmt.Sprintf(`document.querySelector("[data-drop] > [data-step]")?.dataset.step === %q`, to))
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, tx, ty, chromedp.Button("left"), chromedp.ClickCount(1)))
}

// TestCardsAreMoved shows that cards are dragged into and out of ways, and moved by keys, and that
// nothing else changes.
func TestCardsAreMoved(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	_, p := opensRule(t, branchedRule, "ways")
	p.drags("/do/2", "/do/1/args/branches/branches/1/do/0")
	p.written("- else:\n              - add_labels: [vip]\n              - log: nothing\n")
	p.drags("/do/1/args/branches/branches/1/do/0", "/do/0")
	p.written("do:\n      - add_labels: [vip]\n      - send_message: Hello\n")
	p.until(`document.activeElement.closest("[data-at]")?.dataset.at === "/do/0"`)
	look(p.browser, "alt and arrow", chromedp.Evaluate[bool](`window.press = (key) => document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key, altKey: true, bubbles: true, cancelable: true })), true`))
	for _, step := range []struct{ arrow, at, text string }{
		{"ArrowDown", "/do/1", "do:\n      - send_message: Hello\n      - add_labels: [vip]\n      - choose:"},
		{"ArrowDown", "/do/2", "- log: nothing\n      - add_labels: [vip]\n"},
		{"ArrowRight", "/do/1/args/branches/branches/0/do/1", "- transfer: Supervisors\n              - add_labels: [vip]\n          - else"},
		{"ArrowLeft", "/do/2", "- log: nothing\n      - add_labels: [vip]\n"},
	} {
		look(p.browser, step.arrow, chromedp.Evaluate[bool](fmt.Sprintf("press(%q), true", step.arrow)))
		p.written(step.text)
		p.until(fmt.Sprintf(`document.activeElement.closest("[data-at]")?.dataset.at === %q`, step.at))
	}
	if got := look(p.browser, "read", chromedp.Evaluate[string](`document.getElementById("text").value`)); got != branchedRule {
		t.Errorf("the rule is another:\n%s", got)
	}
}

// TestAStepIsSwitchedOff shows that a step is switched off and on again, and that one which was
// removed can be had back.
func TestAStepIsSwitchedOff(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	_, p := opensRule(t, branchedRule, "ways")
	p.tap(`[data-at="/do/0"] .menu > summary`)
	p.tap(`[data-at="/do/0"] [data-edits*="enabled"]`)
	p.written("enabled: false")
	p.until(`document.querySelector('[data-at="/do/0"] .off').innerText.includes("switched off")`)
	p.tap(`[data-at="/do/0"] .menu > summary`)
	p.tap(`[data-at="/do/0"] [data-edits*="enabled"]`)
	p.until(`!document.getElementById("text").value.includes("enabled")`)
	p.tap(`[data-at="/do/2"] .menu > summary`)
	p.tap(`[data-at="/do/2"] [data-edits*='"op":"remove","path":"/do/2"']`)
	p.until(`document.getElementById("toast").innerText.includes("Step removed")`)
	p.tap(`#toast button`)
	p.written("- add_labels: [vip]")
	p.until(`!document.getElementById("toast").innerText`)
}

// TestCardsFold shows that the cards of a phone are folded, that a click on a sentence opens one,
// and that it stays open while steps are added and moved.
func TestCardsFold(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	_, p := opensRule(t, branchedRule, "ways")
	p.until(`!document.querySelector("[data-folded]")`)
	p.do(chromedp.EmulateViewport(390, 800))
	p.until(`document.querySelectorAll('[data-list="/do"] > [data-folded]').length === 2`)
	p.picture("cards-folded", "en", "light")
	p.tap(`[data-at="/do/1"] .say > span`)
	p.until(`document.querySelector('[data-at="/do/1/args/branches/branches/0/do/0"]').getBoundingClientRect().height > 0`)
	p.tap(`[data-at="/do/0"] .menu > summary`)
	p.tap(`[data-at="/do/0"] [data-edits*='"op":"copy"']`)
	p.until(`document.querySelector('[data-at="/do/2"] .branches') && !("folded" in document.querySelector('[data-at="/do/2"]').dataset) && "folded" in document.querySelector('[data-at="/do/1"]').dataset`)
	p.picture("cards-unfolded", "en", "light")
	p.tap(`[data-at="/do/2"] .fold`)
	p.until(`"folded" in document.querySelector('[data-at="/do/2"]').dataset`)
	if wide := look(p.browser, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
		t.Errorf("it is %d pixels wider than a phone", wide)
	}
}

// TestSheetsAreGood shows that blocks and cards can be used with a screen reader, on dark screens
// and on phones.
func TestSheetsAreGood(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	_, p := opensRule(t, strings.Replace(branchedRule, "send_message: Hello", "{ send_message: Hello, enabled: false }", 1), "ways")
	p.isGood("cards-off", "en")
	p.tap(`[data-at="/do/2"] .menu > summary`)
	p.tap(`[data-at="/do/2"] [data-edits*='"op":"remove"']`)
	p.until(`document.getElementById("toast").innerText`)
	p.isGood("cards-toast", "en")
	for _, width := range []int64{1280, 390} {
		p.theme("light")
		p.do(chromedp.EmulateViewport(width, 800))
		p.tap(`[data-list="/do"] > .end [data-step]`)
		p.choose("Escalate when nobody answers")
		p.until(`document.querySelector("#picker .askrow")`)
		p.isGood(fmt.Sprintf("block-sheet-%d", width), "en")
		if wide := look(p.browser, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
			t.Errorf("it is %d pixels wider than %d", wide, width)
		}
		p.choose("Cancel")
		p.until(`!document.querySelector("#picker[open]")`)
	}
}
