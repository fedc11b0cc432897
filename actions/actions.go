// Package actions defines what a step can do, and the registry that names it.
//
// A step's work is a sequence of calls to outside systems. Each call is planned, recorded as an
// Intent, made, and recorded as a Receipt. The caller may stop at any point: a call with a receipt
// is not made again, and a call with an intent but no receipt is settled by the action itself,
// which knows what makes its call safe to repeat.
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
// The caller keeps to this order: Plan; record the intent; Do at once; record the receipt; Plan
// again, until there is a result. Every other call of Do, whatever the reason (an error, a pause, a
// crash), comes right after a Settle that returned Repeat, so that no call relies on what was true
// some time ago.
type Action interface {
	// Schema describes the verb.
	Schema() rules.Schema

	// Plan returns what comes next in a step, given the receipts of the calls made so far: another
	// call, or the result. It reads what it must and changes nothing.
	Plan(ctx context.Context, s *Step) (Next, error)

	// Do makes the call of a recorded intent. The intent holds the exact request: a repeat never
	// renders it again.
	Do(ctx context.Context, s *Step, i Intent) (Receipt, error)

	// Settle finds out, by reading, what became of a call that has no receipt. The caller has waited
	// until the call cannot be in flight any more.
	Settle(ctx context.Context, s *Step, i Intent) (Settlement, error)

	// Made reports, by reading, whether the call of an intent made the object that an event is about.
	// The engine asks it if the call has had no answer for too long to wait for it, or its run has
	// ended without one. It returns false if nothing shows it.
	Made(ctx context.Context, i Intent, about Subject) (bool, error)
}

// A Step is one step of a run, with everything that its action may know.
type Step struct {
	Workspace string
	Key       string         // the step's idempotency key, the same on every repeat
	Args      map[string]any // the rendered arguments
	Now       time.Time

	Subject // what the step works on

	Receipts   []Receipt // of the calls that this step has made, in order
	Generation int       // how often a call of this step was planned anew: after Replan, and after an error that IsStale

	// Until is the deadline of the call that Do makes: after it another engine may settle the call,
	// and a call that leaves later would have its effect unseen. The zero time means none.
	Until time.Time

	// Last says to Settle that the call is given up: it is not made again, whatever Settle returns.
	Last bool

	// Failed is the error of the call's last attempt, for Settle, and for Plan after one that IsStale.
	// It is nil if it is not known, as after a crash.
	Failed error
}

// A Subject is what a run is about, by ids. An id is empty if there is none.
type Subject struct {
	Conversation string `json:"conversation,omitempty"`
	Contact      string `json:"contact,omitempty"`
	Attendance   string `json:"attendance,omitempty"`
	Card         string `json:"card,omitempty"`
	Message      string `json:"message,omitempty"`
}

// An Item is one entry of a list that a schedule goes through.
type Item struct {
	ID   string
	Lane string         // the lane of an event about it
	Data map[string]any // the data of an event about it; JSON does not change it
}

// Carried is what an event carries: facts as expressions see them. Most are never asked for.
type Carried interface {
	// Fact returns a fact by its name. It is not ok if the event does not carry it.
	Fact(ctx context.Context, name string) (fact any, ok bool, err error)
}

// Told is a Carried of facts that are already known.
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

// An Intent is a call that is about to be made. It is recorded before the call, with its JSON
// exactly as the action wrote it.
type Intent struct {
	Call       string    `json:"call"`       // its name within the step, such as "send"
	Generation int       `json:"generation"` // raised when the service's rules ask for a new key
	At         time.Time `json:"at"`         // when it was planned

	// After is the newest event that was recorded then: what the call causes is recorded later. The
	// engine sets it when it records the intent.
	After int64 `json:"after,omitempty"`

	// Lane is set if the call touches another conversation or card than the run's own, or a phone: it
	// is the lane of that. The engine moves the step there and plans it again before it records the
	// intent, because what Plan read outside of that lane may change meanwhile.
	Lane string `json:"lane,omitempty"`

	// Elsewhere says that the call's events come in a lane that is not known before the answer, like
	// those of a new card.
	Elsewhere bool `json:"elsewhere,omitempty"`

	Request json.RawMessage `json:"request"`          // exactly what is sent
	Before  json.RawMessage `json:"before,omitempty"` // the object before the call
	Emits   []string        `json:"emits,omitempty"`  // events that the service raises when the call has its effect

	// Planned is the request as the plan made it, for a Do right after it. It is not recorded: an
	// intent from the journal has none.
	Planned any `json:"-"`
}

// A Receipt is the answer to a call. Its JSON, too, is recorded exactly as the action wrote it.
type Receipt struct {
	Call   string          `json:"call"`
	Answer json.RawMessage `json:"answer,omitempty"`

	// Caused are the events that the engine's own call leads to. A journal stores them by themselves,
	// not with the receipt.
	Caused []Caused `json:"-"`

	// Fact is the answer as Typed returns it, for a Plan right after it. It is not recorded: nil means
	// that Answer must be decoded.
	Fact any `json:"-"`
}

// Caused is an event that a call causes, as far as the answer shows: by it the engine recognises
// its own effects when their events come.
type Caused struct {
	Event  string // message.sent
	Object string // the id of the message, card, attendance or conversation
	Stage  string // of a moved card: its new stage

	// Set is what the call set, as a part of the object's facts, an object in JSON: an event with
	// other values in these fields has another cause.
	Set json.RawMessage
}

// ConversationLane returns the lane of a conversation.
func ConversationLane(id string) string { return rules.LaneOf("conversation", id) }

// CardLane returns the lane of a card that belongs to no conversation.
func CardLane(id string) string { return rules.LaneOf("card", id) }

// Lane returns the lane of the subject: of its conversation, else its card, else its attendance,
// else its contact. It is empty if there is none of them.
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

// PhoneLane returns the lane of a phone that has no conversation yet. The forms of one number, with
// or without country code, blanks or a ninth digit, all end in the same eight digits. Two numbers
// that share these digits only wait for each other.
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
	Done       Outcome = "done"       // it was done, or it was so already
	Skipped    Outcome = "skipped"    // it was not to be done, for the reason given
	Superseded Outcome = "superseded" // another sender changed it meanwhile; a person's change is never undone
)

// A Result is the outcome of a step.
type Result struct {
	Outcome Outcome
	Why     *phrases.Phrase // nil if there is no reason to give
	Value   any             // what later steps see under the step's id, with the fields of the verb's result type

	// Mute is what the step does to what the engine itself sends; nil for most. The engine records it
	// together with the result, in the lane of the conversation.
	Mute *Mute
}

// A Mute keeps the engine from sending to a conversation until a time, or with Off lets it send
// again.
type Mute struct {
	Conversation string
	Until        time.Time
	Off          bool
}

// A Verdict says what to do about a call whose answer is not known.
type Verdict string

// The verdicts of Settle.
const (
	Happened Verdict = "happened" // it had its effect; the settlement's receipt is its answer
	Repeat   Verdict = "repeat"   // it had no effect, or a repeat is harmless: make the same call again
	Replan   Verdict = "replan"   // it had no effect, and must be planned anew, with the next generation
	Overtook Verdict = "overtook" // another sender changed the object meanwhile: the step ends as superseded
	Unknown  Verdict = "unknown"  // nothing shows what became of it: a person must decide
)

// A Settlement is what became of a call.
type Settlement struct {
	Verdict Verdict
	Receipt Receipt // if it happened
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
