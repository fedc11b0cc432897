package console

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules/duration"
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
	play := plays[q.r.PathValue("what")]
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
	return q.redirect((&simulatorPage{Workspace: space.Name}).link(with))
}

func (c *Console) playAnswer(q *request, space *Workspace) error {
	text, err := q.field("text", 4000)
	if err != nil {
		return err
	}
	return q.played(space.Simulator.Answer(q.ctx(), q.r.PostFormValue("with"), q.r.PostFormValue("person"), text))
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
	length, err := duration.Parse(strings.TrimSpace(q.r.PostFormValue("length")))
	if err != nil || length <= 0 || length > maxJump {
		return problem(http.StatusBadRequest, "error.play.length")
	}
	scene, err := space.Simulator.Scene(q.ctx(), "")
	if err != nil {
		return refused(err)
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
