package simulation

import (
	"hash/fnv"
	"math"
	"slices"
	"strings"
	"time"
)

// ---- Rules: which of them an event starts.

// inUse returns the rules in use, drafts included.
func (o *oracle) inUse() []Rule {
	used, other := o.scenario.Rules, o.scenario.Other
	for _, a := range o.scenario.Story {
		if a.Kind == ActReloads && other != nil && !o.scenario.Start.Add(a.At).After(o.now) {
			used, other = other, used
		}
	}
	return used
}

// rules returns the rules that may start, in the order of their ids.
func (o *oracle) rules() (list []*Rule) {
	used := o.inUse()
	for i := range used {
		if used[i].Stage != "draft" {
			list = append(list, &used[i])
		}
	}
	slices.SortFunc(list, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// decide lets an event end and wake runs, and then all rules decide on it. The new runs take their
// first steps before the next event.
func (o *oracle) decide(e *occurrence) {
	o.order++
	e.order = o.order
	for _, r := range slices.Clone(o.runs) {
		switch {
		case r.state == over || r.home != e.lane || r.began(e) || r.caused(e): // Looked up: a run ignores the events that it causes
		case r.state == queued && r.born == o.turn: // Looked up: it hears that when it begins
		case o.cancels(r, e):
			r.leave(e.lane)
		case r.listens != nil && r.listens.hears(r, e):
			r.hear(e)
		}
	}
	claimed := e.claimed || o.isClaimed(o.causeOf(e))
	var fired []*firedRule
	for _, rule := range o.rules() {
		if e.rule != "" && e.rule != rule.ID || e.rule == "" && !slices.ContainsFunc(rule.When.Events, func(on string) bool { return matches(on, e.Type) }) || claimed && !rule.Claimed || !o.takes(rule, e, o.now.Sub(e.At)) {
			continue
		}
		switch {
		case e.tick && rule.When.Each != "":
			o.expand(rule, e)
		case rule.Gather != nil && e.rule == "":
			o.gather(rule, e)
		default:
			fired = append(fired, o.judge(rule, o.facts(e)))
		}
	}
	o.begin(fired)
}

// causeOf returns the customer's message that caused an event: it opened the attendance, which may
// have a card, or it is what is new in the conversation. Looked up: events do not say that, so it
// is the message closest to the opening, or the newest of the conversation, within five seconds.
func (o *oracle) causeOf(e *occurrence) (cause *occurrence) {
	at, opened := slices.Index(o.told, e), e.visit
	if e.Type == "kanban.card.created" {
		opened = o.visitAtHand(o.facts(e))
	}
	near := func(a, b time.Time) bool { return a.Sub(b).Abs() <= 5*time.Second }
	switch {
	case at < 0 || e.Cause != "":
	case e.Type == "conversation.updated":
		for _, before := range slices.Backward(o.told[:at]) {
			if before.message == nil || before.Customer != e.Customer {
				continue
			}
			if before.Type == "message.received" && near(before.At, e.At) {
				return before
			}
			return nil
		}
	case (e.Type == "attendance.opened" || e.Type == "kanban.card.created") && opened != nil && near(opened.opened, e.At):
		for _, m := range o.told {
			if m.Type == "message.received" && m.Customer == e.Customer && !m.At.After(o.now) && (near(m.At, e.At) || near(m.At, opened.opened)) &&
				(cause == nil || m.At.Sub(opened.opened).Abs() < cause.At.Sub(opened.opened).Abs()) {
				cause = m
			}
		}
	}
	return cause
}

// isClaimed reports whether a wait_for took a message or, where it was not decided yet, will take
// it.
func (o *oracle) isClaimed(message *occurrence) bool {
	if message == nil || message.order > 0 {
		return message != nil && message.claimed
	}
	return slices.ContainsFunc(o.runs, func(r *oracleRun) bool {
		if r.state == over || r.home != message.lane || r.listens == nil || o.cancels(r, message) || !r.listens.hears(r, message) {
			return false
		}
		yes, _ := r.listens.takes(r, message)
		return yes && r.listens.step.Claims
	})
}

// matches reports whether an event's type is what a rule names, which may be a pattern.
func matches(on, typ string) bool {
	prefix, pattern := strings.CutSuffix(on, "*")
	return on == typ || pattern && strings.HasPrefix(typ, prefix)
}

// takes reports whether a rule considers an event of an age at all.
func (o *oracle) takes(rule *Rule, e *occurrence, age time.Duration) bool {
	if o.stopped(rule.ID, e.lane) {
		return false // journal.md: while a single rule is stopped, events do not start it
	}
	// An effect of the engine starts no rule but those with `from: any`, and none in its own chain of
	// causes.
	for cause := e.Cause; cause != ""; {
		parts := strings.SplitN(cause, "/", 4) // workspace, rule, event, path
		if !rule.FromAny || parts[1] == rule.ID {
			return false
		}
		cause = ""
		for i := range o.history.Events {
			if o.history.Events[i].ID == parts[2] {
				cause = o.history.Events[i].Cause
			}
		}
	}
	if e.Type != "schedule" {
		skip := rule.Late.SkipAfter
		if skip == 0 && slices.ContainsFunc(rule.When.Events, func(on string) bool { return strings.HasPrefix(on, "message.") }) {
			skip = 30 * time.Minute
		}
		return skip <= 0 || age <= skip
	}
	listed := map[bool]string{true: "attendances", false: "cards"}[e.visit != nil]
	switch {
	case rule.When.Every == 0 && rule.When.At == "", !e.tick && rule.When.Each != listed:
		return false // the rule was changed, and no longer has this schedule
	case !e.tick || rule.Late.Run == "all":
		return true
	case rule.Late.Run == "none":
		return age <= time.Minute
	}
	return !slices.ContainsFunc(o.lanes[e.lane].all, func(later *occurrence) bool { return later.tick && later.At.After(e.At) })
}

// expand makes an event of each item that a tick finds, in the order of the service's list: the
// newest first.
func (o *oracle) expand(rule *Rule, tick *occurrence) {
	item := func(id, talk string) *occurrence {
		e := *tick
		e.ID, e.tick, e.lane = tick.ID+"/"+id, false, laneOf(talk)
		if t := o.talkOf(talk); t != nil {
			e.Customer = t.customer
		}
		return &e
	}
	for _, v := range slices.Backward(o.visits) {
		if rule.When.Each == "attendances" && v.open {
			e, then := item(v.id, v.talk), *v
			e.visit = &then
			o.addToLane(e)
		}
	}
	for _, c := range slices.Backward(o.cards) {
		if rule.When.Each == "cards" && !c.done && c.board == "Deals" {
			e, then := item(c.id, c.talk), *c
			if e.card = &then; c.talk == "" {
				e.lane = "card:" + c.id
			}
			o.addToLane(e)
		}
	}
}

// An oracleGather is what a rule collects for one run.
type oracleGather struct {
	rule, by, lane string
	events         []*occurrence
	since, until   time.Time
	grew           int // in which turn: it ends in a later one
}

// gather adds an event to the gathered ones. Looked up: without at_most it is ten times quiet,
// the lane is that of the newest event, and it ends in a later turn than that.
func (o *oracle) gather(rule *Rule, e *occurrence) {
	by, ok := o.by(rule.By, o.facts(e))
	if !ok {
		return
	}
	i := slices.IndexFunc(o.gathers, func(g *oracleGather) bool { return g.rule == rule.ID && g.by == by })
	if i < 0 {
		i = len(o.gathers)
		o.gathers = append(o.gathers, &oracleGather{rule: rule.ID, by: by, since: o.now})
	}
	g, most := o.gathers[i], rule.Gather.AtMost
	if most == 0 {
		most = 10 * rule.Gather.Quiet
	}
	g.events, g.lane, g.until, g.grew = append(g.events, e), e.lane, o.now.Add(rule.Gather.Quiet), o.turn
	if end := g.since.Add(most); end.Before(g.until) {
		g.until = end
	}
}

// endGather decides on the last of the gathered events, for all of them.
func (o *oracle) endGather(g *oracleGather) {
	last := g.events[len(g.events)-1]
	for _, rule := range o.rules() {
		if rule.ID != g.rule || !o.takes(rule, last, o.now.Sub(last.At)-quietOf(rule)) {
			continue
		}
		f := o.facts(last)
		f.gathered = g.events
		o.begin([]*firedRule{o.judge(rule, f)})
	}
}

func quietOf(rule *Rule) time.Duration {
	if rule.Gather == nil {
		return 0
	}
	return rule.Gather.Quiet
}

// by works out what "the same" means for a rule; it is not ok if there is no such value.
func (o *oracle) by(expression string, f *facts) (string, bool) {
	t := o.talks[f.e.Customer]
	contact := ""
	if t != nil {
		contact = t.contact
	}
	switch expression {
	case "contact.id":
		return contact, t != nil
	case "event.type":
		return f.e.Type, true
	case "conversation.kind":
		return "direct", o.talkFact(f) != nil
	case "contact.id + event.type":
		return contact + f.e.Type, t != nil
	}
	return f.e.lane, true
}

// A firedRule is a rule whose conditions hold, with what a run of it is counted by.
type firedRule struct {
	rule        *Rule
	facts       *facts
	by, limitBy string
}

// judge evaluates the conditions of a rule; nil means that it does not fire. A failed condition is
// not false, but the rule does not run either; nor does a shadow, which has no visible effects.
func (o *oracle) judge(rule *Rule, f *facts) *firedRule {
	for i := range rule.If {
		if yes, ok := o.holds(&rule.If[i], f, nil); !yes || !ok {
			return nil
		}
	}
	by, ok := o.by(rule.By, f)
	limitBy := by
	if rule.Limit != nil && rule.Limit.By != "" && ok {
		limitBy, ok = o.by(rule.Limit.By, f)
	}
	if !ok || rule.Stage == "shadow" || !o.sampled(rule, by) {
		return nil
	}
	o.pin(rule, f)
	return &firedRule{rule, f, by, limitBy}
}

// begin creates runs, and then lets them take their first steps.
func (o *oracle) begin(fired []*firedRule) {
	var runs []*oracleRun
	o.promote()
	for _, p := range fired {
		if p != nil {
			runs = append(runs, o.start(p)...)
		}
	}
	calls := o.calls
	for _, r := range runs {
		if r.state == running {
			if o.calls != calls {
				r.facts.refetch() // the runs before it have changed something
			}
			r.goOn()
		}
	}
}

// start makes a run of a rule, unless its mode, max or limit is against it.
func (o *oracle) start(p *firedRule) []*oracleRun {
	rule, f, by := p.rule, p.facts, p.by
	var others []*oracleRun
	for _, r := range o.runs {
		if r.state != over && r.rule.ID == rule.ID && r.by == by {
			others = append(others, r)
		}
	}
	most := rule.Max
	if most == 0 {
		most = 100
	}
	if rule.Mode == "single" && len(others) > 0 || (rule.Mode == "" || rule.Mode == "queued" || rule.Mode == "parallel") && len(others) >= most {
		return nil
	}
	if l := rule.Limit; l != nil {
		if key := "limit/" + rule.ID + "/" + p.limitBy; o.free(key, l.Times, l.Per) {
			o.taken[key] = append(o.taken[key], countedUse{at: o.now})
		} else {
			return nil
		}
	}
	r := &oracleRun{oracle: o, rule: rule, by: by, trigger: f.e, gathered: f.gathered, facts: f, home: f.e.lane, lane: f.e.lane, state: running, wake: o.now, since: f.e.order, born: o.turn, results: map[string]*occurrence{}}
	if len(others) > 0 && rule.Mode != "parallel" {
		r.state, r.waited = queued, true // also one that replaces others: it begins in a later turn
	}
	if rule.Mode == "restart" {
		for _, before := range others {
			before.leave(f.e.lane)
		}
	}
	o.runs = append(o.runs, r)
	return []*oracleRun{r}
}

// free reports whether there may be another one in the window of that length which ends now.
func (o *oracle) free(key string, times int, per time.Duration) bool {
	n := 0
	for _, t := range o.taken[key] {
		if t.at.After(o.now.Add(-per)) {
			n++
		}
	}
	return n < times
}

// promote starts the queued runs that are next.
func (o *oracle) promote() {
	for i, r := range o.runs {
		if r.state != queued {
			continue
		}
		if !slices.ContainsFunc(o.runs[:i], func(b *oracleRun) bool { return b.state != over && b.rule.ID == r.rule.ID && b.by == r.by }) {
			r.state, r.wake, r.turn = running, o.now, o.turn
		}
	}
}

// sampled reports whether a rule's sample includes a key. Looked up: the hash is the engine's own,
// and a group is split in the order of the rules' ids, the rest behind the shares.
func (o *oracle) sampled(rule *Rule, by string) bool {
	name, from, to := rule.ID, 0, rule.Sample
	if rule.Split != "" {
		name = "split " + rule.Split
		for _, r := range o.inUse() {
			if r.Split == rule.Split && r.Sample > 0 && (r.ID < rule.ID || rule.Sample == 0) && r.ID != rule.ID {
				from += r.Sample
			}
		}
		to += from
	}
	if rule.Sample == 0 {
		to = 100
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(name + "\x00" + by)) // it cannot fail
	n := sum.Sum64()
	for _, factor := range []uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53, 1} {
		n = (n ^ n>>33) * factor
	}
	part := float64(n) / math.MaxUint64 * 100
	return part >= float64(from) && (part < float64(to) || to == 100)
}

// cancels reports whether an event ends a run: one of cancel_on that happened not before what
// started it.
func (o *oracle) cancels(r *oracleRun, e *occurrence) bool {
	same := e.Type == r.trigger.Type && e.At.Equal(r.trigger.At) && e.heard < r.trigger.heard
	if e.At.Before(r.trigger.At) || same {
		return false
	}
	for _, m := range r.rule.CancelOn {
		if m.Event != e.Type {
			continue
		}
		if yes, ok := o.holds(m.If, o.facts(e), nil); yes || !ok {
			return true // Looked up: if it is unknown the run fails, without its on_error
		}
	}
	return false
}
