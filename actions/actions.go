// Package actions defines what a step can do, and the registry that names it.
//
// A step's work is a sequence of calls to outside systems. Each call is planned, recorded as an
// Intent, made, and recorded as a Receipt. Whoever carries a step out may stop at any point: what
// has a receipt is not done again, and what has an intent but no receipt is settled by the action
// itself, which knows what makes its call safe to repeat.
package actions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// An Action provides one verb.
//
// Whoever carries a step out keeps to this: Plan; record the intent; Do at once; record the
// receipt; Plan again, until there is a result. Every other call of Do, whatever it is for (an
// error, a pause, a crash), comes right after a Settle that said Repeat, so that no call is made on
// the strength of what was true some time ago.
type Action interface {
	// Schema describes the verb.
	Schema() rules.Schema

	// Plan says what comes next in a step, given the receipts of the calls that have been made:
	// another call, or the result. It reads what it must and changes nothing.
	Plan(ctx context.Context, s *Step) (Next, error)

	// Do makes the call of a recorded intent. The intent holds the exact request: a repeat never
	// renders again.
	Do(ctx context.Context, s *Step, i Intent) (Receipt, error)

	// Settle finds out what became of a call that has no receipt, by reading. Whoever asks has waited
	// until the call cannot be under way any more.
	Settle(ctx context.Context, s *Step, i Intent) (Settlement, error)

	// Made reports, by reading, whether what an event is about came of the call of an intent. It is
	// asked where the call has had no answer for too long to wait for it, or its run has ended without
	// one. It is false where nothing tells.
	Made(ctx context.Context, i Intent, about Subject) (bool, error)
}

// A Step is one step of a run, with everything that its action may know.
type Step struct {
	Workspace string
	Key       string         // the step's idempotency key, the same on every repeat
	Args      map[string]any // the rendered arguments
	Now       time.Time

	Subject // what is at hand

	Receipts   []Receipt // of the calls that this step has made, in order
	Generation int       // how often a call of this step was planned anew: after Replan, and after an error that IsStale

	// Until is when the call that Do makes must be over: after it somebody else may look into what
	// became of it, and a call that leaves later would have its effect behind his back. The zero time
	// is whenever.
	Until time.Time

	// Failed is the error of the last try of the call, for Settle, and for Plan after one that
	// IsStale. It is nil where nobody remembers, as after a crash.
	Failed error
}

// A Subject is what a run is about, by ids. Empty where there is none.
type Subject struct {
	Conversation string `json:"conversation,omitempty"`
	Contact      string `json:"contact,omitempty"`
	Attendance   string `json:"attendance,omitempty"`
	Card         string `json:"card,omitempty"`
	Message      string `json:"message,omitempty"`
}

// An Item is one thing of a list that a schedule goes through.
type Item struct {
	ID   string
	Lane string         // what it concerns, as the lane of an event about it would be
	Data map[string]any // that an event about it carries; it survives JSON
}

// Carried is what an event carries: facts as expressions see them. Most are never asked for.
type Carried interface {
	// Fact returns a fact by its name. It is not ok where the event does not tell it.
	Fact(ctx context.Context, name string) (fact any, ok bool, err error)
}

// Told are facts that are there already.
type Told map[string]any

// Fact returns a fact by its name.
func (t Told) Fact(_ context.Context, name string) (fact any, ok bool, err error) {
	fact, ok = t[name]
	return fact, ok, nil
}

// Receipt returns the newest receipt of a call of the step, by the call's name.
func (s *Step) Receipt(call string) (Receipt, bool) {
	for _, r := range slices.Backward(s.Receipts) {
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

// An Intent is a call that is about to be made. It is recorded before it is, with its JSON just as
// the action wrote it.
type Intent struct {
	Call       string    `json:"call"`       // its name within the step, such as "send"
	Generation int       `json:"generation"` // raised where the service's rules ask for a new key
	At         time.Time `json:"at"`         // when it was planned

	// After is the newest event that was recorded then: what the call causes is recorded later. Who
	// records the intent sets it.
	After int64 `json:"after,omitempty"`

	// Lane is the lane of another conversation or card than the run's own, or of a phone, that the
	// call touches. A step whose intent names another lane is taken there and planned again before the
	// intent is recorded, because what Plan read outside of that lane may change under it.
	Lane string `json:"lane,omitempty"`

	// Elsewhere says that the call's events come in a lane that nobody knows before it has an answer,
	// as those of a new card do.
	Elsewhere bool `json:"elsewhere,omitempty"`

	Request json.RawMessage `json:"request"`          // exactly what is sent
	Before  json.RawMessage `json:"before,omitempty"` // what the object looked like
	Emits   []string        `json:"emits,omitempty"`  // events that the service raises when it has its effect

	// Planned is the request as the plan made it, for a Do that comes right after it. It is not
	// recorded: an intent that was read back has none.
	Planned any `json:"-"`
}

// A Receipt is the answer to a call. Its JSON too is recorded just as the action wrote it.
type Receipt struct {
	Call   string          `json:"call"`
	Answer json.RawMessage `json:"answer,omitempty"`

	// Caused is what the engine will hear of its own doing. A journal keeps it by itself, not with
	// the receipt.
	Caused []Caused `json:"-"`

	// Fact is the answer as Typed reads it, for a Plan that comes right after it. It is not recorded:
	// nil is that Answer must be read.
	Fact any `json:"-"`
}

// Caused is an event that a call causes, as far as the answer tells: by it the engine knows its own
// effects when they come back.
type Caused struct {
	Event  string // message.sent
	Object string // the id of the message, card, attendance or conversation
	Stage  string // of a moved card: where it went

	// Set is what the call set, as a part of the object's facts, an object in JSON: an event that
	// shows something else in these fields is somebody else's doing.
	Set json.RawMessage
}

// ConversationLane is the lane of a conversation.
func ConversationLane(id string) string { return rules.LaneOf("conversation", id) }

// CardLane is the lane of a card that belongs to no conversation.
func CardLane(id string) string { return rules.LaneOf("card", id) }

// Lane is the lane of what the subject is about: its conversation, else its card, else its
// attendance, else its contact. It is empty where there is none of them.
func (s Subject) Lane() string {
	switch {
	case s.Conversation != "":
		return ConversationLane(s.Conversation)
	case s.Card != "":
		return CardLane(s.Card)
	case s.Attendance != "":
		return rules.LaneOf("attendance", s.Attendance)
	case s.Contact != "":
		return rules.LaneOf("contact", s.Contact)
	}
	return ""
}

// PhoneLane is the lane of a phone that has no conversation yet. The forms of one number, with or
// without country code, blanks or a ninth digit, all end in the same eight digits; two numbers that
// share them only wait for each other.
func PhoneLane(phone string) string {
	digits := make([]byte, 0, len(phone))
	for i := range len(phone) {
		if c := phone[i]; c >= '0' && c <= '9' {
			digits = append(digits, c)
		}
	}
	return "phone:" + string(digits[max(0, len(digits)-8):])
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
	Why     *phrases.Phrase // nil where there is nothing to say
	Value   any             // what later steps see under the step's id, with the fields of the verb's result type
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
	Why     *phrases.Phrase
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
