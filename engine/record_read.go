package engine

import (
	"encoding/json"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// A Record is what the journal has of a step, for tools that look back.
type Record struct {
	At, Ended time.Time       // when it was reached, and when it ended
	Reason    string          // as text
	Why       *phrases.Phrase // the Reason as a phrase
	Args      json.RawMessage
	Value     json.RawMessage // its result
	Answers   journal.Answers // of the desk
	Elsewhere string          // the conversation that the step is about, if a step took up another than the event's own

	Wait  string    // of a wait, its text in the rule: 15m of office
	Until time.Time // of a wait

	Intent   *actions.Intent // without a receipt; of a shadow run, what it would have sent
	Receipts []actions.Receipt
}

// ReadRecord returns what was recorded of a step. Args, Value and the Answers are in the form that
// DecodeValue reads; equal texts are equal values.
func ReadRecord(s *journal.Step) (Record, error) {
	r, err := recordOf(s)
	if err != nil {
		return Record{}, err
	}
	return Record{
		At: r.At, Ended: r.Ended, Reason: r.Reason, Why: r.Why, Args: r.Args, Value: r.Value, Answers: r.Answers, Elsewhere: r.Elsewhere, Wait: r.Wait, Until: r.Until,
		Intent: r.Intent, Receipts: r.Receipts,
	}, nil
}

// Passed returns the waits that the run has passed after the step, given those before it.
func (r Record) Passed(s *journal.Step, before Passed) Passed {
	if !slept(s) || !s.State.Finished() {
		return before
	}
	value, _ := decode(r.Value) // an unreadable value counts as one without an id
	return before.with(r.Wait, idOf(value))
}

// AnswerTo returns the recorded answer to a question. It is not ok if the question was not asked,
// or the answer cannot be decoded.
func AnswerTo(a journal.Answers, question string) (v any, ok bool) {
	raw, asked := a[question]
	if !asked {
		return nil, false
	}
	v, err := decode(raw)
	return v, err == nil
}

// EncodeArgs encodes the arguments of a step as a Record has them.
func EncodeArgs(schema *rules.Schema, args map[string]any) (json.RawMessage, error) {
	return encode(withoutSecrets(schema, args))
}

// DecodeValue decodes a recorded value into what expressions saw.
func DecodeValue(raw json.RawMessage) (any, error) { return decode(raw) }

// Nothing is what later steps see of a result that is unknown: an object with all its fields empty.
func Nothing(schema *rules.Schema) any { return emptyResult(schema.Result) }
