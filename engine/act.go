package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// act carries out a step of an action: it plans a call, records the intent, makes the call, records
// the receipt, and plans again, until there is a result. Before an intent's call is repeated, the
// action settles what became of the attempt before.
func (k *walk) act(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	action := k.workspace.Actions.Action(s.Verb)
	if action == nil {
		return k.fail(ctx, s, taken, rec, fmt.Errorf("there is no verb %s", s.Verb))
	}
	if missing := k.facts.missing(s); missing != "" && rec.Intent == nil {
		return k.end(ctx, s, taken, rec, journal.StepSkipped, nil, phrases.New(missing))
	}
	args, err := k.render(s)
	if err == nil {
		err = k.findSubject(ctx, s)
	}
	if err != nil {
		if rec.isOpen() && deskFailure(err) == nil && !actions.IsDenied(err) {
			return k.leaveToPerson(taken, rec, phrases.Of(err)), nil // its call may have had its effect
		}
		return k.handleError(ctx, s, taken, rec, err)
	}
	ctx = k.facts.asking(ctx)
	if rec.Args == nil {
		rec.Args, _ = encode(withoutSecrets(s.Schema, args)) // shown to people; the call records its own request
	}
	if k.facts.elsewhere {
		rec.Elsewhere = k.facts.about.Conversation
	}
	if rec.Intent != nil && rec.Answered {
		k.callError = errors.New(taken.Error) // unmarked: the last attempt is known to have had no effect
	}
	step := &actions.Step{Workspace: k.run.Workspace, Key: taken.Key, Args: args}
	for {
		step.Now, step.Subject, step.Until = k.now(), *k.facts.about, time.Time{}
		step.Receipts, step.Generation, step.Failed, step.Last = rec.Receipts, rec.Generation, k.callError, rec.Last
		if rec.Intent == nil {
			flow, done, err := k.planCall(ctx, action, step, s, taken, rec)
			if done || err != nil {
				return flow, err
			}
		} else {
			flow, done, err := k.settle(ctx, action, step, s, taken, rec)
			if done || err != nil {
				return flow, err
			}
			if rec.Intent == nil {
				continue
			}
		}
		if flow, done, err := k.call(ctx, action, step, s, taken, rec); done || err != nil {
			return flow, err
		}
	}
}

// findSubject makes sure that the object the verb works on is known.
func (k *walk) findSubject(ctx context.Context, s *rules.Step) error {
	need := s.Needs()
	if need == "" && s.Schema.Needs != "" && s.Schema.Pins == "" {
		return nil
	}
	if err := k.facts.load(ctx); err != nil {
		return err
	}
	known := true
	switch about := k.facts.about; need {
	case "conversation":
		known = about.Conversation != ""
	case "contact":
		known = about.Contact != ""
	case "attendance":
		known = about.Attendance != ""
	case "card":
		known = about.Card != ""
	}
	if known || need == "" {
		return nil
	}
	_, err := k.facts.Fact(ctx, need)
	return err
}

// planCall plans the next call and records its intent.
func (k *walk) planCall(ctx context.Context, action actions.Action, step *actions.Step, s *rules.Step, taken *journal.Step, rec *record) (flow, bool, error) {
	next, err := action.Plan(ctx, step)
	if err != nil {
		flow, err := k.handleError(ctx, s, taken, rec, err)
		return flow, true, err
	}
	if r := next.Result; r != nil {
		if err := k.pinAttendanceOf(ctx, s, r.Value); err != nil {
			flow, err := k.handleError(ctx, s, taken, rec, err)
			return flow, true, err
		}
		if r.Mute != nil {
			flow, err := k.mute(ctx, s, taken, rec, r.Mute)
			return flow, true, err
		}
		flow, err := k.end(ctx, s, taken, rec, journal.StepState(r.Outcome), r.Value, r.Why)
		return flow, true, err
	}
	if k.run.Stage != rules.Live {
		rec.Intent = next.Intent // what a live run would have sent
		flow, err := k.end(ctx, s, taken, rec, journal.StepWould, emptyResult(s.Schema.Result), nil)
		return flow, true, err
	}
	if lane := k.laneOf(s, next.Intent); lane != k.lane.Name {
		flow, err := k.moveToLane(lane, taken)
		return flow, true, err
	}
	if k.stopped() || !k.acquireWorker(ctx) {
		return parked, true, nil
	}
	if next.Intent.Elsewhere && k.run.ID == 0 {
		// The marks of the call name its run, so the run needs its number first.
		if err := k.save(ctx, false); err != nil || k.refused[k.run] {
			return parked, true, err
		}
	}
	before := *rec
	rec.Intent, rec.Doubt = next.Intent, false
	rec.Intent.After = k.engine.journal.Newest()
	k.startAttempt(rec)
	taken.State, taken.Error, rec.Why = journal.StepOpen, "", nil
	taken.Attempts++
	k.touch(k.run, taken)
	return k.recordIntent(ctx, s, taken, rec, before, k.messageSlots(ctx, rec.Intent)...)
}

