package console

import (
	"context"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// A Simulator is an imitation of the service whose people a user of the console can play: no
// message reaches a real person.
type Simulator interface {
	// Scene returns the current state; it includes the conversation with this id, if there is one,
	// whatever else is left out.
	Scene(ctx context.Context, with string) (Scene, error)

	// Write writes as a customer and returns the conversation's id.
	Write(ctx context.Context, m CustomerText) (conversation string, err error)
	// Answer writes as a member of the team, Close closes the attendance, Move moves a card. All are
	// given by id; an empty person is the phone itself.
	Answer(ctx context.Context, conversation, person, text string) error
	Close(ctx context.Context, conversation, person string) error
	Move(ctx context.Context, card, stage, person string) error

	// Jump advances the clock, with everything that falls due on the way. It may return early:
	// Scene.Until then says so. It is called only if Scene.Jumps.
	Jump(ctx context.Context, length time.Duration) error

	// Fail makes calls fail, Mend ends that.
	Fail(ctx context.Context, f Failure) error
	Mend(ctx context.Context) error
}

// A Scene is how things stand at a Simulator.
type Scene struct {
	Now           time.Time
	Jumps         bool      // the time can be moved ahead
	Until         time.Time // the target of a jump in progress; zero if none
	Conversations []SimulatedConversation
	Team          []SimulatedName
	Cards         []SimulatedCard
	Failures      []Failure
}

// A SimulatedName is a member of the team, or a stage of a board.
type SimulatedName struct{ ID, Name string }

// A SimulatedConversation is a conversation that a user can write in.
type SimulatedConversation struct {
	ID, Name, Phone  string
	Open             bool // it has an open attendance
	Assignee, Sector string
}

// A SimulatedCard is a card that a user can move.
type SimulatedCard struct {
	ID, Title, Board, Stage string
	Stages                  []SimulatedName
	Conversation            string // its id; empty is none
}

// A CustomerText is what a customer writes: in a conversation or, with a phone and a name, as a new
// customer.
type CustomerText struct{ Conversation, Phone, Name, Text string }

// A Failure makes calls fail.
type Failure struct {
	Verb   string // whose calls fail; empty is any
	Status int
	After  bool // the call has its effect, and its answer is an error
	Times  int  // 0 is until it is ended
}

// failingVerbs are the verbs whose calls a user can make fail.
var failingVerbs = []vocabulary.Verb{
	vocabulary.SendMessage, vocabulary.AddLabels, vocabulary.Transfer, vocabulary.SetSector, vocabulary.CloseAttendance, vocabulary.CreateCard, vocabulary.MoveCard,
}

// failureKinds are the failures that a page offers: the service asks for a pause, refuses because
// of a conflict, or fails before or after the effect.
var failureKinds = map[string]Failure{
	"429": {Status: 429}, "409": {Status: 409}, "503_before": {Status: 503}, "503_after": {Status: 503, After: true},
}

// kind is the name under which a failure is offered; empty if it is another one.
func (f Failure) kind() string {
	for name, k := range failureKinds {
		if k.Status == f.Status && k.After == f.After {
			return name
		}
	}
	return ""
}

// simulators returns the workspaces whose service is an imitation.
func (c *Console) simulators() (list []*Workspace) {
	for i := range c.options.Workspaces {
		if w := &c.options.Workspaces[i]; w.Simulator != nil {
			list = append(list, w)
		}
	}
	return list
}

// menu are the pages that are always at hand.
func (c *Console) menu() []string {
	if len(c.simulators()) == 0 {
		return menu
	}
	return append(menu[:len(menu):len(menu)], "simulator")
}
