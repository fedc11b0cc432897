package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
	"unicode"
)

// This file says what rules must do, from docs/language.md, as plainly and slowly as possible. It knows nothing of the engine: no journal, no retries, no
// crashes. It takes the events of an undisturbed desk as they were raised, and says which effects the rules must have had on them. An effect that it does not
// expect was doubled or is wrong, one that is missing was lost.
//
// Undisturbed means: everything is heard when it happens, calls take no time, and what is due is done when it is due. What the documents leave open, or what
// only architecture.md and the code tell, is marked with "Looked up".
//
// Looked up, of what happens at one instant: first everything that people did is heard, then the ticks of schedules. Lanes have their turn in the order in which they were due, then of their names; in
// each come its events in order (an event is decided by all rules in the order of their ids, then the runs that it began take their steps in that order, then comes the next
// event), then what was gathered, then the runs that are due, the oldest first. What the engine's own calls raised is heard when nothing else is left to do.

// Comparable reports whether Expect is exact for a scenario, and if not, why. What it leaves open is the order of what happens at one instant where many lanes have to do with
// each other: runs that go to other conversations while their own has more events than an engine takes at a time.
func Comparable(s *Scenario) (exact bool, why string) {
	if len(s.Customers) > 16 {
		return false, "more lanes than an engine claims at a time: their order at one instant is not known"
	}
	if listens(s, "conversation.updated") {
		return false, "a change of a conversation in the seconds before a call may count as the call's own"
	}
	for _, r := range append(slices.Clone(s.Rules), s.Other...) {
		closes := false
		walkSteps(append(slices.Clone(r.Do), r.OnError...), func(st *Step) { closes = closes || st.Verb == "close_attendance" })
		if closes {
			return false, "a close behind a wait may be about the customer's next attendance"
		}
	}
	return true, ""
}

// listens reports whether a rule is about events of a type, other than those that the engine causes.
func listens(s *Scenario, typ string) (found bool) {
	for _, r := range append(slices.Clone(s.Rules), s.Other...) {
		found = found || slices.Contains(r.When.Events, typ) || slices.ContainsFunc(r.CancelOn, func(m Match) bool { return m.Event == typ })
		walkSteps(r.Do, func(st *Step) { found = found || slices.Contains(st.Events, typ) })
	}
	return found
}

// Expect returns the effects that the rules of a scenario must have had on an undisturbed history.
func Expect(s *Scenario, h *History) []Effect {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		panic(err) // the program carries the zones with it
	}
	o := &oracle{
		scenario: s, history: h, zone: zone, talks: map[string]*talk{}, lanes: map[string]*oracleLane{}, bounded: map[string]bool{}, taken: map[string][]time.Time{}, folded: map[string]bool{},
	}
	for i := range h.Events {
		o.told = append(o.told, o.read(&h.Events[i]))
	}
	o.coming = slices.Clone(o.told)
	for end := s.Start.Add(s.Length); ; {
		if o.now = o.next(); o.now.IsZero() || o.now.After(end) {
			break
		}
		o.live()
	}
	for _, r := range o.runs {
		r.end()
	}
	return o.effects
}

// ---- The desk: what events tell of it.

// An oracle is a desk, the rules on it, and what they must do.
type oracle struct {
	scenario *Scenario
	history  *History
	zone     *time.Location
	now      time.Time
	round    int // how often everything was done at this instant
	turn     int // in which lanes are looked at, one after another

	talks  map[string]*talk // by customer
	visits []*visitState    // attendances, oldest first
	cards  []*cardState     // oldest first
	told   []*occurrence    // the history's events
	coming []*occurrence    // those that were not heard yet
	fired  int              // of the history's firings
	lanes  map[string]*oracleLane
	heard  int
	order  int

	runs    []*oracleRun // oldest first
	gathers []*oracleGather
	bounded map[string]bool        // rules that a safety bound has stopped
	taken   map[string][]time.Time // of limits and bounds
	folded  map[string]bool        // events that told of what a call made
	effects []Effect
}

// A talk is a conversation.
type talk struct {
	id, customer, contact  string
	labels                 []string
	sector, assignee, name string
	pinned, unread         bool
	said                   []said
}

// said is a message.
type said struct {
	at       time.Time
	by, text string
}

// A visitState is an attendance: a case from its opening to its closing.
type visitState struct {
	id, talk string
	open     bool
	opened   time.Time
	answered bool
}

type cardState struct {
	id, customer, talk  string
	board, stage, about string // about is the description
	done                bool
}

// An occurrence is an event as the engine hears it, also of a schedule or a person.
type occurrence struct {
	Event
	rule  string // the only one that it is for
	tick  bool   // of a schedule with each: its items are not found yet
	lane  string
	heard int // its number
	order int // in which it was decided; 0 is that it was not yet

	message *said // and what else it carries, as it was then
	talk    *talk
	visit   *visitState
	card    *cardState
}

// An oracleLane is everything that concerns one conversation.
type oracleLane struct{ all, waiting []*occurrence }

