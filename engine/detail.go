package engine

import (
	"encoding/json"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// A Detail is what a step's record shows people: its arguments, what was sent and answered, how
// long it waited.
type Detail struct {
	At, Ended time.Time
	Until     time.Time // of a wait
	Wait      string    // of a wait: its text in the rule, with its variables filled in
	For       []string  // of wait_for: the events
	Reason    string
	Why       *phrases.Phrase // the Reason, or the step's Error, as a phrase
	Args      any             // the step's arguments
	Value     any             // its result
	Values    map[string]any  // of the names in a condition
	Branch    *int            // of choose, from 0; -1 is none
	Calls     []DetailCall
	Attempts  []Try // that failed before
}

// A DetailCall is one call of a step.
type DetailCall struct {
	Name    string
	Request any
	Answer  any
	Made    bool // it has a receipt; otherwise it is yet to be made, or its outcome is unknown
}

// DetailOf reads a step's record.
func DetailOf(s *journal.Step) (Detail, error) {
	r, err := recordOf(s)
	if err != nil {
		return Detail{}, err
	}
	d := Detail{At: r.At, Ended: r.Ended, Until: r.Until, Wait: r.Wait, For: r.For, Reason: r.Reason, Why: r.Why, Values: r.Values, Branch: r.Branch, Attempts: r.Tries, Args: plainValue(r.Args), Value: plainValue(r.Value)}
	for i, receipt := range r.Receipts {
		c := DetailCall{Name: receipt.Call, Answer: plainValue(receipt.Answer), Made: true}
		if i < len(r.Sent) {
			c.Request = plainValue(r.Sent[i].Request)
		}
		d.Calls = append(d.Calls, c)
	}
	if r.Intent != nil {
		d.Calls = append(d.Calls, DetailCall{Name: r.Intent.Call, Request: plainValue(r.Intent.Request)})
	}
	return d, nil
}

// WhyOf returns why a step ended as it did, or what went wrong with it; nil if the record has no
// phrase for it.
func WhyOf(s *journal.Step) *phrases.Phrase {
	var r struct{ Why *phrases.Phrase }
	if json.Unmarshal(s.Record, &r) != nil {
		return nil
	}
	return r.Why
}

// A Trouble is what a step that is repeated has met so far.
type Trouble struct {
	Failures int
	Since    time.Time // when the first failure was
	Reading  bool      // what the step needs could not be read; otherwise its call failed
}

// TroubleOf returns the trouble of an unfinished step; the zero value if it has none.
func TroubleOf(s *journal.Step) Trouble {
	var r struct {
		Failures int
		Since    time.Time
		Intent   json.RawMessage
	}
	if s.State != journal.StepOpen || s.Error == "" || json.Unmarshal(s.Record, &r) != nil {
		return Trouble{}
	}
	return Trouble{Failures: r.Failures, Since: r.Since, Reading: len(r.Intent) == 0}
}

// plainValue decodes a recorded value for people; one that cannot be decoded is shown as it is.
func plainValue(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	v, err := decode(raw)
	if err != nil {
		return string(raw)
	}
	return v
}
