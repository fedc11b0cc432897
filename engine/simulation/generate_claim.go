package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// claims generates a desk on which one rule asks a question and others start by what the answer
// causes, while deliveries come seconds late: in whatever order the events of an answer arrive, it
// is claimed, and the effects are those of the undisturbed desk. This desk has a card for each
// attendance. Nothing else happens on it for which the order of deliveries could matter: acts are
// half an hour apart, and the other rules have one step, which reads nothing.
func (g *generator) claims() {
	g.s.Reordered = true
	g.words, g.labels = []string{"hello", "thanks"}, Labels[:1]
	g.s.Start = g.start()
	n := g.between(1, 2)
	g.s.Customers = customers[:n:n]
	asks := Rule{ID: "r1", When: When{Events: []string{vocabulary.AttendanceClosed}}, Mode: "single"}
	if g.chance(40) {
		asks.When.Events, asks.If = []string{vocabulary.MessageReceived}, []Cond{{Kind: CondTextIs, Text: "hello"}}
	}
	if g.chance(12) {
		asks.Stage = "shadow"
	}
	wait := Step{Name: "s2", Verb: "wait_for", ID: "answer1", Wait: claimWait, Events: []string{vocabulary.MessageReceived}, Claims: g.chance(85)}
	if g.chance(70) {
		wait.Cond = &Cond{Kind: CondAny, Of: []Cond{{Kind: CondTextIs, Text: "1"}, {Kind: CondTextIs, Text: "2"}}}
	}
	none := Branch{If: &Cond{Kind: CondNoAnswer, Text: "answer1"}, Do: []Step{{Name: "s4", Verb: "send_message", Text: "price"}}}
	some := Branch{Do: []Step{{Name: "s5", Verb: "send_message", Text: "thanks"}}}
	if g.chance(40) {
		some.Do = append(some.Do, Step{Name: "s6", Verb: "create_card", Text: "thanks", Board: "Deals"})
	}
	asks.Do = []Step{{Name: "s1", Verb: "send_message", Text: "1"}, wait, {Name: "s3", Verb: "choose", Branches: []Branch{none, some}}}
	g.s.Rules = []Rule{asks}
	caused := []string{vocabulary.MessageReceived, vocabulary.AttendanceOpened, vocabulary.CardCreated, vocabulary.ConversationUpdated}
	for i, event := range sample(g, caused, g.between(1, 4)) {
		r := Rule{ID: fmt.Sprintf("r%d", i+2), When: When{Events: []string{event}}, Mode: "parallel", Claimed: g.chance(15), FromAny: event == vocabulary.CardCreated && g.chance(50)}
		r.Do = []Step{{Name: "s1", Verb: "send_message", Text: pick(g, g.words...)}}
		if g.chance(50) { // the team writes nothing, so what rules write must not be taken for its messages
			r.CancelOn = []Match{{Event: vocabulary.MessageSent, If: &Cond{Kind: CondByTeam}}}
		}
		g.s.Rules = append(g.s.Rules, r)
	}
	rounds := g.between(1, 4)
	for n := range rounds {
		customer, begins := pick(g, g.s.Customers...), time.Duration(n)*claimRound
		act := func(after time.Duration, kind, text string) {
			g.s.Story = append(g.s.Story, Act{At: begins + after, Kind: kind, Customer: customer, Person: pick(g, People...), Text: text})
		}
		act(0, ActSays, "hello")
		act(mark, ActCloses, "")
		act(2*mark, ActSays, pick(g, "1", "1", "2", "thanks"))
		if g.chance(30) {
			act(3*mark, ActSays, pick(g, "1", "2", "thanks"))
		}
	}
	g.s.Length = time.Duration(rounds)*claimRound + endPhase
	for range g.between(2, 8) {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleLate, N: g.nth(g.deliveries() * 2), For: time.Duration(g.between(1, 40)) * time.Second})
	}
	if g.chance(50) {
		g.doubts()
	}
	for range g.few(0, 2) {
		g.s.Troubles = append(g.s.Troubles, pick(g, g.delay(), g.harmless()))
	}
}

// doubts lets the answers of calls get lost while the deliveries around them come within seconds.
func (g *generator) doubts() {
	first := g.nth(g.deliveries())
	for n := range 5 {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleLate, N: first + n, For: time.Duration(g.between(1, 4)) * time.Second})
	}
	g.s.Troubles = append(g.s.Troubles, Trouble{Kind: pick(g, Trouble503After, TroubleCutAfter), N: g.nth(6), More: g.between(1, 2)})
}

const (
	claimRound = 6 * mark               // a question, and what comes of it
	claimWait  = 2*mark + 6*time.Minute // what is said in the two marks behind the question is in time
)

// keepsClaims reports whether a desk with late deliveries keeps to what claims generates.
func keepsClaims(s *Scenario) bool {
	if s.Other != nil || s.Safety != (Safety{}) || slices.ContainsFunc(s.Rules, func(r Rule) bool {
		return r.Mode != "parallel" && r.Mode != "single" || r.When.Events == nil || r.Mode == "parallel" && r.Do[0].Verb != "send_message"
	}) {
		return false
	}
	fine, taken := true, map[time.Duration]bool{}
	everyStep(s.Rules, func(x *Step) { fine = fine && (x.Wait == 0 || x.Wait == claimWait) })
	for _, a := range s.Story {
		fine = fine && a.At%mark == 0 && !taken[a.At] && (a.Text == "hello") == (a.At%claimRound == 0)
		taken[a.At] = true
	}
	return fine && !slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroubleLate && t.For > 40*time.Second })
}
