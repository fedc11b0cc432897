package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// story generates the acts: triggers of rules, and acts that concern the resulting runs.
func (g *generator) story() {
	acts := g.between(4, 8)
	for g.chance(50) && acts < 25 {
		acts += g.between(1, 6)
	}
	if g.large {
		acts = 200
	}
	t := &teller{g: g, words: append(askedWords(g.s.Rules), g.words...), begun: map[string]bool{}, cards: map[string]bool{}, taken: map[taken]bool{}}
	for _, r := range g.s.Rules {
		t.apart = t.apart || acrossCustomers(&r)
	}
	if g.outreach && g.chance(70) { // rules write to a new customer, and others arrive just then
		for _, customer := range g.s.Customers[:len(g.s.Customers)-1] {
			t.says(0, time.Duration(g.rand.IntN(40))*time.Second, customer, t.text())
		}
	}
	for len(g.s.Story) < acts && t.mark < int(g.s.Length/mark) {
		t.scene()
		if hours := int(g.s.Length/mark) / max(1, acts); g.chance(70) {
			t.mark += 1 + g.rand.IntN(max(1, hours))
		}
	}
	if g.chance(15) {
		g.pauses()
	}
}

// A teller puts acts into a story.
type teller struct {
	g     *generator
	mark  int // of the scene
	words []string
	begun map[string]bool // customers with a conversation
	cards map[string]bool // customers with a card
	apart bool            // what one customer does may concern another
	taken map[taken]bool
}

// taken is a mark at which a customer acts already or, with an empty name, any customer.
type taken struct {
	customer string
	mark     int
}

// act adds an act. In an exact scenario it happens at a mark of its own, the next free one, or as
// far behind one as a burst takes.
func (t *teller) act(n int, behind time.Duration, a Act) {
	g := t.g
	if !g.s.Exact {
		a.At = time.Duration(n)*mark + behind
	} else {
		who := a.Customer
		if t.apart {
			who = ""
		}
		for t.taken[taken{who, n}] && behind == 0 {
			n++
		}
		t.taken[taken{who, n}] = true
		a.At = time.Duration(n)*mark + behind
	}
	if a.At < 0 {
		a.At = 0
	}
	g.s.Story = append(g.s.Story, a)
}

// moment is the offset of an act from its mark; in a wild scenario, anything.
func (t *teller) moment() time.Duration {
	if t.g.s.Exact {
		return 0
	}
	return time.Duration(weighted(t.g, choice[int]{40, 0}, choice[int]{20, t.g.rand.IntN(10)}, choice[int]{40, t.g.rand.IntN(1800)})) * time.Second
}

// text is what a customer writes: mostly a word that rules test for.
func (t *teller) text() string {
	text := pick(t.g, t.words...)
	if t.g.chance(20) {
		text = pick(t.g, Words...)
	}
	if t.g.chance(15) {
		text += " " + pick(t.g, Words...)
	}
	return text
}

// says adds a message of a customer.
func (t *teller) says(n int, behind time.Duration, customer, text string) {
	t.begun[customer] = true
	t.act(n, behind, Act{Kind: ActSays, Customer: customer, Text: text})
}

// scene triggers a rule, and adds acts that concern its run.
func (t *teller) scene() {
	g := t.g
	r := &g.s.Rules[g.rand.IntN(len(g.s.Rules))]
	about := g.s.Customers
	if g.outreach && len(about) > 1 {
		about = about[:len(about)-1] // the last is written to
	}
	customer := about[min(g.few(0, len(about)-1), len(about)-1)]
	if g.chance(30) {
		customer = pick(g, about...)
	}
	if !t.begun[customer] {
		t.says(t.mark, t.moment(), customer, t.text())
		if g.chance(60) {
			t.mark++
		}
	}
	behind := t.moment()
	t.start(r, customer, behind)
	if g.bursts && g.chance(50) {
		t.burst(customer, behind)
	}
	for g.chance(55) {
		t.followUp(r, customer, behind)
	}
}

// start adds the trigger of a rule.
func (t *teller) start(r *Rule, customer string, behind time.Duration) {
	g := t.g
	event := ""
	if len(r.When.Events) > 0 {
		event = pick(g, r.When.Events...)
	}
	person := pick(g, People...)
	switch {
	case r.When.Manual:
		t.act(t.mark, behind, Act{Kind: ActFires, Customer: customer, Text: r.ID})
	case event == vocabulary.MessageSent:
		t.act(t.mark, behind, Act{Kind: ActReplies, Customer: customer, Person: person, Text: t.text()})
	case event == vocabulary.AttendanceClosed:
		t.act(t.mark, behind, Act{Kind: ActCloses, Customer: customer, Person: person})
	case event == vocabulary.AttendanceOpened:
		t.act(t.mark, behind, Act{Kind: ActCloses, Customer: customer, Person: person})
		t.mark++
		t.says(t.mark, behind, customer, t.text())
	case event == vocabulary.ConversationUpdated && g.chance(60):
		t.act(t.mark, behind, Act{Kind: ActTransfers, Customer: customer, Person: person, Text: pick(g, Sectors...)})
	case event == vocabulary.CardCreated || r.When.Each == "cards" && g.chance(50):
		t.card(customer, behind, pick(g, "Deals", "Deals", "Deals", "Care"))
	case event == vocabulary.CardMoved || event == vocabulary.CardCompleted:
		if !t.cards[customer] {
			t.card(customer, behind, "Deals")
			t.mark++
		}
		stage := pick(g, "New", "Proposal", "Proposal", "Won", "Closed")
		if event == vocabulary.CardCompleted {
			stage = "Won"
		}
		t.act(t.mark, behind, Act{Kind: ActMoves, Customer: customer, Person: person, Text: stage})
	default:
		t.says(t.mark, behind, customer, t.text())
	}
}

