package simulation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// The judges check what the service saw, against the rules of the scenario. They share no code with
// the engine.

// Ledger returns which laws of every desk were broken, whatever went wrong on it.
func Ledger(s *Scenario, o *Outcome) (broken []string) {
	if o.Failure != "" {
		broken = append(broken, "rest: "+o.Failure)
	}
	for _, law := range []struct {
		name string
		look func(*Scenario, *Outcome) []string
	}{
		{"once", twice}, {"once", calledAgain}, {"once", toldAgain}, {"once", tooSoon}, {"stopped", whileStopped}, {"order", outOfOrder}, {"limit", overLimit}, {"bound", overBound}, {"cancel_on", pastTheEnd}, {"lost", neverDone}, {"decided", neverDecided},
		{"heard", neverHeard}, {"recorded", neverRecorded}, {"own", ofItself}, {"late", pastItsTime}, {"overtaken", overtaken}, {"overtaken", movedAgain}, {"key", keyAgain},
	} {
		for _, what := range law.look(s, o) {
			broken = append(broken, law.name+": "+what)
		}
	}
	return broken
}

// steady returns the rules of the scenario by id, where an id means the same all the time.
func (s *Scenario) steady() map[string]*Rule {
	out := map[string]*Rule{}
	if s.Other != nil {
		return out
	}
	for i := range s.Rules {
		out[s.Rules[i].ID] = &s.Rules[i]
	}
	return out
}

func (e *Effect) rule() string { return ruleOfStep(e.Step) }

// onceVerbs are the verbs whose effect must come once for each step.
var onceVerbs = []string{"send_message", "create_card", "transfer", "close_attendance", "open_conversation"}

// twice finds what was done twice: by the step that called, and by what was written.
func twice(_ *Scenario, o *Outcome) (broken []string) {
	type effect struct{ key, verb, detail string }
	seen := map[effect]time.Time{}
	for _, e := range o.Effects {
		if !slices.Contains(onceVerbs, e.Verb) {
			continue
		}
		d := effect{e.Step, e.Verb, e.Detail}
		if before, again := seen[d]; again {
			broken = append(broken, fmt.Sprintf("%s %q of %s to %s at %s, and at %s", e.Verb, e.Detail, e.Step, e.Customer, clock(before), clock(e.At)))
		}
		seen[d] = e.At
	}
	return broken
}

// calledAgain finds calls that were made long after the same call of the same step had come. A try
// whose caller is not told so is repeated, after a pause that grows.
func calledAgain(s *Scenario, o *Outcome) (broken []string) {
	if len(o.Stops) > 0 {
		return nil // its result may be settled when it resumes
	}
	type call struct{ step, method, path string }
	last := map[call]time.Time{} // when each came first, or was tried after that in vain
	for _, c := range o.Calls {
		if c.Step == "" {
			continue
		}
		d := call{c.Step, c.Method, c.Path}
		before, again := last[d]
		if again && c.At.Sub(before) > slack+s.away() {
			broken = append(broken, fmt.Sprintf("%s %s of %s had come at %s, and was called at %s", c.Method, c.Path, c.Step, clock(before), clock(c.At)))
		}
		if again && !c.Told || !again && c.Came {
			last[d] = c.At
		}
	}
	return broken
}

// toldAgain finds effects on a delivered event that a backfill had found before.
func toldAgain(_ *Scenario, o *Outcome) (broken []string) {
	found := map[string]*Event{}
	for i := range o.Events {
		if o.Events[i].Found {
			found[o.Events[i].ID] = &o.Events[i]
		}
	}
	for i := range o.Effects {
		if e := &o.Effects[i]; found[e.Event] != nil {
			broken = append(broken, fmt.Sprintf("%s %q to %s at %s, about %s that was found at %s", e.Verb, e.Detail, e.Customer, clock(e.At), found[e.Event].Type, clock(found[e.Event].Heard)))
		}
	}
	return broken
}

func clock(t time.Time) string { return t.UTC().Format("02 15:04:05.000") }

// whileStopped finds calls that began after a person's hold was confirmed.
func whileStopped(_ *Scenario, o *Outcome) (broken []string) {
	for _, stop := range o.Stops {
		allowed := slices.Clone(stop.UnderWay)
		to := stop.CallsEnd
		if to < 0 {
			to = len(o.Calls)
		}
		for _, c := range o.Calls[stop.Calls:to] {
			if stop.Rule != "" && ruleOfStep(c.Step) != stop.Rule {
				continue
			}
			if i := slices.Index(allowed, c.Step); i >= 0 {
				allowed = slices.Delete(allowed, i, i+1)
				continue
			}
			broken = append(broken, fmt.Sprintf("%s %s of %s at %s, though %q was stopped at %s", c.Method, c.Path, c.Step, clock(c.At), stop.Rule, clock(stop.From)))
		}
	}
	return broken
}

