package engine

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// A record is what the engine must know of a step to go on with it after a stop.
type record struct {
	At      time.Time       `json:"at"`                // when it was reached
	Ended   time.Time       `json:"ended,omitzero"`    // when it came to its end
	Reason  string          `json:"reason,omitempty"`  // in words, for people
	Why     *phrases.Phrase `json:"why,omitempty"`     // the reason, or the step's error, as a phrase: what was set last
	Value   json.RawMessage `json:"value,omitempty"`   // its result, as encode writes it
	Values  map[string]any  `json:"values,omitempty"`  // of the names in a condition
	Args    json.RawMessage `json:"args,omitempty"`    // what the step was asked for, without secrets; for people
	Answers journal.Answers `json:"answers,omitempty"` // to what it asked the desk

	// The way that was taken.
	Allowed bool            `json:"allowed,omitempty"` // the step's own if was true
	Branch  *int            `json:"branch,omitempty"`  // of choose; -1 is none
	Items   json.RawMessage `json:"items,omitempty"`   // of for_each
	Until   time.Time       `json:"until,omitzero"`    // of a wait
	Wait    string          `json:"wait,omitempty"`    // of a wait: as its rule has it
	For     []string        `json:"for,omitempty"`     // of wait_for: the events
	After   time.Time       `json:"after,omitzero"`    // of wait_for: such an event counts when it is later than this mark
	Number  int64           `json:"number,omitempty"`  // of the mark: as mark.event; of other steps, the newest event when they ended
	Heard   []int64         `json:"heard,omitempty"`   // such events that came meanwhile; of a wait_for that is over, from the one on that ended it
	Passed  Passed          `json:"passed,omitempty"`  // of a wait in a for_each that is over: the waits behind the run, with itself

	// The calls of an action.
	Generation int               `json:"generation,omitempty"`
	Intent     *actions.Intent   `json:"intent,omitempty"` // without a receipt
	Receipts   []actions.Receipt `json:"receipts,omitempty"`
	Sent       []sent            `json:"sent,omitempty"`      // what the calls that have receipts sent, for people
	Tried      time.Time         `json:"tried,omitzero"`      // when the intent's call was last made
	Answered   bool              `json:"answered,omitempty"`  // that call had an answer: it is not under way any more
	Lost       bool              `json:"lost,omitempty"`      // that call ended without telling whether it had its effect: it is not under way any more
	Doubt      bool              `json:"doubt,omitempty"`     // so ended some try of the call: it may have had its effect
	Confirmed  bool              `json:"confirmed,omitempty"` // a person said that the call had no effect

	// What went wrong.
	Failures int       `json:"failures,omitempty"`
	Last     bool      `json:"last,omitempty"`  // there is no other attempt; what became of this one is to be found out
	Since    time.Time `json:"since,omitzero"`  // the first of them
	Again    int       `json:"again,omitempty"` // how often a person let the step be tried once more
}

// sent is what a call sent.
type sent struct {
	Call    string          `json:"call"`
	Request json.RawMessage `json:"request"`
}

// erred notes what went wrong with a step.
func (r *record) erred(s *journal.Step, err error) {
	what := phrases.Of(err)
	s.Error, r.Why = what.String(), what.Coded()
}

// why returns what went wrong with a step.
func why(s *journal.Step, r *record) *phrases.Phrase {
	return phrases.Recorded(s.Error, r.Why)
}

// recordOf reads a step's record.
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
