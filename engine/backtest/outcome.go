package backtest

import (
	"errors"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// A replay is the observer of its engine.

// Decided notes the verdicts on an event.
func (r *replay) Decided(e *journal.Event) {
	for _, v := range e.Verdicts {
		if v.Run != "" {
			r.trigger[v.Run] = e.ID
		}
		p := pair{v.Rule, e.ID}
		question, gap := missed(v.Error)
		if name, ok := r.nameless[p]; ok {
			question, gap = name, true
		}
		t := r.treated[p]
		// A false verdict is kept only if it was, or may have been, otherwise: most verdicts are false.
		if v.Outcome == journal.False && !gap && t == nil && r.pairs[p] == nil {
			continue
		}
		if t == nil {
			t = &Treatment{}
			r.treated[p] = t
		}
		t.Outcome, t.Reason = v.Outcome, reasonOf(v)
		if gap {
			t.Outcome, t.NotRecorded = "", question
		}
	}
}

// reasonOf says why a rule did not fire.
func reasonOf(v journal.Verdict) string {
	if v.Error == "" {
		return v.Clause
	}
	return v.Error
}

// Began does nothing: the verdict has the same.
func (*replay) Began(*journal.Run, *journal.Event) {}

// Changed notes how far a run has come.
func (r *replay) Changed(run *journal.Run) {
	event, ok := r.trigger[run.Key]
	if !ok {
		r.failed = errors.New("a run has no event: " + run.Key)
		return
	}
	p := pair{run.Rule, event}
	t, err := r.treatment(run, event)
	if err != nil {
		r.failed = err
		return
	}
	old := r.treated[p]
	if old == nil {
		old = &Treatment{Outcome: journal.Fired}
		r.treated[p] = old
	}
	t.Outcome, t.NotRecorded = old.Outcome, old.NotRecorded
	if t.NotRecorded != "" && t.Outcome == "" {
		t.Effects = nil // whether it fires is unknown
	}
	if question := r.unknown[run.Key]; question != "" && t.NotRecorded == "" {
		t.NotRecorded = question
	}
	if question, ok := missed(run.Reason); ok && t.NotRecorded == "" {
		t.NotRecorded = question
	}
	*old = t
}

// Called, Held and Lifted do nothing: there are no calls, and nothing stops a replay.
func (*replay) Called(string, string, time.Duration, error) {}

// Held does nothing.
func (*replay) Held(journal.Hold) {}

// Lifted does nothing.
func (*replay) Lifted(journal.Hold) {}

func isNoRun(err error) bool { return errors.Is(err, journal.ErrNoRun) }
