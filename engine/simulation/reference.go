package simulation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// The reference (this file and those beside it: rules, runs, steps, facts) says what rules must do,
// from docs/language.md, as plainly and slowly as possible. It knows nothing of the engine: no
// journal, no retries, no crashes. It takes the events of an undisturbed desk as they were raised,
// and returns the effects that the rules must have had on them. An effect that it does not expect
// was doubled or is wrong, one that is missing was lost.
//
// Undisturbed means: events arrive when they happen, calls take no time, and what is due is done
// when it is due. What the documents leave open, or what only engine/README.md and the code say, is
// marked with "Looked up".
//
// Looked up, of what happens at one instant: first come all events of people, then the ticks of
// schedules. Lanes are processed in the order in which they were due, then by name; each in this
// order: its events (all rules decide on an event in the order of their ids, then the runs that it
// began take their steps in that order, then comes the next event), then what was gathered, then
// the due runs, the oldest first. Events raised by the engine's own calls come when nothing else is
// left to do.

// Comparable reports whether Expect is exact for a scenario, and if not, why. Expect leaves open
// the order at one instant when many lanes interact: runs that go to other conversations while
// their own has more events than an engine takes at a time.
func Comparable(s *Scenario) (exact bool, why string) {
	if len(s.Customers) > 16 {
		return false, "more lanes than an engine claims at a time: their order at one instant is not known"
	}
	return true, ""
}

