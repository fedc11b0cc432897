package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// decideAll decides the lane's events in order. It takes the first steps of the runs that an event
// starts before it decides the next event.
func (v *visit) decideAll(ctx context.Context, first *decision) error {
	if v.lane.More {
		if err := v.catchUp(ctx); err != nil {
			return err
		}
	}
	for _, e := range v.lane.Events {
		d := first
		if first = nil; d == nil {
			if v.stopped() {
				return nil
			}
			d = v.decide(ctx, e)
		}
		if d.err == nil && !d.waits {
			d.err = v.beginRuns(ctx, d.starts, d.facts, d.sure)
		}
		if d.err != nil || d.waits {
			return v.leaveUndecided(ctx, e, d.err)
		}
	}
	if v.lane.More {
		v.halt() // the events that are not loaded come before gathers and runs, because they may end them
	}
	return nil
}

// catchUp does what was due before the lane's first event came. Without it, a lane that gets events
// faster than they are decided would never continue its runs.
func (v *visit) catchUp(ctx context.Context) error {
	for _, r := range v.lane.Runs {
		if r.State == journal.Held && r.WakeAt.IsZero() && v.due(r, v.now()) {
			r.WakeAt = v.now() // a run whose hold was lifted is due from now on, after the events that came meanwhile
			v.touch(r)
		}
	}
	came := v.lane.Events[0].ReceivedAt
	if err := v.endGathers(ctx, came); err != nil {
		return err
	}
	return v.walkDue(ctx, came)
}

// leaveUndecided leaves an event, and those behind it, for later. An error says why, unless the
// lane is already due again.
func (v *visit) leaveUndecided(ctx context.Context, e *journal.Event, err error) error {
	if err != nil && v.fresh != nil {
		return errRecordFirst
	}
	if errors.Is(err, errStopped) {
		v.halt()
		return nil
	}
	if missing, ok := errors.AsType[*deskError](err); ok {
		return v.postponeEvent(ctx, e, missing)
	}
	v.postponed = true
	if open, ok := errors.AsType[*openCallError](err); ok {
		v.wake(earlier(open.until, v.now().Add(time.Second/2)))
		return nil
	}
	return err
}

// A decision is what was decided on an event: the runs to start, and whether each of them is
// certain to begin.
type decision struct {
	starts []*journal.Start
	facts  *facts
	sure   bool

	waits bool  // it has to be decided later
	err   error // why it could not be decided
}

// isFinal reports whether nothing is left to do but to record the decision.
func (d *decision) isFinal() bool { return len(d.starts) == 0 && d.err == nil }

// decide gives every rule that matches an event its verdict. It changes nothing while an answer may
// still be missing, because then the event is decided another time.
func (v *visit) decide(ctx context.Context, e *journal.Event) *decision {
	d := &decision{facts: v.factsOf(e), sure: true}
	defer v.recoverPanic(&d.err)
	if d.err = v.checkVacant(ctx, e); d.err == nil {
		d.waits, d.err = v.waitForOpenCalls(ctx, e, d.facts)
	}
	if d.err == nil && !d.waits {
		d.waits = v.stopped()
	}
	if d.err == nil && !d.waits {
		d.err = v.giveVerdicts(ctx, e, d)
	}
	return d
}

// checkVacant makes sure, before the journal is asked whether a fresh event is the engine's own
// doing, that no other engine has a call under way that may have caused it. The event may arrive
// here before that engine has recorded the receipt.
func (v *visit) checkVacant(ctx context.Context, e *journal.Event) error {
	if v.fresh == nil || !mayBeOwn(e.Type) {
		return nil
	}
	if vacant, err := v.engine.journal.Vacant(ctx, v.lane); !vacant || err != nil {
		return errRecordFirst // the error, if it lasts, is met again
	}
	return nil
}

