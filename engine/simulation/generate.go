package simulation

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// Generate generates a scenario. The same seed gives the same one. Most are tiny and some are
// large; three in five are exact, and a third has no trouble at all. The comment above robust's
// constants says what an exact one keeps to; a wild one is only valid.
func Generate(seed uint64) *Scenario {
	for attempt := uint64(0); ; attempt++ {
		g := &generator{rand: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15+attempt))}
		g.scenario(seed)
		if g.s.settle() {
			return g.s
		}
	}
}

// Compiles reports what is wrong with the rules of a scenario.
func (s *Scenario) Compiles() error {
	for _, list := range [][]Rule{s.Rules, s.Other} {
		if len(list) == 0 {
			continue
		}
		_, problems := rules.Compile([]*rules.File{rules.Parse("desk.yaml", s.YAML(list))}, rules.Options{Catalog: builtin.Catalog()})
		if err := problems.Err(); err != nil {
			return err
		}
	}
	return nil
}

// settle removes from: any from rules, last first, until none start each other endlessly. It
// returns false if the rules are still invalid.
func (s *Scenario) settle() bool {
	for {
		if s.Compiles() == nil {
			return true
		}
		last := ""
		for _, list := range [][]Rule{s.Rules, s.Other} {
			for i := range list {
				if list[i].FromAny {
					last = list[i].ID
				}
			}
		}
		if last == "" {
			return false
		}
		for _, list := range [][]Rule{s.Rules, s.Other} {
			for i := range list {
				list[i].FromAny = list[i].FromAny && list[i].ID != last
			}
		}
	}
}

// A generator generates one scenario.
type generator struct {
	rand   *rand.Rand
	s      *Scenario
	large  bool
	bursts bool     // people act several times within a minute
	words  []string // that customers use, and rules test for

	outreach bool     // rules write to customers without a conversation, and react to the result
	labels   []string // that rules set, and test for

	rule    *Rule
	names   int      // of steps, so far
	answers []string // to the questions that conditions can see
	asked   int      // questions, so far
	waits   int      // that a run of the rule may be in, one after another
}

// chance is true with a probability in percent.
func (g *generator) chance(percent int) bool { return g.rand.IntN(100) < percent }

// between returns a number of a range, both ends included.
func (g *generator) between(low, high int) int { return low + g.rand.IntN(high-low+1) }

// few returns a number of a range, low ones more often.
func (g *generator) few(low, high int) int {
	n := low
	for n < high && g.chance(60) {
		n++
	}
	return n
}

// pick returns one of several.
func pick[T any](g *generator, list ...T) T { return list[g.rand.IntN(len(list))] }

// A choice is a weighted option.
type choice[T any] struct {
	weight int
	value  T
}

func weighted[T any](g *generator, list ...choice[T]) T {
	total := 0
	for _, c := range list {
		total += c.weight
	}
	n := g.rand.IntN(total)
	for _, c := range list {
		if n -= c.weight; n < 0 {
			return c.value
		}
	}
	panic("no weight is left over")
}

// sample returns so many of a list, in its order.
func sample(g *generator, list []string, n int) []string {
	order := g.rand.Perm(len(list))[:min(n, len(list))]
	slices.Sort(order)
	var out []string
	for _, i := range order {
		out = append(out, list[i])
	}
	return out
}

var customers = []string{"Marina", "Pedro", "Joana", "Lucas", "Teresa", "Otto"}

func (g *generator) scenario(seed uint64) {
	g.s = &Scenario{Seed: seed, Exact: g.chance(60)}
	if g.s.Exact && g.chance(4) {
		g.absence()
		return
	}
	if g.s.Exact && g.chance(5) {
		g.claims()
		return
	}
	g.outreach = !g.s.Exact && g.chance(15)
	g.large = g.rand.IntN(200) == 0
	g.bursts = g.chance(35)
	g.words = sample(g, Words, g.between(2, 3))
	g.labels = sample(g, Labels, g.between(1, 2))
	g.s.Start = g.start()
	n := weighted(g, choice[int]{35, 1}, choice[int]{35, 2}, choice[int]{18, 3}, choice[int]{12, 4})
	if g.large {
		n = len(customers)
	}
	g.s.Customers = customers[:n:n]
	hours := weighted(g, choice[int]{55, 12}, choice[int]{25, 24}, choice[int]{10, 48}, choice[int]{10, 71})
	if g.large {
		hours = 71
	}
	g.s.Length = time.Duration(hours)*time.Hour + endPhase
	n = weighted(g, choice[int]{40, 1}, choice[int]{32, 2}, choice[int]{18, 3}, choice[int]{10, 4})
	if g.large {
		n = 10
	}
	g.rules(n)
	if g.outreach {
		g.reachOut()
	}
	if !g.large && g.chance(5) {
		g.split()
	}
	if g.chance(6) {
		g.s.Safety = g.safety()
	}
	g.story()
	switch {
	case g.chance(20):
		g.reloads()
	case g.chance(25):
		g.reschedules()
	}
	g.bounded()
	g.s.Story = slices.DeleteFunc(g.s.Story, func(a Act) bool { return a.At >= g.s.Length-endPhase })
	slices.SortStableFunc(g.s.Story, func(a, b Act) int { return int(a.At - b.At) })
	g.unheard()
	if !g.chance(33) {
		g.troubles()
		if g.outreach && g.chance(60) {
			g.uncertain(g.between(1, 4))
		}
	}
}

