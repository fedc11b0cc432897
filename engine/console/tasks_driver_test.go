package console

import (
	_ "embed"
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/chromedp/cdproto/input"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed testdata/newcomer.js
var newcomerScript string

// A newcomer has never seen the studio: what to press, choose and fill in is found by its words.
// A hand is what that is done with.
type newcomer struct {
	*browser
	hand
	clicks, keys, texts int
}

// A hand operates a page. What it operates is an expression of the page's script.
type hand interface {
	press(p *newcomer, e string)
	enter(p *newcomer, e string)          // puts the cursor into a field
	choose(p *newcomer, e, words string)  // an entry of a list that can be searched
	selects(p *newcomer, e, entry string) // an entry of a list that opens
	insert(p *newcomer, words string)     // a chip into the text that has the cursor
}

// An action is one thing that somebody does to build a rule.
type action func(p *newcomer)

// press presses what has these words, of several the one of a number from 0.
func press(words string, n ...int) action {
	return func(p *newcomer) { p.press(p, p.finds("button", words, n...)) }
}

// addAbove presses the plus above the card that says something.
func addAbove(card string) action {
	return func(p *newcomer) { p.press(p, p.finds("above", card)) }
}

// choose chooses an entry of the list that is open.
func choose(words string) action {
	return func(p *newcomer) { p.choose(p, p.finds("option", words), words) }
}

// fill types into the field of a name, of several into the one of a number from 0.
func fill(name, text string, n ...int) action {
	return func(p *newcomer) {
		p.enter(p, p.finds("field", name, n...))
		write(text)(p)
		if got := evaluate[string](p.browser, `page.typed()`); !strings.Contains(got, text) || len(got) > len(text) && !strings.ContainsAny(got, "\n ") {
			p.t.Fatalf("the field %q has %q instead of %q", name, got, text)
		}
	}
}

// selects selects an entry of the list of a name.
func selects(name, entry string, n ...int) action {
	return func(p *newcomer) { p.selects(p, p.finds("field", name, n...), entry) }
}

// isCode finds what nobody types who writes no code: signs of it, and ids.
var isCode = regexp.MustCompile(`[{}()="_]|[0-9a-f]{8}`)

// write types where the cursor is.
func write(text string) action {
	return func(p *newcomer) {
		if isCode.MatchString(text) {
			p.t.Fatalf("%q is code", text)
		}
		p.calm()
		p.until(`page.hasCursor()`)
		p.presses(text)
		p.texts++
	}
}

// insert puts a chip where the cursor is.
func insert(words string) action {
	return func(p *newcomer) { p.insert(p, words) }
}

// show takes a picture of what is open.
func show(name string) action {
	return func(p *newcomer) {
		p.calm()
		p.picture(name+"-"+itoa(evaluate[int64](p.browser, `innerWidth`)), "en", "light")
	}
}

// calm waits until what was done is seen.
func (p *newcomer) calm() {
	p.t.Helper()
	p.until(`page.isCalm()`)
}

// finds waits for something with these words, and returns the expression that finds it.
func (p *newcomer) finds(kind, words string, n ...int) string {
	p.t.Helper()
	p.calm()
	e := fmt.Sprintf("page.%s(%q, %d)", kind, words, append(n, -1)[0])
	p.until(e)
	return e
}

// A spot is a place on the screen.
type spot struct {
	X, Y    float64
	Covered string // what is there instead of what was looked for
	Gone    bool   // it was exchanged meanwhile
}

// spot returns where something is on the screen, which is moved there if need be.
func (p *newcomer) spot(e string) spot {
	p.t.Helper()
	at := spot{Gone: true}
	for range 20 { // what is pointed at may be exchanged meanwhile
		if at.Gone {
			p.until(e)
			at = look(p.browser, "point at "+e, chromedp.Evaluate[spot]("page.spot("+e+")", chromedp.EvalAwaitPromise))
		}
	}
	if at.Covered != "" {
		p.picture("covered", "en", "light")
		p.t.Fatalf("%s is covered by %s", e, at.Covered)
	}
	return at
}

// A pointer is a mouse, or a finger.
type pointer struct{ isFinger bool }

func (h pointer) press(p *newcomer, e string) {
	p.t.Helper()
	at := p.spot(e)
	p.clicks++
	if !h.isFinger {
		p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at.X, at.Y, chromedp.Button("left"), chromedp.ClickCount(1)))
		time.Sleep(60 * time.Millisecond) // as long as people press: what moves away meanwhile is missed
		p.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at.X, at.Y, chromedp.Button("left"), chromedp.ClickCount(1)))
		return
	}
	for _, step := range []input.DispatchTouchEventParams{{Type: input.DispatchTouchEventTypeTouchStart, TouchPoints: []*input.TouchPoint{{X: at.X, Y: at.Y}}}, {Type: input.DispatchTouchEventTypeTouchEnd, TouchPoints: []*input.TouchPoint{}}} {
		if _, err := chromedp.Call(p.ctx, input.DispatchTouchEvent, step); err != nil {
			p.t.Fatal(err)
		}
	}
}

