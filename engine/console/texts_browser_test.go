package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const awayInPortuguese = `rules:
  - id: away
    stage: draft
    when: message.received
    if: closed("office")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Oi {{ contact.name }}, {{ let x = 1; x }} voltamos logo"
      - wait_for: { event: message.received, timeout: 1d }
        id: answer
      - send_message: Obrigado
`

// writesTexts opens the studio in Portuguese, with somebody who wrote while the office was open.
func writesTexts(t *testing.T) *person {
	t.Helper()
	d := newEditorDesk(t)
	d.write("away.yaml", awayInPortuguese)
	d.says(bento, "Bento <b>Alves", "Alguém aí?")
	b := newBrowser(t, d.serve())
	b.do(chromedp.Navigate("about:blank"))
	b.watchPolicy()
	d.languageCookie(b, "pt")
	b.open("/write?workspace=default&file=away.yaml")
	b.until(railIsThere)
	return &person{browser: b}
}

// seesText waits for what is seen of the open text, with chips in brackets.
func (p *person) seesText(want string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`[...document.querySelectorAll("[data-text] .cm-line")].map(line => [...line.childNodes]
		.map(n => n.classList?.contains("text-chip") ? "[" + n.textContent + "]" : n.textContent).join("")).join("\n") === %q`, want))
}

// seesPreview waits for a text as a customer would get it.
func (p *person) seesPreview(text, said string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`document.querySelector(".preview .bubble")?.textContent === %q && document.querySelector(".preview figcaption").textContent.startsWith(%q)`, text, said))
}

// holdsAnswers makes the console's next answers about the text wait until the page calls
// answerComes.
const holdsAnswers = `(() => {
	const ask = window.fetch, gate = new Promise((open) => { window.answerComes = open; });
	window.fetch = async (path, ...rest) => {
		const answer = await ask(path, ...rest);
		if (path === "/write/edit" || path === "/write/check") { window.isAnswered = true; await gate; }
		return answer;
	};
	return true;
})()`

// wait lets some time pass on the page.
func (p *person) wait(milliseconds int) {
	p.t.Helper()
	look(p.browser, "wait", chromedp.Evaluate[bool](fmt.Sprintf(`new Promise((resolve) => setTimeout(() => resolve(true), %d))`, milliseconds), chromedp.EvalAwaitPromise))
}

// TestAnAnswerWhileWriting shows that the console's answer, which takes the complaint about an
// empty text away, disturbs nobody who goes on writing: the menu of what can be inserted stays
// open, and the cursor in the text.
func TestAnAnswerWhileWriting(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	p := writesTexts(t)
	p.tap(`[data-text="/do/0/args/text"] .bubble`)
	p.focused(`[data-text] .cm-content`)
	p.browser.presses("a", chromedp.ModifierCtrl)
	p.browser.presses(kb.Backspace)
	p.until(`document.querySelector('[data-at="/do/0"] .complaint')`)
	evaluate[bool](p.browser, holdsAnswers)
	p.browser.presses("Oi")
	p.until(`window.isAnswered`)
	p.tap(".under .insert")
	p.until(`window.menu = document.querySelector("[data-text] [role=listbox]")`)
	evaluate[bool](p.browser, `window.answerComes(), true`)
	p.until(`!document.querySelector('[data-at="/do/0"] .complaint')`)
	p.wait(100)
	p.until(`window.menu.isConnected && document.activeElement.matches("[data-text] .cm-content")`)
}

// TestAnAnswerDuringAPress shows that a press is a click although the console's answer exchanges
// what is pressed: the rail waits for its end.
func TestAnAnswerDuringAPress(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	p := writesTexts(t)
	evaluate[bool](p.browser, holdsAnswers)
	p.tap(`[data-at="/limit"] [data-chip*="times"]`)
	p.focused(`#picker input[type=number]`)
	p.browser.presses("3")
	p.browser.presses(kb.Enter)
	p.until(`window.isAnswered && !document.querySelector("#picker[open]")`)
	at := evaluate[struct{ X, Y float64 }](p.browser, `((e) => {
		e.scrollIntoView({ block: "center", behavior: "instant" });
		const { x, y, width, height } = e.getBoundingClientRect();
		return { x: x + width / 2, y: y + height / 2 };
	})(document.querySelector('[data-at="/limit"] [data-chip*="per"]'))`)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, chromedp.Button("left"), chromedp.ClickCount(1)))
	evaluate[bool](p.browser, `window.answerComes(), true`)
	p.wait(200)
	p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X, at.Y, chromedp.Button("left"), chromedp.ClickCount(1)))
	p.until(`document.querySelector("#picker[open]")`)
}

