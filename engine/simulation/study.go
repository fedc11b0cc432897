package simulation

import (
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// An access is what a rule reads or changes, and where behind a mark.
type access struct {
	rule  int
	slot  int
	what  string
	how   byte // r: reads; w: changes, where the order matters; a: adds, where it does not
	start bool // it is read when the rule decides
	tick  bool // a schedule lists it when it ticks, before its runs begin
}

// A study is the analysis of a rule set.
type study struct {
	list  []access
	rule  int
	clash bool // a timer may coincide with a mark, or with the minute in which the office opens
	waits bool // of the rule at hand
	total time.Duration
	begin []int // where its runs begin
	woken []int // where their waits end by the clock
}

// addRule records the accesses of a rule.
func (y *study) addRule(i int, r *Rule) {
	y.rule, y.waits, y.total, y.woken = i, false, 0, nil
	at := []int{0}
	switch {
	case r.FromAny:
		at = []int{wholeDay}
	case r.When.Every > 0:
		at = []int{edge}
	case r.When.At != "":
		at = []int{slotOf(clockOf(r.When.At) - 3*time.Minute + mark)}
	}
	if r.Gather != nil {
		at = y.later(at, r.Gather.Quiet)
		y.total = r.Gather.Quiet
	}
	y.begin = at
	if listed := map[string]string{"attendances": "status", "cards": "cards"}[r.When.Each]; listed != "" {
		for _, slot := range at {
			y.list = append(y.list, access{rule: y.rule, slot: slot, what: listed, how: 'r', tick: true})
		}
	}
	for c := range r.If {
		y.read(at, &r.If[c], true)
	}
	at = y.steps(at, r.Do)
	y.steps(append(at, y.reached(i)...), r.OnError)
}

// reached returns every slot at which the rule does anything.
func (y *study) reached(rule int) (out []int) {
	for _, a := range y.list {
		if a.rule == rule {
			out = union(out, []int{a.slot})
		}
	}
	return out
}

// later returns where runs are after a length of time, and notes where that falls on a mark.
func (y *study) later(at []int, d time.Duration) (out []int) {
	for _, s := range at {
		if s == wholeDay {
			y.clash = true
			continue
		}
		s = (s + slotOf(d)) % slots
		y.clash = y.clash || s == 0
		out = union(out, []int{s})
	}
	return out
}

// steps goes through steps, from where runs are to where they are behind them.
func (y *study) steps(at []int, steps []Step) []int {
	for i := range steps {
		s := &steps[i]
		y.read(at, s.If, false)
		after := y.step(at, s)
		if s.If != nil {
			after = union(slices.Clone(at), after)
		}
		at = after
	}
	return at
}

func (y *study) step(at []int, s *Step) []int {
	switch s.Verb {
	case "wait", "wait_for":
		y.waits = true
		after := y.wait(at, s)
		y.woken = union(y.woken, after)
		if s.Verb == "wait_for" {
			y.read([]int{0}, s.Cond, false)
			after = union([]int{0}, after)
		}
		return after
	case "stop_if":
		y.read(at, s.Cond, false)
	case "choose":
		var after []int
		for _, b := range s.Branches {
			y.read(at, b.If, false)
			after = union(after, y.steps(at, b.Do))
		}
		if last := len(s.Branches) - 1; last < 0 || s.Branches[last].If != nil {
			after = union(after, at)
		}
		return after
	case "for_each":
		for i := range s.Items {
			after := y.steps(at, s.Do)
			if i > 0 && slices.Equal(after, at) {
				break // the next item is like the last one
			}
			at = after
		}
	default:
		for _, t := range touched(s) {
			y.noteAccess(at, t.what, t.how, false)
		}
	}
	return at
}

// wait returns where a wait may end.
func (y *study) wait(at []int, s *Step) []int {
	if s.Until != "" {
		y.total += 24 * time.Hour
		return []int{edge}
	}
	y.total += s.Wait
	if s.Calendar == "" {
		return y.later(at, s.Wait)
	}
	y.total += 24 * time.Hour
	after := y.later(union(slices.Clone(at), []int{edge}), s.Wait)
	y.clash = y.clash || slices.Contains(after, edge)
	return after
}

// read notes what a condition reads.
func (y *study) read(at []int, c *Cond, start bool) {
	if c == nil {
		return
	}
	for i := range c.Of {
		y.read(at, &c.Of[i], start)
	}
	what := ""
	switch c.Kind {
	case CondOpen, CondBusiness:
		what = "clock"
		y.clash = y.clash || slices.Contains(at, edge)
	case CondHasLabel:
		what = "labels"
	case CondWaiting:
		what = "waiting"
	case CondAttendanceOpen:
		what = "status"
	case CondAnswered:
		what = "answered"
	case CondAssigned:
		what = "assignee"
	case CondSector:
		what = "sector"
	case CondStage:
		what = "cards"
	case CondCount:
		what = c.Text
	default:
		return
	}
	y.noteAccess(at, what, 'r', start)
}

func (y *study) noteAccess(at []int, what string, how byte, start bool) {
	for _, slot := range at {
		y.list = append(y.list, access{rule: y.rule, slot: slot, what: what, how: how, start: start})
	}
}

// A verbChange is what a verb changes, and how.
type verbChange struct {
	what string
	how  byte
}

// touched returns what a step changes, with the events that come of it.
func touched(s *Step) []verbChange {
	updated := verbChange{vocabulary.ConversationUpdated, 'a'}
	switch s.Verb {
	case "send_message":
		list := []verbChange{{"answered", 'a'}, {"waiting", 'a'}, {"assignee", 'a'}, {vocabulary.MessageSent, 'a'}, updated}
		if s.To != "" {
			list = append(list, verbChange{"status", 'w'}, verbChange{vocabulary.AttendanceOpened, 'a'})
		}
		return list
	case "open_conversation":
		return []verbChange{{"status", 'w'}, {vocabulary.AttendanceOpened, 'a'}, updated}
	case "transfer":
		return []verbChange{{"sector", 'w'}, {"assignee", 'w'}, updated}
	case "set_sector":
		return []verbChange{{"sector", 'w'}, updated}
	case "add_labels", "remove_labels", "set_labels":
		return []verbChange{{"labels", 'w'}, updated}
	case "update_conversation":
		return []verbChange{{"look", 'w'}, updated}
	case "mark_read": // it calls where something is unread
		return []verbChange{{"unread", 'r'}, {"unread", 'w'}, updated}
	case "close_attendance": // it closes the one that was open when the rule decided
		return []verbChange{{"status", 'r'}, {"status", 'w'}, {"answered", 'a'}, {"waiting", 'a'}, {vocabulary.AttendanceClosed, 'a'}, updated}
	case "find_card":
		return []verbChange{{"cards", 'r'}}
	case "create_card":
		return []verbChange{{"cards", 'a'}, {vocabulary.CardCreated, 'a'}, {vocabulary.CardCompleted, 'a'}}
	case "move_card":
		return []verbChange{{"cards", 'w'}, {vocabulary.CardMoved, 'a'}, {vocabulary.CardCompleted, 'a'}}
	case "update_card":
		return []verbChange{{"cards", 'w'}}
	}
	return nil
}

// emitted lists the events that the steps of rules may raise.
func emitted(rules []Rule) (out []string) {
	everyStep(rules, func(s *Step) {
		for _, t := range touched(s) {
			if strings.Contains(t.what, ".") {
				out = union(out, []string{t.what})
			}
		}
	})
	return out
}
