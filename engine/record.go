package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// A record is what the engine needs of a step to continue with it after a stop.
type record struct {
	At      time.Time       `json:"at"`                // when it was reached
	Ended   time.Time       `json:"ended,omitzero"`    // when it ended
	Reason  string          `json:"reason,omitempty"`  // as text, for people
	Why     *phrases.Phrase `json:"why,omitempty"`     // the reason or the step's error as a phrase, whichever was set last
	Value   json.RawMessage `json:"value,omitempty"`   // its result, as encode writes it
	Values  map[string]any  `json:"values,omitempty"`  // of the names in a condition
	Args    json.RawMessage `json:"args,omitempty"`    // the step's arguments without secrets, for people
	Answers journal.Answers `json:"answers,omitempty"` // of the desk

	// Elsewhere is the conversation that an earlier step took up, and that this step is about; empty
	// if it is about the event's own.
	Elsewhere string `json:"elsewhere,omitempty"`

	// The way through the rule.
	Allowed bool            `json:"allowed,omitempty"` // the step's own if was true
	Branch  *int            `json:"branch,omitempty"`  // of choose; -1 is none
	Items   json.RawMessage `json:"items,omitempty"`   // of for_each
	Until   time.Time       `json:"until,omitzero"`    // of a wait
	Wait    string          `json:"wait,omitempty"`    // of a wait: its text in the rule
	For     []string        `json:"for,omitempty"`     // of wait_for: the events
	After   time.Time       `json:"after,omitzero"`    // of wait_for: only later events count
	Number  int64           `json:"number,omitempty"`  // of wait_for: the sequence number that goes with After; of other steps, the newest decided event when they ended
	Heard   []int64         `json:"heard,omitempty"`   // of wait_for: the events that came meanwhile; once it is over, from the one that ended it
	Taken   bool            `json:"taken,omitempty"`   // of wait_for: the first of the heard events ends it
	Passed  Passed          `json:"passed,omitempty"`  // of a wait in a for_each that is over: the waits that the run has passed, including this one

	// The calls of an action.
	Generation int               `json:"generation,omitempty"`
	Intent     *actions.Intent   `json:"intent,omitempty"` // without a receipt
	Receipts   []actions.Receipt `json:"receipts,omitempty"`
	Sent       []sent            `json:"sent,omitempty"`      // the requests of the calls that have receipts, for people
	Tried      time.Time         `json:"tried,omitzero"`      // when the intent's call was last made
	Answered   bool              `json:"answered,omitempty"`  // that call had an answer: it is not in flight
	Lost       bool              `json:"lost,omitempty"`      // that call ended without an answer: it is not in flight, and its effect is unknown
	Doubt      bool              `json:"doubt,omitempty"`     // some attempt of the call ended so: it may have had its effect
	Confirmed  bool              `json:"confirmed,omitempty"` // a person said that the call had no effect

	// What went wrong.
	Failures int       `json:"failures,omitempty"`
	Last     bool      `json:"last,omitempty"`  // there is no other attempt; the last one is yet to be settled
	Since    time.Time `json:"since,omitzero"`  // when the first failure was
	Again    int       `json:"again,omitempty"` // how often a person had the step retried
	Tries    []Try     `json:"tries,omitempty"` // the attempts that failed and were to be repeated, for people
}

// isOpen reports whether a call of the step may have had its effect, and neither a receipt nor a
// person has said.
func (r *record) isOpen() bool {
	return r.Intent != nil && (r.Doubt || !r.Answered) && !r.Confirmed
}

// A Try is an attempt of a step that failed.
type Try struct {
	At    time.Time       `json:"at"`
	Error string          `json:"error"`
	Why   *phrases.Phrase `json:"why,omitempty"` // the Error as a phrase; nil if it has none
}

// maxTries bounds the attempts that are recorded: the first and the newest are.
const maxTries = 20

// addTry records an attempt that failed.
func (r *record) addTry(at time.Time, err error) {
	if len(r.Tries) == maxTries {
		r.Tries = slices.Delete(r.Tries, 1, 2)
	}
	what := phrases.Of(err)
	r.Tries = append(r.Tries, Try{at, what.String(), what.Coded()})
}

// sent is the request of a call.
type sent struct {
	Call    string          `json:"call"`
	Request json.RawMessage `json:"request"`
}

// setError records an error of a step.
func (r *record) setError(s *journal.Step, err error) {
	what := phrases.Of(err)
	s.Error, r.Why = what.String(), what.Coded()
}

// errorPhrase returns what went wrong with a step.
func errorPhrase(s *journal.Step, r *record) *phrases.Phrase {
	return phrases.Recorded(s.Error, r.Why)
}

// recordOf decodes a step's record.
func recordOf(s *journal.Step) (*record, error) {
	r := &record{}
	if len(s.Record) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(s.Record, r); err != nil {
		return nil, fmt.Errorf("the record of step %s cannot be read: %w", s.Path, err)
	}
	return r, nil
}
