package backtest

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A recordedDesk provides facts from the recorded answers.
type recordedDesk struct{ *replay }

// mark begins the error text of an answer that was not recorded, in verdicts and steps.
const mark = "it was not recorded at the time: "

// missing is the error for a fact that was not read at the time. The result of a run that needs it
// is unknown.
func (r *replay) missing(q engine.Inquiry, question string) error {
	if q.Run != nil && r.unknown[q.Run.Key] == "" {
		r.unknown[q.Run.Key] = question
	}
	return actions.Permanent(fmt.Errorf("%s%s", mark, question))
}

// missed returns the question in the words of an error.
func missed(text string) (question string, ok bool) {
	_, question, ok = strings.Cut(text, mark)
	return question, ok
}

// recorded finds the recorded answer to a question.
func (d recordedDesk) recorded(ctx context.Context, q engine.Inquiry, question string) (json.RawMessage, bool, error) {
	for _, id := range []string{q.Trigger.ID, q.Event.ID} {
		p, err := d.past(ctx, id)
		if err != nil {
			return nil, false, err
		}
		if raw, ok := p.answer(q, question); ok {
			return raw, true, nil
		}
		if q.Trigger == q.Event || q.Passed != "" {
			break
		}
	}
	return nil, false, nil
}

// Read reads what an event carries. An object that lacks an unknown name is passed only when a rule
// reads it: it is not recorded whether the name would have excluded a rule, and a rule that reads
// it has an unknown result.
func (d recordedDesk) Read(ctx context.Context, e rules.Event) (actions.Carried, actions.Subject, error) {
	facts, about, err := d.Desk.Carried(ctx, e)
	switch {
	case actions.IsPermanent(err):
		return nil, about, err
	case err != nil:
		return nil, about, d.broken(err)
	}
	for name, fact := range facts {
		for field, question := range unnamed(fact) {
			for _, r := range d.set.Rules {
				if strings.Contains(r.Source(), field) {
					d.nameless[pair{r.ID, e.ID}] = question
				}
			}
			delete(facts, name)
		}
	}
	return actions.Told(facts), about, nil
}

// unnamed returns the name fields that a fact lacks, with what is unknown.
func unnamed(fact any) map[string]string {
	fields, _ := fact.(map[string]any)
	var out map[string]string
	for field, value := range fields {
		thing, ok := strings.CutSuffix(field, "_name")
		if !ok || value != nil {
			continue
		}
		id := fields[thing]
		if id == nil {
			id = fields[thing+"_id"]
		}
		if id == nil {
			continue
		}
		if out == nil {
			out = make(map[string]string)
		}
		out[field] = fmt.Sprintf("the name of the %s %v", thing, id)
	}
	return out
}

// Fact returns a fact as recorded.
func (d recordedDesk) Fact(ctx context.Context, name string, about *actions.Subject) (any, error) {
	q, _ := engine.InquiryOf(ctx)
	question := name
	if name != vocabulary.Card && name != vocabulary.Message {
		question = q.Question(name)
	}
	raw, ok, err := d.recorded(ctx, q, question)
	if err != nil {
		return nil, d.broken(err)
	}
	if ok {
		v, err := engine.DecodeValue(raw)
		if err != nil {
			return nil, actions.Permanent(err)
		}
		learn(about, name, v)
		return v, nil
	}
	if q.Passed == "" && question == name {
		// It may be one that lacks a name.
		facts, _, err := d.carried(ctx, q.Event)
		if err != nil {
			return nil, d.broken(err)
		}
		if facts[name] != nil {
			return facts[name], nil
		}
	}
	if nothing := *about == (actions.Subject{}); nothing || q.Which || name == "card" && about.Card == "" || name == "message" && about.Message == "" {
		return nil, nil // known to be none without a call
	}
	return nil, d.missing(q, "the "+name)
}

