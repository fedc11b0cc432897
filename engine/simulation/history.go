package simulation

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"
)

// A History is what happened on a desk, as the imitated service saw it. It has nothing of the
// engine's own records.
type History struct {
	Events  []Event  // that the service raised, in its order
	Effects []Effect // changes made through the API, in their order
	Calls   []Call   // changing calls that reached the service or were cut off, in their order
	Stops   []Stop   // when what was stopped
	Fired   []Firing // what persons fired, and schedules ticked

	Names map[string]string // of labels, sectors, people, boards and stages, by the ids that events have
}

// An Event is what the service raised.
type Event struct {
	ID       string
	Type     string
	At       time.Time // created_at
	Customer string    // the customer concerned; may be empty
	Data     json.RawMessage
	Cause    string    // the key of the step whose call raised it; empty if a person did
	Heard    time.Time // when it was first acknowledged, or found; the zero time is never
	Found    bool      // the backfill found it
}

// isCalled reports whether the engine calls the event by this id. That of what was found begins
// with the id of what it is about.
func (e *Event) isCalled(id string) bool {
	about, found := strings.CutPrefix(id, "found:"+e.Type+"/")
	_, stage, _ := strings.Cut(about, " to ") // of a card that was moved
	within := func(name, id string) bool { return bytes.Contains(e.Data, []byte(name+`":"`+id[:min(len(id), 36)])) }
	return id == e.ID || found && within("id", about) && (stage == "" || within("to_stage_id", stage))
}

// An Effect is one change of the service, in the words of rules.
type Effect struct {
	At       time.Time
	Customer string // whose conversation, attendance or card changed
	Verb     string // send_message, transfer, set_sector, add_labels, remove_labels, set_labels, update_conversation, mark_read, close_attendance, create_card, move_card, update_card, open_conversation
	Detail   string // what was written, up to " #"; else the names that were set, sorted and joined by commas
	Event    string // the id behind " #", of the event whose run wrote it
	Step     string // the key of the calling step; for reports only, judges ignore it
}

// A Call is a changing call.
type Call struct {
	At     time.Time
	Step   string
	Method string
	Path   string
	Key    string // its Idempotency-Key; empty is none
	Body   string
	Came   bool // the service carried it out
	Told   bool // its caller was told so
	Cut    bool // its connection broke: for all that its caller knows, it may still be under way

	Overtaken bool `json:",omitempty"` // it was lost, and a person has moved its card since
}

// A Stop is a span in which a person held a rule or, with an empty one, everything.
type Stop struct {
	Rule     string
	From, To time.Time // the zero time is that it was never resumed
	Calls    int       // how many calls had begun when it was acknowledged, and when it ended
	CallsEnd int
	UnderWay []string // the keys of the steps whose calls the answer names

	// Bounds are those that had stopped the rule too when it was resumed, and were reset: that of a
	// customer and, with an empty name, that of all messages.
	Bounds []string `json:",omitempty"`
}

// A Firing is an event that the service did not raise: a tick of a schedule, or a manual start by a
// person.
type Firing struct {
	Rule     string
	At       time.Time
	Customer string // of a manual one
}
