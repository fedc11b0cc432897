package console

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/rules"
)

const slowRules = `rules:
  - id: slow
    name: Wait, then answer
    when: message.received
    if: closed("office")
    limit: { times: 1, per: 12h }
    do:
      - wait: 20m
      - send_message: "Hello, {{ contact.name }}!"
  - id: other
    name: Another one of this file
    when: manual
    do: [{ log: x }]
`

// newSlowDesk is a desk with a rule that waits, and another in the same file.
func newSlowDesk(t *testing.T, change ...func(*Options)) *desk {
	t.Helper()
	d := newEditorDesk(t, change...)
	d.write("slow.yaml", slowRules)
	if err := d.reload(); err != nil {
		t.Fatal(err)
	}
	return d
}

// TestReadAndChange shows that a rule is read and changed on one page: the bar names what is
// changed, saving keeps the rule live, and the history says it in words.
func TestReadAndChange(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newSlowDesk(t)
	d.says(marina, "Marina", "Oi")
	b := newBrowser(t, d.serve())
	b.open("/rules/default/slow")
	b.until(railIsThere)
	b.until(`!document.getElementById("rail").textContent.includes("Another one") && !document.getElementById("which")`)
	b.click("#tab-activity")
	b.sees("a condition was not true: office is closed")
	b.until(`document.getElementById("unsaved").textContent === "Everything is saved" && !document.getElementById("changes").textContent`)

	p := &person{browser: b}
	p.tap(`[data-at="/do/0"] [data-chip]`)
	p.focused(`#picker input[type=number]`)
	look(b, "fill in", chromedp.Evaluate[bool](`document.activeElement.value = "", true`))
	p.writes("15")
	p.presses("Enter")
	b.written("wait: 15m")
	b.until(`document.getElementById("unsaved").textContent === "1 change not saved" && document.getElementById("changes").textContent === "step 1, 20 → 15 minutes"`)
	b.isGood("rule-changed", "en")
	b.follow("#save")
	b.sees("It acts from the next event on.")
	b.until(`location.pathname === "/rules/default/slow" && document.getElementById("unsaved")?.textContent === "Saved · live · 17:50"`)
	if got, want := d.read("slow.yaml"), strings.Replace(slowRules, "20m", "15m", 1); got != want || d.book().Set.Rule("slow").Stage != rules.Live {
		t.Errorf("the file is now\n%s", got)
	}

	b.click(`input[name="switch"][value="shadow"]`)
	b.until(`document.getElementById("changes").textContent === "live → shadow"`)
	b.follow("#save")
	b.sees("It watches, and notes what it would have done.")
	b.until(`document.querySelector(".head .facts").textContent.trim() === "since 17:50, local"`)

	b.follow(`.ruleactions a[href^="/history"]`)
	b.until(`document.querySelector(".versions > li:nth-child(2) .changed ul li").textContent === "step 1 Wait 20 15 minutes"`)
	b.until(`document.querySelector(".versions > li:nth-child(2) del").textContent.trim() === "20" && document.querySelector(".versions > li:nth-child(2) ins").textContent.trim() === "15"`)
	b.until(`document.querySelector(".versions > li:nth-child(1) .changed").textContent.includes("Stage") && !document.querySelector(".versions details[open]")`)
	b.isGood("history-words", "en")
}

// TestReaders shows that somebody who may only look gets the same rail, with nothing to press, and
// that the page works for everybody at both widths.
func TestReaders(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newSlowDesk(t, func(o *Options) {
		guarded(o)
		o.Access.Listen = "127.0.0.1:8081" // where the browser keeps cookies without encryption
	})
	b := newBrowser(t, d.serve())
	b.enters("vera")
	for l, lang := range words.Languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		b.open("/rules/default/slow")
		b.until(`document.querySelector("#rail .chip") && !document.querySelector("#rail button, #rail input, #rail textarea, #write, script[src*=studio], .savebar, .ruleactions form")`)
		if inTurn(0, l, len(words.Languages)) { // the phone reads it in Portuguese
			b.isGood("rule-read", lang.Code)
		}
	}
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	b.open("/rules/default/slow")
	if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
		t.Errorf("it is %d pixels wider than a phone", wide)
	}
	b.isGood("phone-rule-read", "pt")
	b.enters("edu")
	b.open("/rules/default/slow")
	b.until(railIsThere)
	b.isGood("phone-rule", "pt")
	if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
		t.Errorf("the page of an editor is %d pixels wider than a phone", wide)
	}
}

// TestTwoAtOneRule shows that two people who change one rule see each other, and at once what the
// other one saves.
func TestTwoAtOneRule(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newSlowDesk(t, func(o *Options) {
		guarded(o)
		o.Access.Listen = "127.0.0.1:8081"
	})
	at := d.serve()
	olga, edu := newBrowser(t, at), newBrowser(t, at)
	olga.enters("olga")
	edu.enters("edu")
	for _, b := range []*browser{olga, edu} {
		b.open("/rules/default/slow")
		b.until(railIsThere)
	}
	olga.fill("/name", "Wait for Olga")
	olga.written("Wait for Olga")
	edu.sees("olga is changing this rule too, since 17:50.")
	edu.fill("/description", "By Edu")
	edu.written("By Edu")
	olga.sees("edu is changing this rule too, since 17:50.")

	d.mu.Lock()
	d.now = d.now.Add(12 * time.Minute)
	d.mu.Unlock()
	olga.follow("#save")
	olga.sees("It acts from the next event on.")
	edu.sees("olga has saved this rule at 18:02.")
	edu.until(`document.querySelector("#present a") && !document.getElementById("present").textContent.includes("is changing")`)
	edu.isGood("rule-present", "en")
	edu.follow("#save")
	edu.sees("The file has changed since you opened it")
	edu.until(`[...document.querySelectorAll(".needs .changed ins")].some((e) => e.textContent === "By Edu")`)
	if strings.Contains(d.read("slow.yaml"), "By Edu") {
		t.Error("the change of another was overwritten")
	}
	edu.until(railIsThere)
	edu.isGood("rule-conflict", "en")
}
