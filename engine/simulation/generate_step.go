package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// pattern generates the steps of a rule: a common pattern with random steps around it, or random
// ones alone.
func (g *generator) pattern(f known) []Step {
	var steps []Step
	switch n := g.rand.IntN(100); {
	case n < 16 && f.conversation && g.waits < 2:
		steps = g.menu(f)
	case n < 26 && f.attendance && g.waits < 2:
		steps = g.promise(f)
	case n < 34 && f.conversation:
		steps = g.cardFlow(f)
	case n < 42 && f.conversation:
		steps = []Step{g.findCard()}
		f.card, f.sure, f.board = true, false, steps[0].Board
		steps = append(steps, g.moveCard(f))
	case n < 50 && g.waits < 2:
		steps = []Step{g.forEach(f)}
	case n < 56 && f.conversation && g.waits < 2:
		steps = g.firstTime(f)
	default:
		return g.steps(f, 1, 5)
	}
	if g.chance(40) {
		steps = append(steps, g.steps(f, 1, 2)...)
	}
	return steps
}

// menu asks a question, and branches on the answer.
func (g *generator) menu(f known) []Step {
	var steps []Step
	if g.chance(30) {
		steps = append(steps, g.waitStep(&f))
	}
	steps = append(steps, g.send(f), g.waitFor(&f, true))
	id := steps[len(steps)-1].ID
	branch := func() []Step { return g.steps(f, 1, 2) }
	f.nested++
	branches := []Branch{{If: &Cond{Kind: CondNoAnswer, Text: id}, Do: g.inside(branch)}}
	for _, word := range sample(g, []string{"1", "2", "3"}, g.few(1, 2)) {
		branches = append(branches, Branch{If: &Cond{Kind: CondAnswerIs, Text: id + "=" + word}, Do: g.inside(branch)})
	}
	if g.chance(60) {
		branches = append(branches, Branch{Do: g.inside(branch)})
	}
	return append(steps, Step{Name: g.name(), Verb: "choose", Branches: branches})
}

// firstTime does one thing the first time, of which a label tells, and another one later. What it
// does the first time changes what it asks for.
func (g *generator) firstTime(f known) []Step {
	label := pick(g, g.labels...)
	first := Branch{If: &Cond{Kind: CondHasLabel, Text: label, Not: true}, Do: []Step{{Name: g.name(), Verb: "add_labels", Labels: []string{label}}}}
	later := Branch{Do: []Step{g.send(f)}}
	steps := []Step{{Name: g.name(), Verb: "choose", Branches: []Branch{first, later}}, g.waitStep(&f)}
	return append(steps, g.send(f))
}

// promise escalates what was not answered in time.
func (g *generator) promise(f known) []Step {
	steps := []Step{g.waitStep(&f)}
	over := &Cond{Kind: CondAny, Of: []Cond{{Kind: CondAttendanceOpen, Not: true}, {Kind: CondAnswered}}}
	steps = append(steps, Step{Name: g.name(), Verb: "stop_if", Cond: over})
	return append(steps, g.step(f, "transfer"), g.step(f, "add_labels"))
}

// cardFlow makes a card and moves it on.
func (g *generator) cardFlow(f known) []Step {
	steps := []Step{g.step(f, "create_card")}
	f.card, f.sure, f.board = true, true, steps[0].Board
	if g.waits < 2 && g.chance(60) {
		steps = append(steps, g.waitStep(&f))
	}
	return append(steps, g.moveCard(f))
}

func (g *generator) name() string {
	g.names++
	return fmt.Sprintf("s%d", g.names)
}

// inside generates the steps of a branch or a loop. Their names are not visible outside of it.
func (g *generator) inside(do func() []Step) []Step {
	answers := g.answers
	g.answers = slices.Clip(answers)
	steps := do()
	g.answers = answers
	return steps
}

// steps generates a list of steps.
func (g *generator) steps(f known, low, high int) (out []Step) {
	for range g.few(low, high) {
		s := g.anyStep(&f)
		out = append(out, s)
		switch {
		case s.If != nil || s.Continue:
		case s.Verb == "create_card":
			f.card, f.sure, f.board = true, true, s.Board
		case s.Verb == "find_card":
			f.card, f.sure, f.board = true, false, s.Board
		}
		if s.Verb == "stop" {
			break
		}
	}
	return out
}