// bounded takes from: any away from rules that make cards where a schedule goes through all cards:
// each tick could double them. On a large desk such a schedule ticks four times a day at most.
func (g *generator) bounded() {
	lists := [][]Rule{g.s.Rules, g.s.Other}
	if !slices.ContainsFunc(slices.Concat(lists...), func(r Rule) bool { return r.When.Each == "cards" }) {
		return
	}
	for _, list := range lists {
		for i := range list {
			r := &list[i]
			if g.large && r.When.Each == "cards" && r.When.Every > 0 {
				r.When.Every = max(r.When.Every, 6*time.Hour)
			}
			everyStep(list[i:i+1], func(s *Step) { r.FromAny = r.FromAny && s.Verb != "create_card" })
		}
	}
}

// reachOut makes the first rule write to a customer without a conversation, and another react to
// what customers do then.
func (g *generator) reachOut() {
	n := min(len(g.s.Customers)+1, len(customers))
	g.s.Customers = customers[:n:n]
	to := pick(g, g.s.Customers[len(g.s.Customers)-1], Nobody)
	if g.chance(35) {
		g.makeCards()
		return
	}
	step := Step{Verb: pick(g, "send_message", "open_conversation"), To: to, Continue: g.chance(50)}
	if step.Verb == "send_message" {
		step.Text = pick(g, g.words...)
	}
	g.s.Rules[0].begin(step)
	second := g.oneRule("r2")
	second.When = When{Events: []string{pick(g, vocabulary.AttendanceOpened, vocabulary.AttendanceOpened, vocabulary.MessageSent)}}
	second.FromAny, second.Gather, second.If, second.Stage, second.By, second.Limit = false, nil, nil, "", "", nil
	second.Do = []Step{{Name: "s1", Verb: "send_message", Text: pick(g, g.words...)}}
	second.OnError, second.CancelOn, second.Late, second.Sample, second.Split, second.Mode = nil, nil, Late{}, 0, "", ""
	g.s.Rules = append(g.s.Rules[:1], append([]Rule{second}, g.s.Rules[min(2, len(g.s.Rules)):]...)...)
}

// begin puts a step before those of a rule.
func (rule *Rule) begin(s Step) {
	everyStep([]Rule{*rule}, func(s *Step) {
		var n int
		if _, err := fmt.Sscanf(s.Name, "s%d", &n); err == nil {
			s.Name = fmt.Sprintf("s%d", n+1)
		}
	})
	s.Name = "s1"
	rule.Do = append([]Step{s}, rule.Do...)
}

// makeCards makes the first rule create cards that belong to no conversation, and another write to
// a customer about cards that somebody else creates.
func (g *generator) makeCards() {
	makes := Rule{ID: "r1", When: When{Every: pick(g, mark, 2*mark)}, Do: []Step{{Name: "s1", Verb: "create_card", Text: pick(g, g.words...), Board: pick(g, "Deals", "Care")}}}
	tells := Rule{ID: "r2", When: When{Events: []string{vocabulary.CardCreated}}, Do: []Step{{Name: "s1", Verb: "send_message", To: g.s.Customers[0], Text: pick(g, g.words...)}}}
	g.s.Rules = append([]Rule{makes, tells}, g.s.Rules[min(2, len(g.s.Rules)):]...)
}

