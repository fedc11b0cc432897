package console

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"html/template"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/text.html
var textPage string

//go:embed testdata/text.js
var textScript string

// newTextField opens a page with nothing but a text field, under the policy of the console.
func newTextField(t *testing.T) *browser {
	t.Helper()
	page := template.Must(template.New("text").Parse(textPage))
	mux := http.NewServeMux()
	mux.Handle("GET /assets/", http.FileServerFS(assets))
	mux.HandleFunc("GET /text.js", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/javascript; charset=utf-8")
		_, _ = w.Write([]byte(textScript))
	})
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		nonce := rand.Text()
		secureHeaders(w.Header())
		allowStyles(w.Header(), nonce)
		if err := page.Execute(w, nonce); err != nil {
			t.Error(err)
		}
	})
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	b := newBrowser(t, s.URL)
	b.do(chromedp.Navigate("about:blank"))
	b.watchPolicy()
	b.open("/")
	b.until(`window.field`)
	// The editor soon takes back what it has told, so it is kept here until somebody asks.
	evaluate[any](b, `window.spoken = []; new MutationObserver(() => window.spoken.push(document.querySelector("#field .cm-announced").textContent))
		.observe(document.querySelector("#field .cm-announced"), { childList: true, characterData: true, subtree: true }); true`)
	return b
}

// presses presses keys, as they are or with a modifier. A key comes with its character, which the
// browser drops if the page has taken the key, as it does with a keyboard.
func (b *browser) presses(keys string, with ...chromedp.Modifier) {
	b.t.Helper()
	for _, r := range keys {
		events := kb.Encode(r)
		if events[1].Type == kb.KeyChar {
			if len(with) == 0 {
				events[0].Type, events[0].Text = input.DispatchKeyEventTypeKeyDown, events[1].Text
			}
			events = slices.Delete(events, 1, 2)
		}
		for _, k := range events {
			chromedp.KeyModifiers(with...)(k)
			if _, err := chromedp.Call(b.ctx, input.DispatchKeyEvent, *k); err != nil {
				b.t.Fatal(err)
			}
		}
	}
}

// has waits for the text of the field and what is seen of it, with chips in brackets.
func (b *browser) has(text, seen string) {
	b.t.Helper()
	const look = `[window.field.text, [...document.querySelectorAll("#field .cm-line")].map(line => [...line.childNodes]
		.map(n => n.classList?.contains("text-chip") ? "[" + n.textContent + "]" : n.textContent).join("")).join("\n")]`
	want := evaluate[string](b, fmt.Sprintf("JSON.stringify([%q, %q])", text, seen))
	var got string
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		got = evaluate[string](b, "JSON.stringify("+look+")")
		if got == want {
			return
		}
	}
	b.t.Fatalf("the field has\n%s instead of\n%s", got, want)
}

// opens waits until the menu of the field offers these.
func (b *browser) opens(words ...string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`[...document.querySelectorAll("#field [role=option]")].map(o => o.textContent).join("|") === %q`, strings.Join(words, "|")))
}

// hears waits until a screen reader is told something.
func (b *browser) hears(text string) {
	b.t.Helper()
	for end := time.Now().Add(browserStep); !slices.Contains(evaluate[[]string](b, `window.spoken`), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.t.Fatalf("a screen reader is told %q and not %q; the page failed with %s", evaluate[[]string](b, `window.spoken`), text, evaluate[string](b, `JSON.stringify(window.broken || [])`))
		}
	}
	evaluate[any](b, `window.spoken = []; true`)
}

// begins takes all text away, and writes another.
func (b *browser) begins(text string) {
	b.t.Helper()
	b.do(chromedp.Focus(chromedp.CSS("#field .cm-content")))
	b.presses("a", chromedp.ModifierCtrl)
	b.presses(kb.Backspace)
	b.presses(text)
}

