package console

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/quandohq/quando/service/sandbox"
)

// A playground is the sandbox of a desk as a Simulator.
type playground struct {
	d     *desk
	jumps bool
}

// playable gives a desk a simulator.
func playable(o *Options) { o.Workspaces[0].Simulator = &playground{jumps: true} }

// newPlayground starts a desk whose people can be played.
func newPlayground(t testing.TB, change ...func(*Options)) *desk {
	d := newDesk(t, append([]func(*Options){playable}, change...)...)
	d.options.Workspaces[0].Simulator.(*playground).d = d
	return d
}

func (p *playground) Scene(_ context.Context, with string) (Scene, error) {
	id, _ := sandbox.ParseID(with)
	o := p.d.Overview(50, id)
	s := Scene{Now: p.d.clock(), Jumps: p.jumps, Team: simulatedNames(o.People)}
	for _, c := range o.Conversations {
		s.Conversations = append(s.Conversations, SimulatedConversation{ID: c.ID.String(), Name: c.Name, Phone: c.Phone, Open: c.Open, Assignee: c.Assignee, Sector: c.Sector})
	}
	for _, c := range o.Cards {
		s.Cards = append(s.Cards, SimulatedCard{ID: c.ID.String(), Title: c.Title, Board: c.Board, Stage: c.Stage, Stages: simulatedNames(c.Stages), Conversation: c.Conversation.String()})
	}
	for _, f := range o.Faults {
		s.Failures = append(s.Failures, Failure{Verb: "send_message", Status: f.Status, After: f.Kind == "status_after", Times: f.Count})
	}
	return s, nil
}

func simulatedNames(list []sandbox.NameView) (names []SimulatedName) {
	for _, n := range list {
		names = append(names, SimulatedName{n.ID.String(), n.Name})
	}
	return names
}

func (p *playground) Write(_ context.Context, m CustomerText) (string, error) {
	if m.Conversation != "" {
		for _, c := range p.d.Overview(50, sandbox.ID{}).Conversations {
			if c.ID.String() == m.Conversation {
				m.Phone = c.Phone
			}
		}
	}
	w, err := p.d.CustomerMessage(sandbox.CustomerMessage{Phone: m.Phone, Name: m.Name, Text: m.Text})
	p.d.rest()
	return w.Conversation.String(), err
}

func (p *playground) Answer(_ context.Context, conversation, person, text string) error {
	_, err := p.d.TeamMessage(sandbox.TeamMessage{Conversation: conversation, Person: person, Text: text})
	p.d.rest()
	return err
}

func (p *playground) Close(_ context.Context, conversation, person string) error {
	_, err := p.d.TeamClose(sandbox.TeamClose{Conversation: conversation, Person: person})
	p.d.rest()
	return err
}

func (p *playground) Move(_ context.Context, card, stage, person string) error {
	_, err := p.d.MoveCard(sandbox.MoveCard{Card: card, Stage: stage, Person: person})
	p.d.rest()
	return err
}

func (p *playground) Jump(_ context.Context, length time.Duration) error {
	for left := length; left > 0; left -= 10 * time.Minute {
		p.d.pass(min(left, 10*time.Minute))
	}
	return nil
}

func (p *playground) Fail(_ context.Context, f Failure) error {
	kind := "status_before"
	if f.After {
		kind = "status_after"
	}
	return p.d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: kind, Status: f.Status, Count: f.Times})
}

func (p *playground) Mend(context.Context) error { p.d.ClearFaults(); return nil }

// plays posts one of the simulator's forms.
func (d *desk) plays(what string, form url.Values, change ...func(*http.Request)) string {
	d.t.Helper()
	w := d.ask("POST", "/simulator/"+what, form, change...)
	if w.Code != http.StatusSeeOther {
		d.t.Fatalf("%s: %d %s", what, w.Code, w.Body)
	}
	return w.Header().Get("Location")
}

