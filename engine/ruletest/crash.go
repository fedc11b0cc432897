package ruletest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

var (
	// errDead is what an engine gets to hear from its journal and its actions once it has been
	// stopped.
	errDead = errors.New("the engine was stopped here")

	errRestless = errors.New("the rules do not come to rest")
)

// restless bounds the claims and the calls while the clock stands still.
const restless = 2000

// An engineLife is one run of the engine's process, from its start until it is stopped in the
// middle of something.
type engineLife struct {
	mu     sync.Mutex
	dead   bool
	end    context.CancelFunc
	points *crashPoints
	claims int // at this moment
	calls  int // at this moment
}

// crashPoints counts, in a burst of activity, where the engine could be stopped.
type crashPoints struct {
	at      int // the one where it is; 0 is none
	n       int
	line    int      // of the step
	crashes []string // where it was
}

// here passes a point. It fails where the engine is stopped, and ever after.
func (l *engineLife) here(point string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errDead
	}
	p := l.points
	if p.n++; p.n == p.at {
		l.dead = true
		p.crashes = append(p.crashes, fmt.Sprintf("line %d: %s", p.line, point))
		l.end()
		return errDead
	}
	return nil
}

func (l *engineLife) over() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// A crashingJournal stops its engine right before or right after a write.
type crashingJournal struct {
	journal.Journal
	life    *engineLife
	telling *storyRun
}

func (j crashingJournal) around(what string, write func() error) error {
	if err := j.life.here("before the journal's " + what); err != nil {
		return err
	}
	err := write()
	if dead := j.life.here("after the journal's " + what); dead != nil {
		return dead
	}
	return err
}

func (j crashingJournal) Accept(ctx context.Context, events []rules.Event) (fresh []bool, err error) {
	err = j.around("Accept", func() error {
		fresh, err = j.Journal.Accept(ctx, events)
		return err
	})
	return fresh, err
}

func (j crashingJournal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	if j.telling.meanwhile != nil && change.Release {
		j.telling.meanwhile()
	}
	return j.around("Save", func() error { return j.Journal.Save(ctx, lane, change) })
}

func (j crashingJournal) Hold(ctx context.Context, h journal.Hold) (underWay []journal.UnderWay, err error) {
	err = j.around("Hold", func() error {
		underWay, err = j.Journal.Hold(ctx, h)
		return err
	})
	return underWay, err
}

func (j crashingJournal) Lift(ctx context.Context, now time.Time, h journal.Hold) (lifted bool, err error) {
	err = j.around("Lift", func() error {
		lifted, err = j.Journal.Lift(ctx, now, h)
		return err
	})
	return lifted, err
}

func (j crashingJournal) SetCursor(ctx context.Context, name, value string) error {
	return j.around("SetCursor", func() error { return j.Journal.SetCursor(ctx, name, value) })
}

// Claim also bounds how often an engine may claim while the clock stands still.
func (j crashingJournal) Claim(ctx context.Context, now time.Time, most int, except []string) ([]*journal.Lane, error) {
	j.life.mu.Lock()
	j.life.claims++
	claims, dead := j.life.claims, j.life.dead
	j.life.mu.Unlock()
	switch {
	case dead:
		return nil, errDead
	case claims > restless:
		return nil, errRestless
	}
	return j.Journal.Claim(ctx, now, most, except)
}

// A crashingAction is an action whose every call may be the last thing that the engine does.
type crashingAction struct {
	actions.Action
	life *engineLife
}

// Do makes a call of a step.
func (a crashingAction) Do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	if err := a.life.calling(); err != nil {
		return actions.Receipt{}, err
	}
	verb := a.Schema().Verb
	if err := a.life.here(fmt.Sprintf("before the call %s of %s", i.Call, verb)); err != nil {
		return actions.Receipt{}, err
	}
	receipt, err := a.Action.Do(ctx, s, i)
	if dead := a.life.here(fmt.Sprintf("after the call %s of %s", i.Call, verb)); dead != nil {
		return actions.Receipt{}, dead
	}
	return receipt, err
}

// rested resets that count: the clock has moved.
func (l *engineLife) rested() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.claims, l.calls = 0, 0
}

// calling counts a call. It stops an engine that calls endlessly.
func (l *engineLife) calling() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.calls++; l.calls <= restless {
		return nil
	}
	l.dead = true
	l.end()
	return errRestless
}

// restless reports whether the engine was stopped for an endless loop.
func (l *engineLife) restless() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls > restless
}
