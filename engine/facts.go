package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// facts answers what expressions ask about an event: from the data that the event carries,
// otherwise from the desk. It asks the desk once for each fact, and only when the fact is needed.
type facts struct {
	lane     *laneState
	event    *journal.Event
	gathered []*journal.Event // all events, if several were gathered
	about    *actions.Subject // what is at hand: the run's subject, what a step took up, or own if there is no run
	own      actions.Subject

	carried actions.Carried // the event's data; nil until it is read
	fetched map[string]any
	stale   bool            // the event's data may be out of date
	at      time.Time       // the fixed time of a decision, so that it can be reproduced; zero means the present
	answers journal.Answers // the desk's answers, for the journal

	run     *journal.Run // the run that asks; nil while it is decided whether there is one
	trigger *journal.Event
	rule    string // the rule that decides alone, on what it gathered; empty if all rules decide
	step    string // the path of the run's step that asks
	passed  Passed // the waits that the run has passed

	pinned    bool // the run's attendance is known, or the run has none
	lookingUp bool // the attendance is being looked up
	selected  bool // a step selected the card, which replaces the event's own
	cardless  bool // the step selected no card

	elsewhere      bool // a step took up another conversation, which replaces the event's own
	attendanceless bool // a step looked for an attendance that does not exist
}

// factsOf returns the facts of an event.
func (l *laneState) factsOf(e *journal.Event) *facts {
	f := &facts{lane: l, event: e}
	f.about = &f.own
	return f
}

// clone returns a copy that can fetch more facts without changing f.
func (f *facts) clone() *facts {
	copied := *f
	copied.fetched = maps.Clone(f.fetched)
	return &copied
}

// forRun turns the facts of a decision into those of the run that it started, which may fetch more.
func (f *facts) forRun(r *journal.Run) *facts {
	f.about = &r.About
	f.answers, f.at = nil, time.Time{}
	f.run, f.trigger = r, f.event
	return f
}

// A deskError says that the desk could not answer. The marks of the error say what follows from it.
type deskError struct{ error }

func (e *deskError) Unwrap() error { return e.error }

// load reads the data that the event carries.
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
	if f.elsewhere {
		about.Conversation, about.Contact, about.Attendance = "", "", ""
	}
	fillMissing(f.about, about)
	return nil
}

// carriedFact returns a fact that the event carries. It is not ok if the event does not carry it.
func (f *facts) carriedFact(ctx context.Context, name string) (fact any, ok bool, err error) {
	if err := f.load(ctx); err != nil {
		return nil, false, err
	}
	if fact, ok, err = f.carried.Fact(ctx, name); err != nil {
		return nil, false, &deskError{err}
	}
	return fact, ok, nil
}

// withMove adds to the event's card, as it was fetched, what only the event of its move tells: the
// stage that it left, and who moved it.
func (f *facts) withMove(ctx context.Context, name string, fetched any) (any, error) {
	card, ok := fetched.(map[string]any)
	if name != vocabulary.Card || !ok || f.event.Type != vocabulary.CardMoved {
		return fetched, nil
	}
	told, ok, err := f.carriedFact(ctx, name)
	moved, _ := told.(map[string]any)
	if err != nil || !ok || moved["id"] != card["id"] {
		return fetched, err
	}
	card = maps.Clone(card)
	for _, field := range []string{"from_stage_id", "from_stage_name", "moved_by"} {
		card[field] = moved[field]
	}
	return card, nil
}

// fillMissing copies into known the ids that it lacks.
func fillMissing(known *actions.Subject, more actions.Subject) {
	known.Conversation = cmp.Or(known.Conversation, more.Conversation)
	known.Contact = cmp.Or(known.Contact, more.Contact)
	known.Attendance = cmp.Or(known.Attendance, more.Attendance)
	known.Card = cmp.Or(known.Card, more.Card)
	known.Message = cmp.Or(known.Message, more.Message)
}

// Now returns the engine's time in the workspace's zone, which decides which day it is.
func (f *facts) Now() time.Time {
	now := f.at
	if now.IsZero() {
		now = f.lane.now()
	}
	return now.In(f.lane.workspace.Location)
}

// decideAt fixes the time of a decision to the present, and records it with the answers.
func (f *facts) decideAt(question string) {
	f.at = f.lane.now()
	f.recordAnswer(question, f.Now())
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
	replaced := f.elsewhere && isOfConversation(name)
	if replaced && f.about.Conversation == "" || name == "attendance" && f.attendanceless {
		return nil, nil
	}
	if !replaced && (!f.stale || name == "message") {
		if v, ok, err := f.carriedFact(ctx, name); ok || err != nil {
			return v, err
		}
	}
	about := f.about
	if f.elsewhere && !replaced {
		about = new(*about) // the event's card or message belongs to another conversation
	}
	v, err := f.lane.workspace.Desk.Fact(f.asking(ctx), name, about)
	if err != nil {
		return nil, &deskError{err}
	}
	if v, err = f.withMove(ctx, name, v); err != nil {
		return nil, err
	}
	f.set(name, v)
	if isOfConversation(name) {
		f.recordOfConversation(name, v)
	} else {
		f.recordAnswer(name, v)
	}
	return v, nil
}

// recordOfConversation keeps an answer about the conversation at hand for the journal.
func (f *facts) recordOfConversation(question string, v any) {
	if f.elsewhere {
		question = journal.Elsewhere(f.about.Conversation, question)
	}
	f.recordAnswer(question, v)
}

// isOfConversation reports whether a fact changes with the conversation at hand.
func isOfConversation(fact string) bool {
	return fact == "conversation" || fact == "contact" || fact == "attendance"
}