// learn completes the subject of a run from a fact, as the service's desk does.
func learn(about *actions.Subject, name string, v any) {
	fact, _ := v.(map[string]any)
	known := map[string]*string{"conversation": &about.Conversation, "contact": &about.Contact, "attendance": &about.Attendance, "card": &about.Card, "message": &about.Message}
	for thing, id := range known {
		text, _ := fact[thing+"_id"].(string)
		if thing == name {
			text, _ = fact["id"].(string)
		}
		if *id == "" {
			*id = text
		}
	}
}

// HumanActive returns the recorded answer, or what follows from others.
func (d recordedDesk) HumanActive(ctx context.Context, conversation string, since time.Time) (bool, error) {
	q, _ := engine.InquiryOf(ctx)
	question := q.Question("human_active(" + duration.Format(q.Now.Sub(since)) + ")")
	raw, ok, err := d.recorded(ctx, q, question)
	if err != nil {
		return false, d.broken(err)
	}
	var active bool
	if ok && json.Unmarshal(raw, &active) == nil {
		return active, nil
	}
	p, err := d.past(ctx, q.Trigger.ID)
	if err != nil {
		return false, d.broken(err)
	}
	if active, known := activeWithin(p.answers(q), q.Now.Sub(since)); known && q.Elsewhere == "" {
		return active, nil
	}
	if active, known := d.presence.activeIn(conversation, since, q.Now); known {
		return active, nil
	}
	return false, d.missing(q, question)
}

// WaitingSince returns the recorded answer.
func (d recordedDesk) WaitingSince(ctx context.Context, _ string) (time.Time, error) {
	q, _ := engine.InquiryOf(ctx)
	raw, ok, err := d.recorded(ctx, q, q.Question("customer_waiting()"))
	if err != nil {
		return time.Time{}, d.broken(err)
	}
	if ok {
		v, err := engine.DecodeValue(raw)
		if waits, ok := v.(time.Duration); ok && err == nil {
			if waits == 0 {
				return time.Time{}, nil
			}
			return q.Now.Add(-waits), nil
		}
	}
	return time.Time{}, d.missing(q, "customer_waiting()")
}

// Received returns nothing: a backtest knows only messages that are recorded.
func (d recordedDesk) Received(context.Context, string, time.Time) ([]rules.Event, error) {
	return nil, nil
}

// HasLabel checks the labels of the fact. For a label that is no longer known it returns the
// recorded answer.
func (d recordedDesk) HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error) {
	has, err := d.Desk.HasLabel(ctx, fact, label)
	switch {
	case err == nil:
		return has, nil
	case !actions.IsPermanent(err):
		return false, d.broken(err)
	}
	q, _ := engine.InquiryOf(ctx)
	question := q.Question(journal.AnswerLabel(factName(fact), label))
	raw, ok, err := d.recorded(ctx, q, question)
	if err != nil {
		return false, d.broken(err)
	}
	if ok && json.Unmarshal(raw, &has) == nil {
		return has, nil
	}
	return false, d.missing(q, question)
}

// LabelNames returns the recorded answer, or what the labels are called now.
func (d recordedDesk) LabelNames(ctx context.Context, fact map[string]any) ([]any, error) {
	q, _ := engine.InquiryOf(ctx)
	question := journal.AnswerLabels(fact)
	raw, ok, err := d.recorded(ctx, q, question)
	if err != nil {
		return nil, d.broken(err)
	}
	var names []any
	if ok && json.Unmarshal(raw, &names) == nil {
		return names, nil
	}
	names, err = d.Desk.LabelNames(ctx, fact)
	switch {
	case err == nil:
		return names, nil
	case !actions.IsPermanent(err):
		return nil, d.broken(err)
	}
	return nil, d.missing(q, question)
}

// factName returns whether a fact with labels is the contact or the conversation.
func factName(fact map[string]any) vocabulary.Fact {
	if _, ok := fact["phone"]; ok {
		return vocabulary.Contact
	}
	return vocabulary.Conversation
}

// Items gives none: those that were found then are recorded as events of their own.
func (recordedDesk) Items(context.Context, string, map[string]any) iter.Seq2[engine.Item, error] {
	return func(func(engine.Item, error) bool) {}
}

// Probe says that all is well.
func (recordedDesk) Probe(context.Context) error { return nil }