// TestSimulator plays a customer and the team, lets time pass and calls fail, and sees what the
// rules make of it.
func TestSimulator(t *testing.T) {
	d := newPlayground(t)
	if text := d.page("/simulator"); !strings.Contains(text, "Nobody has written yet.") || !strings.Contains(d.page("/"), `href="/simulator"`) {
		t.Error("there is no simulator")
	}
	here := d.plays("write", url.Values{"name": {"Rosa Prado"}, "phone": {"+5511955554444"}, "text": {"Oi!"}})
	text := d.page(here)
	for _, want := range []string{"As Rosa Prado", `<bdi>Oi!</bdi>`, "Olá, Rosa Prado! Já vamos responder.", "Greet whoever writes", "sent “Olá, Rosa Prado! Já vamos responder.” <span class=\"badge step-done\">done", "did not fire", "Fri 13 Nov 17:50:00"} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	with := must(url.Parse(here)).Query().Get("with")
	form := func(more ...string) url.Values {
		v := url.Values{"workspace": {"default"}, "with": {with}, "back": {here}}
		for i := 0; i < len(more); i += 2 {
			v.Set(more[i], more[i+1])
		}
		return v
	}
	if strings.Contains(visible(text), with) {
		t.Error("the page shows an id")
	}
	d.plays("answer", form("person", "Ana", "text", "Bom dia, Rosa"))
	if to := d.plays("jump", form("length", "16h")); !strings.Contains(to, "said=jumped") {
		t.Error(to)
	}
	text = d.page(here)
	for _, want := range []string{"Ana</bdi></span><bdi>Bom dia, Rosa", "Sat 14 Nov 09:50:00", "waits until 10:50 <span class=\"badge step-waiting\""} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing", want)
		}
	}
	d.plays("jump", form("length", "1h30m"))
	if text = d.page(here); !strings.Contains(text, "Rosa Prado, ainda estamos aqui.") {
		t.Error("the rule did not go on after its wait")
	}
	d.plays("fail", form("kind", "503_after", "verb", "send_message", "times", "3"))
	if text = d.page(here); !strings.Contains(text, "503 after it was done · send a message · 3 times") {
		t.Error("the page does not say what fails")
	}
	d.plays("mend", form())
	d.plays("close", form("person", "Ana"))
	if text = d.page(here); !strings.Contains(text, "The service works.") || strings.Contains(text, `formaction="/simulator/close"`) {
		t.Error("failures do not end, or the attendance is still open")
	}
	var audited []string
	for _, e := range must(d.journal.Audits(t.Context(), 0, 10)) {
		audited = append(audited, e.What+" "+e.Detail)
	}
	if got := strings.Join(audited, ", "); got != "mend , fail 503_after send_message, jump 1h30m, jump 16h" {
		t.Error(got)
	}
}

// TestSimulatorCards moves a card as the team.
func TestSimulatorCards(t *testing.T) {
	d := newPlayground(t)
	here := d.plays("write", url.Values{"name": {"Rosa"}, "phone": {"+5511955554444"}, "text": {"Oi!"}})
	card := must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Rosa's offer", Contact: "Rosa"}))
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Somebody else's"}))
	if text := d.page(here); !strings.Contains(text, "Rosa&#39;s offer") || strings.Contains(text, "Somebody else") {
		t.Error("the cards are not those of the customer")
	}
	d.plays("move", url.Values{"back": {here}, "card": {card.ID.String()}, "stage": {"Proposal"}, "person": {"Bruno"}})
	if text := d.page(here); !strings.Contains(text, `<span class="badge"><bdi>Proposal</bdi></span>`) {
		t.Error("the card was not moved")
	}
}

// TestSimulatorRefuses shows what cannot be played, and by whom.
func TestSimulatorRefuses(t *testing.T) {
	d := newPlayground(t, guarded)
	operator := bearer("open-sesame-of-ali")
	for _, tt := range []struct {
		what string
		form url.Values
		code int
		want string
	}{
		{"write", url.Values{"name": {"Rosa"}, "phone": {"+5511955554444"}}, 400, "Write a text"},
		{"write", url.Values{"text": {"Oi"}, "phone": {"+5511955554444"}}, 400, "Write a name"},
		{"write", url.Values{"text": {"Oi"}, "name": {"Rosa"}, "phone": {"nobody"}}, 409, "is not a phone number"},
		{"answer", url.Values{"text": {"Oi"}, "with": {"nobody"}}, 409, "The sandbox says"},
		{"jump", url.Values{"length": {"-2h"}}, 400, "length of time"}, {"jump", url.Values{"length": {"5000d"}}, 400, "length of time"},
		{"fail", url.Values{"kind": {"500"}, "times": {"1"}}, 400, "cannot be read"},
		{"dance", url.Values{}, 404, "no such page"},
		{"write", url.Values{"workspace": {"other"}}, 404, "no such page"},
	} {
		if w := d.ask("POST", "/simulator/"+tt.what, tt.form, operator); w.Code != tt.code || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %v: %d %s", tt.what, tt.form, w.Code, w.Body)
		}
	}
	d.options.Workspaces[0].Simulator.(*playground).jumps = false
	if w := d.ask("POST", "/simulator/jump", url.Values{"length": {"2h"}}, operator); w.Code != 409 || !strings.Contains(w.Body.String(), "real time") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if text := d.page("/simulator", operator); !strings.Contains(text, "The time cannot be moved here") || strings.Contains(text, "/simulator/jump") {
		t.Error("the page offers a jump that is not possible")
	}
	viewer, _ := d.enters("vera", "correct horse")
	if text := d.page("/simulator", viewer); strings.Contains(text, `action="/simulator`) {
		t.Error("a viewer is offered what he may not do")
	}
	editor, _ := d.enters("edu", "correct horse")
	written := url.Values{"text": {"Oi"}, "name": {"Rosa"}, "phone": {"+5511955554444"}}
	if w := d.ask("POST", "/simulator/write", written, viewer); w.Code != 403 || len(d.Overview(1, sandbox.ID{}).Conversations) > 0 {
		t.Errorf("a viewer played: %d", w.Code)
	}
	d.plays("write", written, editor)
	real := newDesk(t)
	if w := real.ask("GET", "/simulator", nil); w.Code != 404 || strings.Contains(real.page("/"), "/simulator") {
		t.Error("a real service can be played")
	}
}