// anyStep generates a step with its modifiers.
func (g *generator) anyStep(f *known) Step {
	var s Step
	switch verb := g.verb(*f); verb {
	case "wait":
		s = g.waitStep(f)
	case "wait_for":
		s = g.waitFor(f, g.chance(60))
	default:
		s = g.step(*f, verb)
	}
	if g.chance(15) && s.Verb != "stop_if" && s.Verb != "wait_for" {
		c := g.cond(*f, 0)
		s.If = &c
	}
	if g.chance(10) && !slices.Contains([]string{"stop_if", "stop", "wait", "wait_for", "choose", "for_each", "set", "log"}, s.Verb) {
		s.Continue = true
	}
	if g.chance(5) && (s.Verb == "send_message" || s.Verb == "move_card") {
		s.Retry = g.between(1, 4)
		if g.s.Exact {
			s.Retry = 10 // more than anything fails there
		}
	}
	return s
}

// verb picks a verb that has what it needs.
func (g *generator) verb(f known) string {
	if !f.conversation {
		list := []choice[string]{{40, "send_message"}, {10, "open_conversation"}, {8, "log"}, {6, "set"}, {4, "stop"}, {6, "stop_if"}}
		if g.waits < 2 {
			list = append(list, choice[string]{12, "wait"}, choice[string]{5, "wait_for"})
		}
		if f.nested < 2 {
			list = append(list, choice[string]{10, "for_each"}, choice[string]{8, "choose"})
		}
		return weighted(g, list...)
	}
	list := []choice[string]{
		{30, "send_message"}, {8, "transfer"}, {6, "set_sector"}, {10, "add_labels"}, {5, "remove_labels"}, {5, "set_labels"}, {4, "update_conversation"}, {3, "mark_read"},
		{6, "close_attendance"}, {3, "open_conversation"}, {7, "create_card"}, {4, "find_card"}, {2, "read_conversation"}, {2, "read_attendance"}, {2, "read_messages"},
		{5, "stop_if"}, {2, "stop"}, {3, "set"}, {3, "log"},
	}
	if f.card {
		list = append(list, choice[string]{8, "move_card"}, choice[string]{5, "update_card"})
	}
	if g.waits < 3 {
		list = append(list, choice[string]{14, "wait"}, choice[string]{9, "wait_for"})
	}
	if f.nested < 2 {
		list = append(list, choice[string]{8, "choose"}, choice[string]{6, "for_each"})
	}
	if f.gathered || !f.attendance {
		// What is read replaces what was gathered, and there may be nothing to read.
		list = slices.DeleteFunc(list, func(c choice[string]) bool {
			return c.value == "read_messages" && f.gathered || c.value == "read_attendance" && !f.attendance
		})
	}
	return weighted(g, list...)
}

// step generates a step of a verb, but for waits.
func (g *generator) step(f known, verb string) Step {
	if verb == "for_each" {
		return g.forEach(f)
	}
	s := Step{Name: g.name(), Verb: verb}
	switch verb {
	case "send_message":
		g.names--
		return g.send(f)
	case "transfer":
		s.Text = pick(g, g.words...)
		switch g.rand.IntN(3) {
		case 0:
			s.Person = pick(g, People...)
		case 1:
			s.Person, s.Sector = pick(g, People...), pick(g, Sectors...)
		default:
			s.Sector = pick(g, Sectors...)
		}
	case "set_sector":
		if !g.chance(15) {
			s.Sector = pick(g, Sectors...)
		}
	case "add_labels", "remove_labels", "set_labels":
		s.Labels = sample(g, Labels, g.few(1, 2))
		if g.chance(60) {
			s.Labels = []string{pick(g, g.labels...)}
		}
	case "update_conversation":
		if s.Flag = true; g.chance(40) {
			s.Name2 = pick(g, "big", "small", "old")
		} else {
			s.Flag = g.chance(60)
		}
	case "close_attendance", "set", "log", "stop":
		s.Text = pick(g, g.words...)
	case "open_conversation":
		s.To = g.whom()
	case "create_card":
		s.Text, s.Board = pick(g, append([]string{"{{ contact.name }}"}, g.words...)...), pick(g, "Deals", "Care")
		if g.rule.When.Each == "cards" {
			s.Board = "Care" // each tick would double the cards of Deals
		}
		if g.chance(50) {
			s.Stage = pick(g, Boards[s.Board]...)
		}
	case "find_card":
		g.names--
		return g.findCard()
	case "move_card":
		g.names--
		return g.moveCard(f)
	case "update_card":
		s.Name2 = pick(g, g.words...)
	case "stop_if":
		c := g.cond(f, 0)
		s.Cond = &c
	case "choose":
		f.nested++
		branch := func() []Step { return g.steps(f, 1, 2) }
		for range g.few(1, 2) {
			c := g.cond(f, 0)
			s.Branches = append(s.Branches, Branch{If: &c, Do: g.inside(branch)})
		}
		if g.chance(50) {
			s.Branches = append(s.Branches, Branch{Do: g.inside(branch)})
		}
	}
	return s
}

