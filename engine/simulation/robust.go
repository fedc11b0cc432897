package simulation

import (
	"slices"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// An exact scenario keeps its effects, but for seconds, whatever of the troubles of its kind
// strikes it. For that its times lie apart:
//
//   - Acts happen at marks, every half an hour from the start, which is three minutes past a half
//     hour of the clock; within a burst up to 30 seconds later.
//   - A wait, a timeout and a gather last a multiple of six minutes, and no sum of those that a run
//     can add up, from wherever it begins, is a multiple of half an hour. So what is timed happens
//     six minutes from every act, or from another.
//   - Opening hours begin and end, and schedules tick, at a half hour of the clock or (at) at a
//     multiple of six minutes of it: three minutes from all of these. Closed stretches are multiples
//     of half an hour, so a wait of a calendar ends at its own length behind the act, or behind an
//     opening.
//   - Windows and thresholds (limit, human_active, customer_waiting, count_events, business_time,
//     safety) are a minute and a half off the multiples of three minutes that all times differ by.
//   - A message that a safety bound holds back leaves when a window ends, so that everything timed
//     lies within half a minute behind a multiple of a minute and a half.
//   - People stop, resume and reload rules, and what strikes at a time strikes, 65 seconds behind
//     such a multiple.
//   - The look ends at the nineteenth minute: a minute behind such a multiple, and half a minute
//     before the next.
//   - Runs of a rule that waits do not queue up behind each other: each would begin where the one
//     before it ended, and sooner or later at a mark.
//   - What delays adds up to less than a minute: at most three such troubles, each worth some 15
//     seconds.
//   - Events that rules raise themselves end no run and answer no question.
//
// Where two runs may reach for the same thing at the same time, or people write in bursts to rules
// that tell how far the last run came, seconds do decide. robust finds that out, and such a
// scenario has none of the troubles that delay.
const (
	mark      = 30 * time.Minute
	grain     = 90 * time.Second // resolution of the times of an exact scenario
	slots     = int(mark / grain)
	edge      = int(27 * time.Minute / grain) // of opening hours, and ticks
	wholeDay  = -1                            // a slot that may be any
	stopPhase = 17*time.Minute + 35*time.Second
	restPhase = 20*time.Minute + 35*time.Second
	endPhase  = 19 * time.Minute
)

// slotOf is where a length behind a mark ends.
func slotOf(d time.Duration) int { return int(d/grain) % slots }

// timely reports whether no timer of a rule coincides with an act, nor with another of its own
// runs.
func timely(r *Rule, bursts bool) bool {
	y := &study{}
	y.addRule(0, r)
	// A wait behind a gather counts from the last event, and may end with the next gather.
	if y.clash || r.Gather != nil && len(r.Do) > 0 && r.Do[0].Verb == "wait" {
		return false
	}
	queues := (r.Mode == "" || r.Mode == "queued") && y.waits
	return !queues || y.total < mark-grain && !manifold(r) && !bursts
}

// manifold reports whether one act may start several runs of a rule.
func manifold(r *Rule) bool {
	return len(r.When.Events) > 1 || slices.Contains(r.When.Events, vocabulary.ConversationUpdated) || r.FromAny || r.When.Each != ""
}

// keeps reports whether an exact scenario keeps to what is written above: whatever is taken away
// from it, it must still do so.
func keeps(s *Scenario) bool {
	if s.Away {
		return keepsAway(s)
	}
	if s.Reordered {
		return keepsClaims(s)
	}
	if s.Length%mark != endPhase || s.Start.Minute()%30 != 3 || s.Start.Second() != 0 {
		return false
	}
	bursts, _ := gathering(s)
	own := union(emitted(s.Rules), emitted(s.Other))
	for _, rules := range [][]Rule{s.Rules, s.Other} {
		if slices.ContainsFunc(rules, func(r Rule) bool { return !timely(&r, bursts) || !othersOnly(&r, own) }) {
			return false
		}
	}
	for _, a := range s.Story {
		phase := a.At % mark
		if aside := a.Kind == ActPauses || a.Kind == ActResumes || a.Kind == ActReloads; aside && phase != stopPhase || !aside && phase > 30*time.Second {
			return false
		}
	}
	delays := slices.ContainsFunc(s.Troubles, func(t Trouble) bool {
		return !slices.Contains([]string{TroubleTwice, TroubleRefused, TroublePrune, TroubleCopy, TroubleDown, TroubleEdit}, t.Kind)
	})
	return !delays || delayable(s)
}

// othersOnly reports whether a rule waits for, ends by and counts only events that rules do not
// raise.
func othersOnly(r *Rule, own []string) bool {
	theirs := func(event string, c *Cond) bool {
		return !slices.Contains(own, event) || event == vocabulary.MessageSent && c != nil && c.Kind == CondByTeam && !c.Not
	}
	fine := !slices.ContainsFunc(r.CancelOn, func(m Match) bool { return !theirs(m.Event, m.If) })
	everyStep([]Rule{*r}, func(s *Step) {
		fine = fine && !slices.ContainsFunc(s.Events, func(e string) bool { return !theirs(e, s.Cond) })
	})
	everyCond([]Rule{*r}, func(c *Cond) { fine = fine && (c.Kind != CondCount || !slices.Contains(own, c.Text)) })
	return fine
}

// delayable reports whether seconds may pass anywhere without a change of what rules do.
func delayable(s *Scenario) bool {
	if s.Safety != (Safety{}) || slices.ContainsFunc(s.Story, func(a Act) bool { return a.Kind == ActPauses && a.Text == "" }) {
		return false
	}
	bursts, crowded := gathering(s)
	if made := cardsMade(s); made > 1 || made > 0 && bursts {
		if slices.ContainsFunc(s.Story, func(a Act) bool { return a.Kind == ActMoves }) {
			return false // people move the newest card
		}
	}
	for _, rules := range [][]Rule{s.Rules, s.Other} {
		across := func(r Rule) bool { return (crowded || r.When.Each != "") && acrossCustomers(&r) }
		if slices.ContainsFunc(rules, across) || !patient(rules, bursts) {
			return false
		}
	}
	return true
}

// patient reports whether rules do the same where seconds pass between what happens and what they
// do.
func patient(rules []Rule, bursts bool) bool {
	y := &study{}
	for i := range rules {
		y.addRule(i, &rules[i])
		if !alone(&rules[i], y, bursts) {
			return false
		}
	}
	for i, a := range y.list {
		for _, b := range y.list[i+1:] {
			if collide(rules, a, b) {
				return false
			}
		}
	}
	return true
}

// collide reports whether the order of two accesses matters, and seconds decide it. The first comes
// before the second in its rule.
func collide(rules []Rule, a, b access) bool {
	together := a.slot == b.slot || a.slot == wholeDay || b.slot == wholeDay
	switch {
	case !together || a.what != b.what || a.how == 'r' && b.how == 'r' || a.how == 'a' && b.how == 'a':
		return false
	case a.rule != b.rule:
		return true
	case a.tick:
		return false
	case a.start:
		return manifold(&rules[a.rule]) // the next event may be decided before the steps have been taken
	}
	// A run reads the desk once until it waits, and again after an interruption: after its own change
	// it may see either state.
	return b.how == 'r'
}

// alone reports whether the runs of one rule are independent of how far the one before came.
func alone(r *Rule, y *study, bursts bool) bool {
	if hasBusiness(r) {
		return false // it is counted from the opening of an attendance, and that may be a rule's doing
	}
	if countsOthers(r) {
		return false // what happens at the instant of its event may have arrived by then, or not
	}
	if hearsCompanion(r) {
		return false
	}
	if (r.Mode != "parallel" || r.Max > 0) && slices.ContainsFunc(y.woken, func(slot int) bool { return slices.Contains(y.begin, slot) }) {
		return false // a run may end just when the next one would begin
	}
	changes := slices.ContainsFunc(y.list, func(a access) bool { return a.rule == y.rule && a.how == 'w' })
	if (r.Mode == "single" || r.Mode == "restart" || r.Max > 0) && manifold(r) || r.Mode == "parallel" && changes && (y.waits || manifold(r)) || r.FromAny && r.Limit != nil {
		return false
	}
	if !bursts || r.When.Every > 0 || r.When.At != "" {
		return true
	}
	// From here on several messages come while the first may still be at work.
	if r.Gather == nil && (r.Mode == "single" || r.Mode == "restart" || r.Max > 0 || r.Mode == "parallel" && changes) {
		return false
	}
	hears := func(events []string) bool { return slices.Contains(events, vocabulary.MessageReceived) }
	fine := !slices.ContainsFunc(r.CancelOn, func(m Match) bool { return m.Event == vocabulary.MessageReceived })
	everyStep([]Rule{*r}, func(s *Step) { fine = fine && (s.Verb != "wait_for" || !hears(s.Events)) })
	return fine && !slices.ContainsFunc(y.list, func(a access) bool {
		return a.rule == y.rule && a.how == 'r' && a.what != "clock" && (a.slot == 0 || a.slot == wholeDay)
	})
}

// companions are the events that come with another one, behind it, of one and the same act.
var companions = map[string][]string{
	vocabulary.AttendanceOpened: {vocabulary.MessageReceived, vocabulary.ConversationUpdated},
	vocabulary.MessageReceived:  {vocabulary.ConversationUpdated},
	vocabulary.MessageSent:      {vocabulary.ConversationUpdated},
	vocabulary.AttendanceClosed: {vocabulary.ConversationUpdated},
	vocabulary.CardCreated:      {vocabulary.CardCompleted},
	vocabulary.CardMoved:        {vocabulary.CardCompleted},
}

// hearsCompanion reports whether a run may be ended, or answered, by what comes with its own event.
func hearsCompanion(r *Rule) (hears bool) {
	comes := func(event string) bool {
		return slices.ContainsFunc(r.When.Events, func(e string) bool { return slices.Contains(companions[e], event) })
	}
	everyStep([]Rule{*r}, func(s *Step) { hears = hears || slices.ContainsFunc(s.Events, comes) })
	return hears || slices.ContainsFunc(r.CancelOn, func(m Match) bool { return comes(m.Event) })
}

// gathering reports whether a customer acts several times within a minute, and whether several
// customers are active at once.
func gathering(s *Scenario) (bursts, crowded bool) {
	for i, a := range s.Story {
		for _, b := range s.Story[i+1:] {
			if a.Customer == "" || b.Customer == "" || b.At-a.At >= mark/2 {
				continue
			}
			bursts, crowded = bursts || a.Customer == b.Customer, crowded || a.Customer != b.Customer
		}
	}
	return bursts, crowded
}

// acrossCustomers reports whether what one customer does may concern another.
func acrossCustomers(r *Rule) bool {
	shared := func(by string) bool { return by == "event.type" || by == "conversation.kind" }
	across := shared(r.By) || r.Limit != nil && shared(r.Limit.By)
	everyStep([]Rule{*r}, func(s *Step) { across = across || s.To != "" })
	return across
}

// cardsMade counts the steps that make cards.
func cardsMade(s *Scenario) (made int) {
	count := func(s *Step) {
		if s.Verb == "create_card" {
			made++
		}
	}
	everyStep(s.Rules, count)
	everyStep(s.Other, count)
	return made
}

// countsOthers reports whether a rule counts other events than the one that starts it.
func countsOthers(r *Rule) (found bool) {
	if len(r.When.Events) == 0 {
		return false
	}
	everyCond([]Rule{*r}, func(c *Cond) {
		found = found || c.Kind == CondCount && slices.ContainsFunc(r.When.Events, func(e string) bool { return e != c.Text })
	})
	return found
}

func hasBusiness(r *Rule) (found bool) {
	everyCond([]Rule{*r}, func(c *Cond) { found = found || c.Kind == CondBusiness })
	return found
}

// everyStep goes through all steps of rules.
func everyStep(rules []Rule, do func(*Step)) {
	var walk func([]Step)
	walk = func(steps []Step) {
		for i := range steps {
			do(&steps[i])
			walk(steps[i].Do)
			for _, b := range steps[i].Branches {
				walk(b.Do)
			}
		}
	}
	for i := range rules {
		walk(rules[i].Do)
		walk(rules[i].OnError)
	}
}

// everyCond goes through all conditions of rules.
func everyCond(rules []Rule, do func(*Cond)) {
	var walk func(*Cond)
	walk = func(c *Cond) {
		if c == nil {
			return
		}
		do(c)
		for i := range c.Of {
			walk(&c.Of[i])
		}
	}
	for i := range rules {
		for c := range rules[i].If {
			walk(&rules[i].If[c])
		}
		for _, m := range rules[i].CancelOn {
			walk(m.If)
		}
	}
	everyStep(rules, func(s *Step) {
		walk(s.If)
		walk(s.Cond)
		for _, b := range s.Branches {
			walk(b.If)
		}
	})
}

// union adds what is not there yet.
func union[T comparable](list, more []T) []T {
	for _, m := range more {
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list
}

// clockOf reads a time of day.
func clockOf(text string) time.Duration {
	at, err := time.Parse("15:04", text)
	if err != nil {
		return 0
	}
	return time.Duration(at.Hour())*time.Hour + time.Duration(at.Minute())*time.Minute
}