// TestATextOnTheRail writes a text in the place of its bubble: chips from the menu, formats of a
// time, and beside it what the last customer who wrote would have got.
func TestATextOnTheRail(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	p := writesTexts(t)
	p.tap(`[data-text="/do/0/args/text"] .bubble`)
	p.focused(`[data-text] .cm-content`)
	p.seesText("Oi [nome do cliente], [let x = 1; x] voltamos logo")
	p.seesPreview("Oi Bento <b>Alves, 1 voltamos logo", "Bento <b>Alves teria recebido isto em ")
	p.browser.presses(kb.Escape)
	p.focused(`[data-text="/do/0/args/text"] .bubble`)
	p.until(`!document.querySelector("[data-text] .cm-editor")`)

	// By the keyboard alone: all of it is replaced, and a slash inserts.
	p.browser.presses(kb.Enter)
	p.focused(`[data-text] .cm-content`)
	p.browser.presses("a", chromedp.ModifierCtrl)
	p.browser.presses(kb.Backspace)
	p.until(`document.querySelector('[data-at="/do/0"] .complaint')`)
	p.focused(`[data-text] .cm-content`) // though the card has another one inside
	p.browser.presses("Voltamos /abertura")
	p.until(`[...document.querySelectorAll("[data-text] [role=option]")].map(o => o.textContent).join() === "próxima abertura de office,abertura do atendimento"`)
	p.browser.presses(kb.Enter)
	p.browser.presses("!")
	p.seesText("Voltamos [próxima abertura de office · amanhã às 8:00]!")
	p.written("Voltamos {{ day_time(next_open('office'), 'pt') }}!")
	p.seesPreview("Voltamos segunda às 8:00!", "Bento")
	p.until(`!document.querySelector('[data-at="/do/0"] .complaint')`)
	p.focused(`[data-text] .cm-content`)

	// A chip of a time is written in other ways, each shown as it would be now.
	p.browser.presses(kb.ArrowLeft + kb.ArrowLeft + kb.Enter)
	p.until(`document.querySelector("#picker[open] [aria-selected=true]")?.textContent === "amanhã às 8:00"`)
	for _, way := range []string{"sábado, 8:00", "em 14 h 10 min", "08:00", "14/11", "14/11 às 08:00"} {
		p.until(fmt.Sprintf(`[...document.querySelectorAll("#picker [role=option]")].some(o => o.textContent === %q)`, way))
	}
	p.isGood("studio-text-ways", "pt")
	p.theme("light")
	p.choose("sábado, 8:00")
	p.seesText("Voltamos [próxima abertura de office · terça, 8:00]!")
	p.seesPreview("Voltamos segunda, 8:00!", "Bento")
	p.written("weekday_time(next_open('office'), 'pt')")
	p.isGood("studio-text", "pt")
	p.theme("light")

	// What is undone elsewhere is undone in the open field.
	p.click("#undo")
	p.seesText("Voltamos [próxima abertura de office · amanhã às 8:00]!")
	p.browser.presses(kb.Escape)
	p.until(`document.querySelector('[data-text="/do/0/args/text"] .bubble').textContent === "Voltamos próxima abertura de office · amanhã às 8:00!"`)

	// What a step before would give stands there in words.
	p.tap(`[data-text="/do/2/args/text"] .bubble`)
	p.focused(`[data-text] .cm-content`)
	p.browser.presses(", recebemos: /texto da resposta")
	p.until(`document.querySelector("[data-text] [role=option][aria-selected]")?.textContent === "texto da resposta"`)
	p.browser.presses(kb.Enter)
	p.written("Obrigado, recebemos: {{ answer.message.text }}")
	p.until(`document.querySelector(".preview .bubble .inline")?.textContent.includes("resposta")`)
	if list := p.refused(); len(list) > 0 {
		t.Errorf("the policy refused %v", list)
	}
}

