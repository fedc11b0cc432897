package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// openTalk returns the conversation with a customer, and opens it if there is none. An unknown name
// is the run's own customer.
func (r *oracleRun) openTalk(customer string) (*talkState, flow) {
	if customer == Nobody { // what is no number is refused
		if f := r.call("phone:999", func() bool { return false }, func() {}); f != onward {
			return nil, f
		}
		return nil, wrong
	}
	if !slices.Contains(r.scenario.Customers, customer) {
		customer = r.trigger.Customer
	}
	if customer == "" {
		return nil, wrong
	}
	phone := fmt.Sprintf("phone:000000%02d", slices.Index(r.scenario.Customers, customer))
	f := r.call(phone, func() bool { return r.talks[customer] != nil }, func() {
		r.effect(customer, "open_conversation", "", false)
		made := r.toldBy("attendance.opened", customer)
		if made == nil {
			made = &occurrence{Event: Event{Customer: customer}, talk: &talkState{id: customer, customer: customer}, visit: &visitState{customer, customer, true, r.now, false}}
		}
		r.applyEvent(made)
	})
	return r.talks[customer], f
}

// send sends a message, when that is safe.
func (r *oracleRun) send(s *Step) flow {
	words, ok := r.text(s, s.Text)
	if !ok {
		return wrong
	}
	t := r.talks[r.trigger.Customer]
	if s.To != "" {
		var f flow
		if t, f = r.openTalk(s.To); f != onward {
			return f
		}
	}
	if t == nil {
		return wrong
	}
	lane := laneOf(t.id)
	for safe := false; !safe; {
		if !r.travel(lane) {
			return ended
		}
		now, wake := r.safe(lane)
		if !now && !r.park(wake) {
			return ended
		}
		safe = now
	}
	now := countedUse{r.now, r.rule.ID}
	r.taken[lane], r.taken["messages"] = append(r.taken[lane], now), append(r.taken["messages"], now)
	r.changed()
	r.effect(t.customer, "send_message", words, true)
	t = r.talks[t.customer]
	t.said = append(t.said, said{r.now, "engine", words + " #" + r.trigger.ID})
	if t.customer == r.trigger.Customer {
		r.asked = r.now // a message to another recipient is no question
	}
	return onward
}

// safe reports whether one more message is within the safety bounds, and else when the run retries.
// A bound stops a rule that has sent some of the messages that fill it; another rule waits until
// there is room.
func (r *oracleRun) safe(lane string) (bool, time.Time) {
	one, all := r.scenario.Safety.PerConversation, r.scenario.Safety.Messages
	filled, b := lane, one
	if one.Times == 0 || r.free(lane, one.Times, one.Per) {
		filled, b = "messages", all
		if all.Times == 0 || r.free("messages", all.Times, all.Per) {
			return true, r.now
		}
	}
	list := r.taken[filled]
	if slices.ContainsFunc(list, func(t countedUse) bool { return t.rule == r.rule.ID && t.at.After(r.now.Add(-b.Per)) }) {
		r.bounded[bound{r.rule.ID, filled}] = true
		return false, r.now
	}
	wake := list[len(list)-b.Times].at.Add(b.Per)
	if soon := r.now.Add(time.Second); wake.Before(soon) {
		wake = soon
	}
	return false, wake
}