// takeUp makes another conversation the one at hand, with its contact and attendance. Without a
// conversation there is none at hand.
func (f *facts) takeUp(conversation, contact, attendance string) {
	f.about = &actions.Subject{Conversation: conversation, Contact: contact, Attendance: attendance, Card: f.about.Card, Message: f.about.Message}
	f.elsewhere, f.attendanceless = true, false
	f.forgetConversation()
}

// takeUp makes the conversation that a step read the one at hand.
func (k *walk) takeUp(conversation any, rec *record) {
	id := idOf(conversation)
	if id != "" && ObjectKey(id) == ObjectKey(k.facts.about.Conversation) {
		return
	}
	attendance, _ := AnswerTo(rec.Answers, journal.Elsewhere(id, "attendance"))
	k.facts.takeUp(id, textIn(conversation, "contact_id"), idOf(attendance))
	k.eval.Forget()
}

// pinAttendanceOf looks up the attendance of another conversation that a step takes up, if the rule
// uses one, for the same reason as pinAttendance.
func (k *walk) pinAttendanceOf(ctx context.Context, s *rules.Step, value any) error {
	id := idOf(value)
	if s.Schema.Gives != "conversation" || s.Needs() != "" || id == "" || !slices.Contains(k.rule.Facts, "attendance") {
		return nil
	}
	there := k.facts.clone()
	there.answers = nil
	there.takeUp(id, "", "")
	_, err := there.Fact(ctx, "attendance")
	for question, raw := range there.answers {
		k.facts.keepAnswer(question, raw)
	}
	return err
}

// putBack makes the conversation of earlier facts the one at hand again. The card stays.
func (f *facts) putBack(earlier facts) {
	earlier.about.Card = f.about.Card
	f.about, f.elsewhere, f.attendanceless = earlier.about, earlier.elsewhere, earlier.attendanceless
	f.carried = nil // the event's ids may be missing in about
	f.forgetConversation()
}

func (f *facts) forgetConversation() {
	for name := range f.fetched {
		if isOfConversation(name) {
			delete(f.fetched, name)
		}
	}
}

// missing returns why a step has nothing to work on, because steps before it looked for it in vain;
// empty if it has, or that is not known yet.
func (f *facts) missing(s *rules.Step) phrases.Code {
	switch need := s.Needs(); {
	case need == "card" && f.cardless:
		return phrases.NoCard
	case (need == "conversation" || need == "contact") && f.elsewhere && f.about.Conversation == "":
		return phrases.NoConversation
	case need != "" && f.attendanceless && s.Verb == vocabulary.CloseAttendance:
		return phrases.NoOpenAttendance
	}
	return ""
}

// pinAttendance looks up which attendance a run is about, if its rule uses one. When the run
// reaches the step that needs it, after a wait, a pause or other runs, the customer may have
// another attendance.
func (f *facts) pinAttendance(ctx context.Context, rule *rules.Rule) error {
	if f.pinned || !slices.Contains(rule.Facts, "attendance") {
		return nil
	}
	if err := f.load(ctx); err != nil {
		return err
	}
	if f.about.Attendance == "" {
		f.lookingUp = true
		v, err := f.lane.workspace.Desk.Fact(f.asking(ctx), "attendance", f.about)
		f.lookingUp = false
		if err != nil {
			return &deskError{err}
		}
		if v != nil {
			f.set("attendance", v)
			f.recordAnswer("attendance", v)
		}
	}
	f.pinned = true
	return nil
}

// recordAnswer keeps an answer of the desk for the journal.
func (f *facts) recordAnswer(question string, v any) {
	raw, err := encode(v)
	if err != nil {
		return // it served for the decision, which does not fail for this
	}
	f.keepAnswer(question, raw)
}

// keepAnswer keeps an answer in the form that the journal has.
func (f *facts) keepAnswer(question string, raw json.RawMessage) {
	if f.answers == nil {
		f.answers = make(journal.Answers)
	}
	f.answers[question] = raw
}

// invalidate makes every fact be fetched again: after a wait, a rule never decides on facts from
// before it.
func (f *facts) invalidate() {
	f.stale = true
	clear(f.fetched)
}

// invalidateChanged makes every fact be fetched again that a call may have changed. So a rule sees
// the effects of earlier steps, whether it continues at once or after a crash. The contact stays:
// only a step whose result is a contact changes it.
func (f *facts) invalidateChanged() {
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
		fact, ok, err := of.carriedFact(ctx, name)
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

// conversation returns the id of the conversation, which it may have to look up.
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

// HumanActive reports whether a member of the team has written within the given time.
func (f *facts) HumanActive(ctx context.Context, within time.Duration) (bool, error) {
	id, err := f.conversation(ctx)
	if err != nil || id == "" {
		return false, err
	}
	active, err := f.lane.workspace.Desk.HumanActive(f.asking(ctx), id, f.Now().Add(-within))
	if err != nil {
		return false, &deskError{err}
	}
	f.recordOfConversation("human_active("+duration.Format(within)+")", active)
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
	f.recordOfConversation("customer_waiting()", waits)
	return waits, nil
}

// HasLabel reports whether the conversation or the contact has a label.
func (f *facts) HasLabel(ctx context.Context, of, name string) (bool, error) {
	v, err := f.Fact(ctx, of)
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
	f.recordOfConversation(journal.AnswerLabel(of, name), has)
	return has, nil
}

// Labels returns the names of the labels of a conversation or a contact.
func (f *facts) Labels(ctx context.Context, _ string, fact map[string]any) ([]any, error) {
	labels, err := f.lane.workspace.Desk.LabelNames(f.asking(ctx), fact)
	if err != nil {
		return nil, &deskError{err}
	}
	f.recordAnswer(journal.AnswerLabels(fact), labels)
	return labels, nil
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
	f.recordAnswer("count_events("+typ+", "+duration.Format(within)+")", n)
	return n, nil
}
