package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Answers are the desk's answers to rules, by question, in the form of a recorded value. They allow
// a decision to be inspected, and to be repeated when the desk would answer differently.
type Answers map[string]json.RawMessage

// AnswerNow is the question under which the time of a decision is recorded.
const AnswerNow = "now()"

// AnswerClaimed is the question under which the run is recorded whose wait_for took the event, or
// what caused it.
const AnswerClaimed = "claimed by"

// AnswerInternal is the question under which it is recorded whose chat the event is in, if it is
// one of the company's own.
const AnswerInternal = "internal chat of"

// AnswerLabel is the question under which it is recorded whether the conversation or the contact
// has a label.
func AnswerLabel(fact, label string) string {
	if fact == "contact" {
		return "contact_has_label(" + label + ")"
	}
	return "has_label(" + label + ")"
}

// AnswerLabels is the question under which the names of a fact's labels are recorded: by their ids,
// because a step's result has labels too.
func AnswerLabels(fact map[string]any) string {
	ids, _ := fact["label_ids"].([]any)
	return fmt.Sprintf("labels(%v)", ids)
}

// Elsewhere is the question under which an answer about a conversation is recorded that a step took
// up.
func Elsewhere(conversation, question string) string { return question + " in " + conversation }

// GatherNow is the question under which the time is recorded at which a rule decided on its
// gathered events.
func GatherNow(rule string) string { return Gathering(rule, AnswerNow) }

// Gathering is the question under which an answer is recorded that a rule had when it decided on
// its gathered events, if rules that decided at once had a different answer.
func Gathering(rule, question string) string { return question + " of " + rule }

// With adds the answers that a rule had when it decided on its gathered events. Earlier answers of
// other rules stay as they are.
func (a Answers) With(rule string, later Answers) Answers {
	if a == nil {
		a = make(Answers, len(later))
	}
	for question, raw := range later {
		if first, ok := a[question]; ok && !bytes.Equal(first, raw) {
			question = Gathering(rule, question)
		}
		a[question] = raw
	}
	return a
}