// read reads what an event carries.
func (o *oracle) read(e *Event) *occurrence {
	var d struct {
		Message *struct {
			Text, Direction string
		}
		Conversation *struct {
			ID, Name       string
			Pinned, Unread bool
			Contact        string   `json:"contact_id"`
			Labels         []string `json:"label_ids"`
			Sector         string   `json:"sector_id"`
			Assignee       string   `json:"assignee_id"`
		}
		Attendance *struct {
			ID, Status string
			Talk       string    `json:"conversation_id"`
			Opened     time.Time `json:"opened_at"`
			Answered   string    `json:"first_response_at"`
		}
		Card *struct {
			ID, Status, Description string
			Board                   string `json:"board_id"`
			Stage                   string `json:"stage_id"`
			Talk                    string `json:"conversation_id"`
		}
	}
	_ = json.Unmarshal(e.Data, &d) // what it does not tell is not known
	names := o.history.Names
	out := &occurrence{Event: *e, lane: "event:" + e.ID}
	if c := d.Card; c != nil {
		out.card = &cardState{c.ID, e.Customer, c.Talk, names[c.Board], names[c.Stage], c.Description, c.Status != "open"}
		if out.lane = laneOf(c.Talk); c.Talk == "" {
			out.lane = "card:" + c.ID
		}
	}
	if a := d.Attendance; a != nil {
		out.visit, out.lane = &visitState{a.ID, a.Talk, a.Status == "open", a.Opened, a.Answered != ""}, laneOf(a.Talk)
	}
	if c := d.Conversation; c != nil {
		t := &talk{id: c.ID, customer: e.Customer, contact: c.Contact, sector: names[c.Sector], assignee: names[c.Assignee], name: c.Name, pinned: c.Pinned, unread: c.Unread}
		for _, id := range c.Labels {
			t.labels = append(t.labels, names[id])
		}
		out.talk, out.lane = t, laneOf(c.ID)
	}
	if m := d.Message; m != nil {
		by := "customer"
		if m.Direction != "inbound" {
			by = "team"
		}
		if e.Cause != "" {
			by = "engine"
		}
		out.message = &said{e.At, by, m.Text}
	}
	return out
}

func laneOf(talk string) string { return "conversation:" + talk }

// learn makes the desk what an event tells of it. What the engine itself does is known without that.
func (o *oracle) learn(e *occurrence) {
	if e.talk != nil {
		t := *e.talk
		if before := o.talks[e.Customer]; before != nil {
			t.said = before.said
		}
		o.talks[e.Customer] = &t
	}
	if e.visit != nil {
		v := *e.visit
		if i := slices.IndexFunc(o.visits, func(is *visitState) bool { return is.id == v.id }); i >= 0 {
			o.visits[i] = &v
		} else {
			o.visits = append(o.visits, &v)
		}
	}
	if e.card != nil {
		c := *e.card
		if i := slices.IndexFunc(o.cards, func(is *cardState) bool { return is.id == c.id }); i >= 0 {
			o.cards[i] = &c
		} else {
			o.cards = append(o.cards, &c)
		}
	}
	if e.message != nil {
		t := o.talks[e.Customer]
		t.said = append(t.said, *e.message)
		// Looked up: a person's message is the first response to the open attendance, and no event tells that.
		if v := o.visitOf(t.id); v != nil && e.message.by == "team" {
			v.answered = true
		}
	}
}

// visitOf returns the open attendance of a conversation.
func (o *oracle) visitOf(talk string) *visitState {
	for _, v := range o.visits {
		if v.talk == talk && v.open {
			return v
		}
	}
	return nil
}

func (o *oracle) talkOf(id string) *talk {
	for _, t := range o.talks {
		if t.id == id {
			return t
		}
	}
	return nil
}

// ---- Time.

// next returns when something happens next; the zero time is never.
func (o *oracle) next() (at time.Time) {
	sooner := func(t time.Time) {
		if t.After(o.now) && (at.IsZero() || t.Before(at)) {
			at = t
		}
	}
	for _, e := range o.coming {
		sooner(e.At)
	}
	for _, f := range o.history.Fired[o.fired:] {
		sooner(f.At)
	}
	for _, s := range o.history.Stops {
		sooner(s.From)
		sooner(s.To)
	}
	for _, g := range o.gathers {
		sooner(g.until)
	}
	for _, r := range o.runs {
		if r.state == running {
			sooner(r.wake)
		}
	}
	return at
}

// live lets everything happen that happens at this instant.
func (o *oracle) live() {
	people := o.come(func(e *occurrence) bool { return e.Cause == "" })
	for _, e := range people {
		o.learn(e)
	}
	manual := 0
	for i, f := range o.history.Fired {
		if f.Customer == "" || f.At.After(o.now) {
			continue
		}
		if manual++; i >= o.fired && o.talks[f.Customer] != nil {
			o.hear(&occurrence{Event: Event{ID: fmt.Sprintf("manual/%d", manual), Type: "manual", At: f.At, Customer: f.Customer}, rule: f.Rule, lane: laneOf(o.talks[f.Customer].id)})
		}
	}
	for _, e := range people {
		o.hear(e)
	}
	for ; o.fired < len(o.history.Fired) && !o.history.Fired[o.fired].At.After(o.now); o.fired++ {
		if f := o.history.Fired[o.fired]; f.Customer == "" {
			o.hear(&occurrence{Event: Event{ID: f.Rule + "/" + f.At.UTC().Format(time.RFC3339), Type: "schedule", At: f.At}, rule: f.Rule, lane: "schedule:" + f.Rule, tick: true})
		}
	}
	const restless = 400
	for o.round = 0; o.round < restless; o.round++ {
		busy := o.work()
		own := o.come(func(e *occurrence) bool {
			return slices.ContainsFunc(o.runs, func(r *oracleRun) bool { return r.caused(e) && r.called.Equal(o.now) })
		})
		if !busy && len(own) == 0 && o.round > 0 {
			if own = o.come(func(*occurrence) bool { return true }); len(own) == 0 {
				return // nothing is left, not even of calls that nobody expected
			}
		}
		for _, e := range own {
			o.hear(e)
		}
	}
}

// come takes those of the coming events that have happened by now.
func (o *oracle) come(which func(*occurrence) bool) (list []*occurrence) {
	o.coming = slices.DeleteFunc(o.coming, func(e *occurrence) bool {
		comes := !e.At.After(o.now) && which(e)
		if comes {
			list = append(list, e)
		}
		return comes
	})
	return list
}

