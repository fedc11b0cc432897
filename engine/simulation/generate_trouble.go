package simulation

import (
	"slices"
	"time"
)

// troubles generates what goes wrong.
func (g *generator) troubles() {
	if !g.s.Exact {
		g.wildTroubles()
		return
	}
	for range g.few(0, 3) {
		g.s.Troubles = append(g.s.Troubles, g.harmless())
	}
	g.copies()
	g.edits()
	if !delayable(g.s) {
		return
	}
	for range g.few(1, 3) {
		g.s.Troubles = append(g.s.Troubles, g.delay())
	}
	if g.chance(12) {
		g.share(2)
	}
	if g.chance(8) {
		g.refusals()
	}
}

// refusals leaves nothing that goes wrong but a service that asks for pauses, on a desk whose
// messages are given up at the first failure: a pause that was asked for is none.
func (g *generator) refusals() {
	g.s.Troubles = nil
	for range g.between(2, 3) {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: Trouble429, N: g.nth(g.calls()), More: 1})
	}
	for _, rules := range [][]Rule{g.s.Rules, g.s.Other} {
		everyStep(rules, func(s *Step) {
			if s.Verb == "send_message" {
				s.Retry = 1
			}
		})
	}
}

// nth is an index up to a maximum: mostly an early one.
func (g *generator) nth(most int) int {
	most = max(2, most)
	for g.chance(40) && most > 4 {
		most /= 3
	}
	return 1 + g.rand.IntN(most)
}

// deliveries, calls and points estimate how many of each a story has at most.
func (g *generator) deliveries() int { return 4 * len(g.s.Story) }
func (g *generator) calls() int      { return 2 * len(g.s.Story) }
func (g *generator) points() int     { return 12 * len(g.s.Story) }

// still is a moment of an exact scenario at which nothing happens: mostly one soon behind an act,
// when runs wait.
func (g *generator) still() time.Duration {
	if len(g.s.Story) > 0 && g.chance(60) {
		return pick(g, g.s.Story...).At/mark*mark + restPhase
	}
	return time.Duration(g.rand.IntN(int(g.s.Length/mark)))*mark + restPhase
}

// harmless is something that goes wrong without a delay.
func (g *generator) harmless() Trouble {
	switch g.rand.IntN(10) {
	case 0:
		return Trouble{Kind: TroublePrune, At: g.still(), For: g.retention()}
	case 1:
		return Trouble{Kind: TroubleCopy, At: g.still()}
	case 2, 3:
		return Trouble{Kind: TroubleDown, At: g.still(), For: time.Duration(g.between(1, 20)) * time.Second}
	case 4, 5, 6:
		return Trouble{Kind: TroubleRefused, N: g.nth(g.deliveries()), For: time.Duration(g.between(1, 40)) * time.Second}
	}
	return Trouble{Kind: TroubleTwice, N: g.nth(g.deliveries()), For: time.Duration(g.few(0, 40)) * time.Second}
}

// retention is how long records are kept: what unfinished runs need stays, but what rules count
// must be there.
func (g *generator) retention() time.Duration {
	counts := false
	for _, list := range [][]Rule{g.s.Rules, g.s.Other} {
		everyCond(list, func(c *Cond) { counts = counts || c.Kind == CondCount })
	}
	if counts {
		return g.s.Length + 24*time.Hour
	}
	return pick(g, time.Minute, time.Hour)
}

// delay is something that takes seconds.
func (g *generator) delay() Trouble {
	seconds := time.Duration(g.between(1, 5)) * time.Second
	if slices.ContainsFunc(g.s.Rules, func(r Rule) bool { return r.When.Every > 0 || r.When.At != "" }) && g.chance(40) {
		return Trouble{Kind: TroubleTick, N: g.nth(40), For: seconds}
	}
	switch n := g.rand.IntN(100); {
	case n < 45:
		return Trouble{Kind: TroubleCrash, N: g.nth(g.points()), For: seconds}
	case n < 55:
		return Trouble{Kind: TroubleSlow, N: g.nth(g.calls()), For: seconds}
	case n < 62:
		return Trouble{Kind: TroubleRead, N: g.nth(2 * g.calls()), More: g.between(1, 2)}
	case n < 70:
		return Trouble{Kind: Trouble429, N: g.nth(g.calls()), More: 1}
	}
	return Trouble{Kind: pick(g, Trouble503Before, Trouble503After, TroubleCutBefore, TroubleCutAfter), N: g.nth(g.calls()), More: g.between(1, 2)}
}

// share adds engines, and lets one overtake another. Rules transfer there, because the service does
// that each time that it is asked to.
func (g *generator) share(engines int) {
	for i := range g.s.Rules {
		if r := &g.s.Rules[i]; !g.s.Exact && len(r.When.Events) > 0 && g.chance(70) {
			r.begin(Step{Verb: "transfer", Text: pick(g, g.words...), Sector: pick(g, Sectors...), Continue: true})
		}
	}
	g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleEngines, More: engines})
	for range g.few(2, 8) {
		if g.chance(30) {
			g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleSwitch, N: g.nth(g.points())})
		} else {
			g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleEarly, N: g.nth(g.calls()), More: g.between(0, 8)})
		}
	}
}