// laneOf returns the lane in which a call is made: that of the object it touches, which need not be
// the lane of the run's events.
func (k *walk) laneOf(s *rules.Step, i *actions.Intent) string {
	if i.Lane != "" {
		return i.Lane
	}
	if lane := k.facts.about.Lane(); s.Schema.Needs != "" && lane != "" {
		return lane
	}
	return k.run.Home
}

// recordIntent commits the intent of a call before the call is made. If the lane of the call's
// events is not known yet, it adds marks, because the events may come before the answer. Every
// attempt is recorded: the marks of the attempt before may have expired. If the call may not begin,
// the step's record is restored from before.
func (k *walk) recordIntent(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, before record, take ...journal.Slot) (flow, bool, error) {
	marked := len(k.change.Caused)
	if rec.Intent.Elsewhere {
		k.addMarks(k.run, taken, rec, rec.Tried.Add(k.workspace.Timeout+afterCall))
	}
	k.change.Call, k.change.Message = k.run, !s.EvenIfMuted && slices.Contains(rec.Intent.Emits, vocabulary.MessageSent)
	err := k.save(ctx, false, take...)
	k.change.Call, k.change.Message = nil, false
	bound, full := errors.AsType[*journal.BoundError](err)
	held, stopped := errors.AsType[*journal.HeldError](err)
	muted, silent := errors.AsType[*journal.MutedError](err)
	if full || stopped || silent {
		*rec, k.change.Caused = before, k.change.Caused[:marked]
		taken.Attempts--
	}
	switch {
	case full:
		return parked, true, k.holdForSafety(ctx, bound)
	case stopped:
		return parked, true, k.stopForHold(ctx, held.Hold)
	case silent:
		flow, err := k.skipMuted(ctx, s, taken, rec, &muted.Mute)
		return flow, true, err
	}
	if err != nil {
		return over, true, err
	}
	if k.refused[k.run] {
		return parked, true, nil
	}
	return onward, false, nil
}

// stopForHold leaves a run where it is after the journal refused its call: a hold was placed that
// this engine had not read. If the visit's event is not recorded yet, it is recorded like any other
// and decided once the hold is known. A run that has not begun does not begin if its rule is on
// hold.
func (k *walk) stopForHold(ctx context.Context, on journal.Hold) error {
	k.engine.addHold(on)
	switch {
	case k.fresh != nil:
		return errRecordFirst
	case on.Rule == "":
		k.halt()
	case k.run.ID == 0:
		return k.save(ctx, false)
	default:
		k.holdRun(k.run)
	}
	return nil
}

// settle finds out what became of a call that has no receipt. If it returns without done, the
// caller makes the call again or, if the intent is gone, plans what comes next.
func (k *walk) settle(ctx context.Context, action actions.Action, step *actions.Step, s *rules.Step, taken *journal.Step, rec *record) (flow, bool, error) {
	if k.run.Lane != k.lane.Name {
		return parked, true, nil
	}
	if settled := rec.Tried.Add(k.workspace.Timeout); !rec.Answered && !rec.Confirmed && k.now().Before(settled) {
		k.run.WakeAt = settled // it may still be in flight
		k.touch(k.run, taken)
		return parked, true, nil
	}
	if k.stopped() {
		return parked, true, nil
	}
	verdict := actions.Settlement{Verdict: actions.Repeat}
	if !rec.Confirmed {
		var err error
		began := k.traceTime()
		verdict, err = action.Settle(ctx, step, *rec.Intent)
		k.traceCall(PartSettle, taken, rec.Intent.Call, began, err)
		if err != nil {
			flow, err := k.handleError(ctx, s, taken, rec, err)
			return flow, true, err
		}
	}
	before := *rec
	rec.Doubt = (rec.Doubt || !rec.Answered) && !rec.Confirmed
	rec.Confirmed = false
	switch verdict.Verdict {
	case actions.Repeat:
		if rec.Last {
			flow, err := k.fail(ctx, s, taken, rec, phrases.New(phrases.GivenUp, taken.Attempts, errorPhrase(taken, rec)))
			return flow, true, err
		}
		k.removeMarks(k.run, taken, rec)
		k.startAttempt(rec)
		taken.Attempts++
		k.touch(k.run, taken)
		return k.recordIntent(ctx, s, taken, rec, before)
	case actions.Happened:
		k.recordReceipt(rec, taken, verdict.Receipt)
	case actions.Replan:
		k.removeMarks(k.run, taken, rec)
		rec.Generation++
		rec.Intent = nil
		k.touch(k.run, taken)
	case actions.Overtook:
		k.removeMarks(k.run, taken, rec)
		rec.Intent = nil
		flow, err := k.end(ctx, s, taken, rec, journal.StepSuperseded, nil, verdict.Why)
		return flow, true, err
	default:
		return k.leaveToPerson(taken, rec, verdict.Why), true, nil
	}
	return onward, false, nil
}