func (t *teller) card(customer string, behind time.Duration, board string) {
	t.cards[customer] = true
	t.act(t.mark, behind, Act{Kind: ActCards, Customer: customer, Person: pick(t.g, People...), Board: board})
}

// burst adds several messages of a customer within a minute.
func (t *teller) burst(customer string, behind time.Duration) {
	g := t.g
	n, text := g.few(1, 3), t.text()
	spacing := pick(g, 0, 5*time.Second, 8*time.Second, 10*time.Second)
	if !g.s.Exact {
		n, spacing = g.few(1, 6), pick(g, 0, time.Second, 5*time.Second, 10*time.Second, 45*time.Second)
	}
	for i := range n {
		if g.chance(50) {
			text = t.text()
		}
		// The first is at the moment of what it follows, or a spacing behind it: an exact one has its
		// mark already.
		at := behind + time.Duration(i+1)*spacing
		if at == 0 && g.s.Exact {
			g.s.Story = append(g.s.Story, Act{At: time.Duration(t.mark) * mark, Kind: ActSays, Customer: customer, Text: text})
			continue
		}
		t.says(t.mark, at, customer, text)
	}
}

// followUp adds an act that concerns a run of a rule: an answer, an end, or another trigger.
func (t *teller) followUp(r *Rule, customer string, behind time.Duration) {
	g := t.g
	later := t.mark + g.few(1, 4)
	if !g.s.Exact {
		behind = t.near(r, behind)
		later = t.mark
	}
	person := pick(g, People...)
	switch n := g.rand.IntN(100); {
	case n < 30:
		t.says(later, behind, customer, pick(g, "1", "2", "3", t.text()))
	case n < 45 && len(r.CancelOn) > 0:
		t.cancel(pick(g, r.CancelOn...), later, behind, customer, person)
	case n < 60:
		t.says(later, behind, customer, t.text())
	case n < 72:
		t.act(later, behind, Act{Kind: ActReplies, Customer: customer, Person: person, Text: t.text()})
	case n < 84:
		t.act(later, behind, Act{Kind: ActCloses, Customer: customer, Person: person})
	case n < 90:
		t.act(later, behind, Act{Kind: ActTransfers, Customer: customer, Person: person, Text: pick(g, Sectors...)})
	case t.cards[customer]:
		t.act(later, behind, Act{Kind: ActMoves, Customer: customer, Person: person, Text: pick(g, "New", "Proposal", "Won")})
	default:
		t.says(later, behind, customer, t.text())
	}
}

// near is a moment near the end of one of the rule's waits: just before, at, or just after it.
func (t *teller) near(r *Rule, behind time.Duration) time.Duration {
	g := t.g
	var ends []time.Duration
	sum := behind
	if r.Gather != nil {
		sum += r.Gather.Quiet
		ends = append(ends, sum)
	}
	everyStep([]Rule{*r}, func(s *Step) {
		if s.Verb == "wait" || s.Verb == "wait_for" {
			if g.chance(70) {
				sum += s.Wait
			}
			ends = append(ends, sum)
		}
	})
	ends = append(ends, behind)
	at := pick(g, ends...) + time.Duration(weighted(g,
		choice[int]{20, 0}, choice[int]{15, -1}, choice[int]{20, 1}, choice[int]{15, 10}, choice[int]{15, 300}, choice[int]{15, g.rand.IntN(7200)}))*time.Second
	return min(max(at, 0), g.s.Length-time.Duration(t.mark)*mark)
}

// cancel adds an event of cancel_on.
func (t *teller) cancel(m Match, n int, behind time.Duration, customer, person string) {
	switch {
	case m.Event == vocabulary.MessageReceived:
		text := t.text()
		if m.If != nil {
			text = m.If.Text
		}
		t.says(n, behind, customer, text)
	case m.Event == vocabulary.MessageSent:
		t.act(n, behind, Act{Kind: ActReplies, Customer: customer, Person: person, Text: t.text()})
	case m.Event == vocabulary.AttendanceClosed:
		t.act(n, behind, Act{Kind: ActCloses, Customer: customer, Person: person})
	case strings.HasPrefix(m.Event, "kanban."):
		t.act(n, behind, Act{Kind: ActMoves, Customer: customer, Person: person, Text: pick(t.g, "New", "Proposal", "Won")})
	default:
		t.act(n, behind, Act{Kind: ActTransfers, Customer: customer, Person: person, Text: pick(t.g, Sectors...)})
	}
}