// outOfOrder finds runs whose steps had their effects in another order than they stand in.
func outOfOrder(s *Scenario, o *Outcome) (broken []string) {
	looped := map[string]bool{}
	for _, list := range [][]Rule{s.Rules, s.Other} {
		for _, r := range list {
			walkSteps(append(slices.Clone(r.Do), r.OnError...), func(st *Step) {
				if st.Verb == "for_each" {
					looped[r.ID] = true
				}
			})
		}
	}
	last := map[string]int{}
	for _, e := range o.Effects {
		name, _, ok := strings.Cut(e.Detail, " ")
		rule, step, marked := strings.Cut(name, "/s")
		var n int
		if _, err := fmt.Sscanf(step, "%d", &n); !ok || !marked || err != nil || looped[rule] {
			continue
		}
		run := runOfStep(e.Step)
		if n < last[run] {
			broken = append(broken, fmt.Sprintf("%s of %s came at %s, after step s%d", name, e.Step, clock(e.At), last[run]))
		}
		last[run] = n
	}
	return broken
}

// runOfStep returns the run of a step's key.
func runOfStep(key string) string {
	if i := strings.LastIndex(key, "/"); i >= 0 {
		return key[:i]
	}
	return key
}

// walkSteps goes through steps and those inside of them.
func walkSteps(steps []Step, do func(*Step)) {
	for i := range steps {
		do(&steps[i])
		walkSteps(steps[i].Do, do)
		for _, b := range steps[i].Branches {
			walkSteps(b.Do, do)
		}
	}
}

// slack is how far an effect may be from what it follows from: calls are repeated, engines are
// away.
const slack = 15 * time.Minute

// firstEffects returns when each run of a rule had the effect of its first step, where that always
// has one.
func firstEffects(r *Rule, o *Outcome) (list []Effect) {
	if len(r.Do) == 0 || r.Do[0].Verb != "send_message" || r.Do[0].If != nil || r.Do[0].To != "" {
		return nil
	}
	for _, e := range o.Effects {
		if e.Verb == "send_message" && strings.HasPrefix(e.Detail, r.ID+"/"+r.Do[0].Name+" ") {
			list = append(list, e)
		}
	}
	return list
}

// away is how long the engine is away at most, or the service does not answer.
func (s *Scenario) away() (d time.Duration) {
	for _, t := range s.Troubles {
		switch t.Kind {
		case TroubleDown, TroubleLate, TroubleRefused, TroubleJump:
			d += max(t.For, -t.For)
		case TroubleCrash, TroubleTick:
			d += time.Duration(max(1, t.More)) * t.For
		case TroubleLost:
			d += time.Hour
		}
	}
	return d
}

// pastTheEnd finds effects of runs that an event had ended.
func pastTheEnd(s *Scenario, o *Outcome) (broken []string) {
	events := map[string]*Event{}
	for i := range o.Events {
		events[o.Events[i].ID] = &o.Events[i]
	}
	const soon = 15 * time.Second
	for i := range o.Effects {
		e := &o.Effects[i]
		r, began := s.steady()[e.rule()], events[e.Event]
		if r == nil || began == nil || len(r.CancelOn) == 0 {
			continue
		}
		for j := range o.Events {
			c := &o.Events[j]
			ends := slices.ContainsFunc(r.CancelOn, func(m Match) bool { return m.Event == c.Type && m.If == nil })
			if ends && c.Customer == began.Customer && !strings.HasPrefix(c.Type, "kanban.") && c.At.After(began.At) && !c.Heard.IsZero() && c.Heard.Add(soon).Before(e.At) &&
				began.Heard.Before(c.Heard) && ruleOfStep(c.Cause) == "" && !underWayAt(o, e, c.Heard) {
				broken = append(broken, fmt.Sprintf("%s %q to %s at %s, though %s at %s ended its run", e.Verb, e.Detail, e.Customer, clock(e.At), c.Type, clock(c.Heard)))
				break
			}
		}
	}
	return broken
}

// underWayAt reports whether the step of an effect had begun to call before a time: a hold lets it
// finish.
func underWayAt(o *Outcome, e *Effect, at time.Time) bool {
	return slices.ContainsFunc(o.Calls, func(c Call) bool { return c.Step == e.Step && !c.At.After(at) })
}