// send writes to the customer, and sometimes to another.
func (g *generator) send(f known) Step {
	s := Step{Name: g.name(), Verb: "send_message", Text: pick(g, g.words...)}
	if !f.conversation || g.chance(7) {
		s.To = g.whom()
	}
	if f.conversation && g.chance(20) {
		s.Text = "{{ contact.name }}"
	}
	if f.gathered && g.chance(60) {
		s.Text += " " + manyMessages
	}
	return s
}

// whom is the recipient: a customer, and rarely an invalid number.
func (g *generator) whom() string {
	if g.chance(8) {
		return Nobody
	}
	return pick(g, g.s.Customers...)
}

func (g *generator) findCard() Step {
	return Step{Name: g.name(), Verb: "find_card", Board: pick(g, "Deals", "Deals", "Care")}
}

// moveCard moves the card to a stage of its board, and sometimes to an unknown one.
func (g *generator) moveCard(f known) Step {
	board := f.board
	if board == "" || g.chance(6) {
		board = "Deals"
	}
	s := Step{Name: g.name(), Verb: "move_card", Stage: pick(g, Boards[board]...)}
	if g.chance(40) {
		s.OnlyFrom = pick(g, Boards[board]...)
	}
	return s
}

func (g *generator) waitStep(f *known) Step {
	g.waits++
	s := Step{Name: g.name(), Verb: "wait", Wait: g.wait()}
	switch n := g.rand.IntN(100); {
	case n < 12:
		s.Calendar = pick(g, "office", "office", "office", "night")
		if g.s.Exact {
			s.Wait = time.Duration(pick(g, 6, 12, 18, 24, 36, 48)) * time.Minute
		}
	case n < 18:
		s.Wait, s.Until = 0, pick(g, Calendars...)
	}
	if s.Calendar != "" || s.Until != "" {
		f.edges = true
	}
	return s
}

func (g *generator) waitFor(f *known, named bool) Step {
	g.waits++
	s := Step{Name: g.name(), Verb: "wait_for", Wait: g.wait(), Events: []string{vocabulary.MessageReceived}, Claims: g.chance(85)}
	switch n := g.rand.IntN(100); {
	case n < 70:
		if g.chance(60) {
			s.Cond = &Cond{Kind: CondAny, Of: []Cond{{Kind: CondTextIs, Text: "1"}, {Kind: CondTextIs, Text: pick(g, "2", "3", g.words[0])}}}
		}
	case n < 80:
		s.Events = []string{vocabulary.AttendanceClosed}
	case n < 88:
		s.Events, s.Cond = []string{vocabulary.MessageSent}, &Cond{Kind: CondByTeam}
	case n < 94:
		s.Events = []string{vocabulary.CardMoved}
	default:
		s.Events = []string{vocabulary.MessageReceived, vocabulary.AttendanceClosed}
	}
	if g.chance(8) && (!g.s.Exact || s.Wait%mark != 0) {
		s.Calendar = "office"
		f.edges = true
		if g.s.Exact {
			s.Wait = time.Duration(pick(g, 6, 12, 18, 24, 36, 48)) * time.Minute
		}
	}
	if named {
		g.asked++
		s.ID = fmt.Sprintf("answer%d", g.asked)
		g.answers = append(g.answers, s.ID)
	}
	return s
}

func (g *generator) forEach(f known) Step {
	s := Step{Name: g.name(), Verb: "for_each"}
	n, inner := g.few(1, 4), 3
	// A long one is for what happens seldom: it would be thousands of messages otherwise.
	seldom := g.rule.When.Manual || g.rule.When.At != "" || len(g.rule.When.Events) == 1 && (g.rule.When.Events[0] == vocabulary.AttendanceClosed || g.rule.When.Events[0] == vocabulary.CardCompleted)
	if seldom && (g.large && g.chance(50) || g.rand.IntN(100) == 0) {
		n, inner = 60, 1
	}
	for i := range n {
		s.Items = append(s.Items, fmt.Sprintf("i%d", i+1))
	}
	f.nested += 2 // no other inside of it: both would be called item
	s.Do = g.inside(func() []Step {
		steps := g.steps(f, 1, inner)
		if g.waits < 2 && n < 10 && g.chance(40) {
			steps = append(steps, g.waitStep(&f))
		}
		return steps
	})
	if g.chance(80) { // what is done twice, or left out, is seen by its item
		everyStep([]Rule{{Do: s.Do}}, func(st *Step) {
			switch st.Verb {
			case "send_message", "transfer", "create_card", "close_attendance":
				st.Text += " {{ item }}"
			case "update_card":
				st.Name2 += " {{ item }}"
			}
		})
	}
	return s
}
