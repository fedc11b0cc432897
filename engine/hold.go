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

// holds are the holds in force, as last read from the journal or written there.
type holds struct{ list []journal.Hold }

// holdOn returns the hold on a rule of a workspace in a lane or, with an empty rule, the hold on
// the whole workspace; nil if there is none. A hold on a workspace covers its rules.
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

// errStopped says that a hold was placed on the workspace during a decision, which must wait then.
var errStopped = errors.New("the workspace is stopped")

// pausedRule returns the hold on a rule alone; nil if there is none. A hold on the whole workspace
// is an error: the decision is not lost, it only comes later.
func (l *laneState) pausedRule(rule string) (*journal.Hold, error) {
	h := l.engine.holdOn(l.lane.Workspace, rule, l.lane.Name)
	if h != nil && h.Rule == "" {
		return nil, errStopped
	}
	return h, nil
}

// skipUnconfigured remembers a workspace that is not configured here: its lanes belong to another
// engine, or wait until the workspace is configured again.
func (e *Engine) skipUnconfigured(workspace string) {
	if e.workspaces[workspace] == nil {
		e.unconfigured.Store(workspace, true)
	}
}

// pausedWorkspaces lists the workspaces in which no lane may be claimed.
func (e *Engine) pausedWorkspaces() []string {
	var names []string
	e.unconfigured.Range(func(name, _ any) bool {
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

// readHolds reads the holds from the journal, including those of other processes. It lifts pauses
// that the service asked for and that have ended.
func (e *Engine) readHolds(ctx context.Context, now time.Time) error {
	e.holdsMu.Lock()
	defer e.holdsMu.Unlock()
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
	e.replaceHolds(kept)
	return nil
}

// replaceHolds replaces the known holds, and tells the observer what has changed. The caller has
// locked holdsMu.
func (e *Engine) replaceHolds(list []journal.Hold) {
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

// placeHold writes a hold to the journal, in force from now on.
func (e *Engine) placeHold(ctx context.Context, h journal.Hold) error {
	e.holdsMu.Lock()
	defer e.holdsMu.Unlock()
	if _, err := e.journal.Hold(ctx, h); err != nil {
		return fmt.Errorf("stop %s: %w", h.What(), err)
	}
	list, err := e.journal.Holds(ctx)
	if err != nil {
		return fmt.Errorf("read what is stopped: %w", err)
	}
	e.replaceHolds(list)
	return nil
}

// addHold adds a hold that the journal reported, so that it is known before the next regular read.
func (e *Engine) addHold(h journal.Hold) {
	e.holdsMu.Lock()
	defer e.holdsMu.Unlock()
	var list []journal.Hold
	if on := e.holds.Load(); on != nil {
		list = slices.DeleteFunc(slices.Clone(on.list), func(before journal.Hold) bool { return before.Compare(h) == 0 })
	}
	e.replaceHolds(append(list, h))
}

// Pause places a hold on a rule or, with an empty rule, on a workspace or, with an empty workspace,
// on everything, until Resume. Calls in progress end normally; no other call begins, in any engine.
func (e *Engine) Pause(ctx context.Context, now time.Time, workspace, rule, reason string) error {
	return e.placeHold(ctx, journal.Hold{Workspace: workspace, Rule: rule, Kind: journal.HoldPerson, Reason: reason, Since: now})
}

// Resume lifts the holds that a person or a safety bound has placed, for a rule also those in a
// single lane. It reports whether there were any.
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

// probe asks the service whether it accepts refused keys again, one workspace after the other.
func (e *Engine) probe(ctx context.Context, now time.Time) error {
	for _, name := range slices.Sorted(maps.Keys(e.workspaces)) {
		if err := e.workspaces[name].probe(ctx, e, now); err != nil {
			return err
		}
	}
	return nil
}

// probe asks the service whether it accepts the workspace's key again, if it refused it.
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
			if err := e.placeHold(ctx, on); err != nil {
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

// nextHold returns when a hold must be checked next; the zero time means never.
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