// wildTroubles are of any kind and amount.
func (g *generator) wildTroubles() {
	if g.chance(25) {
		g.share(g.between(2, 3))
	} else if g.chance(10) {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleSwitch, N: g.nth(g.points())})
	}
	for range g.few(1, 6) {
		g.s.Troubles = append(g.s.Troubles, g.wild())
	}
	if g.chance(15) {
		g.uncertain(g.nth(g.calls()))
	}
	g.copies()
	g.edits()
	moves := false
	everyStep(g.s.Rules, func(s *Step) { moves = moves || s.Verb == "move_card" })
	if moves && g.chance(30) {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleOvertake, N: g.nth(3)})
	}
	if g.chance(12) {
		for range g.few(2, 6) {
			g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleStop, N: g.nth(g.points()), For: 5 * time.Second})
		}
	}
	for _, r := range g.s.Rules {
		if r.When.Every > 0 && g.chance(50) { // it decides on a tick when the next one is due, or long after it
			g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleTick, N: g.nth(40), For: pick(g, 3*time.Minute, r.When.Every, 2*r.When.Every) + 10*time.Second})
		}
	}
	if g.s.Other != nil && g.chance(60) {
		for range g.few(2, 8) {
			g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleReload, N: g.nth(g.points())})
		}
	}
	slices.SortStableFunc(g.s.Troubles, func(a, b Trouble) int { return int(a.At - b.At) })
}

// uncertain makes a call fail before its effect, perhaps several times, and after it when it is
// retried.
func (g *generator) uncertain(n int) {
	times := g.few(1, 7)
	g.s.Troubles = append(g.s.Troubles, Trouble{Kind: pick(g, Trouble503Before, TroubleCutBefore), N: n, More: times})
	switch after := pick(g, Trouble503After, TroubleCutAfter, TroubleSlow); after {
	case TroubleSlow:
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: after, N: n + times, For: time.Duration(g.between(1, 9)) * time.Second})
	default:
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: after, N: n + times})
	}
}

// edits has the team edit cards right before rules change them.
func (g *generator) edits() {
	changed := false
	everyStep(g.s.Rules, func(s *Step) { changed = changed || s.Verb == "move_card" || s.Verb == "update_card" })
	if changed && g.chance(25) {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleEdit, N: g.nth(4), More: g.few(1, 3)})
	}
}

// copies copies the journal where a copy has something to lose: during a hold, and while a limit or
// a safety bound counts.
func (g *generator) copies() {
	for _, a := range g.s.Story {
		if a.Kind == ActPauses && g.chance(40) {
			g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleCopy, At: a.At - stopPhase + restPhase})
		}
	}
	limited := slices.ContainsFunc(g.s.Rules, func(r Rule) bool { return r.Limit != nil })
	if (limited || g.s.Safety != Safety{}) && g.chance(30) {
		g.s.Troubles = append(g.s.Troubles, Trouble{Kind: TroubleCopy, At: g.still()})
	}
}

func (g *generator) wild() Trouble {
	at := time.Duration(g.rand.Int64N(int64(g.s.Length/time.Second))) * time.Second
	if g.chance(50) {
		at = pick(g, g.s.Story...).At + time.Duration(g.between(-1, 2))*time.Second
	}
	at = max(at, 0)
	long := pick(g, 0, time.Second, 5*time.Second, 40*time.Second, 3*time.Minute, 20*time.Minute, 2*time.Hour)
	switch n := g.rand.IntN(110); {
	case n >= 100:
		return Trouble{Kind: TroubleStop, N: g.nth(g.points()), For: min(max(long, 5*time.Second), 20*time.Minute), More: g.rand.IntN(1 + len(g.s.Rules))}
	case n < 28:
		return Trouble{Kind: TroubleCrash, N: g.nth(g.points()), For: min(long, 20*time.Minute), More: g.few(1, 9)}
	case n < 34:
		return Trouble{Kind: TroubleTwice, N: g.nth(g.deliveries()), For: min(long, 4*time.Minute)}
	case n < 44:
		return Trouble{Kind: TroubleLate, N: g.nth(g.deliveries()), For: max(long, time.Second)}
	case n < 50:
		return Trouble{Kind: TroubleLost, N: g.nth(g.deliveries()), More: g.few(1, 5)}
	case n < 55:
		return Trouble{Kind: TroubleRefused, N: g.nth(g.deliveries()), For: min(max(long, time.Second), 4*time.Minute)}
	case n < 73:
		return Trouble{Kind: pick(g, Trouble429, Trouble503Before, Trouble503After, TroubleCutBefore, TroubleCutAfter), N: g.nth(g.calls()), More: g.few(1, 8)}
	case n < 78:
		return Trouble{Kind: TroubleSlow, N: g.nth(g.calls()), For: max(long, time.Second)}
	case n < 82:
		return Trouble{Kind: TroubleRead, N: g.nth(2 * g.calls()), More: g.few(1, 5)}
	case n < 87:
		jump := max(long, time.Second)
		if g.chance(40) {
			jump = -jump
		}
		return Trouble{Kind: TroubleJump, At: at, For: jump}
	case n < 90:
		return Trouble{Kind: TroublePrune, At: at, For: pick(g, time.Hour, 6*time.Hour, 100*time.Hour)}
	case n < 94:
		return Trouble{Kind: TroubleCopy, At: at}
	}
	return Trouble{Kind: TroubleDown, At: at, For: min(max(long, time.Second), time.Hour)}
}