func (h pointer) enter(p *newcomer, e string) {
	p.t.Helper()
	if !evaluate[bool](p.browser, "document.activeElement === "+e) {
		h.press(p, e)
	}
	p.until("document.activeElement === " + e)
}

func (h pointer) choose(p *newcomer, e, _ string) { p.t.Helper(); h.press(p, e) }

// selects does what a click on a list and one on its entry do: the list of the browser itself is
// not on the page.
func (h pointer) selects(p *newcomer, e, entry string) {
	p.t.Helper()
	p.spot(e)
	evaluate[bool](p.browser, fmt.Sprintf(`(e => { e.focus(); e.value = [...e.options].find(o => o.text === %q).value; e.dispatchEvent(new Event("change", { bubbles: true })); return true })(%s)`, entry, e))
	p.clicks += 2
}

func (h pointer) insert(p *newcomer, words string) {
	p.t.Helper()
	h.press(p, p.finds("button", "+ Insert"))
	h.press(p, p.finds("option", words))
	p.until(`page.hasCursor()`)
}

// A keyboard is used without anything to point with.
type keyboard struct{}

// key presses a key some times.
func (keyboard) key(p *newcomer, key string, times int, with ...chromedp.Modifier) {
	p.t.Helper()
	for range times {
		p.presses(key, with...)
		p.keys++
	}
}

// enter presses Tab until the cursor is somewhere.
func (h keyboard) enter(p *newcomer, e string) {
	p.t.Helper()
	for range 8 { // what the cursor leaves may change what lies between
		away := evaluate[*int](p.browser, "page.away("+e+")")
		switch {
		case away == nil:
			p.t.Fatalf("Tab does not lead to %s", e)
		case *away == 0:
			return
		case *away > 0:
			h.key(p, kb.Tab, *away)
		default:
			h.key(p, kb.Tab, -*away, chromedp.ModifierShift)
		}
	}
	p.t.Fatalf("the cursor does not come to %s, but to %s", e, evaluate[string](p.browser, `document.activeElement.outerHTML.slice(0, 200)`))
}

// press presses Enter on something. Of tabs and of a switch, arrows choose one.
func (h keyboard) press(p *newcomer, e string) {
	p.t.Helper()
	for _, group := range []struct{ kind, wanted, chosen string }{
		{"[role=tab]", e, e + `.parentElement.querySelector("[aria-selected=true]")`},
		{".seg span", e + ".previousElementSibling", e + `.closest(".seg").querySelector("input:checked")`},
	} {
		if !evaluate[bool](p.browser, fmt.Sprintf("%s.matches(%q)", e, group.kind)) {
			continue
		}
		h.enter(p, group.chosen)
		for evaluate[bool](p.browser, group.chosen+" !== "+group.wanted) {
			h.key(p, kb.ArrowRight, 1)
		}
		return
	}
	h.enter(p, e)
	h.key(p, kb.Enter, 1)
}

