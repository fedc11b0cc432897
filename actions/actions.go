// Package actions defines what a step can do, and the registry that names it.
//
// A step's work is a sequence of calls to outside systems. Each call is planned, recorded as an Intent, made, and recorded as a
// Receipt. Whoever carries a step out may stop at any point: what has a receipt is not done again, and what has an intent
// but no receipt is settled by the action itself, which knows what makes its call safe to repeat.
package actions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/rules"
)

// An Action provides one verb.
type Action interface {
	// Schema describes the verb.
	Schema() rules.Schema

	// Plan says what comes next in a step, given the receipts of the calls that have been made: another call, or the
	// result. It reads what it must and changes nothing.
	Plan(ctx context.Context, s *Step) (Next, error)

	// Do makes the call of a recorded intent. The intent holds the exact request: a repeat never renders again.
	Do(ctx context.Context, s *Step, i Intent) (Receipt, error)

	// Settle finds out what became of a call whose answer is not known, by reading.
	Settle(ctx context.Context, s *Step, i Intent) (Settlement, error)
}

// A Step is one step of a run, with everything that its action may know.
type Step struct {
	Workspace string
	Key       string         // the step's idempotency key, the same on every repeat
	Args      map[string]any // the rendered arguments
	Now       time.Time

	// What is at hand: the ids of what the run is about. Empty where there is none.
	Conversation, Contact, Attendance, Card string

	Receipts []Receipt // of the calls that this step has made, in order
}

// Receipt returns the receipt of an earlier call of the step, by the call's name.
func (s *Step) Receipt(call string) (Receipt, bool) {
	for _, r := range s.Receipts {
		if r.Call == call {
			return r, true
		}
	}
	return Receipt{}, false
}

// Next is what comes next in a step: an Intent to carry out, or a Result.
type Next struct {
	Intent *Intent
	Result *Result
}

// An Intent is a call that is about to be made. It is recorded before it is.
type Intent struct {
	Call       string          `json:"call"`             // its name within the step, such as "send"
	Generation int             `json:"generation"`       // raised where the service's rules ask for a new key
	Lane       string          `json:"lane,omitempty"`   // the conversation, card or phone that it touches; empty is the run's own
	Request    json.RawMessage `json:"request"`          // exactly what is sent
	Before     json.RawMessage `json:"before,omitempty"` // what the object looked like
	Emits      []string        `json:"emits,omitempty"`  // events that the service raises when it has its effect
}

// A Receipt is the answer to a call.
type Receipt struct {
	Call   string          `json:"call"`
	Answer json.RawMessage `json:"answer,omitempty"`
	Caused []Caused        `json:"caused,omitempty"` // what the engine will hear of its own doing
}

// Caused is an event that a call causes, as far as the answer tells: by it the engine knows its own effects when they come back.
type Caused struct {
	Event  string `json:"event"`            // message.sent
	Object string `json:"object,omitempty"` // the id of the message, card, attendance or conversation
	Stage  string `json:"stage,omitempty"`  // of a moved card: where it went
}

// An Outcome is how a step ended.
type Outcome string

// The outcomes of a step that did not fail.
const (
	Done       Outcome = "done"       // it is so: it was done, or it was so already
	Skipped    Outcome = "skipped"    // it was not to be done, for the reason given
	Superseded Outcome = "superseded" // somebody else changed it meanwhile; nothing is taken back from a person
)

// A Result is what came of a step.
type Result struct {
	Outcome Outcome
	Reason  string
	Value   any // what later steps see under the step's id, with the fields of the verb's result type
}

// A Verdict says what to do about a call whose answer is not known.
type Verdict string

// The verdicts of Settle.
const (
	Happened Verdict = "happened" // it had its effect; the settlement's receipt is its answer
	Repeat   Verdict = "repeat"   // it had none, or a repeat is harmless: make the same call again
	Replan   Verdict = "replan"   // it had none, and must be planned anew, with the next generation
	Overtook Verdict = "overtook" // somebody else changed the object meanwhile: the step ends as superseded
	Unknown  Verdict = "unknown"  // nothing tells: a person must look
)

// A Settlement is what became of a call.
type Settlement struct {
	Verdict Verdict
	Receipt Receipt // when it happened
	Reason  string
}

// Permanent marks an error that no repeat mends.
func Permanent(err error) error { return &failure{err: err, permanent: true} }

// RetryAfter marks an error after which the whole workspace must wait, without it counting as an attempt.
func RetryAfter(d time.Duration, err error) error { return &failure{err: err, after: d} }

// Uncertain marks an error after which the call may have had its effect: it is settled before it is repeated.
func Uncertain(err error) error { return &failure{err: err, uncertain: true} }

// Held marks an error that stops the workspace until its key works again.
func Held(err error) error { return &failure{err: err, held: true} }

// A failure is an error with what follows from it.
type failure struct {
	err                        error
	permanent, uncertain, held bool
	after                      time.Duration
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// IsPermanent reports whether no repeat mends the error.
func IsPermanent(err error) bool { f, ok := errors.AsType[*failure](err); return ok && f.permanent }

// IsUncertain reports whether the call may have had its effect.
func IsUncertain(err error) bool { f, ok := errors.AsType[*failure](err); return ok && f.uncertain }

// IsHeld reports whether the workspace must stop until its key works again.
func IsHeld(err error) bool { f, ok := errors.AsType[*failure](err); return ok && f.held }

// Wait returns how long the workspace must wait before any other call; 0 is not at all.
func Wait(err error) time.Duration {
	if f, ok := errors.AsType[*failure](err); ok {
		return f.after
	}
	return 0
}

// A Registry names the actions that rules can use. It is a value, not a global.
type Registry struct {
	byVerb map[string]Action
	order  []Action
}

// NewRegistry returns a registry of the given actions.
func NewRegistry(list ...Action) (*Registry, error) {
	r := &Registry{byVerb: make(map[string]Action, len(list)), order: list}
	for _, a := range list {
		verb := a.Schema().Verb
		if r.byVerb[verb] != nil {
			return nil, fmt.Errorf("two actions have the verb %q", verb)
		}
		r.byVerb[verb] = a
	}
	return r, nil
}

// Action returns the action of a verb, or nil.
func (r *Registry) Action(verb string) Action { return r.byVerb[verb] }

// Catalog returns the verbs of the language together with those of the registry.
func (r *Registry) Catalog() (*rules.Catalog, error) {
	schemas := make([]rules.Schema, len(r.order))
	for i, a := range r.order {
		schemas[i] = a.Schema()
	}
	return rules.NewCatalog(schemas...)
}
