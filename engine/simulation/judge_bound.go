package simulation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// A message is an automatic one, as a safety bound counts it.
type message struct {
	*Effect
	call int // the number of the call that sent it: it was counted when that began
}

// overBound finds more automatic messages than the safety bounds allow.
func overBound(s *Scenario, o *Outcome) (broken []string) {
	allowed := slack
	for _, t := range s.Troubles {
		switch t.Kind {
		case TroubleCrash, TroubleTick: // a message that was counted before a crash leaves after it
			allowed += time.Duration(max(1, t.More)) * t.For
		case TroubleJump: // an engine counts by its own clock
			allowed += max(t.For, -t.For)
		}
	}
	look := func(b Bound, who func(*Effect) string) {
		if b.Times == 0 {
			return
		}
		sent := map[string][]message{}
		for i := range o.Effects {
			if e := &o.Effects[i]; e.Verb == "send_message" {
				call := slices.IndexFunc(o.Calls, func(c Call) bool { return c.Step == e.Step && strings.HasSuffix(c.Path, "/messages") })
				sent[who(e)] = append(sent[who(e)], message{e, call})
			}
		}
		for _, name := range keysOf(sent) {
			list, anew := sent[name], countedAnew(o, b, name, sent[name])
			for i := 0; i+b.Times < len(list); i++ {
				from, to := list[i], list[i+b.Times]
				resumed := slices.ContainsFunc(anew, func(calls int) bool { return from.call < calls && to.call >= calls })
				if to.At.Sub(from.At) < b.Per-allowed && !resumed {
					broken = append(broken, fmt.Sprintf("more than %d messages in %s to %q, from %s on", b.Times, b.Per, name, clock(from.At)))
					break
				}
			}
		}
	}
	look(s.Safety.PerConversation, func(e *Effect) string { return e.Customer })
	look(s.Safety.Messages, func(*Effect) string { return "" })
	return broken
}

// countedAnew returns after how many calls a bound was reset, because a person resumed a rule that
// it had stopped. The engine reported the reset, and rightly: since the last reset the bound had
// been filled, also by that rule.
func countedAnew(o *Outcome, b Bound, name string, list []message) (anew []int) {
	since := 0
	for _, stop := range o.Stops {
		if !slices.Contains(stop.Bounds, name) {
			continue
		}
		var before []message
		for _, m := range list {
			if m.call >= since && m.call < stop.CallsEnd {
				before = append(before, m)
			}
		}
		for i := 0; i+b.Times <= len(before); i++ {
			full := before[i : i+b.Times]
			if full[b.Times-1].At.Sub(full[0].At) < b.Per+slack && slices.ContainsFunc(full, func(m message) bool { return m.rule() == stop.Rule }) {
				anew, since = append(anew, stop.CallsEnd), stop.CallsEnd
				break
			}
		}
	}
	return anew
}

// overLimit finds more runs of a rule in a window than its limit allows. A run counts from when the
// engine heard of its event: it may be queued for hours, and a limit counts it all the same.
func overLimit(s *Scenario, o *Outcome) (broken []string) {
	if len(o.Stops) > 0 || s.away() > slack/2 {
		return nil // effects do not show when runs began
	}
	heard := map[string]time.Time{}
	for _, e := range o.Events {
		if !e.Heard.IsZero() {
			heard[e.ID] = e.Heard
		}
	}
	for _, r := range s.steady() {
		if r.Limit == nil || r.Limit.By != "" || r.By != "" || r.Limit.Per <= slack || r.When.Each != "" || len(r.When.Events) == 0 {
			continue
		}
		by := map[string][]time.Time{}
		for _, e := range firstEffects(r, o) {
			at := e.At
			if heard, ok := heard[e.Event]; ok {
				at = heard
			}
			by[e.Customer] = append(by[e.Customer], at)
		}
		for customer, times := range by {
			slices.SortFunc(times, time.Time.Compare)
			for i := 0; i+r.Limit.Times < len(times); i++ {
				if times[i+r.Limit.Times].Sub(times[i]) < r.Limit.Per-slack {
					broken = append(broken, fmt.Sprintf("%s began more than %d times in %s for %s, from %s on", r.ID, r.Limit.Times, r.Limit.Per, customer, clock(times[i])))
				}
			}
		}
	}
	return broken
}