// hear puts an event into its lane.
func (o *oracle) hear(e *occurrence) {
	o.heard++
	e.heard = o.heard
	if o.lanes[e.lane] == nil {
		o.lanes[e.lane] = &oracleLane{}
	}
	l := o.lanes[e.lane]
	l.all, l.waiting = append(l.all, e), append(l.waiting, e)
}

// stopped reports whether a person has stopped a rule, or with an empty one everything, or a safety bound has stopped it. Looked up in world.go: on a desk with an even seed a
// person's command comes after what the engine does at that instant, else before.
func (o *oracle) stopped(rule string) bool {
	passed := func(t time.Time) bool {
		return t.Before(o.now) || t.Equal(o.now) && (o.scenario.Seed%2 == 1 || o.round > 0)
	}
	for _, s := range o.history.Stops {
		over := !s.To.IsZero() && passed(s.To)
		if s.Rule == rule && passed(s.From) && !over {
			return true
		}
		if s.Rule == rule && over && s.To.Equal(o.now) {
			delete(o.bounded, rule) // `quando resume --rule` lets that go on too
		}
	}
	return o.bounded[rule]
}

// work lets every lane have its turn until nothing is due, and reports whether anything was.
func (o *oracle) work() (busy bool) {
	for !o.stopped("") { // what is stopped altogether waits, events included
		o.turn++
		due := map[string]time.Time{}
		add := func(lane string, at time.Time) {
			if before, ok := due[lane]; !ok || at.Before(before) {
				due[lane] = at
			}
		}
		for name, l := range o.lanes {
			if len(l.waiting) > 0 {
				add(name, l.waiting[0].At)
			}
		}
		for _, g := range o.gathers {
			if !g.until.After(o.now) {
				add(g.lane, g.until)
			}
		}
		for _, r := range o.runs {
			if r.due(o.now) || r.state == running && r.leaves > 0 {
				add(r.lane, r.wake)
			}
		}
		if len(due) == 0 {
			return busy
		}
		busy = true
		lanes := slices.Sorted(maps.Keys(due))
		slices.SortStableFunc(lanes, func(a, b string) int { return due[a].Compare(due[b]) })
		for _, lane := range lanes {
			o.visit(lane)
		}
	}
	return busy
}

// visit does what is due in a lane. Looked up (architecture.md, "One event, file by file"): of a lane in which more than four events wait, four are taken at a time, and what was due
// when the first of them came goes before.
func (o *oracle) visit(lane string) {
	for _, r := range slices.Clone(o.runs) {
		if r.state == running && r.lane == lane && r.leaves > 0 && r.leaves < o.turn {
			r.end()
		}
	}
	const most = 4
	var events []*occurrence
	more := false
	if l := o.lanes[lane]; l != nil {
		more = len(l.waiting) > most
		events = slices.Clone(l.waiting[:min(most, len(l.waiting))])
		l.waiting = l.waiting[len(events):]
	}
	if more {
		o.goOn(lane, events[0].At)
	}
	for _, e := range events {
		o.decide(e)
	}
	if !more {
		o.goOn(lane, o.now)
	}
	o.promote()
}

// goOn ends gathers and takes the steps of runs that were due in a lane by a time.
func (o *oracle) goOn(lane string, by time.Time) {
	gathers := slices.Clone(o.gathers)
	slices.SortFunc(gathers, func(a, b *oracleGather) int {
		return cmp.Or(a.until.Compare(b.until), strings.Compare(a.rule, b.rule), strings.Compare(a.by, b.by))
	})
	for _, g := range gathers {
		if g.lane == lane && !g.until.After(by) {
			o.gathers = slices.DeleteFunc(o.gathers, func(is *oracleGather) bool { return is == g })
			o.endGather(g)
		}
	}
	for _, r := range slices.Clone(o.runs) {
		if r.lane == lane && r.due(by) {
			r.goOn()
		}
	}
}

// ---- Rules: which of them an event starts.

// rules returns the rules in use, in the order of their ids.
func (o *oracle) rules() (list []*Rule) {
	used, other := o.scenario.Rules, o.scenario.Other
	for _, a := range o.scenario.Story {
		if a.Kind == ActReloads && other != nil && !o.scenario.Start.Add(a.At).After(o.now) {
			used, other = other, used
		}
	}
	for i := range used {
		if used[i].Stage != "draft" {
			list = append(list, &used[i])
		}
	}
	slices.SortFunc(list, func(a, b *Rule) int { return strings.Compare(a.ID, b.ID) })
	return list
}

// decide lets an event end runs and wake them, and all rules decide on it. The runs that begin take their first steps before the next event.
func (o *oracle) decide(e *occurrence) {
	o.order++
	e.order = o.order
	for _, r := range slices.Clone(o.runs) {
		switch {
		case r.state == over || r.home != e.lane || r.began(e) || r.caused(e): // Looked up: what a run itself causes means nothing to it
		case o.cancels(r, e):
			r.leave(e.lane)
		case r.listens != nil && r.listens.hears(r, e):
			r.wake = o.now
		}
	}
	var fired []*prospect
	for _, rule := range o.rules() {
		if e.rule != "" && e.rule != rule.ID || e.rule == "" && !slices.ContainsFunc(rule.When.Events, func(on string) bool { return matches(on, e.Type) }) || !o.takes(rule, e, o.now.Sub(e.At)) {
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

// matches reports whether an event's type is what a rule names, which may be a pattern.
func matches(on, typ string) bool {
	prefix, pattern := strings.CutSuffix(on, "*")
	return on == typ || pattern && strings.HasPrefix(typ, prefix)
}

// takes reports whether a rule looks at an event of an age at all.
func (o *oracle) takes(rule *Rule, e *occurrence, age time.Duration) bool {
	if o.stopped(rule.ID) {
		return false // journal.md: while a single rule is stopped, events do not start it
	}
	// What the engine did starts no rule but those with `from: any`, and none from whose own effects it came.
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
	switch {
	case !e.tick || rule.Late.Run == "all":
		return true
	case rule.Late.Run == "none":
		return age <= time.Minute
	}
	return !slices.ContainsFunc(o.lanes[e.lane].all, func(later *occurrence) bool { return later.tick && later.At.After(e.At) })
}

// expand makes an event of each item that a tick finds, in the order of the service's list: the newest first.
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
			o.hear(e)
		}
	}
	for _, c := range slices.Backward(o.cards) {
		if rule.When.Each == "cards" && !c.done && c.board == "Deals" {
			e, then := item(c.id, c.talk), *c
			if e.card = &then; c.talk == "" {
				e.lane = "card:" + c.id
			}
			o.hear(e)
		}
	}
}