// TestATextWithChips writes a message with the keyboard alone: chips are inserted by a slash,
// removed as a whole and brought back, and the text below stays plain.
func TestATextWithChips(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	b := newTextField(t)
	b.has("Olá {{ contact.first_name }}! Estamos fechados e voltamos {{ next_open('office').Format('Monday, 15:04') }}. É urgente?",
		"Olá [primeiro nome do cliente]! Estamos fechados e voltamos [próxima abertura · “segunda, 8:00”]. É urgente?")
	b.begins("")
	b.has("", "Escreva a mensagem, / insere")

	b.presses("Oi /")
	b.opens("nome do cliente", "primeiro nome do cliente", "próxima abertura", "protocolo")
	b.presses("cli no")
	b.opens("nome do cliente", "primeiro nome do cliente")
	b.presses("x")
	b.opens()
	b.presses(kb.Backspace)
	b.opens("nome do cliente", "primeiro nome do cliente")
	b.presses(kb.ArrowDown + kb.Enter)
	b.has("Oi {{ contact.first_name }}", "Oi [primeiro nome do cliente]")
	b.hears("primeiro nome do cliente inserido")
	b.presses(", até /PROX")
	b.opens("próxima abertura")
	b.presses(kb.Enter + kb.Enter + "e/ou 1/2 / sim")
	const after = " }}, até {{ next_open('office').Format('15:04') }}\ne/ou 1/2 / sim"
	b.has("Oi {{ contact.first_name"+after, "Oi [primeiro nome do cliente], até [próxima abertura]\ne/ou 1/2 / sim")
	b.opens()

	b.presses(kb.Home + kb.ArrowLeft + kb.Backspace)
	b.has("Oi {{ contact.first_name }}, até \ne/ou 1/2 / sim", "Oi [primeiro nome do cliente], até \ne/ou 1/2 / sim")
	b.hears("próxima abertura removido")
	b.presses("z", chromedp.ModifierCtrl)
	b.has("Oi {{ contact.first_name"+after, "Oi [primeiro nome do cliente], até [próxima abertura]\ne/ou 1/2 / sim")
	b.presses("y", chromedp.ModifierCtrl)
	b.has("Oi {{ contact.first_name }}, até \ne/ou 1/2 / sim", "Oi [primeiro nome do cliente], até \ne/ou 1/2 / sim")

	// An expression that is typed is a chip by hand as soon as it is closed, until the console has
	// words for it.
	b.begins("Nº {{ attendance.protocol }} {{ upper('}}') }}")
	b.has("Nº {{ attendance.protocol }} {{ upper('}}') }}", "Nº [protocolo] [upper('}}')]")
	b.until(`document.querySelector("#field .text-chip-hand").getAttribute("aria-label") === "à mão: upper('}}')"`)
	evaluate[bool](b, `window.field.describe([{ expression: "upper('}}')", words: "chaves" }]), true`)
	b.has("Nº {{ attendance.protocol }} {{ upper('}}') }}", "Nº [protocolo] [chaves]")
	if told := evaluate[string](b, `window.told.at(-1)`); told != "Nº {{ attendance.protocol }} {{ upper('}}') }}" {
		t.Errorf("the page was told %q", told)
	}
	if list := b.refused(); len(list) > 0 {
		t.Errorf("the policy refused %v", list)
	}
}

// TestTheCursorStopsOnAChip shows what a person does with a chip that the cursor is on: step past
// it, write beside it, change it, remove it.
func TestTheCursorStopsOnAChip(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	b := newTextField(t)
	b.begins("a{{ contact.name }}b")
	b.presses(kb.ArrowLeft + kb.ArrowLeft)
	b.hears("nome do cliente escolhido: Enter altera, Backspace remove")
	b.until(`document.querySelector("#field .text-chip-chosen")`)
	b.presses("1")
	b.has("a1{{ contact.name }}b", "a1[nome do cliente]b")
	b.presses(kb.ArrowRight + "2")
	b.has("a1{{ contact.name }}2b", "a1[nome do cliente]2b")
	b.presses(kb.ArrowLeft + kb.ArrowLeft + kb.ArrowLeft + "3")
	b.has("a13{{ contact.name }}2b", "a13[nome do cliente]2b")
	b.presses(kb.Delete)
	b.has("a132b", "a132b")
	b.presses("z", chromedp.ModifierCtrl)
	b.has("a13{{ contact.name }}2b", "a13[nome do cliente]2b")

	b.begins("até {{ next_open('office').Format('15:04') }}")
	b.presses(kb.ArrowLeft + kb.Enter)
	b.until(`window.picked?.expression === "next_open('office').Format('15:04')" && window.picked.width > 40 && document.activeElement.id === "formats"`)
	evaluate[bool](b, `window.field.set("Aberto " + window.field.text), true`)
	b.presses(kb.Enter)
	b.has("Aberto até {{ next_open('office').Format('02/01 15:04') }}", "Aberto até [next_open('office').Format('02/01 15:04')]")
	b.presses(kb.Backspace)
	b.has("Aberto até ", "Aberto até ")
	if gone := evaluate[bool](b, `document.getElementById("formats").onclick()`); gone {
		t.Error("a chip that is gone was changed")
	}
}

