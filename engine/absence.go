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
	signEvery = 10 * time.Second // how often the engines of a workspace say that they are there
	signLost  = 30 * time.Second // after so long without a sign none was

	// recheckEvery is how soon a wait that is held is looked at again, at first. The longer it takes,
	// the less often: many may be held.
	recheckEvery = 3 * time.Second
)

// An absence is a time in which no engine of a workspace may have been there: what the service told
// went nowhere.
type absence struct {
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// covers reports whether something that was due at a time was due in the absence.
func (a absence) covers(due time.Time) bool { return due.After(a.From) && !due.After(a.To) }

// presence is what the engines of a workspace have written down of themselves, in a cursor that
// they share: an engine that starts while others are at work must neither hold what they are about
// to do, nor do what they hold.
type presence struct {
	Seen     time.Time `json:"seen"`               // when one last said that it is there
	Absences []absence `json:"absences,omitempty"` // after which not everything was looked for that was not told
}

// sign returns what is to be written down by an engine that is there now, and whether it may have
// missed something. One that starts cannot know whether another was there since the last sign.
// Where certainly none was, nobody has looked for what was missed before either.
func (p presence) sign(now time.Time, starts bool, recovery time.Duration) (next presence, missed bool) {
	nobody := now.Sub(p.Seen).Abs() > signLost
	next = presence{Seen: now, Absences: slices.Clone(p.Absences)}
	a := absence{From: p.Seen, To: now}
	if p.Seen.After(now) {
		a.From = now
		if nobody {
			a.From = time.Time{} // by a clock that was wrong
		}
	}
	if nobody {
		for _, before := range p.Absences {
			a.From = earlier(a.From, before.From)
		}
		next.Absences = nil
	}
	next.Absences = slices.DeleteFunc(next.Absences, func(a absence) bool { return now.After(a.To.Add(recovery)) })
	if missed = starts || nobody; missed {
		next.Absences = append(next.Absences, a)
	}
	return next, missed
}

// absences are those of a workspace as they were last read.
type absences struct {
	mu     sync.Mutex // around what is read and written of the cursor
	signed time.Time  // when this engine last looked; the zero time is never
	list   atomic.Pointer[[]absence]
}

// recheckAt returns when a wait whose time is over is looked at again that is held: no engine was
// there when it ended, and an event could end it, or the run, that came in time and is not known.
// The zero time is that it is not held.
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

// SignIn says that the engine is there, if it has not done so for a while, and finds out when none
// was. Run does it before it claims anything. Who ticks the engine in place of Run calls it only
// where an engine that was away is to be noticed.
func (e *Engine) SignIn(ctx context.Context, now time.Time) error {
	now = now.UTC().Round(0) // a machine that slept is noticed by the clock on the wall only
	for _, w := range e.workspaces {
		if since := now.Sub(w.absences.signed); w.Recovery == 0 || since >= 0 && since < signEvery {
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
	err := e.changePresence(ctx, w, func(p presence) (next presence) {
		starts := w.absences.signed.IsZero()
		if others := now.Sub(p.Seen); !starts && others >= 0 && others < signEvery/2 {
			missed = false
			return p // another engine was there a moment ago, which is as good
		}
		next, missed = p.sign(now, starts, w.Recovery)
		return next
	})
	if err != nil {
		return err
	}
	w.absences.signed = now
	if missed {
		e.log.Debug("waits whose time ended while no engine was there are held until what was not told is known", "workspace", w.Name, "at_most", w.Recovery)
		if w.Away != nil {
			w.Away()
		}
	}
	return nil
}

// Recovered says that everything has been looked for that was not told of what happened in a
// workspace until a time. Waits go on that were held for that.
func (e *Engine) Recovered(ctx context.Context, workspace string, until time.Time) error {
	w := e.workspaces[workspace]
	if w == nil || w.Recovery == 0 {
		return nil
	}
	err := e.changePresence(ctx, w, func(p presence) presence {
		p.Absences = slices.DeleteFunc(slices.Clone(p.Absences), func(a absence) bool { return !a.To.After(until) })
		return p
	})
	if err != nil {
		return fmt.Errorf("write down that what was missed is known: %w", err)
	}
	return nil
}

// changePresence changes what is written down of a workspace's engines, and takes over what is.
func (e *Engine) changePresence(ctx context.Context, w *workspace, change func(presence) presence) error {
	w.absences.mu.Lock()
	defer w.absences.mu.Unlock()
	for {
		old, err := e.journal.Cursor(ctx, presenceCursor(w.Name))
		if err != nil {
			return err
		}
		var p presence
		_ = json.Unmarshal([]byte(old), &p) // what cannot be read is as good as nothing
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

// Attends waits until Run has found out when no engine was there, or ctx ends.
func (e *Engine) Attends(ctx context.Context) {
	select {
	case <-e.attends:
	case <-ctx.Done():
	}
}