// talkStep takes a step that works on the conversation.
func (r *oracleRun) talkStep(s *Step) flow {
	now := func() *talkState { return r.talks[r.trigger.Customer] }
	if now() == nil {
		return wrong
	}
	words, ok := r.text(s, s.Text)
	if !ok {
		return wrong
	}
	customer, f := now().customer, r.facts
	change := func(so func() bool, do func()) flow { return r.call(laneOf(now().id), so, do) }
	switch s.Verb {
	case "read_conversation":
		then := *now()
		f.talk, f.talkKnown = &then, true
	case "read_attendance":
		f.visitKnown, f.visit = true, nil
		if v := r.visitAtHand(f); v != nil {
			then := *v
			f.visit, f.visitID = &then, v.id
		}
	case "read_messages":
		list := now().said
		f.read, f.messages = true, list[max(0, len(list)-5):]
	case "mark_read":
		return change(func() bool { return !now().unread }, func() {
			now().unread = false
			r.effect(customer, s.Verb, "", false)
		})
	case "set_sector":
		return change(func() bool { return now().sector == s.Sector }, func() {
			now().sector = s.Sector
			r.effect(customer, s.Verb, s.Sector, false)
		})
	case "transfer": // with a sector alone it is unassigned
		there := func() bool {
			return (s.Person == "" || now().assignee == s.Person) && (s.Sector == "" || now().sector == s.Sector)
		}
		return change(there, func() {
			now().assignee = s.Person
			if s.Sector != "" {
				now().sector = s.Sector
			}
			r.effect(customer, s.Verb, words+": "+join(s.Person, s.Sector), true)
		})
	case "close_attendance": // that which the run is about, and no newer one
		closed := func() bool { v := r.visitOf(now().id); return v == nil || f.visitID != "" && f.visitID != v.id }
		return change(closed, func() {
			r.visitOf(now().id).open = false
			r.effect(customer, s.Verb, words, true)
		})
	case "update_conversation":
		named := func() bool { return s.Name2 == "" || now().name == s.Name2 }
		return change(func() bool { return named() && now().pinned == s.Flag }, func() {
			name, pinned := "<nil>", "<nil>" // what need not be set is not
			if !named() {
				now().name, name = s.Name2, s.Name2
			}
			if now().pinned != s.Flag {
				now().pinned, pinned = s.Flag, fmt.Sprint(s.Flag)
			}
			r.effect(customer, s.Verb, name+" "+pinned, false)
		})
	case "add_labels", "remove_labels", "set_labels":
		added := func() []string { return without(s.Labels, now().labels) }
		gone := func() []string { return without(now().labels, s.Labels) }
		switch s.Verb {
		case "add_labels":
			gone = func() []string { return nil }
		case "remove_labels":
			added, gone = func() []string { return nil }, func() []string { return without(now().labels, without(now().labels, s.Labels)) }
		}
		return change(func() bool { return len(added())+len(gone()) == 0 }, func() {
			plus, minus := added(), gone()
			now().labels = append(without(now().labels, minus), plus...)
			switch {
			case len(minus) == 0:
				r.effect(customer, "add_labels", join(plus...), false)
			case len(plus) == 0:
				r.effect(customer, "remove_labels", join(minus...), false)
			default:
				r.effect(customer, "set_labels", join(plus...)+" instead of "+join(minus...), false)
			}
		})
	}
	return onward
}

// without returns what is in a list and not in another, sorted, each once.
func without(list, other []string) (out []string) {
	for _, s := range list {
		if !slices.Contains(other, s) && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	slices.Sort(out)
	return out
}

func join(names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(s string) bool { return s == "" }), ",")
}

// cardStep takes a step that works on a card. A card that was found or made is the one at hand;
// where none is found, none is.
func (r *oracleRun) cardStep(s *Step) flow {
	f, customer := r.facts, r.trigger.Customer
	at := func(c *cardState) flow {
		then := *c
		f.card, f.cardKnown, f.cardID, f.cardless = &then, true, c.id, false
		return onward
	}
	switch s.Verb {
	case "find_card": // the customer's newest on the board
		if customer == "" {
			return wrong
		}
		f.noCard()
		for _, c := range r.cards {
			if c.board == s.Board && c.customer == customer {
				at(c)
			}
		}
		return onward
	case "create_card":
		words, ok := r.text(s, s.Text)
		if !ok {
			return wrong
		}
		if customer != "" {
			r.talkFact(f) // the card names the conversation
		}
		var made *cardState
		flow := r.call(r.home, func() bool { return false }, func() {
			made = &cardState{id: words, customer: customer, board: s.Board, stage: s.Stage}
			if t := r.talks[customer]; t != nil {
				made.talk = t.id
			}
			if made.stage == "" {
				made.stage = Boards[s.Board][0]
			}
			if e := r.toldBy("kanban.card.created", customer); e != nil {
				made.id = e.card.id
			}
			made.done = made.stage == "Won"
			r.cards = append(r.cards, made)
			r.effect(customer, s.Verb, words+": "+made.stage, true)
			at(made)
		})
		return flow
	}
	i := slices.IndexFunc(r.cards, func(c *cardState) bool { return c.id == f.cardID })
	switch {
	case f.cardless:
		return onward // it is skipped
	case i < 0:
		return wrong
	}
	now, lane := func() *cardState { return r.cards[i] }, laneOf(r.cards[i].talk)
	if now().talk == "" {
		lane = "card:" + now().id
	}
	words, ok := r.text(s, s.Name2)
	if stages := Boards[now().board]; !ok || s.Verb == "move_card" && (!slices.Contains(stages, s.Stage) || s.OnlyFrom != "" && !slices.Contains(stages, s.OnlyFrom)) {
		return wrong // no stage of that name
	}
	var flow flow
	if s.Verb == "move_card" {
		stays := func() bool { return now().stage == s.Stage || s.OnlyFrom != "" && now().stage != s.OnlyFrom }
		flow = r.call(lane, stays, func() {
			r.effect(now().customer, s.Verb, now().stage+" to "+s.Stage, false)
			now().stage, now().done = s.Stage, s.Stage == "Won"
		})
	} else {
		written := words + " #" + r.trigger.ID
		flow = r.call(lane, func() bool { return now().about == written }, func() {
			r.effect(now().customer, s.Verb, words, true)
			now().about = written
		})
	}
	if flow == onward {
		at(now())
	}
	return flow
}