// TestAChipIsItsExpression shows that the expression is what is copied, that a pasted one is a
// chip, and where an expression ends.
func TestAChipIsItsExpression(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	b := newTextField(t)
	b.begins("Oi {{ contact.name }}")
	b.presses(kb.ArrowLeft)
	const event = `(() => { const clipboardData = new DataTransfer(); if (%[2]q) clipboardData.setData("text/plain", %[2]q);
		document.querySelector("#field .cm-content").dispatchEvent(new ClipboardEvent(%[1]q, { clipboardData, bubbles: true, cancelable: true })); return clipboardData.getData("text/plain") })()`
	if got := evaluate[string](b, fmt.Sprintf(event, "cut", "")); got != "{{ contact.name }}" {
		t.Errorf("%q was copied", got)
	}
	b.has("Oi ", "Oi ")
	if got := evaluate[string](b, fmt.Sprintf(event, "cut", "")); got != "" {
		t.Errorf("%q was copied though nothing was chosen", got)
	}
	evaluate[string](b, fmt.Sprintf(event, "paste", "{{contact.name}},\r\n{{ attendance.protocol }}"))
	b.has("Oi {{contact.name}},\n{{ attendance.protocol }}", "Oi [nome do cliente],\n[protocolo]")

	for _, c := range []struct{ text, seen string }{
		{`a {{ {"a": {"b": 1}}.a.b }}}`, `a [{"a": {"b": 1}}.a.b]}`},
		{"{{ '}}' + \"\\\"}}\" + `\\` }}!", "['}}' + \"\\\"}}\" + `\\`]!"},
		{"a {{ contact\n.name }} b", "a [contact\n.name] b"},
		{"{{ contact.name } }} {{ it's {{ contact.name }}", "{{ contact.name } }} {{ it's [nome do cliente]"},
		{"{{ }}{{contact.name}}", "[{{ }}][nome do cliente]"},
		{"one\r\ntwo\rthree", "one\r\ntwo\rthree"},
	} {
		evaluate[bool](b, fmt.Sprintf(`window.field.set(%q), true`, c.text))
		b.has(c.text, c.seen)
	}
}

// TestATextWithChipsIsForEverybody shows that the field works with a mouse, a screen reader, a dark
// screen or a phone.
func TestATextWithChipsIsForEverybody(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	b := newTextField(t)
	if got := evaluate[string](b, `(e => [e.role || e.getAttribute("role"), e.ariaLabel, e.ariaMultiLine].join())(document.querySelector("#field .cm-content"))`); got != "textbox,Texto da mensagem,true" {
		t.Errorf("the field is a %s", got)
	}
	b.isGood("text", "pt")
	b.theme("light")
	b.click("#insert")
	b.opens("nome do cliente", "primeiro nome do cliente", "próxima abertura", "protocolo")
	b.presses("prot")
	b.opens("protocolo")
	b.presses(kb.Backspace + kb.Backspace + kb.Backspace + kb.Backspace)
	b.opens("nome do cliente", "primeiro nome do cliente", "próxima abertura", "protocolo")
	b.isGood("text-menu", "pt")
	b.presses(kb.Escape)
	evaluate[bool](b, `window.field.set(""), true`)
	b.isGood("text-empty", "pt")

	b.do(chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile, chromedp.EmulateTouch))
	b.theme("light")
	b.open("/")
	b.until(`window.field`)
	evaluate[bool](b, `window.field.set(window.field.text + " {{ upper(contact.name) + ' do atendimento ' + attendance.protocol }}"), true`)
	b.tap(`#field .text-chip`)
	b.until(`window.picked?.expression === "contact.first_name" && document.activeElement.id === "formats"`)
	if evaluate[bool](b, `window.picked.typing`) {
		t.Error("a tap on a chip opens the keyboard")
	}
	b.isGood("phone-text", "pt")
	b.theme("light")
	b.tap("#insert")
	b.opens("nome do cliente", "primeiro nome do cliente", "próxima abertura", "protocolo")
	b.isGood("phone-text-menu", "pt")
	b.tap("#field [role=option]:last-of-type")
	b.until(`window.field.text.includes("{{ attendance.protocol }}")`)
	if wide := evaluate[int](b, `document.documentElement.scrollWidth - window.innerWidth`); wide > 0 {
		t.Errorf("the field is %d pixels wider than a phone", wide)
	}
	if list := b.refused(); len(list) > 0 {
		t.Errorf("the policy refused %v", list)
	}
}

// tap taps on the middle of something with a finger.
func (b *browser) tap(selector string) {
	b.t.Helper()
	at := evaluate[[]float64](b, fmt.Sprintf(`(r => [r.x + r.width / 2, r.y + r.height / 2])(document.querySelector(%q).getBoundingClientRect())`, selector))
	for _, step := range []input.DispatchTouchEventParams{{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at[0], Y: at[1]}}}, {Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}}} {
		if _, err := chromedp.Call(b.ctx, input.DispatchTouchEvent, step); err != nil {
			b.t.Fatal(err)
		}
	}
}

func evaluate[T any](b *browser, expression string) T {
	b.t.Helper()
	return look(b, expression, chromedp.Evaluate[T](expression))
}
