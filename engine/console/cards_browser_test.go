package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestAChangeIsShownSoon prints how long a change of a rule with 200 steps takes from the click to
// the picture, and shows that it touches no card but its own.
func TestAChangeIsShownSoon(t *testing.T) {
	d := newEditorDesk(t)
	d.write("long.yaml", longRule(200))
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&rule=long")
	b.until(railIsThere)
	look(b, "watch", chromedp.Evaluate[bool](`window.touched = new Set(), window.took = [], new MutationObserver(list => {
		list.forEach(m => touched.add(m.target.closest("[data-at]")?.dataset.at));
		document.body.offsetHeight;
		setTimeout(() => took.push(performance.now() - began));
	}).observe(document.getElementById("rail"), { childList: true, subtree: true }), true`))
	for n := range 5 {
		b.click(`[data-text="/do/50/args/text"] .bubble`)
		b.until(`document.activeElement.tagName === "TEXTAREA"`)
		look(b, "change a text", chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.value = "changed %d", touched.clear(), took = [], window.began = performance.now(), document.activeElement.dispatchEvent(new FocusEvent("focusout", { bubbles: true })), true`, n)))
		b.until(fmt.Sprintf(`document.querySelector('[data-at="/do/50"] .bubble').textContent === "changed %d" && took.length`, n))
		took := look(b, "measure", chromedp.Evaluate[[]float64](`[took.at(-1), performance.getEntriesByType("resource").filter(e => e.name.endsWith("/write/edit")).at(-1).duration]`))
		t.Logf("shown after %.0f ms, of which the console took %.0f ms", took[0], took[1])
		if touched := look(b, "see what changed", chromedp.Evaluate[[]string](`[...touched]`)); len(touched) != 1 || touched[0] != "/do/50" {
			t.Errorf("the change of one card touched %v", touched)
		}
	}
}
