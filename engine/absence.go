package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/rules"
)

const (
	heartbeatEvery   = 10 * time.Second // how often an engine of a workspace records that it runs
	heartbeatTimeout = 30 * time.Second // after so long without a heartbeat no engine was running

	// recheckEvery is the first delay before a held wait is checked again. The delay grows with the
	// time since the absence, because many waits may be held.
	recheckEvery = 3 * time.Second
)

// An absence is a time in which perhaps no engine of a workspace was running: the service's webhook
// deliveries were lost.
type absence struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// covers reports whether a due time lies within the absence.
func (a absence) covers(due time.Time) bool { return due.After(a.From) && !due.After(a.To) }

// presence is what the engines of a workspace record about themselves, in a cursor that they share.
// An engine that starts while others run must neither hold what they are about to do, nor do what
// they hold.
type presence struct {
	Seen     time.Time `json:"seen"`               // the last heartbeat of any engine
	Absences []absence `json:"absences,omitempty"` // after which the search for missed events has not ended
}

// heartbeat returns the presence that a running engine records at now, and whether events may have
// been missed. An engine that starts cannot know whether another one ran since the last heartbeat.
// If certainly none ran, no search for the events missed earlier ended either, so the new absence
// includes the old ones.
func (p presence) heartbeat(now time.Time, starts bool, recovery time.Duration) (next presence, missed bool) {
	lost := now.Sub(p.Seen).Abs() > heartbeatTimeout
	next = presence{Seen: now, Absences: slices.Clone(p.Absences)}
	a := absence{From: p.Seen, To: now}
	if p.Seen.After(now) {
		a.From = now
		if lost {
			a.From = time.Time{} // the last heartbeat came from a clock that was wrong
		}
	}
	if lost {
		for _, before := range p.Absences {
			a.From = earlier(a.From, before.From)
		}
		next.Absences = nil
	}
	next.Absences = slices.DeleteFunc(next.Absences, func(a absence) bool { return now.After(a.To.Add(recovery)) })
	if missed = starts || lost; missed {
		next.Absences = append(next.Absences, a)
	}
	return next, missed
}

// absences are those of a workspace as they were last read.
type absences struct {
	mu        sync.Mutex // guards the cursor's read and compare-and-swap
	heartbeat time.Time  // the last heartbeat of this engine; zero if there was none
	list      atomic.Pointer[[]absence]
}

// recheckAt returns when to check a held wait again, or the zero time if the wait is not held. A
// wait is held if its deadline passed while no engine was running, and if an event could end the
// wait or its run: such an event may have come in time and not be known yet.
func (k *walk) recheckAt(s *rules.Step, rec *record) (at time.Time) {
	w, now := k.workspace, k.now()
	list := w.absences.list.Load()
	if list == nil || s.Verb != "wait_for" && len(k.rule.CancelOn) == 0 {
		return at
	}
	for _, a := range *list {
		if end := a.To.Add(w.Recovery); a.covers(rec.Until) && now.Before(end) {
			at = latest(at, earlier(end, now.Add(max(recheckEvery, now.Sub(a.To)/4))))
		}
	}
	return at
}

func latest(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func presenceCursor(workspace string) string { return "present/" + workspace }

// SignIn records that the engine runs, unless it did so a moment ago, and finds out when no engine
// was running. Run calls it before each claim. A caller that uses Tick in place of Run calls SignIn
// only if absences are to be noticed.
func (e *Engine) SignIn(ctx context.Context, now time.Time) error {
	now = now.UTC().Round(0) // the wall clock alone shows that the machine was suspended
	for _, w := range e.workspaces {
		if since := now.Sub(w.absences.heartbeat); w.Recovery == 0 || since >= 0 && since < heartbeatEvery {
			continue
		}
		if err := e.signIn(ctx, w, now); err != nil {
			return fmt.Errorf("say that the engine is there: %w", err)
		}
	}
	return nil
}

func (e *Engine) signIn(ctx context.Context, w *workspace, now time.Time) error {
	missed := false
	err := e.updatePresence(ctx, w, func(p presence) (next presence) {
		starts := w.absences.heartbeat.IsZero()
		if others := now.Sub(p.Seen); !starts && others >= 0 && others < heartbeatEvery/2 {
			missed = false
			return p // another engine's heartbeat of a moment ago is enough
		}
		next, missed = p.heartbeat(now, starts, w.Recovery)
		return next
	})
	if err != nil {
		return err
	}
	w.absences.heartbeat = now
	if missed {
		e.log.Debug("waits whose time ended while no engine was there are held until what was not told is known", "workspace", w.Name, "at_most", w.Recovery)
		if w.Away != nil {
			w.Away()
		}
	}
	return nil
}

// Recovered says that the search for missed events of a workspace has ended for everything that
// happened up to until. It releases the waits that were held for this.
func (e *Engine) Recovered(ctx context.Context, workspace string, until time.Time) error {
	w := e.workspaces[workspace]
	if w == nil || w.Recovery == 0 {
		return nil
	}
	err := e.updatePresence(ctx, w, func(p presence) presence {
		p.Absences = slices.DeleteFunc(slices.Clone(p.Absences), func(a absence) bool { return !a.To.After(until) })
		return p
	})
	if err != nil {
		return fmt.Errorf("write down that what was missed is known: %w", err)
	}
	return nil
}

// updatePresence changes the recorded presence of a workspace and keeps the result in memory. It
// retries until the compare-and-swap succeeds.
func (e *Engine) updatePresence(ctx context.Context, w *workspace, change func(presence) presence) error {
	w.absences.mu.Lock()
	defer w.absences.mu.Unlock()
	for {
		old, err := e.journal.Cursor(ctx, presenceCursor(w.Name))
		if err != nil {
			return err
		}
		var p presence
		_ = json.Unmarshal([]byte(old), &p) // unreadable counts as empty
		p = change(p)
		text, err := json.Marshal(p)
		if err != nil {
			return err
		}
		swapped := string(text) == old
		if !swapped {
			if swapped, err = e.journal.SwapCursor(ctx, presenceCursor(w.Name), old, string(text)); err != nil {
				return err
			}
		}
		if swapped {
			w.absences.list.Store(&p.Absences)
			return nil
		}
	}
}

// Attends blocks until Run knows when no engine was running, or until ctx ends.
func (e *Engine) Attends(ctx context.Context) {
	select {
	case <-e.presenceKnown:
	case <-ctx.Done():
	}
}