// leaveToPerson parks a run for a person to decide: nothing shows what became of its call.
func (k *walk) leaveToPerson(taken *journal.Step, rec *record, reason *phrases.Phrase) flow {
	k.endCall(k.run, taken, rec)
	taken.State, taken.Error, rec.Why = journal.StepUncertain, reason.String(), reason.Coded()
	k.run.State, k.run.WakeAt = journal.Uncertain, time.Time{}
	k.run.Because(reason)
	k.touch(k.run, taken)
	return parked
}

// startAttempt records when a call is attempted, and sets its deadline. An engine that finds the
// call without a receipt settles it once the timeout is over, so the call must not leave later than
// that. Recording the intent may take long, and the process may be suspended in between until
// another engine has its lane.
func (k *walk) startAttempt(rec *record) {
	rec.Tried, rec.Answered, rec.Lost = k.now(), false, false
	k.callDeadline = time.Now().Add(k.workspace.Timeout)
}

// call makes the call of the recorded intent.
func (k *walk) call(ctx context.Context, action actions.Action, step *actions.Step, s *rules.Step, taken *journal.Step, rec *record) (flow, bool, error) {
	began, moment := time.Now(), k.traceTime() // for statistics only
	step.Until = k.callDeadline
	receipt, err := action.Do(ctx, step, *rec.Intent)
	took := time.Since(began)
	k.waited += took
	k.calls++
	k.engine.options.Observer.Called(k.run.Workspace, s.Verb, took, err)
	k.traceCall(PartCall, taken, rec.Intent.Call, moment, err)
	k.callError = err
	switch {
	case err == nil:
		k.recordReceipt(rec, taken, receipt)
		return onward, false, nil
	case actions.IsStale(err):
		k.removeMarks(k.run, taken, rec)
		rec.Generation++
		rec.Intent = nil
		rec.setError(taken, err)
		k.touch(k.run, taken)
		return onward, false, nil
	}
	rec.Answered = !actions.IsUncertain(err)
	rec.Lost = !rec.Answered
	rec.Doubt = rec.Doubt || rec.Lost
	if !rec.Doubt {
		k.removeMarks(k.run, taken, rec) // it had no effect; a repeat adds the marks again
	}
	flow, err := k.handleError(ctx, s, taken, rec, err)
	return flow, true, err
}

// recordReceipt records a receipt, and the events that the call caused, so that they are recognised
// when they come.
func (k *walk) recordReceipt(rec *record, taken *journal.Step, r actions.Receipt) {
	k.removeMarks(k.run, taken, rec)
	k.change.Caused = slices.Grow(k.change.Caused, len(r.Caused))
	from, to := k.earliestServiceTime(rec.Intent.At), k.latestServiceTime(k.now().Add(afterCall))
	for _, c := range r.Caused {
		object := c.Object
		if object == "" {
			object = k.lane.Name
		}
		k.addCaused(journal.Caused{
			Workspace: k.run.Workspace, Lane: k.lane.Name, Event: c.Event, Object: object, Stage: c.Stage, Set: c.Set,
			Run: k.run.ID, Rule: k.run.Rule, Ancestry: k.run.Ancestry, After: rec.Intent.After, From: from, To: to,
		})
	}
	rec.Receipts = append(rec.Receipts, r)
	rec.Sent = append(rec.Sent, sent{rec.Intent.Call, rec.Intent.Request})
	rec.Intent, rec.Failures, rec.Since = nil, 0, time.Time{}
	taken.Error, rec.Why = "", nil
	k.touch(k.run, taken)
	k.runChange(k.run).Effects++
}

