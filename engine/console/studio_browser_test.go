package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"
)

// A person builds a rule with clicks, choices and plain words, which are counted.
type person struct {
	*browser
	clicks, words int
}

// tap clicks on something.
func (p *person) tap(selector string) {
	p.t.Helper()
	p.click(selector)
	p.clicks++
}

// choose clicks on something in the open picker by its words.
func (p *person) choose(words string) {
	p.t.Helper()
	option := fmt.Sprintf(`[...document.querySelectorAll("#picker[open] [role=option], #picker[open] button")].find(e => e.textContent.trim() === %q)`, words)
	p.until(option)
	look(p.browser, "choose "+words, chromedp.Evaluate[bool](option+`.click(), true`))
	p.clicks++
}

// inserts clicks on what the menu of a text offers, by its words.
func (p *person) inserts(words string) {
	p.t.Helper()
	option := fmt.Sprintf(`[...document.querySelectorAll("[data-text] [role=option]")].find(e => e.textContent.trim() === %q)`, words)
	p.until(option)
	look(p.browser, "insert "+words, chromedp.Evaluate[bool](option+`.dispatchEvent(new MouseEvent("mousedown", { bubbles: true, cancelable: true })), true`))
	p.until(fmt.Sprintf(`[...document.querySelectorAll("[data-text] .text-chip")].some(e => e.textContent === %q)`, words))
	p.clicks++
}

// writes types plain words where the cursor is.
func (p *person) writes(text string) {
	p.t.Helper()
	if strings.ContainsAny(text, `{}()="_`) {
		p.t.Fatalf("%q is code", text)
	}
	p.do(chromedp.KeyEvent(text))
	p.words++
}

// presses presses a key in a picker. A browser that is driven also sends the letter behind a key
// that was taken, which a keyboard does not.
func (p *person) presses(key string) {
	p.t.Helper()
	look(p.browser, "press "+key, chromedp.Evaluate[bool](fmt.Sprintf(`document.activeElement.dispatchEvent(new KeyboardEvent("keydown", { key: %q, bubbles: true, cancelable: true })), true`, key)))
}

// focused waits until the cursor is somewhere.
func (p *person) focused(selector string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.activeElement && document.activeElement.matches(%q)`, selector))
}

// buildsTheAwayReply builds a rule that answers once while the office is closed, from an empty
// page. Quietly, it keeps out of what the team is still talking about.
func (p *person) buildsTheAwayReply(quietly bool) {
	p.t.Helper()
	p.until(railIsThere)
	p.tap(`[data-at="/if"] [data-condition]`)
	p.choose("calendar is closed")
	p.written(`closed("office")`)
	p.tap(`[data-at="/if"] [data-op="add"]`)
	p.choose("the conversation is with one person")
	p.written(`conversation.kind == "direct"`)
	if quietly {
		p.tap(`[data-at="/if"] [data-condition$="/of/2"]`)
		p.choose("nobody of the team wrote in the last how long")
		p.focused(`#picker input[type=number]`)
		p.presses("Enter")
		p.written(`not human_active("15m")`)
	}
	p.tap(`[data-step="/do/0"]`)
	p.choose("Send a message")
	p.focused(`[data-text] .cm-content`)
	p.writes("We are away, ")
	p.tap(`[data-text] .insert`)
	p.inserts("customer's name")
	p.focused(`[data-text] .cm-content`)
	p.writes(".")
	p.tap(`[data-bounds]`)
	p.choose("At most … × in …")
	p.written("We are away, {{ contact.name }}.")
	p.written("limit: { times: 1, per: 12h }")
	p.sees("No problems.")
	p.t.Logf("the away reply took %d clicks and %d times typing", p.clicks, p.words)
}

