package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/console/internal/words"
)

// TestRuleListInABrowser shows that rules are found while one types, that what was searched for
// stays in the address, and that the pages around a rule work for everybody, on a phone too.
func TestRuleListInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newCampaign(t)
	d.write("desk.yaml", listedRules)
	d.write("patient.yaml", patientRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	d.post("/rules/default/patient/delete", "was", d.sumOf("patient.yaml"), "reason", "too pushy")
	b := newBrowser(t, d.serve())
	b.open("/rules")
	b.do(chromedp.SendKeys(chromedp.CSS("#rulequery"), "boleto"))
	b.until(`document.querySelectorAll("#rulelist tbody tr").length === 1 && location.search.includes("q=boleto")`)
	b.open("/rules/default/campaign/start")
	b.do(chromedp.SendKeys(chromedp.CSS("#startquery"), "Marina"))
	b.until(`document.querySelector("#startfound input:checked")`)
	b.follow("main button.go")
	b.sees("The start is recorded, once.")
	paths := []struct{ name, path string }{{"rules-groups", "/rules?fold=routing"}, {"rule-edit", "/rules/default/vip"}, {"delete", "/rules/default/vip/delete"}, {"deleted", "/deleted"}, {"variables", "/variables"}, {"start", "/rules/default/campaign/start?q=Marina"}}
	for l, lang := range words.Languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		for n, p := range paths {
			if inTurn(n, l, len(words.Languages)) {
				b.open(p.path)
				b.isGood(p.name, lang.Code)
			}
		}
	}
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	for _, p := range paths {
		b.open(p.path)
		look(b, "unfold", chromedp.Evaluate[bool](`document.querySelectorAll("main details").forEach((d) => { d.open = true; }), true`))
		if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
			t.Errorf("%s is %d pixels wider than a phone", p.path, wide)
		}
		b.picture(fmt.Sprint("phone-", p.name), "pt", "light")
	}
}