// choose searches for the words that an entry begins with, and goes down to it.
func (h keyboard) choose(p *newcomer, e, words string) {
	p.t.Helper()
	p.until(`document.activeElement.matches("[role=combobox]")`)
	begin := strings.TrimSpace(words[:len(words)-len(strings.TrimLeftFunc(words, func(r rune) bool { return unicode.IsLetter(r) || r == ' ' || r == '-' }))])
	p.presses(begin)
	p.keys += len(begin)
	h.down(p, e)
}

// down goes down to an entry of a list, and takes it.
func (h keyboard) down(p *newcomer, e string) {
	p.t.Helper()
	isOn := fmt.Sprintf(`(e => e && e.matches(".active, .cm-tooltip [aria-selected=true]"))(%s)`, e)
	for n := 0; !evaluate[bool](p.browser, isOn); n++ {
		if n > 30 {
			p.t.Fatalf("the keys do not lead to %s", e)
		}
		h.key(p, kb.ArrowDown, 1)
	}
	h.key(p, kb.Enter, 1)
}

func (h keyboard) selects(p *newcomer, e, entry string) {
	p.t.Helper()
	h.enter(p, e)
	chosen := e + ".selectedOptions[0].text"
	for n := 0; evaluate[string](p.browser, chosen) != entry; n++ {
		if n > 60 {
			p.t.Fatalf("the keys do not lead to %q, but to %q", entry, evaluate[string](p.browser, chosen))
		}
		h.key(p, kb.ArrowDown, 1)
	}
}

// insert types a slash, and the words of a chip.
func (h keyboard) insert(p *newcomer, words string) {
	p.t.Helper()
	p.until(`page.hasCursor()`)
	search := "/" + strings.Fields(words)[0]
	p.presses(search)
	p.keys += len(search)
	h.down(p, p.finds("option", words))
	p.until(`!document.querySelector(".cm-tooltip-autocomplete")`)
}

// hands are the ways in which every task is done.
var hands = []struct {
	name   string
	hand   hand
	screen chromedp.Action[chromedp.Void]
}{
	{"mouse", pointer{}, chromedp.EmulateViewport(1280, 900)},
	{"keyboard", keyboard{}, chromedp.EmulateViewport(1280, 900)},
	{"phone", pointer{isFinger: true}, chromedp.EmulateViewport(390, 800, chromedp.EmulateMobile, chromedp.EmulateTouch)},
}

// halfDayOffice has a half day: on Saturdays it closes at one.
var halfDayOffice = strings.Replace(officeRules, "18:00] }", "18:00], sat: [09:00-13:00] }", 1)

// A task is something that a new user builds from an empty page.
type task struct {
	name   string
	way    string        // in which it is done unless -ways asks for all; "" if only -ways asks for it
	most   int           // clicks
	needs  func(d *desk) // what must be there before
	builds []action
	block  string   // what the rail calls its steps
	says   []string // what the conversation beside the rule shows
	acts   func(s *simulated)
}

// isDone does a task, makes its rule live, and shows that it acts in the simulator. Nothing else
// runs meanwhile: a person does not have to wait for long.
func (k task) isDone(t *testing.T) {
	if k.way == "" && !*everyWay {
		t.Skip("make newcomers does it: of each way one task is done here")
	}
	var needs []func(d *desk)
	if k.needs != nil {
		needs = append(needs, k.needs)
	}
	inWays(t, k.way, func(way string, d *desk, p *newcomer) {
		k.isBuilt(p)
		picture := "task-" + strings.ReplaceAll(k.name, " ", "-") + "-" + way
		p.picture(picture, "en", "light")
		press("live")(p)
		press("Save, and make it live")(p)
		p.sees("It acts from the next event on.")
		p.t.Logf("%s by %s: %d clicks, %d keys, %d times typing", k.name, way, p.clicks, p.keys, p.texts)
		if p.clicks > k.most {
			p.t.Errorf("it took %d clicks, more than %d", p.clicks, k.most)
		}
		p.until(railIsThere)
		p.theme("dark")
		p.picture(picture, "en", "dark")
		p.theme("light")
		k.acts(&simulated{browser: p.browser, desk: d})
		p.picture(picture+"-simulator", "en", "light")
	}, needs...)
}