// pauses adds holds on a rule, or on everything, and mostly their end.
func (g *generator) pauses() {
	rule := ""
	if g.chance(60) {
		rule = pick(g, g.s.Rules...).ID
	}
	from := g.aside(0)
	g.s.Story = append(g.s.Story, Act{At: from, Kind: ActPauses, Text: rule})
	if !g.chance(85) {
		return
	}
	if to := g.aside(from) + mark*time.Duration(g.few(0, 5)); to > from {
		g.s.Story = append(g.s.Story, Act{At: to, Kind: ActResumes, Text: rule})
	}
}

// aside is a later moment without another act, in an exact scenario.
func (g *generator) aside(after time.Duration) time.Duration {
	last := g.s.Story[len(g.s.Story)-1].At
	if !g.s.Exact {
		at := after + time.Duration(g.rand.Int64N(int64(last/time.Second)+3600))*time.Second
		if story := pick(g, g.s.Story...).At; g.chance(40) && story >= after {
			at = story + time.Duration(g.between(0, 2))*time.Second
		}
		return at
	}
	return time.Duration(int(after/mark)+g.rand.IntN(1+int(last/mark)))*mark + stopPhase
}

// reloads adds changes of the rules, and sometimes back.
func (g *generator) reloads() {
	other := cloneRules(g.s.Rules)
	if !g.s.Exact && g.chance(20) { // a rule is changed to one that what it did before could start
		answers, hears := Rule{ID: "r1", Mode: "parallel"}, Rule{ID: "r1", Mode: "parallel", FromAny: true}
		answers.When.Events, answers.Do = []string{vocabulary.MessageReceived}, []Step{{Name: "s1", Verb: "send_message", Text: pick(g, g.words...)}}
		hears.When.Events, hears.Do = []string{vocabulary.MessageSent}, []Step{{Name: "s1", Verb: "transfer", Sector: pick(g, Sectors...), Text: pick(g, g.words...)}}
		g.s.Rules[0], other[0] = answers, hears
	}
	switch i := g.rand.IntN(len(other)); g.rand.IntN(5) {
	case 0:
		other[i] = g.oneRule(other[i].ID)
	case 1:
		if i > 0 {
			other = slices.Delete(other, i, i+1)
			break
		}
		fallthrough
	case 2:
		other = append(other, g.oneRule("r"+string('1'+byte(len(other)%9))+"b"))
	case 3:
		g.longer(&other[i])
	default:
		other[i].If = nil
	}
	g.s.Other = other
	at := g.aside(0)
	g.s.Story = append(g.s.Story, Act{At: at, Kind: ActReloads})
	if g.chance(35) {
		g.s.Story = append(g.s.Story, Act{At: g.aside(at) + mark, Kind: ActReloads})
	}
}

// reschedules gives a rule with a schedule another trigger while its ticks wait: the rule is on
// hold, or everything is. What the rule does first needs no conversation, so that a tick could do
// it.
func (g *generator) reschedules() {
	i := slices.IndexFunc(g.s.Rules, func(r Rule) bool { return r.When.Every > 0 || r.When.At != "" })
	if i < 0 {
		return
	}
	rule := &g.s.Rules[i]
	rule.Stage, rule.Late.Run = "", pick(g, "", "all")
	other := cloneRules(g.s.Rules)
	other[i].Late, other[i].If = Late{}, nil
	if other[i].When = (When{Events: []string{vocabulary.AttendanceOpened}}); rule.When.Each == "cards" {
		other[i].When.Events[0] = vocabulary.CardCreated
	}
	other[i].begin(Step{Verb: "send_message", To: pick(g, g.s.Customers...), Text: pick(g, g.words...)})
	if g.s.Exact && !timely(&other[i], g.bursts) {
		return
	}
	g.s.Other = other
	held := pick(g, rule.ID, rule.ID, "")
	from := g.aside(0)
	ticked := max(rule.When.Every, mark) + mark*time.Duration(g.few(0, 3))
	if rule.When.At != "" {
		ticked += 24 * time.Hour
	}
	g.s.Story = append(g.s.Story, Act{At: from, Kind: ActPauses, Text: held}, Act{At: from + ticked, Kind: ActReloads}, Act{At: from + ticked + mark, Kind: ActResumes, Text: held})
}

// longer changes how long a rule waits or, if it does not wait, its audience.
func (g *generator) longer(r *Rule) {
	was := cloneRules([]Rule{*r})[0]
	everyStep([]Rule{*r}, func(s *Step) {
		if s.Wait > 0 && s.Calendar == "" {
			s.Wait = g.wait()
		}
	})
	if g.s.Exact && !timely(r, g.bursts) {
		*r = was
		r.If = nil
	}
}
