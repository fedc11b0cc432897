package console

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
)

// maxJump bounds how far ahead a person can jump: everything on the way happens, one thing after
// the other.
const maxJump = 31 * 24 * time.Hour

// play carries out a simulated action. Messages are not audited, because they reach no real person;
// changes of the clock and faults are.
func (c *Console) play(q *request) error {
	space, err := c.simulatorOf(q.r.PostFormValue("workspace"))
	if err != nil {
		return err
	}
	plays := map[string]func(*request, *Workspace) error{
		"write": c.playCustomer, "answer": c.playAnswer, "close": c.playClose, "move": c.playMove, "jump": c.playJump, "fail": c.playFailure, "mend": c.playMend,
	}
	what := q.r.PathValue("what")
	if what == "write" && q.r.PostFormValue("as") == "team" {
		what = "answer" // the composer is one form for both
	}
	play := plays[what]
	if play == nil {
		return errNotFound
	}
	return play(q, space)
}

// field reads a required form field.
func (q *request) field(name string, most int) (string, error) {
	text := strings.TrimSpace(q.r.PostFormValue(name))
	if text == "" || len([]rune(text)) > most {
		return "", problem(http.StatusBadRequest, "error.play."+name)
	}
	return text, nil
}

// refused says in the sandbox's own words why it did not do something.
func refused(err error) error {
	if err == nil {
		return nil
	}
	return problem(http.StatusConflict, "error.sandbox", engine.Harmless(err.Error()))
}

func (c *Console) playCustomer(q *request, space *Workspace) error {
	text, err := q.field("text", 4000)
	if err != nil {
		return err
	}
	m := CustomerText{Conversation: q.r.PostFormValue("with"), Text: text}
	if m.Conversation == "" {
		if m.Name, err = q.field("name", 100); err != nil {
			return err
		}
		if m.Phone, err = q.field("phone", 30); err != nil {
			return err
		}
	}
	with, err := space.Simulator.Write(q.ctx(), m)
	if err != nil {
		return refused(err)
	}
	c.change()
	return q.redirect((&simulatorPage{Workspace: space.Name}).link(with) + "&as=customer")
}

func (c *Console) playAnswer(q *request, space *Workspace) error {
	text, err := q.field("text", 4000)
	if err != nil {
		return err
	}
	with := q.r.PostFormValue("with")
	if err := space.Simulator.Answer(q.ctx(), with, q.r.PostFormValue("person"), text); err != nil {
		return refused(err)
	}
	c.change()
	return q.redirect((&simulatorPage{Workspace: space.Name}).link(with) + "&as=team")
}

func (c *Console) playClose(q *request, space *Workspace) error {
	return q.played(space.Simulator.Close(q.ctx(), q.r.PostFormValue("with"), q.r.PostFormValue("person")))
}

func (c *Console) playMove(q *request, space *Workspace) error {
	return q.played(space.Simulator.Move(q.ctx(), q.r.PostFormValue("card"), q.r.PostFormValue("stage"), q.r.PostFormValue("person")))
}

// played returns to the page after an action.
func (q *request) played(err error) error {
	if err != nil {
		return refused(err)
	}
	q.console.change()
	return q.back("")
}

func (c *Console) playJump(q *request, space *Workspace) error {
	scene, err := space.Simulator.Scene(q.ctx(), "")
	if err != nil {
		return refused(err)
	}
	length, err := c.jumpLength(q, space, scene.Now)
	if err != nil {
		return err
	}
	if !scene.Jumps {
		return problem(http.StatusConflict, "sim.nojump")
	}
	err = q.change("jump", space.Name, duration.Format(length), func() error { return space.Simulator.Jump(q.ctx(), length) })
	if err != nil {
		return refused(err)
	}
	return q.back("jumped")
}

// jumpLength returns how far a person wants to jump: a length of time, or to the next opening or
// the end of the next wait.
func (c *Console) jumpLength(q *request, space *Workspace, now time.Time) (time.Duration, error) {
	var at time.Time
	var ok bool
	var err error
	switch to := q.r.PostFormValue("to"); to {
	case "opening":
		at, ok = nextOpening(space, now)
	case "wait":
		at, ok, err = c.nextWait(q, space, q.r.PostFormValue("with"), now)
	default:
		length, err := duration.Parse(strings.TrimSpace(cmp.Or(to, q.r.PostFormValue("length"))))
		if err != nil || length <= 0 || length > maxJump {
			return 0, problem(http.StatusBadRequest, "error.play.length")
		}
		return length, nil
	}
	if err != nil {
		return 0, err
	}
	length := at.Sub(now).Truncate(time.Second)
	if length < at.Sub(now) {
		length += time.Second
	}
	if !ok || length > maxJump {
		return 0, problem(http.StatusConflict, "error.play.nothing")
	}
	return length, nil
}

func (c *Console) playFailure(q *request, space *Workspace) error {
	kind := q.r.PostFormValue("kind")
	f, known := failureKinds[kind]
	times, err := strconv.Atoi(q.r.PostFormValue("times"))
	if !known || err != nil || times < 0 || times > 1000 {
		return problem(http.StatusBadRequest, "error.form")
	}
	f.Times, f.Verb = times, q.r.PostFormValue("verb")
	if err := q.change("fail", space.Name, strings.TrimSpace(kind+" "+f.Verb), func() error { return space.Simulator.Fail(q.ctx(), f) }); err != nil {
		return refused(err)
	}
	return q.back("failing")
}

func (c *Console) playMend(q *request, space *Workspace) error {
	if err := q.change("mend", space.Name, "", func() error { return space.Simulator.Mend(q.ctx()) }); err != nil {
		return refused(err)
	}
	return q.back("mended")
}

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
