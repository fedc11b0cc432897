package engine

import (
	"context"
	"errors"
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"maps"
	"slices"
	"time"
)

// holds are what is stopped, as last read from the journal or put there.
type holds struct{ list []journal.Hold }

// holdOn returns what stops a rule of a workspace in a lane now, or with an empty rule the whole
// workspace; nil is nothing. A workspace that is stopped stops its rules.
func (e *Engine) holdOn(workspace, rule, lane string) *journal.Hold {
	h := e.holds.Load()
	if h == nil {
		return nil
	}
	for i := range h.list {
		if on := &h.list[i]; on.Covers(workspace, rule, lane) {
			return on
		}
	}
	return nil
}

// errStopped says that the workspace was stopped while something was being decided, which must wait
// then.
var errStopped = errors.New("the workspace is stopped")

// pausedRule returns what stops a rule alone; nil is nothing. What stops the whole workspace is an
// error: nothing is lost by that, it only comes later.
func (l *laneState) pausedRule(rule string) (*journal.Hold, error) {
	h := l.engine.holdOn(l.lane.Workspace, rule, l.lane.Name)
	if h != nil && h.Rule == "" {
		return nil, errStopped
	}
	return h, nil
}

// leaveAlone notes a workspace that is not configured here: its lanes are another engine's, or wait
// until it is configured again.
func (e *Engine) leaveAlone(workspace string) {
	if e.workspaces[workspace] == nil {
		e.strangers.Store(workspace, true)
	}
}

// pausedWorkspaces lists the workspaces in which nothing is to be done.
func (e *Engine) pausedWorkspaces() []string {
	var names []string
	e.strangers.Range(func(name, _ any) bool {
		names = append(names, name.(string))
		return true
	})
	for name, w := range e.workspaces {
		if w.rules.Load() == nil || e.holdOn(name, "", "") != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// readHolds learns what is stopped, also by other processes. Pauses that the service asked for end
// by themselves.
func (e *Engine) readHolds(ctx context.Context, now time.Time) error {
	e.holding.Lock()
	defer e.holding.Unlock()
	list, err := e.journal.Holds(ctx)
	if err != nil {
		return fmt.Errorf("read what is stopped: %w", err)
	}
	kept := list[:0]
	for _, h := range list {
		if h.Kind != journal.HoldRate || h.Until.After(now) {
			kept = append(kept, h)
			continue
		}
		if _, err := e.journal.Lift(ctx, now, h); err != nil {
			return fmt.Errorf("end a pause: %w", err)
		}
	}
	e.tell(kept)
	return nil
}

// tell replaces what is stopped and tells the observer of the difference. The caller holds the
// lock.
func (e *Engine) tell(list []journal.Hold) {
	var before []journal.Hold
	if h := e.holds.Load(); h != nil {
		before = h.list
	}
	e.holds.Store(&holds{list: slices.Clone(list)})
	same := func(a journal.Hold) func(journal.Hold) bool {
		return func(b journal.Hold) bool { return a.Compare(b) == 0 }
	}
	for _, h := range list {
		if !slices.ContainsFunc(before, same(h)) {
			e.options.Observer.Held(h)
		}
	}
	for _, h := range before {
		if !slices.ContainsFunc(list, same(h)) {
			e.options.Observer.Lifted(h)
			e.wake()
		}
	}
}

// stop holds something from this moment on.
func (e *Engine) stop(ctx context.Context, h journal.Hold) error {
	e.holding.Lock()
	defer e.holding.Unlock()
	if _, err := e.journal.Hold(ctx, h); err != nil {
		return fmt.Errorf("stop %s: %w", h.What(), err)
	}
	list, err := e.journal.Holds(ctx)
	if err != nil {
		return fmt.Errorf("read what is stopped: %w", err)
	}
	e.tell(list)
	return nil
}

// learn adds a hold that the journal told of, so that it is known before the next look.
func (e *Engine) learn(h journal.Hold) {
	e.holding.Lock()
	defer e.holding.Unlock()
	var list []journal.Hold
	if on := e.holds.Load(); on != nil {
		list = slices.DeleteFunc(slices.Clone(on.list), func(before journal.Hold) bool { return before.Compare(h) == 0 })
	}
	e.tell(append(list, h))
}

// Pause stops a rule, or with an empty rule a workspace, or with an empty workspace everything,
// until Resume. Calls under way come to their end; no other begins, in any engine.
func (e *Engine) Pause(ctx context.Context, now time.Time, workspace, rule, reason string) error {
	return e.stop(ctx, journal.Hold{Workspace: workspace, Rule: rule, Kind: journal.HoldPerson, Reason: reason, Since: now})
}

// Resume lets go on what a person or a bound has stopped: of a rule also where it is stopped in one
// lane. It reports whether anything was stopped.
func (e *Engine) Resume(ctx context.Context, now time.Time, workspace, rule string) (bool, error) {
	holds, err := e.journal.Holds(ctx)
	if err != nil {
		return false, fmt.Errorf("read what is stopped: %w", err)
	}
	any := false
	for _, h := range journal.Resumable(holds, workspace, rule, "") {
		lifted, err := e.journal.Lift(ctx, now, h)
		if err != nil {
			return any, fmt.Errorf("resume: %w", err)
		}
		any = any || lifted
	}
	return any, e.readHolds(ctx, now)
}

// ReloadHolds reads the holds from the journal now, instead of at the next regular read.
func (e *Engine) ReloadHolds(ctx context.Context, now time.Time) error { return e.readHolds(ctx, now) }

// probe asks the service whether it takes the keys again that it refused, of one workspace after
// the other.
func (e *Engine) probe(ctx context.Context, now time.Time) error {
	for _, name := range slices.Sorted(maps.Keys(e.workspaces)) {
		if err := e.workspaces[name].probe(ctx, e, now); err != nil {
			return err
		}
	}
	return nil
}

// probe asks the service whether it takes the key of the workspace again, where it refused it.
func (w *workspace) probe(ctx context.Context, e *Engine, now time.Time) error {
	h := e.holds.Load()
	if h == nil {
		return nil
	}
	for _, on := range h.list {
		if on.Kind != journal.HoldKey || on.Workspace != w.Name || now.Before(on.Until) {
			continue
		}
		if err := w.Desk.Probe(ctx); err != nil {
			e.log.Warn("the service still refuses the key", "workspace", on.Workspace, "error", Discreet(err))
			on.Until = now.Add(probeEvery)
			if err := e.stop(ctx, on); err != nil {
				return err
			}
			continue
		}
		if _, err := e.journal.Lift(ctx, now, on); err != nil {
			return fmt.Errorf("resume after a refused key: %w", err)
		}
		if err := e.readHolds(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// probeEvery is how often a refused key is tried again.
const probeEvery = 30 * time.Second

// nextHold returns when something that is stopped must be looked at; the zero time is never.
func (e *Engine) nextHold() (next time.Time) {
	h := e.holds.Load()
	if h == nil {
		return next
	}
	for _, on := range h.list {
		if at := on.Until; !at.IsZero() && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return next
}