// neverDone finds events that an unconditional rule must have answered, and did not.
func neverDone(s *Scenario, o *Outcome) (broken []string) {
	if len(o.Stops) > 0 || s.Safety != (Safety{}) || o.Failure != "" || s.away() > slack {
		return nil
	}
	end := s.Start.Add(s.Length)
	claimable := s.claimable()
	for _, r := range s.steady() {
		plain := r.Stage == "" && r.Sample == 0 && r.Split == "" && len(r.When.Events) > 0 && r.Gather == nil && len(r.If) == 0 && r.By == "" && r.Limit == nil && r.Max == 0 && len(r.CancelOn) == 0 &&
			(r.Mode == "" || r.Mode == "queued" || r.Mode == "parallel") && r.Late.SkipAfter <= 0
		waits := false
		walkSteps(r.Do, func(st *Step) { waits = waits || st.Verb == "wait" || st.Verb == "wait_for" })
		if !plain || waits && r.Mode != "parallel" || len(r.Do) == 0 || r.Do[0].Verb != "send_message" || r.Do[0].If != nil || r.Do[0].To != "" || r.Do[0].Retry > 0 {
			continue
		}
		effects := firstEffects(r, o)
		for i := range o.Events {
			e := &o.Events[i]
			if slices.Contains(r.When.Events, e.Type) && (r.Claimed || !slices.Contains(claimable, e.Type)) && e.Cause == "" && !e.Heard.IsZero() && e.Heard.Sub(e.At) < 25*time.Minute && e.At.Add(slack+s.away()).Before(end) && e.Customer != "" &&
				!slices.ContainsFunc(effects, func(f Effect) bool { return e.isCalled(f.Event) }) {
				broken = append(broken, fmt.Sprintf("%s of %s at %s, heard at %s: %s did nothing about it", e.Type, e.Customer, clock(e.At), clock(e.Heard), r.ID))
			}
		}
	}
	return broken
}

// claimable returns the types of the events that a wait_for may claim.
func (s *Scenario) claimable() (types []string) {
	everyStep(s.Rules, func(st *Step) {
		if st.Claims {
			types = union(types, st.Events)
		}
	})
	if slices.Contains(types, "message.received") {
		types = union(types, []string{"attendance.opened", "conversation.updated", "kanban.card.created"})
	}
	return types
}

// neverDecided finds events without a verdict, and runs that no engine continues, long after their
// time.
func neverDecided(s *Scenario, o *Outcome) (broken []string) {
	if len(o.Stops) > 0 || o.Failure != "" || s.away() > slack {
		return nil
	}
	due := s.Start.Add(s.Length - slack - s.away())
	for line := range strings.Lines(o.Journal) {
		var r struct {
			Event, Run, State string
			Decided           bool
			Heard, Wakes      time.Time
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return []string{err.Error()}
		}
		switch {
		case r.Event != "" && !r.Decided && r.Heard.Before(due):
			broken = append(broken, fmt.Sprintf("the event %s was heard at %s and never decided on", r.Event, clock(r.Heard)))
		case r.Run != "" && (r.State == "running" || r.State == "waiting") && !r.Wakes.IsZero() && r.Wakes.Before(due):
			broken = append(broken, fmt.Sprintf("the run %s was due at %s and nobody went on with it", r.Run, clock(r.Wakes)))
		}
	}
	return broken
}

// neverHeard finds events that a rule listens to and no engine recorded, although they were
// redelivered, or could be found.
func neverHeard(s *Scenario, o *Outcome) (broken []string) {
	if o.Failure != "" || slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroubleJump }) {
		return nil // the backfill continues from its position by its clock
	}
	asked := map[string]bool{}
	for _, r := range s.steady() {
		if r.Stage == "draft" {
			continue
		}
		for _, typ := range r.When.Events {
			asked[typ] = true
		}
		for _, m := range r.CancelOn {
			asked[m.Event] = true
		}
		walkSteps(r.Do, func(st *Step) {
			for _, typ := range st.Events {
				asked[typ] = true
			}
		})
	}
	recorded, err := o.recorded()
	if err != nil {
		return []string{err.Error()}
	}
	due := s.Start.Add(s.Length - time.Hour - s.away())
	for i := range o.Events {
		e := &o.Events[i]
		findable := strings.HasPrefix(e.Type, "message.") || strings.HasPrefix(e.Type, "attendance.") || e.Type == "kanban.card.created"
		if findable && asked[e.Type] && e.Heard.IsZero() && !recorded[e.ID] && e.At.Before(due) {
			broken = append(broken, fmt.Sprintf("%s of %s at %s was never heard of", e.Type, e.Customer, clock(e.At)))
		}
	}
	return broken
}

// recorded are the ids of the events in the journal.
func (o *Outcome) recorded() (map[string]bool, error) {
	ids := map[string]bool{}
	for line := range strings.Lines(o.Journal) {
		var r struct{ Event string }
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return nil, err
		}
		ids[r.Event] = true
	}
	return ids, nil
}

