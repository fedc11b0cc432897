package engine

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
)

// facts answers what expressions ask about an event: from what it carries, else from the desk,
// which is asked once for each thing and only when it is needed.
type facts struct {
	lane     *laneState
	event    *journal.Event
	gathered []*journal.Event // all of them, where several were gathered
	about    *actions.Subject // of a run, else own
	own      actions.Subject

	carried actions.Carried // by the event; nil before it was looked at
	fetched map[string]any
	stale   bool            // what the event carried may have changed
	at      time.Time       // of a decision: it sees one moment only, so that it can be looked into; zero is the present
	asked   journal.Answers // and were answered, for the journal

	run     *journal.Run // on whose behalf they are asked for; nil while it is decided whether there is one
	trigger *journal.Event
	rule    string // that decides alone, on what it has gathered; empty is all of them
	step    string // of the run that asks, by its path
	passed  Passed // the waits that the run has behind it

	pinned   bool // it was found out which attendance the run is about, unless there is none
	which    bool // that is being found out
	selected bool // a step has said which card is at hand: the event's own is not any more
	cardless bool // and it is none
}

// factsOf returns the facts of an event.
func (l *laneState) factsOf(e *journal.Event) *facts {
	f := &facts{lane: l, event: e}
	f.about = &f.own
	return f
}

// clone returns the same facts for a reader that may fetch more of them.
func (f *facts) clone() *facts {
	copied := *f
	copied.fetched = maps.Clone(f.fetched)
	return &copied
}

// forRun makes the facts of a decision those of the run that it began, which may fetch more.
func (f *facts) forRun(r *journal.Run) *facts {
	f.about = &r.About
	f.asked, f.at = nil, time.Time{}
	f.run, f.trigger = r, f.event
	return f
}

// A deskError is an answer that the desk could not give. What follows from it stands in its marks.
type deskError struct{ error }

func (e *deskError) Unwrap() error { return e.error }

// load looks at what the event carries.
func (f *facts) load(ctx context.Context) error {
	if f.carried != nil {
		return nil
	}
	carried, about, err := f.lane.workspace.Desk.Read(f.asking(ctx), f.event.Event)
	if err != nil {
		return &deskError{err}
	}
	f.carried = carried
	if f.selected {
		about.Card = ""
	}
	complete(f.about, about)
	return nil
}

// told returns a fact that the event carries. It is not ok where the event does not tell it.
func (f *facts) told(ctx context.Context, name string) (fact any, ok bool, err error) {
	if err := f.load(ctx); err != nil {
		return nil, false, err
	}
	if fact, ok, err = f.carried.Fact(ctx, name); err != nil {
		return nil, false, &deskError{err}
	}
	return fact, ok, nil
}

// complete fills in what is not known yet.
func complete(known *actions.Subject, more actions.Subject) {
	known.Conversation = cmp.Or(known.Conversation, more.Conversation)
	known.Contact = cmp.Or(known.Contact, more.Contact)
	known.Attendance = cmp.Or(known.Attendance, more.Attendance)
	known.Card = cmp.Or(known.Card, more.Card)
	known.Message = cmp.Or(known.Message, more.Message)
}

// Now is the engine's clock, in the workspace's zone: that decides which day it is.
func (f *facts) Now() time.Time {
	now := f.at
	if now.IsZero() {
		now = f.lane.now()
	}
	return now.In(f.lane.workspace.Location)
}

// decideAt makes a decision one of this moment, and notes it with the answers.
func (f *facts) decideAt(question string) {
	f.at = f.lane.now()
	f.answer(question, f.Now())
}