// giveVerdicts gives the verdicts, and plans the runs.
func (v *visit) giveVerdicts(ctx context.Context, e *journal.Event, d *decision) error {
	began, f := v.traceTime(), d.facts
	f.decideAt(journal.AnswerNow)
	own, err := v.recognise(ctx, e, f, false)
	if err != nil {
		return err
	}
	alert, err := v.isAlert(ctx, e, f)
	if err != nil {
		return err
	}
	var effects runEffects
	var claim *claim
	if !alert {
		if effects, err = v.effectsOnRuns(ctx, e, f, own); err != nil {
			return err
		}
		if claim, err = v.claimOf(ctx, e, f, own, effects.claim); err != nil {
			return err
		}
	}
	prospects, err := v.prospects(ctx, e, f, own, claim, alert)
	if err != nil {
		return err
	}
	if v.fresh != nil && slices.ContainsFunc(prospects, func(p prospect) bool { return p.verdict.Outcome == journal.Gathered }) {
		return errRecordFirst // only recorded events can be gathered
	}
	if own != nil {
		v.change.Used = append(v.change.Used, own.ID)
	}
	e.Decided, e.Answers = true, f.answers
	v.change.Decided = append(v.change.Decided, e)
	v.recordMatch(e, began)
	effects.apply(v, e)
	for i := range prospects {
		p := &prospects[i]
		switch {
		case p.verdict.Outcome == journal.Gathered:
			v.addToGather(p, e)
		case p.verdict.Outcome == journal.Fired && !isListTick(p.rule, e):
			d.sure = v.certainToBegin(p) && d.sure
			d.starts = append(d.starts, v.newStart(p, f, own))
		}
	}
	return nil
}

// beginRuns takes the first steps of runs. If another run or a limit may keep one from beginning,
// it asks the journal before anything is planned.
func (v *visit) beginRuns(ctx context.Context, starts []*journal.Start, f *facts, sure bool) error {
	if !sure {
		if err := v.save(ctx, false); err != nil {
			return err
		}
	}
	calls := v.calls
	for i, s := range starts {
		if v.refused[s.Run] {
			continue
		}
		own := f
		if i < len(starts)-1 {
			own = f.clone() // what this run fetches is not visible to the next one
		}
		if v.calls != calls {
			own.invalidateChanged() // but what the previous run did is
		}
		if err := v.walk(ctx, s.Run, own.forRun(s.Run)); err != nil {
			return err
		}
	}
	return nil
}

// postponeEvent leaves an event undecided because the desk could not answer. The delay grows with
// the time that the event has waited.
func (v *visit) postponeEvent(ctx context.Context, e *journal.Event, err *deskError) error {
	now := v.now()
	halted, holdErr := v.pauseWorkspace(ctx, err)
	if halted || holdErr != nil {
		return holdErr
	}
	pause, givenUp := retryDelay(err, now.Sub(e.ReceivedAt))
	if givenUp {
		e.Verdicts = []journal.Verdict{{Rule: e.Rule, Outcome: journal.Failed, Error: err.Error()}}
		e.Decided = true
		v.change.Decided = append(v.change.Decided, e)
		v.wake(now)
		return nil
	}
	v.engine.log.Warn("an event waits to be decided", "workspace", e.Workspace, "event", e.ID, "error", Discreet(err))
	v.postponed = true
	v.wake(now.Add(pause))
	return nil
}

// retryDelay returns how long to wait before the desk is asked again, after it has failed to answer
// for the time waited, or that it is given up. A missing scope is never given up, like a refused
// key.
func retryDelay(err error, waited time.Duration) (pause time.Duration, givenUp bool) {
	switch {
	case actions.IsDenied(err):
		return probeEvery, false
	case actions.IsPermanent(err), waited > giveUpAfter:
		return 0, true
	}
	return min(max(waited/2, time.Second, actions.StepWait(err)), 5*time.Minute), false
}

// giveUpAfter is how long something is retried, unless a rule says otherwise.
const giveUpAfter = 24 * time.Hour

