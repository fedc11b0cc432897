package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// fail ends a step that no retry can mend. In a shadow run, the failure may only be due to an
// earlier step that was not really taken.
func (k *walk) fail(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, err error) (flow, error) {
	if k.run.Stage != rules.Live && k.hasSkippedCalls() {
		return k.end(ctx, s, taken, rec, journal.StepWould, emptyResult(s.Schema.Result), phrases.New(phrases.CannotTell, err))
	}
	k.endCall(k.run, taken, rec)
	taken.State, rec.Ended = journal.StepFailed, k.now()
	rec.setError(taken, err)
	k.recordAnswers(rec)
	k.touch(k.run, taken)
	return k.afterFailure(ctx, s, taken, rec)
}

// hasSkippedCalls reports whether an earlier step of the shadow run was not really taken.
func (k *walk) hasSkippedCalls() bool {
	for _, s := range k.run.Steps {
		if s.State == journal.StepWould {
			return true
		}
	}
	return false
}

// afterFailure continues behind a failed step: with the next step if the failed one has on_error:
// continue, otherwise with the rule's on_error steps, after which the run has failed.
func (k *walk) afterFailure(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	if s.OnError == "continue" {
		return onward, k.restore(s, taken, rec)
	}
	k.invalidateFacts(taken)
	reason := phrases.New(phrases.StepFailed, taken.Path, taken.Verb, errorPhrase(taken, rec))
	if strings.HasPrefix(taken.Path, "on_error.") {
		k.finish(k.run, journal.FailedRun, reason)
		return over, nil
	}
	k.indexes = nil
	k.eval.Set("error", reason.String())
	switch flow, err := k.takeSteps(ctx, k.rule.OnError); {
	case err != nil || flow == parked:
		return flow, err
	case flow == over && k.run.State == journal.FailedRun:
		return over, nil
	}
	k.finish(k.run, journal.FailedRun, reason)
	return over, nil
}

// retry makes a failed run take its failed step again: with a call that may have had its effect,
// that call, which is settled first; else with a new one.
func (p *pending) retry(r *journal.Run) error {
	r.State, r.FinishedAt, r.WakeAt = journal.Running, time.Time{}, p.now()
	r.Because(nil)
	p.touch(r)
	for _, s := range slices.Backward(r.Steps) {
		if strings.HasPrefix(s.Path, "on_error.") {
			continue
		}
		// The step reached last is the one that ended the run, unless something else did. The run
		// continued past the steps that failed before it.
		if s.State != journal.StepFailed {
			return nil
		}
		rec, err := p.record(s)
		if err != nil {
			return err
		}
		if rec.Intent != nil && !rec.isOpen() {
			rec.Generation++
			rec.Intent = nil
		}
		rec.Again++
		rec.Failures, rec.Since, rec.Last, rec.Ended = 0, time.Time{}, false, time.Time{}
		rec.Until, rec.Heard, rec.Taken, rec.Passed = time.Time{}, nil, false, "" // a wait begins anew, without the events that it failed on
		s.State, s.Error, rec.Why = journal.StepOpen, "", nil
		p.touch(r, s)
		return nil
	}
	return nil
}

// resolve continues a run with an uncertain call after a person has said what became of it.
func (p *pending) resolve(r *journal.Run, what journal.AskKind) error {
	r.State, r.WakeAt = journal.Running, p.now()
	r.Because(nil)
	p.touch(r)
	for _, s := range r.Steps {
		if s.State != journal.StepUncertain {
			continue
		}
		rec, err := p.record(s)
		if err != nil {
			return err
		}
		s.State, s.Error, rec.Why = journal.StepOpen, "", nil
		rec.Failures, rec.Since, rec.Last = 0, time.Time{}, false
		if what == journal.AskDone {
			rec.Receipts = append(rec.Receipts, actions.Receipt{Call: rec.Intent.Call})
			rec.Sent = append(rec.Sent, sent{rec.Intent.Call, rec.Intent.Request})
			rec.Intent = nil
			p.runChange(r).Effects++
		} else {
			rec.Confirmed = true
		}
		p.touch(r, s)
	}
	return nil
}