// TestOtherValues shows what else can be chosen than what is there: a name that the service does
// not have yet, a variable, an uploaded file, and a part by hand with completion.
func TestOtherValues(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	d.write("away.yaml", strings.Replace(awayInPortuguese, "rules:", "vars: { label: vip, most: 3 }\nrules:", 1))
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&file=away.yaml")
	b.until(railIsThere)
	p := &person{browser: b}
	p.tap(`[data-at="/if"] [data-condition$="/of/1"]`)
	p.choose("the customer has the label label")
	p.until(`document.querySelector("#picker [data-value=vip]")`)
	p.writes("Fiado")
	p.until(`document.querySelector("#picker [role=option]").textContent.startsWith("“Fiado” is not there yet: use it anyway") && document.querySelector("#picker .note").textContent.includes("make it in the messaging app")`)
	p.isGood("picker-absent", "en")
	p.theme("light")
	p.presses("Enter")
	p.written(`contact_has_label("Fiado")`)

	p.tap(`[data-at="/if"] [data-chip*='/of/1/']`)
	p.choose("Another value …")
	p.choose("label")
	p.written(`contact_has_label(vars.label)`)

	p.tap(`[data-at="/do/2"] .menu > summary`)
	p.tap(`[data-at="/do/2"] [data-more]`)
	p.choose("File")
	p.until(`document.querySelector("#picker .upload")`)
	evaluate[bool](b, `(() => { const input = document.querySelector("#picker input[type=file]"), files = new DataTransfer(); files.items.add(new File(["pizza"], "menu.pdf")); input.files = files.files; input.dispatchEvent(new Event("change")); return true })()`)
	p.written("menu.pdf")
	if got := d.read("media/menu.pdf"); got != "pizza" {
		t.Errorf("the file has %q", got)
	}

	p.tap(`[data-text="/do/0/args/text"] .bubble`)
	p.tap(`[data-text] .text-chip-hand`)
	p.focused("#picker .cm-content")
	p.browser.presses("a", chromedp.ModifierCtrl)
	p.browser.presses("contact.ci")
	p.until(`[...document.querySelectorAll("#picker .cm-tooltip-autocomplete [role=option]")].some(o => o.textContent.startsWith("city"))`)
	p.isGood("picker-hand", "en")
	p.theme("light")
	p.browser.presses("ty")
	p.choose("Done")
	p.seesText("Oi [customer's name], [customer's city] voltamos logo")
	p.written("{{ contact.city }}")

	// A text in a sentence has chips too.
	p.tap(`[data-step="/do/3"]`)
	p.choose("Stop")
	p.tap(`[data-at="/do/3"] .menu > summary`)
	p.tap(`[data-at="/do/3"] [data-more]`)
	p.choose("Reason")
	p.focused("#picker .cm-content")
	p.browser.presses("done for /first")
	p.until(`document.querySelector("#picker .cm-tooltip-autocomplete [aria-selected]")?.textContent === "customer's first name"`)
	p.isGood("picker-text", "en")
	p.theme("light")
	p.browser.presses(kb.Enter)
	p.choose("Done")
	p.until(`[...document.querySelectorAll('[data-at="/do/3"] .chip')].some(c => c.textContent === "done for customer's first name")`)
}

// TestATextOnAPhone shows the field at the width of a phone: a tap opens it, the menu inserts, and
// what was typed is kept when the next thing is tapped.
func TestATextOnAPhone(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	p := writesTexts(t)
	p.do(chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile, chromedp.EmulateTouch))
	p.open("/write?workspace=default&file=away.yaml")
	p.until(railIsThere)
	p.tap(`[data-text="/do/2/args/text"] .bubble`)
	p.focused(`[data-text] .cm-content`)
	p.writes(" ")
	p.tap(`[data-text] .insert`)
	p.inserts("primeiro nome do cliente")
	p.seesText("Obrigado [primeiro nome do cliente]")
	p.seesPreview("Obrigado Bento", "Bento")
	p.isGood("phone-studio-text", "pt")
	p.theme("light")
	if wide := evaluate[int](p.browser, `document.documentElement.scrollWidth - window.innerWidth`); wide > 0 {
		t.Errorf("it is %d pixels wider than a phone", wide)
	}
	p.writes(" até já")
	evaluate[bool](p.browser, `document.activeElement.blur(), true`)
	p.written("até já")
	if text := evaluate[string](p.browser, `document.getElementById("text").value`); strings.Contains(text, "primeiro nome") {
		t.Errorf("words instead of an expression:\n%s", text)
	}
}

// TestConditionsToChoose shows the list of conditions: by what they are about, the usual ones first
// and at once, the contraries of comparisons when somebody searches or asks for more.
func TestConditionsToChoose(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	b := newBrowser(t, d.serve())
	b.open("/write?workspace=default&template=")
	b.until(railIsThere)
	p := &person{browser: b}
	const rare = `[...document.querySelectorAll("#picker [role=option]")].some(o => o.textContent === "the customer has not waited longer than how long")`
	p.tap(`[data-at="/if"] [data-condition]`)
	p.until(`document.querySelectorAll("#picker .grp").length > 4`)
	if groups := evaluate[[]string](b, `[...document.querySelectorAll("#picker .grp")].map(g => g.textContent)`); strings.Join(groups[:5], ", ") != "The customer, The message, The conversation, The attendance, The time" {
		t.Errorf("the groups are %q", groups)
	}
	if evaluate[bool](b, rare) {
		t.Error("a rare condition is shown to everybody")
	}
	p.isGood("conditions", "en")
	p.theme("light")
	p.choose("Show more")
	p.until(rare)
	evaluate[bool](b, `document.getElementById("picker").click(), true`)
	p.until(`!document.querySelector("#picker").childElementCount`)
	p.tap(`[data-at="/if"] [data-condition]`)
	p.focused("#picker input")
	p.writes("not waited longer")
	p.until(rare)
	p.choose("the customer has not waited longer than how long")
	p.focused(`#picker input[type=number]`)
	p.presses("Enter")
	p.written(`customer_waiting() > duration("15m")`)
}
