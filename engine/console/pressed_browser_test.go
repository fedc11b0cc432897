package console

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
)

const pressedRule = `rules:
  - id: pressed
    when: message.received
    if:
      - contact_has_label("vip")
      - closed("office")
      - conversation.kind == "direct"
    limit: { times: 1, per: 12h }
    do:
      - send_message: Hello
      - add_labels: [vip]
      - log: one
      - log: two
`

// TestPressesBeforeTheAnswer shows that what is pressed while the console has not answered yet is
// not lost, and is about what was pressed: not about what stands in its place afterwards.
func TestPressesBeforeTheAnswer(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	_, p := opensRule(t, pressedRule, "pressed")
	held := func(do func()) {
		evaluate[bool](p.browser, `window.isAnswered = false, true`)
		evaluate[bool](p.browser, holdsAnswers)
		do()
		evaluate[bool](p.browser, `window.answerComes(), true`)
	}
	answered := func() { p.until(`window.isAnswered && !document.querySelector("#picker[open]")`) }

	// The text is back before the console has answered; the rail shows it when it has.
	undone := func() {
		p.tap("#undo")
		p.tap("#undo")
		p.until(fmt.Sprintf(`document.getElementById("text").value === %q`, pressedRule))
		p.until(`["Hello", "vip", "one", "two"].every((text, i) => document.querySelector('[data-at="/do/' + i + '"]')?.textContent.includes(text))`)
		p.until(`document.querySelector('[data-at="/if"] [data-edits*=\'"/if/~if/of/2"\']')`)
	}

	// A step that is added behind a building block.
	held(func() {
		p.tap(`[data-step="/do/0"]`)
		p.choose("Escalate when nobody answers")
		p.choose("Done")
		answered()
		p.tap(`[data-step="/do/1"]`)
	})
	p.choose("Close the attendance")
	p.until(`/send_message: Hello\n +- close_attendance.*\n +- add_labels/.test(document.getElementById("text").value)`)
	undone()

	// Two conditions that are removed one after the other.
	held(func() {
		p.tap(`[data-at="/if"] [data-edits*='"/if/~if/of/0"']`)
		answered()
		p.tap(`[data-at="/if"] [data-edits*='"/if/~if/of/1"']`)
	})
	p.until(`((text) => !text.includes("contact_has_label") && !text.includes("closed") && text.includes("direct"))(document.getElementById("text").value)`)
	undone()

	// A card that keys move twice, while the menu of another is open.
	p.tap(`[data-at="/do/3"] .menu > summary`)
	p.until(`document.querySelector('[data-at="/do/3"] [data-entry="remove"]')`)
	held(func() {
		const down = `document.querySelector('[data-at="/do/0"] .menu > summary').dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowDown", altKey: true, bubbles: true, cancelable: true })), true`
		evaluate[bool](p.browser, down)
		answered()
		evaluate[bool](p.browser, down)
	})
	p.written("      - add_labels: [vip]\n      - log: one\n      - send_message: Hello\n      - log: two\n")
	p.until(`document.querySelector('[data-at="/do/3"] .menu[open] [data-entry="remove"]')`)
	undone()

	// A text that is opened while a step comes above it.
	held(func() {
		p.tap(`[data-at="/do/1"] .menu > summary`)
		p.tap(`[data-at="/do/1"] [data-entry="up"]`)
		answered()
		p.tap(`[data-text="/do/0/args/text"] .bubble`)
	})
	p.focused(`[data-text="/do/1/args/text"] .cm-content`)
	p.do(chromedp.KeyEvent("!"))
	p.written("      - add_labels: [vip]\n      - send_message: Hello!\n      - log: one\n")

	// A step that goes meanwhile.
	p.tap(`[data-at="/do/2"] .menu > summary`)
	held(func() {
		p.tap(`[data-at="/do/2"] [data-entry="remove"]`)
		answered()
		evaluate[bool](p.browser, `document.querySelector('[data-at="/do/2"] .bubble').click(), true`)
		evaluate[bool](p.browser, `document.querySelector('[data-at="/do/2"] [data-entry="remove"]').click(), true`)
	})
	p.written("      - send_message: Hello!\n      - log: two\n")
	p.wait(200)
	p.until(`!document.querySelector("[data-text] .cm-content") && document.getElementById("text").value.includes("two")`)

	// A card that is another one as soon as the rail shows what was undone.
	held(func() {
		p.tap("#undo")
		p.until(`window.isAnswered && document.getElementById("text").value.includes("one")`)
		evaluate[bool](p.browser, `document.querySelector('[data-at="/do/2"] .bubble').click(), true`)
	})
	p.until(`document.querySelector('[data-at="/do/2"]').textContent.includes("one")`)
	p.wait(200)
	p.until(`!document.querySelector("[data-text] .cm-content")`)
}