// pauseWorkspace places a hold on the workspace if an error calls for one.
func (v *visit) pauseWorkspace(ctx context.Context, err error) (halted bool, _ error) {
	now := v.now()
	switch wait := actions.Wait(err); {
	case wait > 0:
		h := journal.Hold{Workspace: v.lane.Workspace, Kind: journal.HoldRate, Reason: err.Error(), Since: now, Until: now.Add(wait)}
		v.halt()
		return true, v.engine.placeHold(ctx, h)
	case actions.IsHeld(err):
		h := journal.Hold{Workspace: v.lane.Workspace, Kind: journal.HoldKey, Reason: err.Error(), Since: now, Until: now.Add(probeEvery)}
		v.halt()
		return true, v.engine.placeHold(ctx, h)
	}
	return false, nil
}

// newStart adds the start of a run, for a rule that has fired, to the change.
func (v *visit) newStart(p *prospect, f *facts, own *journal.Caused) *journal.Start {
	e, rule, now := f.event, p.rule, v.now()
	run := &journal.Run{
		Key: runKey(e, rule), Workspace: e.Workspace, Rule: rule.ID, Version: rule.Version, Event: e.Seq, Home: e.Lane, Lane: e.Lane, By: p.by,
		State: journal.Running, Stage: stageOf(rule, p.by), About: *f.about, StartedAt: now, WakeAt: now,
	}
	for _, g := range f.gathered {
		run.Gathered = append(run.Gathered, g.Seq)
	}
	if own != nil {
		run.Ancestry = append(slices.Clone(own.Ancestry), own.Rule)
	}
	p.verdict.Run, p.verdict.Stage = run.Key, recordedStage(run.Stage)
	s := &journal.Start{Run: run, Mode: rule.Mode, Max: rule.Max, Source: rule.Source(), Verdict: p.verdict}
	if rule.Limit != nil {
		s.Limit = &journal.Slot{Key: fmt.Sprintf("limit/%s/%s/%s", rule.ID, run.Stage, p.limitBy), Times: rule.Limit.Times, Per: rule.Limit.Per}
	}
	v.change.Starts = append(v.change.Starts, s)
	v.lane.Runs = append(v.lane.Runs, run)
	return s
}

// certainToBegin reports whether nothing can keep a run from beginning: its rule has no limit, and
// no unfinished run. With a by, an unfinished run of the same key may be in another lane.
func (v *visit) certainToBegin(p *prospect) bool {
	return p.rule.Limit == nil && p.rule.By == nil && !v.unfinished(p)
}

// unfinished reports whether the lane has an unfinished run of the same rule and key.
func (l *laneState) unfinished(p *prospect) bool {
	return slices.ContainsFunc(l.lane.Runs, func(r *journal.Run) bool {
		return r.Rule == p.rule.ID && r.By == p.by && !r.State.Finished()
	})
}

// runKey returns the run's idempotency key: the same event and rule never make two runs.
func runKey(e *journal.Event, rule *rules.Rule) string {
	if e.Type == "schedule" {
		return e.Workspace + "/" + e.ID // the event's id begins with the rule's id
	}
	return e.Workspace + "/" + rule.ID + "/" + e.ID
}

// stageOf returns the stage of a run: a live rule may act for a sample of the keys only, always the
// same ones.
func stageOf(rule *rules.Rule, by string) rules.Stage {
	if rule.Stage != rules.Live || rule.Sample >= 1 {
		return rule.Stage
	}
	name, from, to := rule.ID, 0.0, rule.Sample
	if s := rule.Split; s != nil {
		name, from, to = "split "+s.Group, s.From, s.To // no rule's id has a space
	}
	h := fnv.New64a()
	h.Write([]byte(name + "\x00" + by))
	if at := float64(mix(h.Sum64())) / math.MaxUint64; at >= from && (at < to || to == 1 && from < 1) {
		return rules.Live
	}
	return rules.Shadow
}

// recordedStage returns a stage as a verdict records it. Live, the usual one, is left out.
func recordedStage(s rules.Stage) rules.Stage {
	if s == rules.Live {
		return ""
	}
	return s
}

// mix spreads a hash evenly: FNV alone leaves similar keys close together.
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
