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
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// act carries out a step of an action: plan, record the intent, make the call, record the receipt,
// plan again, until there is a result. Every call but an intent's first comes right after the
// action has settled what became of the one before.
func (k *walk) act(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	action := k.workspace.Actions.Action(s.Verb)
	if action == nil {
		return k.fail(ctx, s, taken, rec, fmt.Errorf("there is no verb %s", s.Verb))
	}
	if k.facts.cardless && s.Schema.Needs == "card" && s.Args[s.Schema.Unless] == nil {
		return k.end(ctx, s, taken, rec, journal.StepSkipped, nil, phrases.New(phrases.NoCard))
	}
	args, err := k.render(s)
	if err == nil {
		err = k.find(ctx, s)
	}
	if err != nil {
		return k.trouble(ctx, s, taken, rec, err)
	}
	ctx = k.facts.asking(ctx)
	if rec.Args == nil {
		rec.Args, _ = encode(presentable(s.Schema, args)) // for people; the call records its own request
	}
	if rec.Intent != nil && rec.Answered {
		k.failed = errors.New(taken.Error) // without a mark: the last try is known to have had no effect
	}
	step := &actions.Step{Workspace: k.run.Workspace, Key: taken.Key, Args: args}
	for {
		step.Now, step.Subject, step.Until = k.now(), k.run.About, time.Time{}
		step.Receipts, step.Generation, step.Failed = rec.Receipts, rec.Generation, k.failed
		if rec.Intent == nil {
			flow, done, err := k.intend(ctx, action, step, s, taken, rec)
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

// find makes sure that what the verb works on is known.
func (k *walk) find(ctx context.Context, s *rules.Step) error {
	if s.Schema.Unless != "" && s.Args[s.Schema.Unless] != nil {
		return nil
	}
	if err := k.facts.load(ctx); err != nil {
		return err
	}
	known := true
	switch about := &k.run.About; s.Schema.Needs {
	case "conversation":
		known = about.Conversation != ""
	case "contact":
		known = about.Contact != ""
	case "attendance":
		known = about.Attendance != ""
	case "card":
		known = about.Card != ""
	}
	if known {
		return nil
	}
	_, err := k.facts.Fact(ctx, s.Schema.Needs)
	return err
}

// intend plans the next call and records that it is about to be made.
func (k *walk) intend(ctx context.Context, action actions.Action, step *actions.Step, s *rules.Step, taken *journal.Step, rec *record) (flow, bool, error) {
	next, err := action.Plan(ctx, step)
	if err != nil {
		flow, err := k.trouble(ctx, s, taken, rec, err)
		return flow, true, err
	}
	if r := next.Result; r != nil {
		flow, err := k.end(ctx, s, taken, rec, journal.StepState(r.Outcome), r.Value, r.Why)
		return flow, true, err
	}
	if k.run.Stage != rules.Live {
		rec.Intent = next.Intent // what it would have sent
		flow, err := k.end(ctx, s, taken, rec, journal.StepWould, nothing(s.Schema.Result), nil)
		return flow, true, err
	}
	if lane := k.laneOf(s, next.Intent); lane != k.lane.Name {
		flow, err := k.travel(lane, taken)
		return flow, true, err
	}
	if k.stopped() || !k.acquireWorker(ctx) {
		return parked, true, nil
	}
	if next.Intent.Elsewhere && k.run.ID == 0 {
		// What is expected of the call names its run.
		if err := k.save(ctx, false); err != nil || k.refused[k.run] {
			return parked, true, err
		}
	}
	before := *rec
	rec.Intent, rec.Doubt = next.Intent, false
	rec.Intent.After = k.engine.journal.Newest()
	k.try(rec)
	taken.State, taken.Error, rec.Why = journal.StepOpen, "", nil
	taken.Attempts++
	k.touch(k.run, taken)
	return k.announce(ctx, taken, rec, before, k.slots(rec.Intent)...)
}

// laneOf is where a call takes place: in the lane of what it touches, which need not be that of the
// run's events.
func (k *walk) laneOf(s *rules.Step, i *actions.Intent) string {
	if i.Lane != "" {
		return i.Lane
	}
	if lane := k.run.About.Lane(); s.Schema.Needs != "" && lane != "" {
		return lane
	}
	return k.run.Home
}

// announce records that a call is about to be made, and where nobody knows yet in which lane its
// events come, that they may come before its answer. Every try is announced: the mark of the one
// before it may be over. Where the call may not begin, the step's record is what it was before.
func (k *walk) announce(ctx context.Context, taken *journal.Step, rec *record, before record, take ...journal.Slot) (flow, bool, error) {
	marked := len(k.change.Caused)
	if rec.Intent.Elsewhere {
		k.mark(k.run, taken, rec, rec.Tried.Add(k.workspace.Timeout+afterCall))
	}
	k.change.Call = k.run
	err := k.save(ctx, false, take...)
	k.change.Call = nil
	bound, full := errors.AsType[*journal.BoundError](err)
	held, stopped := errors.AsType[*journal.HeldError](err)
	if full || stopped {
		*rec, k.change.Caused = before, k.change.Caused[:marked]
		taken.Attempts--
	}
	switch {
	case full:
		return parked, true, k.tooMany(ctx, bound)
	case stopped:
		return parked, true, k.standStill(ctx, held.Hold)
	}
	if err != nil {
		return over, true, err
	}
	if k.refused[k.run] {
		return parked, true, nil
	}
	return onward, false, nil
}

// standStill leaves a run where it is whose call the journal did not let begin: somebody has
// stopped it, and the engine had not learnt of it. An event that is not recorded yet is recorded as
// any other, and decided on when that is known; a run of a stopped rule that has not begun does
// not.
func (k *walk) standStill(ctx context.Context, on journal.Hold) error {
	k.engine.learn(on)
	switch {
	case k.fresh != nil:
		return errRecordFirst
	case on.Rule == "":
		k.halt()
	case k.run.ID == 0:
		return k.save(ctx, false)
	default:
		k.hold(k.run)
	}
	return nil
}

// slots are what an automatic message takes of the safety bounds.
func (k *walk) slots(i *actions.Intent) []journal.Slot {
	if !slices.Contains(i.Emits, vocabulary.MessageSent) {
		return nil
	}
	take := make([]journal.Slot, 0, 2)
	if b := k.workspace.Safety.PerConversation; b.Times > 0 {
		take = append(take, journal.Slot{Key: journal.MessagesTo(k.lane.Name), Times: b.Times, Per: b.Per, Rule: k.run.Rule})
	}
	if b := k.workspace.Safety.Messages; b.Times > 0 {
		take = append(take, journal.Slot{Key: journal.AllMessages, Times: b.Times, Per: b.Per, Rule: k.run.Rule})
	}
	return take
}

// tooMany keeps a message back that would be more than is safe. The rule whose messages fill the
// bound is stopped: in this conversation, or where the workspace has sent too much, everywhere. A
// rule that has sent none of them waits until there is room.
func (k *walk) tooMany(ctx context.Context, bound *journal.BoundError) error {
	h := journal.Hold{Workspace: k.run.Workspace, Rule: k.run.Rule, Kind: journal.HoldSafety, Since: k.now()}
	code := phrases.SafetyMessages
	if bound.Slot.Key != journal.AllMessages {
		h.Lane, code = k.lane.Name, phrases.SafetyConversation
	}
	h.Why = phrases.New(code, bound.Slot.Times, duration.Format(bound.Slot.Per))
	h.Reason = h.Why.String()
	if !bound.Own {
		k.run.State, k.run.WakeAt = journal.Held, latest(bound.Free, k.now().Add(time.Second))
		k.run.Because(h.Why)
		k.touch(k.run)
		return nil
	}
	err := k.engine.stop(ctx, h)
	k.hold(k.run)
	return err
}

// settle finds out what became of a call that has no receipt. When it returns without an end, the
// call is to be made again, or, where the intent is gone, something else comes next.
func (k *walk) settle(ctx context.Context, action actions.Action, step *actions.Step, s *rules.Step, taken *journal.Step, rec *record) (flow, bool, error) {
	if k.run.Lane != k.lane.Name {
		return parked, true, nil
	}
	if settled := rec.Tried.Add(k.workspace.Timeout); !rec.Answered && !rec.Confirmed && k.now().Before(settled) {
		k.run.WakeAt = settled // it may be under way
		k.touch(k.run, taken)
		return parked, true, nil
	}
	if k.stopped() {
		return parked, true, nil
	}
	verdict := actions.Settlement{Verdict: actions.Repeat}
	if !rec.Confirmed {
		var err error
		began := k.moment()
		verdict, err = action.Settle(ctx, step, *rec.Intent)
		k.traceCall(PartSettle, taken, rec.Intent.Call, began, err)
		if err != nil {
			flow, err := k.trouble(ctx, s, taken, rec, err)
			return flow, true, err
		}
	}
	before := *rec
	rec.Doubt = (rec.Doubt || !rec.Answered) && !rec.Confirmed
	rec.Confirmed = false
	switch verdict.Verdict {
	case actions.Repeat:
		if rec.Last {
			flow, err := k.fail(ctx, s, taken, rec, phrases.New(phrases.GivenUp, taken.Attempts, why(taken, rec)))
			return flow, true, err
		}
		k.unmark(k.run, taken, rec)
		k.try(rec)
		taken.Attempts++
		k.touch(k.run, taken)
		return k.announce(ctx, taken, rec, before)
	case actions.Happened:
		k.receive(rec, taken, verdict.Receipt)
	case actions.Replan:
		k.unmark(k.run, taken, rec)
		rec.Generation++
		rec.Intent = nil
		k.touch(k.run, taken)
	case actions.Overtook:
		k.unmark(k.run, taken, rec)
		rec.Intent = nil
		flow, err := k.end(ctx, s, taken, rec, journal.StepSuperseded, nil, verdict.Why)
		return flow, true, err
	default:
		return k.ask(taken, rec, verdict.Why), true, nil
	}
	return onward, false, nil
}

// ask leaves a call to a person: nothing tells what became of it.
func (k *walk) ask(taken *journal.Step, rec *record, reason *phrases.Phrase) flow {
	k.endCall(k.run, taken, rec)
	taken.State, taken.Error, rec.Why = journal.StepUncertain, reason.String(), reason.Coded()
	k.run.State, k.run.WakeAt = journal.Uncertain, time.Time{}
	k.run.Because(reason)
	k.touch(k.run, taken)
	return parked
}

// try notes when a call is tried. Whoever finds it without a receipt looks into it when the timeout
// is over, and so it must not leave later: recording it may take long, and a process may be stopped
// in between for so long that its lane is another's.
func (k *walk) try(rec *record) {
	rec.Tried, rec.Answered, rec.Lost = k.now(), false, false
	k.latest = time.Now().Add(k.workspace.Timeout)
}

// call makes the call of the recorded intent.
func (k *walk) call(ctx context.Context, action actions.Action, step *actions.Step, s *rules.Step, taken *journal.Step, rec *record) (flow, bool, error) {
	began, moment := time.Now(), k.moment() // for the statistics alone
	step.Until = k.latest
	receipt, err := action.Do(ctx, step, *rec.Intent)
	took := time.Since(began)
	k.waited += took
	k.calls++
	k.engine.options.Observer.Called(k.run.Workspace, s.Verb, took, err)
	k.traceCall(PartCall, taken, rec.Intent.Call, moment, err)
	k.failed = err
	switch {
	case err == nil:
		k.receive(rec, taken, receipt)
		return onward, false, nil
	case actions.IsStale(err):
		k.unmark(k.run, taken, rec)
		rec.Generation++
		rec.Intent = nil
		rec.erred(taken, err)
		k.touch(k.run, taken)
		return onward, false, nil
	}
	rec.Answered = !actions.IsUncertain(err)
	rec.Lost = !rec.Answered
	rec.Doubt = rec.Doubt || rec.Lost
	if !rec.Doubt {
		k.unmark(k.run, taken, rec) // it had no effect, and is announced again where it is repeated
	}
	flow, err := k.trouble(ctx, s, taken, rec, err)
	return flow, true, err
}

// receive records a receipt, and what the engine will hear of its own doing.
func (k *walk) receive(rec *record, taken *journal.Step, r actions.Receipt) {
	k.unmark(k.run, taken, rec)
	k.change.Caused = slices.Grow(k.change.Caused, len(r.Caused))
	from, to := k.servedFrom(rec.Intent.At), k.servedTo(k.now().Add(afterCall))
	for _, c := range r.Caused {
		object := c.Object
		if object == "" {
			object = k.lane.Name
		}
		k.expect(journal.Caused{
			Workspace: k.run.Workspace, Lane: k.lane.Name, Event: c.Event, Object: object, Stage: c.Stage, Set: c.Set,
			Run: k.run.ID, Rule: k.run.Rule, Ancestry: k.run.Ancestry, After: rec.Intent.After, From: from, To: to,
		})
	}
	rec.Receipts = append(rec.Receipts, r)
	rec.Sent = append(rec.Sent, sent{rec.Intent.Call, rec.Intent.Request})
	rec.Intent, rec.Failures, rec.Since = nil, 0, time.Time{}
	taken.Error, rec.Why = "", nil
	k.touch(k.run, taken)
	k.changed(k.run).Effects++
}

// trouble decides what follows from an error: the workspace waits, the step is taken again later,
// or it has failed.
func (k *walk) trouble(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, err error) (flow, error) {
	if ctx.Err() != nil {
		return over, ctx.Err()
	}
	if marked := actions.IsMarked(err); !marked && !isAction(s) {
		if _, desk := errors.AsType[*deskError](err); !desk {
			return k.fail(ctx, s, taken, rec, err) // an expression that fails will fail again
		}
	}
	if _, expression := errors.AsType[*rules.ExpressionError](err); expression && unanswered(err) == nil {
		return k.fail(ctx, s, taken, rec, err)
	}
	rec.erred(taken, err)
	k.touch(k.run, taken)
	halted, holdErr := k.pause(ctx, err)
	switch {
	case holdErr != nil:
		return over, holdErr
	case halted && actions.IsHeld(err):
		k.hold(k.run)
		return parked, nil
	case halted:
		taken.Attempts = max(0, taken.Attempts-1) // a pause is no attempt
		k.run.WakeAt = k.now().Add(actions.Wait(err))
		return parked, nil
	case actions.IsDenied(err):
		taken.Attempts = max(0, taken.Attempts-1)
		k.deny(err)
		return parked, nil
	case actions.IsPermanent(err):
		return k.fail(ctx, s, taken, rec, err)
	}
	return k.later(ctx, s, taken, rec, err)
}

// later lets a step be taken again after a pause that grows, until it is given up.
func (k *walk) later(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, err error) (flow, error) {
	now := k.now()
	if rec.Failures == 0 {
		rec.Since = now
	}
	rec.Failures++
	wait := max(backoff(taken.Key, rec.Failures), actions.StepWait(err))
	if rec.Intent != nil && !rec.Answered {
		wait = max(wait, rec.Tried.Add(k.workspace.Timeout).Sub(now))
	}
	bound := s.Retry.For
	if bound == 0 {
		bound = giveUpAfter
	}
	exhausted := s.Retry.Times > 0 && rec.Failures >= s.Retry.Times || now.Add(wait).After(rec.Since.Add(min(bound, longest)))
	switch {
	case exhausted && rec.Intent == nil, exhausted && rec.Answered && !rec.Doubt:
		return k.fail(ctx, s, taken, rec, phrases.New(phrases.GivenUp, max(taken.Attempts, rec.Failures), err))
	case exhausted && rec.Last:
		return k.ask(taken, rec, phrases.New(phrases.GivenUpUnsure, taken.Attempts, err)), nil
	case exhausted:
		// What became of the last attempt is found out before it is called a failure.
		rec.Last = true
		wait = max(0, rec.Tried.Add(k.workspace.Timeout).Sub(now))
	}
	k.run.WakeAt = now.Add(wait)
	return parked, nil
}

// longest is how long a step is repeated at most: a day short of how long the service remembers the
// key of a call.
const longest = 6 * 24 * time.Hour

// backoff is the pause before the next attempt: it doubles up to five minutes, and differs from
// step to step, so that what failed together is not repeated together.
func backoff(key string, failures int) time.Duration {
	pause := min(time.Second<<min(failures-1, 20), 5*time.Minute)
	h := fnv.New64a()
	fmt.Fprintf(h, "%s %d", key, failures)
	return pause*3/4 + time.Duration(mix(h.Sum64())%uint64(pause/2))
}

// presentable returns a step's arguments without what must not be recorded.
func presentable(schema *rules.Schema, args map[string]any) map[string]any {
	out := args
	for _, a := range schema.Args {
		headers, ok := args[a.Name].(map[string]any)
		if a.Kind != rules.KindHeaders || !ok {
			continue
		}
		out = maps.Clone(out) // the call needs them as they are
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

// isAction reports whether a step's verb is an action's.
func isAction(s *rules.Step) bool {
	switch s.Verb {
	case "wait", "wait_for", "stop", "stop_if", "choose", "for_each", "set", "log":
		return false
	}
	return true
}

// nothing is what later steps see of a result that a shadow run does not have: an object with all
// its fields empty.
func nothing(t *rules.Type) any {
	if t == nil || t.Fields() == nil {
		return nil
	}
	object := make(map[string]any, len(t.Fields()))
	for _, f := range t.Fields() {
		object[f.Name] = nil
	}
	return object
}