// rules generates the rules. Of an exact scenario they are mostly such that seconds may pass, so
// that something can go wrong.
func (g *generator) rules(n int) {
	tries := 1
	if g.s.Exact && g.chance(75) {
		tries = 60
	}
	for range tries {
		var list []Rule
		for i := range n {
			list = append(list, g.oneRule(fmt.Sprintf("r%d", i+1)))
			for again := 0; tries > 1 && again < 20 && !patient(list, g.bursts); again++ {
				list[i] = g.oneRule(list[i].ID)
			}
		}
		if g.s.Rules = list; patient(list, g.bursts) {
			return
		}
	}
}

// start is a moment of two weeks with a weekend and a holiday in them, three minutes past a half
// hour if times matter.
func (g *generator) start() time.Time {
	const offset = 3 // Sao Paulo is three hours behind
	at := time.Date(2026, 11, g.between(9, 22), offset+g.between(5, 20), 3+30*g.rand.IntN(2), 0, 0, time.UTC)
	if !g.s.Exact && g.chance(50) {
		at = at.Add(time.Duration(g.rand.IntN(3600)) * time.Second)
	}
	return at
}

// split lets copies of a rule share its customers with it.
func (g *generator) split() {
	r := &g.s.Rules[g.rand.IntN(len(g.s.Rules))]
	parts := cloneRules([]Rule{*r, *r})
	if g.chance(40) {
		parts = cloneRules([]Rule{*r, *r, *r})
	}
	shares := pick(g, []int{10, 0, 50}, []int{50, 50, 0}, []int{30, 40, 0}, []int{0, 30, 30})
	for i := range parts {
		if parts[i].Sample, parts[i].Split = shares[i], "group"; i > 0 {
			parts[i].ID = fmt.Sprintf("r%d", len(g.s.Rules)+i)
		}
	}
	*r = parts[0]
	g.s.Rules = append(g.s.Rules, parts[1:]...)
}

func (g *generator) safety() Safety {
	one := Bound{Times: g.between(2, 5), Per: g.window()}
	if g.chance(50) {
		return Safety{PerConversation: one}
	}
	return Safety{Messages: Bound{Times: one.Times + 2, Per: one.Per}}
}

// unheard removes, of an exact scenario, what would make a run wait for, end by, or count, what
// rules do themselves.
func (g *generator) unheard() {
	if !g.s.Exact {
		return
	}
	own := union(emitted(g.s.Rules), emitted(g.s.Other))
	theirs := func(event string, c *Cond) bool {
		return othersOnly(&Rule{CancelOn: []Match{{Event: event, If: c}}}, own)
	}
	for _, list := range [][]Rule{g.s.Rules, g.s.Other} {
		for i := range list {
			list[i].CancelOn = slices.DeleteFunc(list[i].CancelOn, func(m Match) bool { return !theirs(m.Event, m.If) })
		}
		everyCond(list, func(c *Cond) {
			if c.Kind == CondCount && slices.Contains(own, c.Text) {
				c.Text = vocabulary.MessageReceived
			}
		})
		everyStep(list, func(s *Step) {
			if s.Verb != "wait_for" {
				return
			}
			s.Events = slices.DeleteFunc(s.Events, func(event string) bool { return !theirs(event, s.Cond) })
			if len(s.Events) == 0 {
				s.Events = []string{vocabulary.MessageReceived}
				if s.Cond != nil && s.Cond.Kind == CondByTeam {
					s.Cond = nil
				}
			}
		})
	}
}

// wait is how long a run waits: of an exact scenario, never until an act.
func (g *generator) wait() time.Duration {
	if g.s.Exact {
		return time.Duration(pick(g, 6, 12, 18, 24))*time.Minute + mark*time.Duration(weighted(g, choice[int]{50, 0}, choice[int]{20, 1}, choice[int]{15, 2}, choice[int]{10, 4}, choice[int]{5, 16}))
	}
	return pick(g, time.Second, 10*time.Second, time.Minute, 5*time.Minute, 10*time.Minute, 20*time.Minute, time.Hour, 3*time.Hour, 9*time.Hour)
}

// window is how far back a condition or a limit reaches: in an exact scenario, never as far as any
// other time.
func (g *generator) window() time.Duration {
	if g.s.Exact {
		return pick(g, 7*time.Minute, 19*time.Minute, 43*time.Minute, 79*time.Minute, 187*time.Minute, 727*time.Minute) + 30*time.Second
	}
	return pick(g, 10*time.Second, time.Minute, 5*time.Minute, 20*time.Minute, time.Hour, 2*time.Hour, 12*time.Hour)
}
