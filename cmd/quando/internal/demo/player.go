package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/engine/console"
)

// jumpWait is how long somebody who jumps ahead waits for it; what takes longer goes on.
const jumpWait = 5 * time.Second

// A command is what a person at the console does in the demo's world. It is done between two
// moments, so that everybody lives in one time.
type command struct {
	do    func(ctx context.Context) error
	words func() string // what was done
	jump  time.Duration // instead
	done  chan error
}

// A simulator lets a person play at a desk.
type simulator struct {
	*process.SandboxControl
	desk *desk
}

var errOver = errors.New("it is over: quando was stopped")

// ask hands a command to the demo and waits for it.
func (s *simulator) ask(ctx context.Context, one command) error {
	one.done = make(chan error, 1)
	select {
	case s.desk.commands <- one:
	case <-s.desk.over:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
	var wait <-chan time.Time
	if one.jump > 0 {
		wait = time.After(jumpWait)
	}
	select {
	case err := <-one.done:
		return err
	case <-wait:
		return nil // the page tells that it is on the way
	case <-s.desk.over:
		return errOver
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Scene tells how things stand, and where a jump leads.
func (s *simulator) Scene(ctx context.Context, with string) (console.Scene, error) {
	scene, err := s.SandboxControl.Scene(ctx, with)
	scene.Jumps = true
	if until := s.desk.until.Load(); until != nil {
		scene.Until = *until
	}
	return scene, err
}

// Write writes as a customer.
func (s *simulator) Write(ctx context.Context, m console.CustomerText) (conversation string, err error) {
	err = s.ask(ctx, command{do: func(ctx context.Context) (err error) {
		conversation, err = s.SandboxControl.Write(ctx, m)
		return err
	}, words: func() string {
		return fmt.Sprintf("%s writes: “%s”", cmp.Or(m.Name, s.desk.tell.name(m.Conversation)), m.Text)
	}})
	return conversation, err
}

// Answer writes as the team.
func (s *simulator) Answer(ctx context.Context, conversation, person, text string) error {
	return s.ask(ctx, command{do: func(ctx context.Context) error { return s.SandboxControl.Answer(ctx, conversation, person, text) }, words: func() string {
		return fmt.Sprintf("%s answers %s: “%s”", s.member(person), s.desk.tell.name(conversation), text)
	}})
}

// Close closes an attendance as the team.
func (s *simulator) Close(ctx context.Context, conversation, person string) error {
	return s.ask(ctx, command{do: func(ctx context.Context) error { return s.SandboxControl.Close(ctx, conversation, person) }, words: func() string {
		return fmt.Sprintf("%s closes the attendance of %s", s.member(person), s.desk.tell.name(conversation))
	}})
}

// Move moves a card as the team.
func (s *simulator) Move(ctx context.Context, card, stage, person string) error {
	return s.ask(ctx, command{do: func(ctx context.Context) error { return s.SandboxControl.Move(ctx, card, stage, person) }, words: func() string {
		return fmt.Sprintf("%s moves the card “%s” to %s", s.member(person), s.desk.tell.name(card), s.desk.tell.name(stage))
	}})
}

// member names somebody of the team; nobody in particular writes from the phone itself.
func (s *simulator) member(person string) string {
	if person == "" {
		return "The team"
	}
	return s.desk.tell.name(person)
}

// Jump lets time pass at once.
func (s *simulator) Jump(ctx context.Context, length time.Duration) error {
	return s.ask(ctx, command{jump: length})
}

// carryOut runs a command at the present time, after everything that was due until then.
// What cannot be done is for who asked, and no reason to end the demo.
func (d *desk) carryOut(ctx context.Context, clock *fastClock, one command) error {
	now := clock.now()
	if d.until.Load() != nil || now.Before(d.service.Now()) {
		now = d.service.Now()
	}
	for at, due := d.due(now); due; at, due = d.due(now) {
		if err := d.moment(ctx, at); err != nil {
			return err
		}
	}
	d.played = time.Now()
	if d.people != nil {
		d.people.disturbed = true
	}
	if one.jump > 0 {
		to := now.Add(one.jump)
		if further := d.until.Load(); further != nil {
			to = further.Add(one.jump)
		}
		d.tell.act(now, "At the console somebody jumps ahead to %s.", to.In(d.tell.zone).Format("Monday 15:04"))
		d.until.Store(&to)
		d.jumpers = append(d.jumpers, one.done)
		return nil
	}
	if _, err := d.service.SetClock(ctx, now); err != nil {
		return err
	}
	err := one.do(ctx)
	if err == nil {
		d.tell.act(now, "%s", one.words())
	}
	momentErr := d.moment(ctx, now)
	one.done <- err
	if momentErr != nil {
		return fmt.Errorf("after a person played along: %w", momentErr)
	}
	return nil
}

// arrived ends a jump: time goes on from there.
func (d *desk) arrived(ctx context.Context, clock *fastClock) error {
	to := *d.until.Load()
	if err := d.moment(ctx, to); err != nil {
		return err
	}
	clock.from, clock.since = to, time.Now()
	d.until.Store(nil)
	for _, done := range d.jumpers {
		done <- nil
	}
	d.jumpers = nil
	d.Console.Recorded() // open pages look again
	return nil
}