// An oracleGather is what a rule collects for one run.
type oracleGather struct {
	rule, by, lane string
	events         []*occurrence
	since, until   time.Time
}

// gather adds an event to those that are collected. Looked up: without at_most it is ten times quiet, and the lane is that of the newest event.
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
	g.events, g.lane, g.until = append(g.events, e), e.lane, o.now.Add(rule.Gather.Quiet)
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
		o.begin([]*prospect{o.judge(rule, f)})
	}
}

func quietOf(rule *Rule) time.Duration {
	if rule.Gather == nil {
		return 0
	}
	return rule.Gather.Quiet
}

// by works out what "the same" means for a rule; it is not ok where there is no such value.
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

// A prospect is a rule whose conditions hold, with what a run of it is counted by.
type prospect struct {
	rule        *Rule
	facts       *facts
	by, limitBy string
}

// judge evaluates the conditions of a rule; nil is that it does not fire. What fails is not false, but the rule does not run either; nor does a shadow, whose effects nobody sees.
func (o *oracle) judge(rule *Rule, f *facts) *prospect {
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
	if !ok || rule.Stage == "shadow" || !sampled(rule, by) {
		return nil
	}
	return &prospect{rule, f, by, limitBy}
}

// begin makes runs, and then lets them take their first steps.
func (o *oracle) begin(fired []*prospect) {
	var runs []*oracleRun
	o.promote()
	for _, p := range fired {
		if p != nil {
			runs = append(runs, o.start(p)...)
		}
	}
	for _, r := range runs {
		if r.state == running {
			r.goOn()
		}
	}
}

// start makes a run of a rule, unless its mode, max or limit is against it.
func (o *oracle) start(p *prospect) []*oracleRun {
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
			o.taken[key] = append(o.taken[key], o.now)
		} else {
			return nil
		}
	}
	r := &oracleRun{oracle: o, rule: rule, by: by, trigger: f.e, gathered: f.gathered, facts: f, home: f.e.lane, lane: f.e.lane, state: running, wake: o.now, since: f.e.order, born: o.turn, results: map[string]*occurrence{}}
	if len(others) > 0 && rule.Mode != "parallel" {
		r.state, r.waited = queued, true // also of one that replaces others: it begins in a later turn
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
	for _, at := range o.taken[key] {
		if at.After(o.now.Add(-per)) {
			n++
		}
	}
	return n < times
}

// promote lets queued runs begin whose turn it is.
func (o *oracle) promote() {
	for i, r := range o.runs {
		before := slices.ContainsFunc(o.runs[:i], func(b *oracleRun) bool { return b.state != over && b.rule.ID == r.rule.ID && b.by == r.by })
		if r.state == queued && !before {
			r.state, r.wake, r.turn = running, o.now, o.turn
		}
	}
}

// sampled reports whether a rule takes a key. Looked up: the hash is the engine's own.
func sampled(rule *Rule, by string) bool {
	if rule.Sample == 0 {
		return true
	}
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(rule.ID + "\x00" + by)) // it cannot fail
	n := sum.Sum64()
	for _, factor := range []uint64{0xff51afd7ed558ccd, 0xc4ceb9fe1a85ec53, 1} {
		n = (n ^ n>>33) * factor
	}
	return float64(n)/math.MaxUint64 < float64(rule.Sample)/100
}

// cancels reports whether an event ends a run: one of cancel_on that happened not before what started it.
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
			return true // Looked up: where it cannot be told the run fails, without its on_error
		}
	}
	return false
}

// ---- Runs: a rule at work.

type runState int

const (
	queued runState = iota
	running
	over
)

// An oracleRun is a rule at work on what started it. Its steps are taken by a coroutine, which stands still where the run waits.
type oracleRun struct {
	*oracle
	rule     *Rule
	by       string
	trigger  *occurrence
	gathered []*occurrence
	facts    *facts
	home     string // the lane of its event
	lane     string // where it is: a step that concerns another conversation is taken there
	state    runState
	waited   bool      // in the queue
	leaves   int       // since which turn it is asked to end; 0 is not
	born     int       // in which turn
	came     int       // in which turn it came into its lane; 0 is that it was always there
	wake     time.Time // when it is due
	turn     int       // it goes on in a later one
	called   time.Time // when it last made a call

	ended   time.Time // when its last step did
	since   int       // and what had been decided by then
	asked   time.Time // when it last wrote to its customer, since its last wait
	listens *listening
	results map[string]*occurrence
	item    string

	next  func() (struct{}, bool)
	stop  func()
	yield func(struct{}) bool
}

// began reports whether an event is one of those that started the run.
func (r *oracleRun) began(e *occurrence) bool {
	return e == r.trigger || slices.Contains(r.gathered, e)
}