// neverRecorded finds events that were acknowledged and are not in the journal.
func neverRecorded(s *Scenario, o *Outcome) (broken []string) {
	if o.Failure != "" || slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroublePrune }) {
		return nil
	}
	recorded, err := o.recorded()
	if err != nil {
		return []string{err.Error()}
	}
	for i := range o.Events {
		if e := &o.Events[i]; !e.Heard.IsZero() && !e.Found && !recorded[e.ID] {
			broken = append(broken, fmt.Sprintf("%s %s of %s was acknowledged at %s and is not in the journal", e.Type, e.ID, e.Customer, clock(e.Heard)))
		}
	}
	return broken
}

// ofItself finds effects of rules on what a rule did, where they are about what others do, and of
// any rule on what it did itself.
func ofItself(s *Scenario, o *Outcome) (broken []string) {
	if slices.ContainsFunc(s.Troubles, func(t Trouble) bool { return t.Kind == TroubleJump }) {
		return nil // own effects are recognized by their time
	}
	caused := map[string]*Event{}
	for i := range o.Events {
		if e := &o.Events[i]; e.Cause != "" && e.Type != "conversation.updated" {
			caused[e.ID] = e
		}
	}
	for i := range o.Effects {
		e := &o.Effects[i]
		r, of := s.steady()[e.rule()], caused[e.Event]
		if of != nil && (r != nil && !r.FromAny || ruleOfStep(of.Cause) == e.rule()) {
			broken = append(broken, fmt.Sprintf("%s %q to %s at %s, about %s that %s did", e.Verb, e.Detail, e.Customer, clock(e.At), of.Type, of.Cause))
		}
	}
	return broken
}

// Same returns how the effects of a scenario with troubles differ from those of the same scenario
// undisturbed: by customer and rule, in order. Concurrent runs of a rule have no order among them,
// nor have those of a burst, in which a delivery that is repeated comes behind the next one; the
// effects of each have. With troubles it is played longer: an effect may come later then, and one
// that was due behind the end may come too.
func Same(s *Scenario, calm, played *Outcome) (differences []string) {
	bursts, _ := gathering(s)
	unordered := func(rule string) bool {
		is := func(r Rule) bool { return r.ID == rule && r.Mode == "parallel" }
		return bursts || slices.ContainsFunc(s.Rules, is) || slices.ContainsFunc(s.Other, is)
	}
	end := s.Start.Add(s.Length)
	group := func(o *Outcome, until time.Time) map[string][]string {
		out := map[string][]string{}
		runs := map[string]int{} // where in the list of its rule a run is
		for i := range o.Effects {
			e := &o.Effects[i]
			if e.At.After(until) {
				continue
			}
			key, what := e.Customer+" by "+e.rule(), e.Verb+" "+e.Detail
			run := e.Customer + " " + runOfStep(e.Step)
			n, begun := runs[run]
			if begun && unordered(e.rule()) {
				out[key][n] += ", " + what
				continue
			}
			runs[run] = len(out[key])
			out[key] = append(out[key], what)
		}
		for key := range out {
			if _, rule, _ := strings.Cut(key, " by "); unordered(rule) {
				slices.Sort(out[key])
			}
		}
		return out
	}
	want, got, inTime := group(calm, end), group(played, end.Add(afterEnd)), group(played, end)
	for _, key := range keysOf(want, got) {
		if !slices.Equal(want[key], got[key]) && !slices.Equal(want[key], inTime[key]) {
			differences = append(differences, fmt.Sprintf("exact: to %s: undisturbed %q, disturbed %q", key, want[key], got[key]))
		}
	}
	return differences
}

func keysOf[V any](maps ...map[string]V) (keys []string) {
	for _, m := range maps {
		for k := range m {
			if !slices.Contains(keys, k) {
				keys = append(keys, k)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// AsExpected returns how the effects on an undisturbed desk differ from what the reference says: by
// customer, in their order, to the second.
func AsExpected(s *Scenario, calm *Outcome) (differences []string) {
	if calm.Failure != "" {
		return []string{"rest: " + calm.Failure}
	}
	group := func(list []Effect) map[string][]string {
		out := map[string][]string{}
		for _, e := range list {
			out[e.Customer] = append(out[e.Customer], fmt.Sprintf("%s %s %s", e.At.UTC().Format("02 15:04:05"), e.Verb, e.Detail))
		}
		return out
	}
	want, got := group(Expect(s, &calm.History)), group(calm.Effects)
	for _, key := range keysOf(want, got) {
		if !slices.Equal(want[key], got[key]) {
			differences = append(differences, fmt.Sprintf("reference: to %s: expected %q, done %q", key, want[key], got[key]))
		}
	}
	return differences
}