// Expect returns the effects that the rules of a scenario must have had on an undisturbed history.
func Expect(s *Scenario, h *History) []Effect {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		panic(err) // the program carries the zones with it
	}
	o := &oracle{
		scenario: s, history: h, zone: zone, talks: map[string]*talkState{}, lanes: map[string]*oracleLane{}, bounded: map[bound]bool{}, lifted: map[int]bool{}, taken: map[string][]countedUse{}, folded: map[string]bool{},
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

// ---- The desk: its state, from the events.

// An oracle is a desk, the rules on it, and what they must do.
type oracle struct {
	scenario *Scenario
	history  *History
	zone     *time.Location
	now      time.Time
	round    int // how often everything was done at this instant
	turn     int // a round over the due lanes
	calls    int // made by runs

	talks  map[string]*talkState // by customer
	visits []*visitState         // attendances, oldest first
	cards  []*cardState          // oldest first
	told   []*occurrence         // the history's events
	coming []*occurrence         // those that were not heard yet
	fired  int                   // of the history's firings
	lanes  map[string]*oracleLane
	heard  int
	order  int

	runs    []*oracleRun // oldest first
	gathers []*oracleGather
	bounded map[bound]bool          // safety bounds in force
	lifted  map[int]bool            // stops of the history whose end was carried out
	taken   map[string][]countedUse // of limits and bounds
	folded  map[string]bool         // events already attributed to a call
	effects []Effect
}

// A talkState is a conversation.
type talkState struct {
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

// An occurrence is an event as the engine gets it, also of a schedule or a person.
type occurrence struct {
	Event
	rule  string // the only one that it is for
	tick  bool   // of a schedule with each: its items are not found yet
	lane  string
	heard int       // its number
	came  time.Time // when it was heard: an item of a tick that had to wait, later than it happened
	order int       // in which it was decided; 0 if not yet

	claimed bool // a wait_for took it

	message *said // and what else it carries, as it was then
	talk    *talkState
	visit   *visitState
	card    *cardState
}

// An oracleLane is everything that concerns one conversation.
type oracleLane struct {
	all, waiting []*occurrence
	visited      time.Time // what is left over by a visit is due from then on
}

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
	_ = json.Unmarshal(e.Data, &d) // missing fields stay empty
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
		t := &talkState{id: c.ID, customer: e.Customer, contact: c.Contact, sector: names[c.Sector], assignee: names[c.Assignee], name: c.Name, pinned: c.Pinned, unread: c.Unread}
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

// applyEvent updates the desk from an event. The engine's own effects are known without that.
func (o *oracle) applyEvent(e *occurrence) {
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
		// Looked up: a person's message is the first response to the open attendance, and no event says
		// so.
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

func (o *oracle) talkOf(id string) *talkState {
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

// live runs everything that happens at this instant.
func (o *oracle) live() {
	people := o.takeArrived(func(e *occurrence) bool { return e.Cause == "" })
	for _, e := range people {
		o.applyEvent(e)
	}
	manual := 0
	for i, f := range o.history.Fired {
		if f.Customer == "" || f.At.After(o.now) {
			continue
		}
		if manual++; i >= o.fired && o.talks[f.Customer] != nil {
			o.addToLane(&occurrence{Event: Event{ID: fmt.Sprintf("manual/%d", manual), Type: "manual", At: f.At, Customer: f.Customer}, rule: f.Rule, lane: laneOf(o.talks[f.Customer].id)})
		}
	}
	for _, e := range people {
		o.addToLane(e)
	}
	for ; o.fired < len(o.history.Fired) && !o.history.Fired[o.fired].At.After(o.now); o.fired++ {
		if f := o.history.Fired[o.fired]; f.Customer == "" {
			o.addToLane(&occurrence{Event: Event{ID: f.Rule + "/" + f.At.UTC().Format(time.RFC3339), Type: "schedule", At: f.At}, rule: f.Rule, lane: "schedule:" + f.Rule, tick: true})
		}
	}
	const restless = 400
	for o.round = 0; o.round < restless; o.round++ {
		busy := o.work()
		own := o.takeArrived(func(e *occurrence) bool {
			return slices.ContainsFunc(o.runs, func(r *oracleRun) bool { return r.caused(e) && r.called.Equal(o.now) })
		})
		if !busy && len(own) == 0 && o.round > 0 {
			if own = o.takeArrived(func(*occurrence) bool { return true }); len(own) == 0 {
				return // nothing is left, not even unexpected calls
			}
		}
		for _, e := range own {
			o.addToLane(e)
		}
	}
}

// takeArrived takes the coming events that have happened by now.
func (o *oracle) takeArrived(which func(*occurrence) bool) (list []*occurrence) {
	o.coming = slices.DeleteFunc(o.coming, func(e *occurrence) bool {
		comes := !e.At.After(o.now) && which(e)
		if comes {
			list = append(list, e)
		}
		return comes
	})
	return list
}

// addToLane puts an event into its lane.
func (o *oracle) addToLane(e *occurrence) {
	o.heard++
	e.heard, e.came = o.heard, o.now
	if o.lanes[e.lane] == nil {
		o.lanes[e.lane] = &oracleLane{}
	}
	l := o.lanes[e.lane]
	l.all, l.waiting = append(l.all, e), append(l.waiting, e)
}

// A bound stops a rule in one conversation, or with the filled count of all messages everywhere.
type bound struct{ rule, filled string }

// A countedUse is one run or message that a limit or a bound counts.
type countedUse struct {
	at   time.Time
	rule string
}

// stopped reports whether a person holds a rule or, with an empty one, everything, or a safety
// bound stops it in a lane.
func (o *oracle) stopped(rule, lane string) bool {
	for _, s := range o.history.Stops {
		if s.Rule == rule && o.passed(s.From) && (s.To.IsZero() || !o.passed(s.To)) {
			return true
		}
	}
	return o.bounded[bound{rule, "messages"}] || o.bounded[bound{rule, lane}]
}

// passed reports whether a person's command of a time was carried out. Looked up in world.go: on a
// desk with an even seed it comes after what the engine does at that instant, else before.
func (o *oracle) passed(t time.Time) bool {
	return t.Before(o.now) || t.Equal(o.now) && (o.scenario.Seed%2 == 1 || o.round > 0)
}

// lift lifts the bounds of rules that were resumed: `quando resume --rule` lifts them too, and
// resets the count.
func (o *oracle) lift() {
	for i, s := range o.history.Stops {
		if s.To.IsZero() || !o.passed(s.To) || o.lifted[i] {
			continue
		}
		o.lifted[i] = true
		for b := range o.bounded {
			if b.rule == s.Rule {
				delete(o.bounded, b)
				delete(o.taken, b.filled)
			}
		}
	}
}

// work processes the due lanes until none is left, and reports whether there was any.
func (o *oracle) work() (busy bool) {
	o.lift()
	for !o.stopped("", "") { // what is stopped altogether waits, events included
		o.turn++
		due := map[string]time.Time{}
		add := func(lane string, at time.Time) {
			if before, ok := due[lane]; !ok || at.Before(before) {
				due[lane] = at
			}
		}
		for name, l := range o.lanes {
			if len(l.waiting) > 0 {
				at := l.waiting[0].came
				if at.Before(l.visited) {
					at = l.visited
				}
				add(name, at)
			}
		}
		for _, g := range o.gathers {
			if !g.until.After(o.now) {
				add(g.lane, g.until)
			}
		}
		for _, r := range o.runs {
			if r.due(o.now) {
				add(r.lane, r.wake)
			} else if r.state == running && r.leaves > 0 {
				add(r.lane, o.now)
			}
		}
		if len(due) == 0 {
			return busy
		}
		busy = true
		lanes := slices.Sorted(maps.Keys(due))
		slices.SortStableFunc(lanes, func(a, b string) int { return due[a].Compare(due[b]) })
		claimed := map[string]int{} // how many events wait in each: what arrives meanwhile has a later turn
		for _, lane := range lanes {
			if l := o.lanes[lane]; l != nil {
				claimed[lane] = len(l.waiting)
			}
		}
		for _, lane := range lanes {
			o.visit(lane, claimed[lane])
		}
	}
	return busy
}

// visit does what is due in a lane. Looked up (engine/README.md, "One event, file by file"): if
// more than four events wait in a lane, four are taken at a time, and what was due when the first
// of them came goes before, unless one of those that wait may end it, or be what it waits for.
func (o *oracle) visit(lane string, claimed int) {
	for _, r := range slices.Clone(o.runs) {
		if r.state == running && r.lane == lane && r.leaves > 0 && r.leaves < o.turn {
			r.end()
		}
	}
	const most = 4
	var events, waiting []*occurrence
	more := false
	if l := o.lanes[lane]; l != nil {
		waiting = l.waiting[:claimed]
		more = len(waiting) > most
		events = slices.Clone(waiting[:min(most, len(waiting))])
		l.waiting, l.visited = l.waiting[len(events):], o.now
	}
	if more {
		o.goOn(lane, events[0].came, waiting)
	}
	for _, e := range events {
		o.decide(e)
	}
	if !more {
		o.goOn(lane, o.now, nil)
	}
	o.promote()
}

// goOn ends gathers and takes the steps of runs that were due in a lane by a time, but for those
// that an event concerns which waits there.
func (o *oracle) goOn(lane string, by time.Time, waiting []*occurrence) {
	gathers := slices.Clone(o.gathers)
	slices.SortFunc(gathers, func(a, b *oracleGather) int {
		return cmp.Or(a.until.Compare(b.until), strings.Compare(a.rule, b.rule), strings.Compare(a.by, b.by))
	})
	for _, g := range gathers {
		if g.lane == lane && !g.until.After(by) && g.grew < o.turn {
			o.gathers = slices.DeleteFunc(o.gathers, func(is *oracleGather) bool { return is == g })
			o.endGather(g)
		}
	}
	for _, r := range slices.Clone(o.runs) {
		if r.lane == lane && r.due(by) && !slices.ContainsFunc(waiting, r.isConcerned) {
			r.goOn()
		}
	}
}