// caused reports whether an event came of a call of the run: the cause is the key of a step, which begins with the workspace, the rule and the event's id. That of a tick has the rule in it.
func (r *oracleRun) caused(e *occurrence) bool {
	_, cause, _ := strings.Cut(e.Cause, "/")
	return strings.HasPrefix(cause, r.rule.ID+"/"+r.trigger.ID+"/") || r.trigger.Type == "schedule" && strings.HasPrefix(cause, r.trigger.ID+"/")
}

func (r *oracleRun) due(by time.Time) bool {
	return r.state == running && r.turn < r.oracle.turn && !r.wake.After(by) && !r.stopped(r.rule.ID)
}

// goOn takes the run as far as it can go now.
func (r *oracleRun) goOn() {
	if r.next == nil {
		if r.waited {
			// Looked up: what was known when it was put into the queue is not what it begins with.
			f := r.oracle.facts(r.trigger)
			f.gathered, f.visitID, f.cardID = r.gathered, r.facts.visitID, r.facts.cardID
			r.facts = f
		}
		// Looked up: what ends the run may have come before it begins.
		for _, e := range r.lanes[r.home].all {
			if !r.began(e) && r.cancels(r, e) {
				r.end()
				return
			}
		}
		// Looked up: one that will wait, and works on the attendance, is about that of now, and not about the customer's next one.
		if waits, asks := r.rule.mentions(); waits && asks && r.facts.visitID == "" {
			r.visitFact(r.facts)
		}
		r.next, r.stop = iter.Pull(func(yield func(struct{}) bool) {
			r.yield = yield
			if r.take(r.rule.Do) == failed {
				r.take(r.rule.OnError)
			}
		})
	}
	r.wake = r.now
	if _, more := r.next(); !more {
		r.state = over
	}
}

// end ends a run that is unfinished.
func (r *oracleRun) end() {
	if r.state = over; r.stop != nil {
		r.stop()
	}
}

// leave ends a run for the sake of what happens in a lane. Looked up: one that is elsewhere, or was queued in this turn, is asked to end, which is heard in a later turn.
func (r *oracleRun) leave(lane string) {
	if here := r.lane == lane && r.came < r.oracle.turn && (r.born < r.oracle.turn || r.next != nil); r.state == queued || here {
		r.end()
	} else if r.leaves == 0 {
		r.leaves = r.oracle.turn
	}
}

// park lets the run stand still until a time. It is false where the run was ended meanwhile.
func (r *oracleRun) park(until time.Time) bool {
	r.wake = until
	return r.yield(struct{}{})
}

// mentions reports whether a rule waits anywhere, and whether anything in it works on the attendance.
func (rule *Rule) mentions() (waits, attendance bool) {
	asks := func(list ...*Cond) {
		for _, c := range list {
			attendance = attendance || c.asksFor("attendance")
		}
	}
	var look func(steps []Step)
	look = func(steps []Step) {
		for i := range steps {
			s := &steps[i]
			waits = waits || s.Verb == "wait" || s.Verb == "wait_for"
			attendance = attendance || s.Verb == "close_attendance" || s.Verb == "read_attendance"
			asks(s.If, s.Cond)
			look(s.Do)
			for _, b := range s.Branches {
				asks(b.If)
				look(b.Do)
			}
		}
	}
	look(rule.Do)
	look(rule.OnError)
	for i := range rule.If {
		asks(&rule.If[i])
	}
	for _, m := range rule.CancelOn {
		asks(m.If)
	}
	return waits, attendance
}

// ---- Steps.

// A flow says how a run goes on after a step.
type flow int

const (
	onward flow = iota
	wrong       // the step failed
	failed      // and the run with it
	ended       // the run is over
)

// take takes steps in order.
func (r *oracleRun) take(steps []Step) flow {
	for i := range steps {
		if f := r.step(&steps[i]); f != onward {
			return f
		}
	}
	return onward
}

// step takes one step, where its own condition holds.
func (r *oracleRun) step(s *Step) (f flow) {
	yes, ok := r.true(s.If)
	nests := s.Verb == "choose" || s.Verb == "for_each"
	if nests {
		r.pass()
	}
	switch {
	case !ok:
		f = wrong
	case yes:
		f = r.carryOut(s)
	}
	if !nests && (s.Verb != "wait" && s.Verb != "wait_for" || !yes) {
		r.pass()
	}
	if f == wrong {
		if f = failed; s.Continue {
			f = onward
		}
	}
	return f
}

// pass notes that a step has come to its end.
func (r *oracleRun) pass() { r.ended, r.since = r.now, r.order }

func (r *oracleRun) true(c *Cond) (yes, ok bool) { return r.holds(c, r.facts, r.results) }

// carryOut does what a step's verb says.
func (r *oracleRun) carryOut(s *Step) flow {
	switch s.Verb {
	case "wait":
		return r.waitUntil(s)
	case "wait_for":
		return r.waitFor(s)
	case "choose":
		for i := range s.Branches {
			yes, ok := r.true(s.Branches[i].If)
			if !ok {
				return wrong
			}
			if yes {
				return r.take(s.Branches[i].Do)
			}
		}
	case "for_each":
		for _, r.item = range s.Items {
			if f := r.take(s.Do); f != onward {
				return f
			}
		}
	case "stop_if":
		if yes, ok := r.true(s.Cond); !ok {
			return wrong
		} else if yes {
			return ended
		}
	case "set", "log", "stop":
		if _, ok := r.text(s, s.Text); !ok {
			return wrong
		}
		if s.Verb == "stop" {
			return ended
		}
	case "send_message":
		return r.send(s)
	case "open_conversation":
		_, f := r.openTalk(s.To)
		return f
	case "find_card", "create_card", "move_card", "update_card":
		return r.cardStep(s)
	default:
		return r.talkStep(s)
	}
	return onward
}

