package explain

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A NotRecordedError is a fact that was not read when an event was decided, so it is unknown now.
type NotRecordedError struct {
	What     string
	language rules.Language
}

// Error says what is missing.
func (e *NotRecordedError) Error() string {
	return phrases.Say(e.language, "explain.never_asked", e.What)
}

// missing returns that error.
func (f *facts) missing(code phrases.Code, args ...any) error {
	return &NotRecordedError{phrases.Say(f.language, code, args...), f.language}
}

// facts are the known facts of an event: what it carries, and what was read when it was decided.
type facts struct {
	desk     Desk
	language rules.Language
	location *time.Location
	event    *journal.Event
	gathered []*journal.Event // all of them, where several were gathered
	rule     string           // that decided on gathered events; empty for those that decided at once
	now      time.Time

	carried map[string]any
	about   actions.Subject
	err     error // why the event's data cannot be read
}

func (x *Explainer) factsOf(ctx context.Context, e *journal.Event) *facts {
	f := &facts{desk: x.o.Desk, language: x.o.Language, location: x.o.Location, event: e, now: e.ReceivedAt}
	if at, ok := decidedAt(e); ok {
		f.now = at
	}
	f.carried, f.about, f.err = f.desk.Carried(ctx, e.Event)
	return f
}

// decidedAt returns when an event was decided, if recorded.
func decidedAt(e *journal.Event) (time.Time, bool) {
	v, _ := engine.AnswerTo(e.Answers, journal.AnswerNow)
	at, ok := v.(time.Time)
	return at, ok
}

// withGathered returns the facts for a rule that decided on several events at once.
func (f *facts) withGathered(rule string, events []*journal.Event) *facts {
	own := *f
	own.gathered, own.rule = events, rule
	if v, _ := engine.AnswerTo(f.event.Answers, journal.GatherNow(rule)); v != nil {
		own.now, _ = v.(time.Time)
	}
	return &own
}

// answer returns the recorded answer to a question: to the rule that decided on gathered events,
// else to those that decided at once.
func (f *facts) answer(question string) (any, bool) {
	if f.rule != "" {
		if v, ok := engine.AnswerTo(f.event.Answers, journal.Gathering(f.rule, question)); ok {
			return v, true
		}
	}
	return engine.AnswerTo(f.event.Answers, question)
}

// Now is when the event was decided or, if that is not recorded, received.
func (f *facts) Now() time.Time { return f.now.In(f.location) }

// Fact returns a fact by its name.
func (f *facts) Fact(ctx context.Context, name string) (any, error) {
	switch name {
	case "event":
		return f.describe(f.event, f.carried), f.err
	case "events", "messages":
		return f.all(ctx, name)
	}
	if f.err != nil {
		return nil, f.err
	}
	if v, ok := f.carried[name]; ok {
		return v, nil
	}
	if v, ok := f.answer(name); ok {
		return v, nil
	}
	return nil, f.missing("explain.ask_fact", name)
}

func (f *facts) describe(e *journal.Event, carried map[string]any) map[string]any {
	return map[string]any{
		"id": e.ID, "type": e.Type, "created_at": e.CreatedAt, "received_at": e.ReceivedAt, "age": f.Now().Sub(e.CreatedAt),
		"tenant_id": e.Tenant, "data": e.Data, "message": carried["message"], "attendance": carried["attendance"], "card": carried["card"],
	}
}

// all returns the events that were gathered, or their messages.
func (f *facts) all(ctx context.Context, name string) (any, error) {
	list := f.gathered
	if len(list) == 0 {
		list = []*journal.Event{f.event}
	}
	out := []any{}
	for _, e := range list {
		carried, _, err := f.desk.Carried(ctx, e.Event)
		if err != nil {
			return nil, err
		}
		if name == "events" {
			out = append(out, f.describe(e, carried))
		} else if m := carried["message"]; m != nil {
			out = append(out, m)
		}
	}
	return out, nil
}

// conversationless reports whether the event has nothing to do with a conversation.
func (f *facts) conversationless() bool {
	v, asked := f.answer("conversation")
	return asked && v == nil && f.about.Conversation == ""
}

// HumanActive returns the recorded answer.
func (f *facts) HumanActive(_ context.Context, within time.Duration) (bool, error) {
	length := duration.Format(within)
	v, ok := f.answer("human_active(" + length + ")")
	if !ok && !f.conversationless() {
		return false, f.missing("explain.ask_human", length)
	}
	active, _ := v.(bool)
	return active, nil
}

// Muted returns the recorded answer.
func (f *facts) Muted(context.Context) (bool, error) {
	v, ok := f.answer("muted()")
	if !ok && !f.conversationless() {
		return false, f.missing("explain.ask_muted")
	}
	muted, _ := v.(bool)
	return muted, nil
}

// CustomerWaiting returns the recorded answer.
func (f *facts) CustomerWaiting(context.Context) (time.Duration, error) {
	v, ok := f.answer("customer_waiting()")
	if !ok && !f.conversationless() {
		return 0, f.missing("explain.ask_waiting")
	}
	length, _ := v.(time.Duration)
	return length, nil
}

