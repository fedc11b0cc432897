package simulation

import (
	"slices"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// promise is when the wait of a promised desk ends, behind the message that it counts from;
// tooLate is when that is answered.
const promise, tooLate = mark + 6*time.Minute, mark + 7*time.Minute

// absence generates a desk whose engine is down when a wait ends, or when the message comes that a
// wait counts from. What came in time counts, although it is delivered or found only after the
// restart: so the effects are those of the undisturbed desk, minutes later or at their time.
// Nothing else happens on such a desk for which minutes could matter.
func (g *generator) absence() {
	g.s.Away = true
	g.words, g.labels = []string{"hello", "thanks"}, Labels[:1]
	g.s.Start = g.start()
	g.s.Customers = customers[:1:1]
	g.s.Length = 12*time.Hour + endPhase
	r := Rule{ID: "r1", When: When{Events: []string{vocabulary.MessageReceived}}, If: []Cond{{Kind: CondTextIs, Text: "hello"}}, Mode: pick(g, "single", "parallel")}
	g.rule, g.names = &r, 0
	if g.chance(25) {
		g.promised(&r)
		return
	}
	f := factsFor(&r, true)
	asks := g.chance(60)
	// The service's retries cover a stop of up to two minutes. After a longer one the backfill finds
	// the events.
	after, down := time.Minute, 90*time.Second
	if g.chance(60) {
		after, down = 6*time.Minute, 8*time.Minute
	}
	r.Do = append(r.Do, g.send(f))
	r.Do[0].To = ""
	if asks {
		wait := Step{Name: g.name(), Verb: "wait_for", ID: "answer1", Wait: mark + after, Events: []string{vocabulary.MessageReceived}, Claims: g.chance(85)}
		answered := Branch{If: &Cond{Kind: CondNoAnswer, Not: true, Text: "answer1"}, Do: []Step{{Name: g.name(), Verb: "send_message", Text: "thanks"}}}
		otherwise := Branch{Do: []Step{{Name: g.name(), Verb: "send_message", Text: "price"}}}
		r.Do = append(r.Do, wait, Step{Name: g.name(), Verb: "choose", Branches: []Branch{answered, otherwise}})
	} else {
		r.Do = append(r.Do, Step{Name: g.name(), Verb: "wait", Wait: mark + after}, Step{Name: g.name(), Verb: "send_message", Text: "price"})
		r.CancelOn = []Match{{Event: vocabulary.MessageReceived, If: &Cond{Kind: CondTextIs, Text: "thanks"}}}
	}
	g.s.Rules = []Rule{r}
	says := func(at time.Duration, text string) {
		g.s.Story = append(g.s.Story, Act{At: at, Kind: ActSays, Customer: g.s.Customers[0], Text: text})
	}
	for n := range g.between(1, 3) {
		begins := time.Duration(n) * 4 * mark
		says(begins, "hello")
		if g.chance(70) {
			says(begins+mark, "thanks") // in time, while the engine is away
		}
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleDown, At: begins + mark - time.Duration(g.between(1, 20))*time.Second, For: down})
	}
}

// promised goes on with a desk on which the engine is down when a message comes that a rule answers
// after a wait. The wait counts from the message: one that counted from when the engine got to know
// of it would end after the customer's thanks, and leave without an answer.
func (g *generator) promised(r *Rule) {
	r.Do = []Step{{Name: g.name(), Verb: "wait", Wait: promise}, {Name: g.name(), Verb: "send_message", Text: "price"}}
	r.CancelOn = []Match{{Event: vocabulary.MessageReceived, If: &Cond{Kind: CondTextIs, Text: "thanks"}}}
	g.s.Rules = []Rule{*r}
	for n := range g.between(1, 3) {
		begins := time.Duration(n+1) * 4 * mark
		for _, said := range []Act{{At: begins, Text: "hello"}, {At: begins + tooLate, Text: "thanks"}} {
			said.Kind, said.Customer = ActSays, g.s.Customers[0]
			g.s.Story = append(g.s.Story, said)
		}
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleDown, At: begins - time.Duration(g.between(1, 20))*time.Second, For: pick(g, 90*time.Second, 8*time.Minute)})
	}
}

// keepsAway reports whether a desk whose engine is down keeps to what absence generates: each
// question has its two hours, and an engine that is down when one comes or ends is back in time.
func keepsAway(s *Scenario) bool {
	if len(s.Rules) != 1 || s.Other != nil {
		return false
	}
	answered, down := mark, mark
	if do := s.Rules[0].Do; len(do) > 0 && do[0].Verb == "wait" {
		answered, down = tooLate, 4*mark
	}
	fine := true
	everyStep(s.Rules, func(x *Step) {
		fine = fine && (x.Wait == 0 || x.Wait == mark+time.Minute || x.Wait == promise)
	})
	return fine && !slices.ContainsFunc(s.Story, func(a Act) bool {
		return a.Kind != ActSays || a.At%(4*mark) != 0 && (a.At%(4*mark) != answered || a.Text != "thanks")
	}) && !slices.ContainsFunc(s.Troubles, func(t Trouble) bool {
		before := (down - t.At%(4*mark)) % (4 * mark) // how long before what it misses it is down
		return t.Kind != TroubleDown || t.For != 90*time.Second && t.For != 8*time.Minute || before < time.Second || before > 20*time.Second
	})
}
