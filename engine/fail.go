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

// fail ends a step that no repeat mends. In a shadow run it may only be the lack of what was not
// done before it.
func (k *walk) fail(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, err error) (flow, error) {
	if k.run.Stage != rules.Live && k.pretended() {
		return k.end(ctx, s, taken, rec, journal.StepWould, nothing(s.Schema.Result), phrases.New(phrases.CannotTell, err))
	}
	k.endCall(k.run, taken, rec)
	taken.State, rec.Ended = journal.StepFailed, k.now()
	rec.erred(taken, err)
	k.note(rec)
	k.touch(k.run, taken)
	return k.afterFailure(ctx, s, taken, rec)
}

// pretended reports whether a step before was not really taken.
func (k *walk) pretended() bool {
	for _, s := range k.run.Steps {
		if s.State == journal.StepWould {
			return true
		}
	}
	return false
}

// afterFailure goes on behind a step that has failed: with the next one where the step says so,
// else with the rule's on_error steps, and the run has failed.
func (k *walk) afterFailure(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	if s.OnError == "continue" {
		return onward, k.remember(s, taken, rec)
	}
	k.forgetAfter(taken)
	reason := phrases.New(phrases.StepFailed, taken.Path, taken.Verb, why(taken, rec))
	if strings.HasPrefix(taken.Path, "on_error.") {
		k.finish(k.run, journal.FailedRun, reason)
		return over, nil
	}
	k.indexes = nil
	k.eval.Set("error", reason.String())
	switch flow, err := k.take(ctx, k.rule.OnError); {
	case err != nil || flow == parked:
		return flow, err
	case flow == over && k.run.State == journal.FailedRun:
		return over, nil
	}
	k.finish(k.run, journal.FailedRun, reason)
	return over, nil
}

// retry takes the step that failed a run once more.
func (p *pending) retry(r *journal.Run) error {
	r.State, r.FinishedAt, r.WakeAt = journal.Running, time.Time{}, p.now()
	r.Because(nil)
	p.touch(r)
	for _, s := range slices.Backward(r.Steps) {
		if strings.HasPrefix(s.Path, "on_error.") {
			continue
		}
		// The last that was reached is the one that ended the run, unless something else did; those that
		// failed before it were to be passed over.
		if s.State != journal.StepFailed {
			return nil
		}
		rec, err := p.record(s)
		if err != nil {
			return err
		}
		if rec.Intent != nil {
			rec.Generation++
		}
		rec.Again++
		rec.Intent, rec.Failures, rec.Since, rec.Last, rec.Ended = nil, 0, time.Time{}, false, time.Time{}
		rec.Until, rec.Heard, rec.Passed = time.Time{}, nil, "" // a wait begins anew, without what it failed at
		s.State, s.Error, rec.Why = journal.StepOpen, "", nil
		p.touch(r, s)
		return nil
	}
	return nil
}

// resolve goes on with an uncertain call after a person has looked.
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
			p.changed(r).Effects++
		} else {
			rec.Confirmed = true
		}
		p.touch(r, s)
	}
	return nil
}
