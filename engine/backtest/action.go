package backtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// An action replaces a verb: it makes no calls. A step that was recorded, with the same arguments
// at the same point, has the recorded result. Any other would have had its effect, and the
// service's answer is unknown.
type action struct {
	*replay
	schema rules.Schema
}

// call is the name of every call that a replay makes: none of them goes anywhere.
const call = "noted"

// Schema describes the verb.
func (a *action) Schema() rules.Schema { return a.schema }

// Plan says what comes of a step.
func (a *action) Plan(ctx context.Context, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(call); ok {
		return actions.Next{Result: &actions.Result{Outcome: actions.Done, Value: a.values[s.Key]}}, nil
	}
	q, ok := engine.InquiryOf(ctx)
	if !ok || q.Run == nil {
		return actions.Next{}, actions.Permanent(errors.New("the step belongs to no run"))
	}
	if question := a.unknown[q.Run.Key]; question != "" {
		return actions.Next{}, actions.Permanent(errors.New(mark + question))
	}
	p, err := a.past(ctx, q.Trigger.ID)
	if err != nil {
		return actions.Next{}, a.broken(err)
	}
	args := encodeArgs(&a.schema, s.Args)
	if recorded := p.matchingStep(q, a.schema.Verb, a.repeated, func(recorded string) bool { return recorded == args }); recorded != nil {
		a.repeated[recorded.Key] = true
		return a.repeatRecorded(q, s, recorded)
	}
	if a.schema.OnlyReads() {
		return actions.Next{}, a.missing(q, fmt.Sprintf("what %s %s finds", a.schema.Verb, words(args)))
	}
	if next, ok, err := a.conditional(p, q, s, args); ok {
		return next, err
	}
	a.values[s.Key] = engine.Nothing(&a.schema)
	a.unanswered(q, s)
	return a.note(s)
}

// repeatRecorded brings a step to the end that it had.
func (a *action) repeatRecorded(q engine.Inquiry, s *actions.Step, recorded *recordedStep) (actions.Next, error) {
	value, err := engine.DecodeValue(recorded.Value)
	if err != nil {
		return actions.Next{}, actions.Permanent(err)
	}
	end := actions.Next{Result: &actions.Result{Outcome: actions.Outcome(recorded.State), Why: phrases.Recorded(recorded.Reason, recorded.Why), Value: value}}
	switch {
	case recorded.State == journal.StepFailed:
		return actions.Next{}, actions.Permanent(errors.New(recorded.Error))
	case recorded.State == journal.StepSkipped, recorded.State == journal.StepSuperseded:
		return end, nil
	case recorded.State == journal.StepDone && len(recorded.Receipts) == 0:
		return end, nil // it only read, or there was nothing to change
	case recorded.State == journal.StepDone:
		a.values[s.Key] = value
	default: // in shadow, or not answered to this day
		a.values[s.Key] = engine.Nothing(&a.schema)
		if q.Run.Stage == rules.Live {
			a.unanswered(q, s)
		}
	}
	return a.note(s)
}

// note records the effect of a step.
func (*action) note(s *actions.Step) (actions.Next, error) {
	return actions.Next{Intent: &actions.Intent{Call: call, At: s.Now, Request: json.RawMessage(`{}`)}}, nil
}

// conditional decides a step that depends on the card's stage at that moment. Another recorded step
// with the same question about the same card answers it.
func (a *action) conditional(p *recordedEvent, q engine.Inquiry, s *actions.Step, args string) (actions.Next, bool, error) {
	if _, ok := s.Args[onlyFrom]; !ok {
		return actions.Next{}, false, nil
	}
	condition := part(args, onlyFrom, "card", "board")
	recorded := p.matchingStep(q, a.schema.Verb, a.repeated, func(recorded string) bool { return part(recorded, onlyFrom, "card", "board") == condition })
	switch {
	case recorded == nil:
	case recorded.State == journal.StepSkipped:
		next, err := a.repeatRecorded(q, s, recorded)
		return next, true, err
	case len(recorded.Receipts) > 0 || recorded.State == journal.StepWould && recorded.Intent != nil:
		return actions.Next{}, false, nil
	}
	return actions.Next{}, true, a.missing(q, "where the card was, for only_from")
}

// onlyFrom is the argument that makes a step depend on what it finds.
const onlyFrom = "only_from"

// unanswered notes that a run continues with an unknown result, if a later step reads it. What
// follows is then unknown.
func (a *action) unanswered(q engine.Inquiry, s *actions.Step) {
	rule := a.set.Rule(q.Run.Rule)
	if rule == nil || rule.Version != q.Run.Version || q.Run.Stage != rules.Live {
		return
	}
	path := index.ReplaceAllString(s.Key[len(q.Run.Key)+1:], "[]")
	for step := range rule.Steps() {
		if step.Path != path {
			continue
		}
		if step.ID != "" && rule.ReadsAfter(step, step.ID) || a.schema.Gives != "" && rule.ReadsAfter(step, a.schema.Gives) {
			a.after[q.Run.Key] = fmt.Sprintf("what the service answers to %s (step %s)", a.schema.Verb, step.Path)
		}
	}
}

var index = regexp.MustCompile(`\[\d+\]`)

// Do makes no call.
func (a *action) Do(ctx context.Context, _ *actions.Step, _ actions.Intent) (actions.Receipt, error) {
	if q, ok := engine.InquiryOf(ctx); ok && q.Run != nil {
		if question := a.after[q.Run.Key]; question != "" && a.unknown[q.Run.Key] == "" {
			a.unknown[q.Run.Key] = question
		}
	}
	return actions.Receipt{Call: call}, nil
}

// Settle is never called: every call has its answer at once.
func (*action) Settle(context.Context, *actions.Step, actions.Intent) (actions.Settlement, error) {
	return actions.Settlement{Verdict: actions.Repeat}, nil
}

// Made is never called: every call has its answer at once.
func (*action) Made(context.Context, actions.Intent, actions.Subject) (bool, error) {
	return false, nil
}

// words shows recorded arguments in a question.
func words(args string) string {
	const most = 120
	value, err := engine.DecodeValue(json.RawMessage(args))
	text, jsonErr := json.Marshal(shown(value))
	if err != nil || jsonErr != nil {
		return ""
	}
	if r := []rune(string(text)); len(r) > most {
		return string(r[:most]) + "…"
	}
	return string(text)
}