// TestSimulatorIsLive sees what rules do without reloading.
func TestSimulatorIsLive(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newPlayground(t)
	b := newBrowser(t, d.serve())
	b.open("/simulator")
	b.do(chromedp.SendKeys(chromedp.CSS(`input[name="name"]`), "Rosa Prado"), chromedp.SendKeys(chromedp.CSS(`textarea[name="text"]`), "Oi!"))
	b.follow(".sheet.new button")
	b.sees("Olá, Rosa Prado! Já vamos responder.")
	d.says(d.Overview(1, sandbox.ID{}).Conversations[0].Phone, "", "Still there?")
	b.sees("Still there?")
}

// TestSimulatorByKeys plays a customer and the team, and lets time pass, with the keyboard alone,
// on a wide screen and on a phone.
func TestSimulatorByKeys(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newPlayground(t)
	b := newBrowser(t, d.serve())
	keys := func(list ...string) {
		t.Helper()
		for _, k := range list {
			b.do(chromedp.KeyEvent(k))
		}
	}
	// press sends with Enter, which opens the page again.
	press := func() {
		t.Helper()
		look(b, "mark the page", chromedp.Evaluate[bool](`window.left = true`))
		keys(kb.Enter)
		b.until(`!window.left && document.readyState === "complete" && window.htmx`)
	}
	focus := func(selector string) {
		t.Helper()
		look(b, "focus", chromedp.Evaluate[bool](fmt.Sprintf(`document.querySelector(%q).focus(), true`, selector)))
	}
	b.open("/simulator")
	focus(`.new [name="name"]`)
	keys("Rosa Prado", kb.Tab, kb.Tab, "Oi!")
	press()
	b.sees("Olá, Rosa Prado! Já vamos responder.")
	// The cursor is in the composer: the next message follows at once.
	keys("One")
	b.do(chromedp.KeyEvent(kb.Enter, chromedp.KeyModifiers(8))) // with Shift
	keys("Two")
	press()
	b.until(`[...document.querySelectorAll(".bubble.in")].some(e => e.innerText.includes("One\nTwo"))`)
	focus(`#composer [name="as"]:checked`)
	keys(kb.ArrowRight)
	b.until(`document.querySelector("#composer .team").offsetHeight > 0`)
	keys(kb.Tab, kb.Tab, kb.Tab, "Bom dia!")
	press()
	b.until(`document.querySelector('#composer [value="team"]').checked && document.activeElement.matches("#composer textarea")`)
	b.until(`[...document.querySelectorAll(".bubble.out")].some(e => e.innerText.includes("Bom dia!"))`)
	for _, width := range []int64{1280, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		b.theme("light")
		b.isGood(fmt.Sprintf("simulator-%d", width), "en")
		if wide := evaluate[int](b, `document.documentElement.scrollWidth - window.innerWidth`); wide > 0 {
			t.Errorf("it is %d pixels wider than %d", wide, width)
		}
	}
	focus(`.clockbar [value="opening"]`)
	b.sees("next opening · Saturday 09:00")
	press()
	b.sees("Sat 14 Nov 09:00:00")
	b.sees("end of the next wait · 10:50") // ten minutes of Friday and the rest of two hours
	focus(`.clockbar [value="wait"]`)
	press()
	b.sees("Rosa Prado, ainda estamos aqui.")
	if got := evaluate[int](b, `[...document.querySelectorAll(".bubble.in")].length`); got != 2 {
		t.Errorf("the customer has written %d messages, want 2", got)
	}
}

// visible is a page's text without its tags.
func visible(page string) string {
	var b strings.Builder
	inside := false
	for _, r := range page {
		switch {
		case r == '<':
			inside = true
		case r == '>':
			inside = false
		case !inside:
			b.WriteRune(r)
		}
	}
	return b.String()
}