// HasLabel returns the recorded answer, or what the recorded conversation or contact shows.
func (f *facts) HasLabel(ctx context.Context, of, name string) (bool, error) {
	if v, ok := f.answer(journal.AnswerLabel(of, name)); ok {
		has, _ := v.(bool)
		return has, nil
	}
	v, err := f.Fact(ctx, of)
	if err != nil {
		return false, err
	}
	fact, ok := v.(map[string]any)
	if !ok {
		return false, nil
	}
	if labels, ok := fact["label_ids"].([]any); ok && len(labels) == 0 {
		return false, nil
	}
	has, err := f.desk.HasLabel(ctx, fact, name)
	if err != nil {
		if of == vocabulary.Contact {
			return false, f.missing("explain.ask_contact_label", name)
		}
		return false, f.missing("explain.ask_label", name)
	}
	return has, nil
}

// Labels returns the recorded answer, or what the labels of the fact are called now.
func (f *facts) Labels(ctx context.Context, name string, fact map[string]any) ([]any, error) {
	if v, ok := f.answer(journal.AnswerLabels(fact)); ok {
		labels, _ := v.([]any)
		return labels, nil
	}
	labels, err := f.desk.LabelNames(ctx, fact)
	if err != nil {
		return nil, f.missing("explain.ask_labels", name)
	}
	return labels, nil
}

// CountEvents returns the recorded count.
func (f *facts) CountEvents(_ context.Context, typ string, within time.Duration) (int, error) {
	length := duration.Format(within)
	v, ok := f.answer("count_events(" + typ + ", " + length + ")")
	n, isNumber := v.(int)
	if !ok || !isNumber {
		return 0, f.missing("explain.ask_count", typ, length)
	}
	return n, nil
}

// idNames are the name fields of an event's objects, by the id field beside them. The event carries
// only ids: the names are looked up elsewhere, and are unknown if not found.
var idNames = vocabulary.NamedFields()

// nameless returns the error of a clause that reads an unknown name, or nil.
func (f *facts) nameless(x *rules.Expression) error {
	for _, n := range idNames {
		fact, _ := f.carried[n.Fact].(map[string]any)
		if fact == nil || fact[n.ID] == nil || fact[n.Name] != nil {
			continue
		}
		for _, path := range []string{n.Fact + "." + n.Name, "event." + n.Fact + "." + n.Name} {
			if x.Mentions(path) {
				return f.missing("explain.ask_name", n.Fact+"."+n.ID, fact[n.ID])
			}
		}
	}
	return nil
}

// A judgement is the result of a rule's conditions on the recorded facts.
type judgement struct {
	outcome  journal.Outcome // Fired, False, Failed or Unknown
	decisive int             // the clause that it hangs on; -1 is none
	clauses  []Clause
	missing  error // of the first unknown clause
}

// judge evaluates the conditions in order. An unknown clause does not hide a later one that is
// certainly false. Ruled out is a rule that the index left out because a clause cannot be true:
// that clause counts, even after one that fails.
func (f *facts) judge(ctx context.Context, rule *rules.Rule, ruledOut bool) judgement {
	j := judgement{outcome: journal.Fired, decisive: -1}
	eval := rules.NewEvaluation(ctx, rule, f)
	eval.In(f.language)
	for i, x := range rule.If {
		c := Clause{Clause: x.Text, Basis: Would, Result: rules.ClauseNotReached, Values: map[string]any{}}
		if j.outcome != journal.False && (j.outcome != journal.Failed || ruledOut) {
			c = f.clause(eval, x, ruledOut)
			switch {
			case c.Result == rules.ClauseFalse:
				j.outcome, j.decisive = journal.False, i
			case c.Result == rules.ClauseFailed && j.outcome == journal.Fired:
				j.outcome, j.decisive = journal.Failed, i
			case c.Result == NotKnown && j.missing == nil:
				j.missing = errors.New(c.Error)
				if j.outcome == journal.Fired {
					j.outcome, j.decisive = Unknown, i
				}
			}
		}
		j.clauses = append(j.clauses, c)
	}
	return j
}

// clause evaluates one clause.
func (f *facts) clause(eval *rules.Evaluation, x *rules.Expression, ruledOut bool) Clause {
	v := eval.Partly(x, func(err error) bool { return ruledOut || notRecorded(err) })
	if err := f.nameless(x); err != nil {
		v.Result, v.Words, v.Err = rules.ClauseFailed, "", err
		v.Values = slices.DeleteFunc(v.Values, func(n rules.NamedValue) bool { return n.Value == nil })
	}
	c := Clause{Clause: v.Clause, Result: v.Result, Basis: Would, Values: valuesOf(v.Values), Words: v.Words, Part: v.Part}
	if v.Err != nil {
		c.Error = v.Err.Error()
		if missing, ok := errors.AsType[*NotRecordedError](v.Err); ok {
			c.Result, c.Error = NotKnown, missing.Error()
		}
	}
	return c
}

func notRecorded(err error) bool {
	_, ok := errors.AsType[*NotRecordedError](err)
	return ok
}