var everyWay = flag.Bool("ways", false, "do each task of newcomers with a mouse, with keys alone and on a phone")

// inWays gives an empty page of a new desk, which has what is needed, to one hand, or with -ways to
// each.
func inWays(t *testing.T, only string, do func(way string, d *desk, p *newcomer), needs ...func(d *desk)) {
	t.Parallel()
	for _, way := range hands {
		if !*everyWay && way.name != only {
			continue
		}
		t.Run(way.name, func(t *testing.T) {
			d := newEditorDesk(t, playable)
			d.options.Workspaces[0].Simulator.(*playground).d = d
			d.write("office.yaml", halfDayOffice)
			for _, prepare := range needs {
				prepare(d)
			}
			if err := d.reload(); err != nil {
				t.Fatal(err)
			}
			p := &newcomer{browser: newBrowser(t, d.serve()), hand: way.hand}
			if _, err := chromedp.Call(p.ctx, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{Source: newcomerScript}); err != nil {
				t.Fatal(err)
			}
			p.do(way.screen)
			p.open("/write?workspace=default&template=")
			p.until(railIsThere)
			do(way.name, d, p)
		})
	}
}

// isBuilt builds the rule, and looks at what it would say.
func (k task) isBuilt(p *newcomer) {
	p.t.Helper()
	for _, a := range k.builds {
		a(p)
	}
	p.calm()
	p.sees("No problems.")
	if k.block != "" {
		p.shows("#rail h3.block", k.block)
	}
	press("Conversation")(p)
	for _, text := range k.says {
		p.shows("#chat", text)
	}
	if hand := evaluate[int](p.browser, `document.querySelectorAll("#rail .hand").length`); hand > 0 {
		p.t.Errorf("%d parts are by hand", hand)
	}
	if wide := evaluate[int](p.browser, `document.documentElement.scrollWidth - window.innerWidth`); wide > 0 {
		p.t.Errorf("it is %d pixels wider than the screen", wide)
	}
}

// simulated is the simulator of a desk, on which customers and the team are played.
type simulated struct {
	*browser
	desk *desk
}

// writes lets a new customer write.
func (s *simulated) writes(name, text string) {
	s.t.Helper()
	s.open("/simulator")
	s.do(chromedp.SetValue(chromedp.CSS(`.sheet.new [name="name"]`), name), chromedp.SetValue(chromedp.CSS(`.sheet.new [name="text"]`), text))
	s.follow(".sheet.new button")
}

// adds writes once more to the conversation that is open, as the customer or the team.
func (s *simulated) adds(who, text string) {
	s.t.Helper()
	as := map[string]string{"write": "customer", "answer": "team"}[who]
	s.click(fmt.Sprintf(`#composer [name="as"][value=%q]`, as))
	s.do(chromedp.SetValue(chromedp.CSS("#composer textarea"), text))
	s.follow("#composer button.go")
}

// jumps lets time pass.
func (s *simulated) jumps(length string) {
	s.t.Helper()
	s.do(chromedp.SetValue(chromedp.CSS(`input[name="length"]`), length))
	s.follow(".clockbar .length button")
}

// bubbles returns how many messages of the conversation that is open have a text.
func (s *simulated) bubbles(text string) int {
	s.t.Helper()
	return evaluate[int](s.browser, fmt.Sprintf(`[...document.querySelectorAll(".bubble")].filter(e => e.textContent.includes(%q)).length`, text))
}