// handleError decides what follows from an error: the workspace pauses, the step is retried later,
// or it has failed.
func (k *walk) handleError(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, err error) (flow, error) {
	if ctx.Err() != nil {
		return over, ctx.Err()
	}
	if marked := actions.IsMarked(err); !marked && !isAction(s) {
		if _, desk := errors.AsType[*deskError](err); !desk {
			return k.fail(ctx, s, taken, rec, err) // an expression that fails will fail again
		}
	}
	if _, expression := errors.AsType[*rules.ExpressionError](err); expression && deskFailure(err) == nil {
		return k.fail(ctx, s, taken, rec, err)
	}
	rec.setError(taken, err)
	k.touch(k.run, taken)
	halted, holdErr := k.pauseWorkspace(ctx, err)
	switch {
	case holdErr != nil:
		return over, holdErr
	case halted && actions.IsHeld(err):
		k.holdRun(k.run)
		return parked, nil
	case halted:
		taken.Attempts = max(0, taken.Attempts-1) // a pause is no attempt
		k.run.WakeAt = k.now().Add(actions.Wait(err))
		return parked, nil
	case actions.IsDenied(err):
		taken.Attempts = max(0, taken.Attempts-1)
		k.holdForScope(err)
		return parked, nil
	case actions.IsPermanent(err):
		return k.fail(ctx, s, taken, rec, err)
	}
	return k.retryLater(ctx, s, taken, rec, err)
}

// retryLater schedules a step's next attempt with a growing delay, until it gives up.
func (k *walk) retryLater(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, err error) (flow, error) {
	now := k.now()
	if rec.Failures == 0 {
		rec.Since = now
	}
	rec.Failures++
	rec.addTry(now, err)
	wait := max(backoff(taken.Key, rec.Failures), actions.StepWait(err))
	if rec.Intent != nil && !rec.Answered {
		wait = max(wait, rec.Tried.Add(k.workspace.Timeout).Sub(now))
	}
	bound := s.Retry.For
	if bound == 0 {
		bound = giveUpAfter
	}
	exhausted := s.Retry.Times > 0 && rec.Failures >= s.Retry.Times || now.Add(wait).After(rec.Since.Add(min(bound, maxRetry)))
	switch {
	case exhausted && rec.Intent == nil, exhausted && rec.Answered && !rec.Doubt:
		return k.fail(ctx, s, taken, rec, phrases.New(phrases.GivenUp, max(taken.Attempts, rec.Failures), err))
	case exhausted && rec.Last:
		return k.leaveToPerson(taken, rec, phrases.New(phrases.GivenUpUnsure, taken.Attempts, err)), nil
	case exhausted:
		// Settle the last attempt before calling it a failure.
		rec.Last = true
		wait = max(0, rec.Tried.Add(k.workspace.Timeout).Sub(now))
	}
	k.run.WakeAt = now.Add(wait)
	return parked, nil
}

// maxRetry is how long a step is repeated at most: a day less than the time for which the service
// remembers a call's idempotency key.
const maxRetry = 6 * 24 * time.Hour

// backoff returns the delay before the next attempt. It doubles up to five minutes, and has a
// jitter by step, so that steps that failed together are not repeated together.
func backoff(key string, failures int) time.Duration {
	pause := min(time.Second<<min(failures-1, 20), 5*time.Minute)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", key, failures)
	return pause*3/4 + time.Duration(mix(h.Sum64())%uint64(pause/2))
}

// withoutSecrets returns a step's arguments without values that must not be recorded.
func withoutSecrets(schema *rules.Schema, args map[string]any) map[string]any {
	out := args
	for _, a := range schema.Args {
		headers, ok := args[a.Name].(map[string]any)
		if a.Kind != rules.KindHeaders || !ok {
			continue
		}
		out = maps.Clone(out) // the call needs the original
		shown := maps.Clone(headers)
		for name := range shown {
			if actions.IsSecret(name) {
				shown[name] = "(secret)"
			}
		}
		out[a.Name] = shown
	}
	return out
}

// isAction reports whether a step's verb belongs to an action.
func isAction(s *rules.Step) bool {
	switch s.Verb {
	case "wait", "wait_for", "stop", "stop_if", "choose", "for_each", "set", "log":
		return false
	}
	return true
}

// emptyResult is what later steps see of a result that a shadow run does not have: an object with
// all its fields empty.
func emptyResult(t *rules.Type) any {
	if t == nil || t.Fields() == nil {
		return nil
	}
	object := make(map[string]any, len(t.Fields()))
	for _, f := range t.Fields() {
		object[f.Name] = nil
	}
	return object
}