// waitUntil waits. It counts from the end of the step before; as the first step from when the event happened.
func (r *oracleRun) waitUntil(s *Step) flow {
	if !r.travel(r.home) {
		return ended
	}
	from := r.ended
	if from.IsZero() {
		from = r.trigger.At
	}
	until := r.after(from, s)
	if s.Until != "" {
		until = nextOpening(s.Until, r.now, r.zone)
	}
	waits := until.After(r.now)
	if waits && !r.park(until) {
		return ended
	}
	r.pass()
	if waits {
		r.since = r.before()
	}
	r.slept()
	return onward
}

// before is what had been decided before this instant: what happens just when a wait is over comes after it.
func (r *oracleRun) before() (order int) {
	for _, e := range r.lanes[r.home].all {
		if e.At.Before(r.now) {
			order = e.order
		}
	}
	return max(order, r.trigger.order)
}

// after is the end of a step's time from a moment on.
func (r *oracleRun) after(from time.Time, s *Step) time.Time {
	if s.Calendar == "" {
		return from.Add(s.Wait)
	}
	return openingTime(s.Calendar, from, s.Wait, r.zone)
}

// slept makes facts be fetched afresh: a rule never decides on what was true before it slept.
func (r *oracleRun) slept() {
	f := r.facts
	f.slept, f.talkKnown, f.visitKnown, f.cardKnown, r.asked = true, false, false, false, time.Time{}
}

// A listening is a wait_for.
type listening struct {
	events []string
	since  int       // what was decided by then is no answer
	asked  time.Time // nor is what was written before the question, or at its instant
	until  time.Time
}

// hears reports whether an event may be what a run waits for.
func (l *listening) hears(r *oracleRun, e *occurrence) bool {
	return slices.Contains(l.events, e.Type) && e.order > l.since && e.At.After(l.asked) && !e.At.After(l.until) && !r.began(e) && !r.caused(e)
}

// waitFor waits for an event. It hears what happened since the run's last message, or where it has sent none since its last wait, since the step before; as the
// first step, since the event. Looked up: its time counts from when it is reached.
func (r *oracleRun) waitFor(s *Step) flow {
	if !r.travel(r.home) {
		return ended
	}
	l := &listening{events: s.Events, since: r.since, asked: r.asked, until: r.after(r.now, s)}
	waited := false
	var came *occurrence
	for {
		for _, e := range r.lanes[r.home].all {
			if came != nil || !l.hears(r, e) {
				continue
			}
			yes, ok := r.holds(s.Cond, r.oracle.facts(e), r.results)
			if !ok {
				return wrong
			}
			if l.since = e.order; yes {
				came = e
			}
		}
		if came != nil || !l.until.After(r.now) {
			break
		}
		r.listens, waited = l, true
		alive := r.park(l.until)
		if r.listens = nil; !alive {
			return ended
		}
	}
	r.pass()
	switch {
	case came != nil:
		r.since = came.order
	case waited:
		r.since = max(l.since, r.before())
	}
	if s.ID != "" {
		r.results[s.ID] = came
	}
	r.slept()
	return onward
}

// travel takes the run to another lane, where it arrives in a later turn. It is false where the run was ended meanwhile.
func (r *oracleRun) travel(lane string) bool {
	if r.lane == lane {
		return true
	}
	r.lane, r.turn, r.came = lane, r.oracle.turn, r.oracle.turn
	return r.park(r.now)
}

// call makes a change in a lane, unless it is so already: what is so is done without a call, and without going there.
func (r *oracleRun) call(lane string, so func() bool, do func()) flow {
	for !so() {
		if r.lane == lane {
			r.called = r.now
			do()
			break
		}
		if !r.travel(lane) {
			return ended
		}
	}
	return onward
}

// effect notes what a step did. Where something was written, the event's id is behind it.
func (r *oracleRun) effect(customer, verb, detail string, written bool) {
	e := Effect{At: r.now, Customer: customer, Verb: verb, Detail: detail}
	if written && r.trigger.rule == "" {
		e.Event = r.trigger.ID
	}
	r.effects = append(r.effects, e)
}

// text is what a step writes, with the rule and the step before it; it is not ok where there is nobody to name.
func (r *oracleRun) text(s *Step, words string) (string, bool) {
	if strings.Contains(words, "{{ contact.name }}") {
		if r.trigger.Customer == "" {
			return "", false
		}
		words = strings.ReplaceAll(words, "{{ contact.name }}", r.trigger.Customer)
	}
	words = strings.ReplaceAll(words, "{{ item }}", r.item)
	return strings.TrimRight(r.rule.ID+"/"+s.Name+" "+words, " "), true
}

// toldBy finds the event that tells of what a call of the run has just made, so that its ids are known.
func (r *oracleRun) toldBy(typ, customer string) *occurrence {
	for _, e := range r.told {
		if e.Type == typ && e.Customer == customer && e.At.Equal(r.now) && r.caused(e) && !r.folded[e.ID] {
			r.folded[e.ID] = true
			return e
		}
	}
	return nil
}

// openTalk returns the conversation with a customer, which is opened where there is none. A name that is nobody's is the run's own customer.
func (r *oracleRun) openTalk(customer string) (*talk, flow) {
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
			made = &occurrence{Event: Event{Customer: customer}, talk: &talk{id: customer, customer: customer}, visit: &visitState{customer, customer, true, r.now, false}}
		}
		r.learn(made)
	})
	return r.talks[customer], f
}