// TestBuiltByClicks shows that the away reply is built from an empty page by clicks, choices and
// plain words, that what was done can be undone and moved, and what is saved.
func TestBuiltByClicks(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&template=")
	p := &person{browser: b}
	p.buildsTheAwayReply(true)

	p.tap(`[data-step="/do/1"]`)
	p.choose("Add the label …")
	p.choose("after-hours")
	p.choose("Done")
	p.written("add_labels: [after-hours]")
	p.tap(`[data-at="/do/1"] .menu > summary`)
	p.tap(`[data-at="/do/1"] [data-edits*='"to":"/do/0"']`)
	p.until(`document.querySelector('[data-at="/do/0"]').textContent.includes("after-hours")`)
	p.tap("#undo")
	p.until(`document.querySelector('[data-at="/do/1"]').textContent.includes("after-hours")`)
	p.tap(`[data-at="/do/1"] .menu > summary`)
	p.tap(`[data-at="/do/1"] [data-edits*='"op":"remove"']`)
	p.until(`!document.getElementById("text").value.includes("add_labels")`)
	p.tap("#undo")
	p.written("add_labels: [after-hours]")
	p.tap("#save-shadow")
	p.sees("It watches, and notes what it would have done.")
	want := `rules:
  - id: new-rule
    stage: shadow
    when: message.received
    if:
      - closed("office")
      - conversation.kind == "direct"
      - not human_active("15m")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "We are away, {{ contact.name }}."
      - add_labels: [after-hours]
`
	if diff := cmp.Diff(want, d.read("new-rule.yaml")); diff != "" {
		t.Error(diff)
	}
}

// TestWaysByClicks shows that a choice with its ways is built by clicks, and that a card with a
// problem says so.
func TestWaysByClicks(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&template=")
	p := &person{browser: b}
	p.until(railIsThere)
	p.tap(`[data-step="/do/0"]`)
	p.choose("Take one of these ways")
	p.choose("the customer has the label label")
	p.choose("vip")
	p.written(`if: contact_has_label("vip")`)
	p.tap(`[data-step="/do/0/args/branches/branches/0/do/0"]`)
	p.choose("Transfer")
	p.choose("Supervisors")
	p.written("transfer: Supervisors")
	p.tap(`[data-step="/do/0/args/branches/branches/1/do/0"]`)
	p.choose("Wait")
	p.focused(`#picker input[type=number]`)
	p.presses("Enter")
	p.written("wait: 15m")
	p.until(`!document.querySelector("#rail .complaint")`)
	p.tap(`[data-list="/do"] > .end [data-step]`)
	p.choose("Move the card to …")
	p.until(`document.querySelector("#picker[open]")`)
	p.do(chromedp.KeyEvent(kb.Escape))
	p.until(`document.querySelector('[data-at="/do/1"] .chip.bare') && document.querySelector('[data-at="/do/1"] .complaint')`)
	t.Logf("it took %d clicks", p.clicks)
}

// TestByKeyboardOnAPhone shows that a rule is built with the keys alone, at the width of a phone.
func TestByKeyboardOnAPhone(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	b := newBrowser(t, d.serve())
	b.do(chromedp.EmulateViewport(390, 800))
	b.open("/write?workspace=default&template=")
	b.until(railIsThere)
	p := &person{browser: b}
	// keys presses keys on something.
	keys := func(selector string, pressed ...string) {
		t.Helper()
		b.until(fmt.Sprintf("document.querySelector(%q)", selector))
		look(b, "focus "+selector, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q).focus(), true", selector)))
		for _, key := range pressed {
			b.do(chromedp.KeyEvent(key))
		}
	}
	keys(`[data-at="/if"] [data-condition]`, kb.Enter)
	p.focused("#picker input")
	p.writes("calendar is closed")
	p.until(`document.querySelectorAll("#picker [role=option]").length < 20`)
	p.presses("Enter")
	b.written(`closed("office")`)
	keys(`[data-step="/do/0"]`, kb.Enter)
	p.focused("#picker input")
	p.writes("label")
	p.until(`document.querySelector("#picker [role=option].active")?.textContent.startsWith("Add the label")`)
	p.presses("Enter")
	p.until(`document.querySelector("#picker [data-done]")`)
	p.focused("#picker input")
	p.writes("not there yet")
	p.presses("Enter")
	p.until(`document.querySelector("#picker [aria-selected=true]")`)
	keys("#picker [data-done]", kb.Enter)
	b.written("add_labels: [not there yet]")
	b.until(`!document.querySelector("#picker[open]")`)
	if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
		t.Errorf("it is %d pixels wider than a phone", wide)
	}
	keys(`[data-at="/do/0"] .menu > summary`, kb.Enter)
	keys(`[data-at="/do/0"] [data-edits*='"op":"copy"']`, kb.Enter)
	b.until(`document.querySelectorAll('[data-list="/do"] > [data-at]').length === 2`)
	keys("#undo", kb.Enter)
	b.until(`document.querySelectorAll('[data-list="/do"] > [data-at]').length === 1`)
}