// Fact returns a fact by its name.
func (f *facts) Fact(ctx context.Context, name string) (any, error) {
	switch name {
	case "event":
		return f.describe(ctx, f.event)
	case "events":
		return f.each(f.describeAll(ctx))
	case "messages":
		return f.messages(ctx)
	}
	if v, ok := f.fetched[name]; ok {
		return v, nil
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	if !f.stale || name == "message" {
		if v, ok, err := f.told(ctx, name); ok || err != nil {
			return v, err
		}
	}
	v, err := f.lane.workspace.Desk.Fact(f.asking(ctx), name, f.about)
	if err != nil {
		return nil, &deskError{err}
	}
	f.set(name, v)
	f.answer(name, v)
	return v, nil
}

// pin finds out which attendance a run of a rule is about that has to do with it. When the run gets
// to that, after a wait, a pause or in its turn, the customer may have another one.
func (f *facts) pin(ctx context.Context, rule *rules.Rule) error {
	if f.pinned || !slices.Contains(rule.Facts, "attendance") {
		return nil
	}
	if err := f.load(ctx); err != nil {
		return err
	}
	if f.about.Attendance == "" {
		f.which = true
		v, err := f.lane.workspace.Desk.Fact(f.asking(ctx), "attendance", f.about)
		f.which = false
		if err != nil {
			return &deskError{err}
		}
		if v != nil {
			f.set("attendance", v)
			f.answer("attendance", v)
		}
	}
	f.pinned = true
	return nil
}

// answer notes what the desk has told.
func (f *facts) answer(question string, v any) {
	raw, err := encode(v)
	if err != nil {
		return // it was good enough to decide on
	}
	if f.asked == nil {
		f.asked = make(journal.Answers)
	}
	f.asked[question] = raw
}

// forget makes facts be fetched afresh: after a wait a rule never decides on what was true before
// it slept.
func (f *facts) forget() {
	f.stale = true
	clear(f.fetched)
}

// refetch makes what a call may have changed be fetched afresh. So a rule knows what was done
// before, whether it goes on at once or after a crash. Only a step that gives the contact changes
// that.
func (f *facts) refetch() {
	contact, known := f.fetched["contact"]
	clear(f.fetched)
	if known {
		f.set("contact", contact)
	}
}

// set makes a step's result the fact of that name.
func (f *facts) set(name string, v any) {
	if f.fetched == nil {
		f.fetched = make(map[string]any)
	}
	f.fetched[name] = v
}

// describe returns an event as expressions see it.
func (f *facts) describe(ctx context.Context, e *journal.Event) (any, error) {
	of := f
	if e != f.event || f.carried == nil {
		of = f.lane.factsOf(e)
	}
	event := map[string]any{
		"id": e.ID, "type": e.Type, "created_at": e.CreatedAt, "received_at": e.ReceivedAt, "age": f.Now().Sub(e.CreatedAt),
		"tenant_id": e.Tenant, "data": e.Data, "message": nil, "attendance": nil, "card": nil,
	}
	for _, name := range [...]string{"message", "attendance", "card"} {
		fact, ok, err := of.told(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			event[name] = fact
		}
	}
	return event, nil
}

func (f *facts) describeAll(ctx context.Context) ([]map[string]any, error) {
	list := f.gathered
	if len(list) == 0 {
		list = []*journal.Event{f.event}
	}
	out := make([]map[string]any, len(list))
	for i, e := range list {
		described, err := f.describe(ctx, e)
		if err != nil {
			return nil, err
		}
		out[i] = described.(map[string]any)
	}
	return out, nil
}

func (f *facts) messages(ctx context.Context) (any, error) {
	list, err := f.describeAll(ctx)
	out := make([]any, 0, len(list))
	for _, e := range list {
		if m := e["message"]; m != nil {
			out = append(out, m)
		}
	}
	return out, err
}

func (*facts) each(list []map[string]any, err error) (any, error) {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out, err
}

// conversation returns the id of the conversation, which may have to be found out.
func (f *facts) conversation(ctx context.Context) (string, error) {
	if err := f.load(ctx); err != nil {
		return "", err
	}
	if f.about.Conversation == "" {
		if _, err := f.Fact(ctx, "conversation"); err != nil {
			return "", err
		}
	}
	return f.about.Conversation, nil
}

// HumanActive reports whether somebody of the team has written lately.
func (f *facts) HumanActive(ctx context.Context, within time.Duration) (bool, error) {
	id, err := f.conversation(ctx)
	if err != nil || id == "" {
		return false, err
	}
	active, err := f.lane.workspace.Desk.HumanActive(f.asking(ctx), id, f.Now().Add(-within))
	if err != nil {
		return false, &deskError{err}
	}
	f.answer("human_active("+duration.Format(within)+")", active)
	return active, nil
}

// CustomerWaiting returns how long the customer's oldest unanswered message has waited.
func (f *facts) CustomerWaiting(ctx context.Context) (time.Duration, error) {
	id, err := f.conversation(ctx)
	if err != nil || id == "" {
		return 0, err
	}
	since, err := f.lane.workspace.Desk.WaitingSince(f.asking(ctx), id)
	if err != nil {
		return 0, &deskError{err}
	}
	waits := time.Duration(0)
	if !since.IsZero() {
		waits = max(0, f.Now().Sub(since))
	}
	f.answer("customer_waiting()", waits)
	return waits, nil
}

// HasLabel reports whether the conversation has a label.
func (f *facts) HasLabel(ctx context.Context, name string) (bool, error) {
	v, err := f.Fact(ctx, "conversation")
	if err != nil {
		return false, err
	}
	fact, ok := v.(map[string]any)
	if !ok {
		return false, nil
	}
	has, err := f.lane.workspace.Desk.HasLabel(f.asking(ctx), fact, name)
	if err != nil {
		return false, &deskError{err}
	}
	f.answer("has_label("+name+")", has)
	return has, nil
}

// CountEvents counts the events of the lane.
func (f *facts) CountEvents(ctx context.Context, typ string, within time.Duration) (int, error) {
	if fresh := f.lane.fresh; fresh != nil {
		fresh.counted = true
		return 0, &deskError{errRecordFirst}
	}
	n, err := f.lane.engine.journal.Count(ctx, f.event.Workspace, f.event.Lane, typ, f.Now().Add(-within))
	if err != nil {
		return 0, &deskError{err}
	}
	f.answer("count_events("+typ+", "+duration.Format(within)+")", n)
	return n, nil
}