// send sends a message. Where that would be more than is safe, the rule is stopped.
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
	one, all := r.scenario.Safety.PerConversation, r.scenario.Safety.Messages
	for {
		if !r.travel(laneOf(t.id)) {
			return ended
		}
		if (one.Times == 0 || r.free(t.id, one.Times, one.Per)) && (all.Times == 0 || r.free("messages", all.Times, all.Per)) {
			break
		}
		r.bounded[r.rule.ID] = true
		if !r.park(r.now) {
			return ended
		}
	}
	r.taken[t.id], r.taken["messages"] = append(r.taken[t.id], r.now), append(r.taken["messages"], r.now)
	r.called = r.now
	r.effect(t.customer, "send_message", words, true)
	t = r.talks[t.customer]
	t.said = append(t.said, said{r.now, "engine", words + " #" + r.trigger.ID})
	if t.customer == r.trigger.Customer {
		r.asked = r.now // what somebody else is told is no question
	}
	return onward
}

// talkStep takes a step that works on the conversation.
func (r *oracleRun) talkStep(s *Step) flow {
	now := func() *talk { return r.talks[r.trigger.Customer] }
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
	case "mark_read": // it is called in any case, and changes only what was unread
		return change(func() bool { return false }, func() {
			if t := now(); t.unread {
				t.unread = false
				r.effect(customer, s.Verb, "", false)
			}
		})
	case "set_sector":
		return change(func() bool { return now().sector == s.Sector }, func() {
			now().sector = s.Sector
			r.effect(customer, s.Verb, s.Sector, false)
		})
	case "transfer": // to a sector alone it is nobody's
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

// cardStep takes a step that works on a card. A card that was found or made is the one at hand; where none is found, none is.
func (r *oracleRun) cardStep(s *Step) flow {
	f, customer := r.facts, r.trigger.Customer
	at := func(c *cardState) flow {
		then := *c
		f.card, f.cardKnown, f.cardID = &then, true, c.id
		return onward
	}
	switch s.Verb {
	case "find_card": // the customer's newest on the board
		if customer == "" {
			return wrong
		}
		f.card, f.cardKnown, f.cardID = nil, true, ""
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
	if i < 0 {
		return wrong // no card is at hand
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

// ---- Facts and conditions.

// facts are what expressions see. Until the run's first wait a fact is taken from the event where it carries it, else fetched once; afterwards it is fetched afresh.
type facts struct {
	e        *occurrence
	gathered []*occurrence
	slept    bool

	talk      *talk
	talkKnown bool

	visit      *visitState
	visitKnown bool
	visitID    string // the attendance that it is about, once that is known

	card      *cardState
	cardKnown bool
	cardID    string // at hand

	read     bool // messages are those that were read
	messages []said
}

// facts returns those of an event.
func (o *oracle) facts(e *occurrence) *facts {
	f := &facts{e: e}
	if e.visit != nil {
		f.visitID = e.visit.id
	}
	if e.card != nil {
		f.cardID = e.card.id
	}
	return f
}

func (o *oracle) talkFact(f *facts) *talk {
	if !f.talkKnown {
		f.talkKnown, f.talk = true, f.e.talk
		if now := o.talks[f.e.Customer]; f.slept || f.talk == nil {
			if f.talk = nil; now != nil {
				then := *now
				f.talk = &then
			}
		}
	}
	return f.talk
}

// visitAtHand is the attendance that is meant, else the open one.
func (o *oracle) visitAtHand(f *facts) *visitState {
	for _, v := range o.visits {
		if v.id == f.visitID {
			return v
		}
	}
	if t := o.talks[f.e.Customer]; t != nil {
		return o.visitOf(t.id)
	}
	return nil
}

// visitFact is the attendance. Looked up: the one that was open when it was first asked for is meant from then on, also when it is closed.
func (o *oracle) visitFact(f *facts) *visitState {
	if !f.visitKnown {
		f.visitKnown, f.visit = true, f.e.visit
		if now := o.visitAtHand(f); f.slept || f.visit == nil {
			if f.visit = nil; now != nil {
				then := *now
				f.visit, f.visitID = &then, now.id
			}
		}
	}
	return f.visit
}

func (o *oracle) cardFact(f *facts) *cardState {
	if !f.cardKnown {
		f.cardKnown, f.card = true, f.e.card
		if f.slept || f.card == nil {
			f.card = nil
			for _, c := range o.cards {
				if c.id == f.cardID {
					then := *c
					f.card = &then
				}
			}
		}
	}
	return f.card
}

// texts returns the messages: what was gathered, or read, else the event's own.
func (f *facts) texts() (list []said) {
	if f.read {
		return f.messages
	}
	events := f.gathered
	if len(events) == 0 {
		events = []*occurrence{f.e}
	}
	for _, e := range events {
		if e.message != nil {
			list = append(list, *e.message)
		}
	}
	return list
}

// asksFor reports whether a condition names a fact.
func (c *Cond) asksFor(fact string) bool {
	if c == nil {
		return false
	}
	of := map[string]string{CondAttendanceOpen: "attendance", CondAnswered: "attendance", CondBusiness: "attendance", CondAssigned: "conversation", CondSector: "conversation", CondStage: "card"}
	return of[c.Kind] == fact || slices.ContainsFunc(c.Of, func(part Cond) bool { return part.asksFor(fact) })
}

// holds evaluates a condition; none is true. It is not ok where it fails: it asks for a part of what is not there. Looked up: all facts that an expression names are fetched before
// it is evaluated.
func (o *oracle) holds(c *Cond, f *facts, results map[string]*occurrence) (yes, ok bool) {
	if c.asksFor("attendance") {
		o.visitFact(f)
	}
	if c.asksFor("conversation") {
		o.talkFact(f)
	}
	if c.asksFor("card") {
		o.cardFact(f)
	}
	if c == nil {
		return true, true
	}
	yes, ok = o.evaluate(c, f, results)
	return yes != c.Not && ok, ok
}

func (o *oracle) evaluate(c *Cond, f *facts, results map[string]*occurrence) (yes, ok bool) {
	t := o.talks[f.e.Customer]
	switch c.Kind {
	case CondAny, CondAll: // from left to right, as far as it matters
		for i := range c.Of {
			if yes, ok = o.holds(&c.Of[i], f, results); !ok || yes == (c.Kind == CondAny) {
				return yes, ok
			}
		}
		return c.Kind == CondAll, true
	case CondSays:
		list := f.texts()
		if len(f.gathered) == 0 && f.e.message != nil {
			list = []said{*f.e.message}
		}
		return slices.ContainsFunc(list, func(m said) bool { return strings.Contains(words(m.text), words(c.Text)) }), true
	case CondTextIs:
		return f.e.message != nil && f.e.message.text == c.Text, f.e.message != nil
	case CondByTeam:
		return f.e.message != nil && f.e.message.by == "team", f.e.message != nil
	case CondTypeIs:
		return f.e.Type == c.Text, true
	case CondMany:
		return len(f.texts()) >= c.N, true
	case CondOpen:
		return isOpen(c.Text, o.now, o.zone), true
	case CondHasLabel:
		fact := o.talkFact(f)
		return fact != nil && slices.Contains(fact.labels, c.Text), true
	case CondAssigned:
		fact := o.talkFact(f)
		return fact != nil && fact.assignee != "", fact != nil
	case CondSector:
		fact := o.talkFact(f)
		return fact != nil && fact.sector == c.Text, fact != nil
	case CondHumanActive:
		return t != nil && slices.ContainsFunc(t.said, func(m said) bool { return m.by == "team" && !m.at.Before(o.now.Add(-c.For)) }), true
	case CondWaiting:
		since := o.now
		for i := 0; t != nil && i < len(t.said); i++ {
			switch m := t.said[i]; {
			case m.by == "team":
				since = o.now
			case m.by == "customer" && m.at.Before(since):
				since = m.at
			}
		}
		return o.now.Sub(since) > c.For, true
	case CondCount:
		n := 0
		for _, e := range o.lanes[f.e.lane].all {
			if e.Type == c.Text && !e.At.Before(o.now.Add(-c.For)) {
				n++
			}
		}
		return n >= c.N, true
	case CondAttendanceOpen:
		fact := o.visitFact(f)
		return fact != nil && fact.open, fact != nil
	case CondAnswered:
		fact := o.visitFact(f)
		return fact != nil && fact.answered, fact != nil
	case CondBusiness:
		fact := o.visitFact(f)
		return fact != nil && openBetween(c.Text, fact.opened, o.now, o.zone) > c.For, fact != nil
	case CondStage:
		fact := o.cardFact(f)
		return fact != nil && fact.stage == c.Text, fact != nil
	case CondNoAnswer:
		return results[c.Text] == nil, true
	case CondAnswerIs:
		id, text, _ := strings.Cut(c.Text, "=")
		e := results[id]
		return e != nil && e.message != nil && e.message.text == text, true
	}
	panic("the reference does not know the condition " + c.Kind)
}

// words returns the words of a text in small letters, a blank before, between and behind them.
func words(text string) string {
	list := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsNumber(r) })
	return " " + strings.Join(list, " ") + " "
}

// ---- Calendars.

// openings yields when a calendar is open, from the day before a time on.
func openings(calendar string, from time.Time, zone *time.Location) iter.Seq2[time.Time, time.Time] {
	const minute, lastDay = time.Minute, 400
	return func(yield func(start, end time.Time) bool) {
		y, m, d := from.In(zone).Date()
		for n := -1; n < lastDay; n++ {
			midnight := time.Date(y, m, d+n, 0, 0, 0, 0, zone)
			var shifts [][2]int // in minutes
			switch day := midnight.Weekday(); {
			case calendar == "night":
				shifts = [][2]int{{22 * 60, 30 * 60}}
			case midnight.Format(time.DateOnly) == "2026-11-20" || day == time.Sunday:
			case day == time.Saturday:
				shifts = [][2]int{{9 * 60, 13 * 60}}
			default:
				shifts = [][2]int{{8 * 60, 12 * 60}, {13*60 + 30, 18 * 60}}
			}
			for _, s := range shifts {
				if !yield(midnight.Add(time.Duration(s[0])*minute), midnight.Add(time.Duration(s[1])*minute)) {
					return
				}
			}
		}
	}
}

func isOpen(calendar string, at time.Time, zone *time.Location) bool {
	for start, end := range openings(calendar, at, zone) {
		if start.After(at) {
			return false
		}
		if at.Before(end) {
			return true
		}
	}
	return false
}

// nextOpening is when a calendar opens next; while it is open, when it does after it has closed.
func nextOpening(calendar string, after time.Time, zone *time.Location) time.Time {
	for start := range openings(calendar, after, zone) {
		if start.After(after) {
			return start
		}
	}
	return after
}

// openingTime is when a calendar has been open for so long since a time.
func openingTime(calendar string, from time.Time, length time.Duration, zone *time.Location) time.Time {
	if length == 0 {
		return from
	}
	for start, end := range openings(calendar, from, zone) {
		if start.Before(from) {
			start = from
		}
		switch open := end.Sub(start); {
		case open <= 0:
		case length <= open:
			return start.Add(length)
		default:
			length -= open
		}
	}
	return from
}

// openBetween is how long a calendar is open between two times.
func openBetween(calendar string, from, to time.Time, zone *time.Location) (open time.Duration) {
	for start, end := range openings(calendar, from, zone) {
		if start.After(to) {
			break
		}
		if start.Before(from) {
			start = from
		}
		if end.After(to) {
			end = to
		}
		open += max(0, end.Sub(start))
	}
	return open
}
