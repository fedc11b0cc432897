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

// decideAll decides on the lane's events in their order, and takes the first steps of the runs that
// come of each before the next.
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
			d.err = v.begin(ctx, d.starts, d.facts, d.sure)
		}
		if d.err != nil || d.waits {
			return v.undecided(ctx, e, d.err)
		}
	}
	if v.lane.More {
		v.halt() // what is behind them comes before gathers and runs: it may end them
	}
	return nil
}

// catchUp does what was due before the first event came. Where more comes to a lane than can be
// done, it would not have its turn otherwise.
func (v *visit) catchUp(ctx context.Context) error {
	for _, r := range v.lane.Runs {
		if r.State == journal.Held && r.WakeAt.IsZero() && v.due(r, v.now()) {
			r.WakeAt = v.now() // that it goes on again counts from here, behind what has come meanwhile
			v.touch(r)
		}
	}
	came := v.lane.Events[0].ReceivedAt
	if err := v.endGathers(ctx, came); err != nil {
		return err
	}
	return v.walkDue(ctx, came)
}

// undecided leaves an event, and those behind it, for later. An error says why, unless the lane is
// due again already.
func (v *visit) undecided(ctx context.Context, e *journal.Event, err error) error {
	if err != nil && v.fresh != nil {
		return errRecordFirst
	}
	if errors.Is(err, errStopped) {
		v.halt()
		return nil
	}
	if missing, ok := errors.AsType[*deskError](err); ok {
		return v.postpone(ctx, e, missing)
	}
	v.postponed = true
	if open, ok := errors.AsType[*openCallError](err); ok {
		v.wake(earlier(open.until, v.now().Add(time.Second/2)))
		return nil
	}
	return err
}

// A decision is what was decided on an event: which runs are to begin, and whether nobody can be in
// the way of one.
type decision struct {
	starts []*journal.Start
	facts  *facts
	sure   bool

	waits bool  // it has to be decided later
	err   error // why it could not be decided
}

// isOver reports whether nothing is left to do but to record the decision.
func (d *decision) isOver() bool { return len(d.starts) == 0 && d.err == nil }

// decide gives every rule that an event may call for its verdict. As long as an answer may be
// missing nothing is changed: the event may have to be decided another time.
func (v *visit) decide(ctx context.Context, e *journal.Event) *decision {
	d := &decision{facts: v.factsOf(e), sure: true}
	defer v.survive(&d.err)
	if d.waits, d.err = v.settleFirst(ctx, e, d.facts); d.err == nil && !d.waits {
		d.waits = v.stopped()
	}
	if d.err == nil && !d.waits {
		d.err = v.giveVerdicts(ctx, e, d)
	}
	return d
}

// giveVerdicts gives the verdicts, and plans the runs.
func (v *visit) giveVerdicts(ctx context.Context, e *journal.Event, d *decision) error {
	began, f := v.moment(), d.facts
	f.decideAt(journal.AnswerNow)
	own, err := v.recognise(ctx, e, f, false)
	if err != nil {
		return err
	}
	heard, err := v.hear(ctx, e, f, own)
	if err != nil {
		return err
	}
	prospects, err := v.prospects(ctx, e, f, own)
	if err != nil {
		return err
	}
	if v.fresh != nil && slices.ContainsFunc(prospects, func(p prospect) bool { return p.verdict.Outcome == journal.Gathered }) {
		return errRecordFirst // what is gathered are recorded events
	}
	if own != nil {
		v.change.Used = append(v.change.Used, own.ID)
	}
	e.Decided, e.Answers = true, f.asked
	v.change.Decided = append(v.change.Decided, e)
	v.matched(e, began)
	heard.take(v, e)
	for i := range prospects {
		p := &prospects[i]
		switch {
		case p.verdict.Outcome == journal.Gathered:
			v.gather(p, e)
		case p.verdict.Outcome == journal.Fired && !expands(p.rule, e):
			d.sure = v.sure(p) && d.sure
			d.starts = append(d.starts, v.start(p, f, own))
		}
	}
	return nil
}

// begin takes the first steps of runs. Where somebody else may be in the way of one, the journal is
// asked before anything is planned.
func (v *visit) begin(ctx context.Context, starts []*journal.Start, f *facts, sure bool) error {
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
			own = f.clone() // the next one knows nothing of what this one learns
		}
		if v.calls != calls {
			own.refetch() // but it knows what this one did
		}
		if err := v.walk(ctx, s.Run, own.forRun(s.Run)); err != nil {
			return err
		}
	}
	return nil
}

// postpone leaves an event undecided because the desk could not answer. How long grows with how
// long it has been so.
func (v *visit) postpone(ctx context.Context, e *journal.Event, err *deskError) error {
	now := v.now()
	halted, holdErr := v.pause(ctx, err)
	if halted || holdErr != nil {
		return holdErr
	}
	pause, givenUp := patience(err, now.Sub(e.ReceivedAt))
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

// patience is how long to wait before the desk is asked again what it could not answer for so long,
// or that it is given up. A scope that is missing is waited for, like a refused key.
func patience(err error, waited time.Duration) (pause time.Duration, givenUp bool) {
	switch {
	case actions.IsDenied(err):
		return probeEvery, false
	case actions.IsPermanent(err), waited > giveUpAfter:
		return 0, true
	}
	return min(max(waited/2, time.Second, actions.StepWait(err)), 5*time.Minute), false
}

// giveUpAfter is how long something is tried again, unless a rule says otherwise.
const giveUpAfter = 24 * time.Hour

// pause stops the workspace where an error asks for it.
func (v *visit) pause(ctx context.Context, err error) (halted bool, _ error) {
	now := v.now()
	switch wait := actions.Wait(err); {
	case wait > 0:
		h := journal.Hold{Workspace: v.lane.Workspace, Kind: journal.HoldRate, Reason: err.Error(), Since: now, Until: now.Add(wait)}
		v.halt()
		return true, v.engine.stop(ctx, h)
	case actions.IsHeld(err):
		h := journal.Hold{Workspace: v.lane.Workspace, Kind: journal.HoldKey, Reason: err.Error(), Since: now, Until: now.Add(probeEvery)}
		v.halt()
		return true, v.engine.stop(ctx, h)
	}
	return false, nil
}

// start asks the journal for a run of a rule that has fired.
func (v *visit) start(p *prospect, f *facts, own *journal.Caused) *journal.Start {
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
	p.verdict.Run, p.verdict.Stage = run.Key, told(run.Stage)
	s := &journal.Start{Run: run, Mode: rule.Mode, Max: rule.Max, Source: rule.Source(), Verdict: p.verdict}
	if rule.Limit != nil {
		s.Limit = &journal.Slot{Key: fmt.Sprintf("limit/%s/%s/%s", rule.ID, run.Stage, p.limitBy), Times: rule.Limit.Times, Per: rule.Limit.Per}
	}
	v.change.Starts = append(v.change.Starts, s)
	v.lane.Runs = append(v.lane.Runs, run)
	return s
}

// sure reports whether nothing can keep a run from beginning: there is no limit, and no unfinished
// run of its rule. A by of its own may be that of a run in another lane.
func (v *visit) sure(p *prospect) bool {
	return p.rule.Limit == nil && p.rule.By == nil && !v.unfinished(p)
}

// unfinished reports whether there is an unfinished run of the same rule and by in the lane.
func (l *laneState) unfinished(p *prospect) bool {
	return slices.ContainsFunc(l.lane.Runs, func(r *journal.Run) bool {
		return r.Rule == p.rule.ID && r.By == p.by && !r.State.Finished()
	})
}

// runKey is the run's idempotency key: the same event and rule never make two runs.
func runKey(e *journal.Event, rule *rules.Rule) string {
	if e.Type == "schedule" {
		return e.Workspace + "/" + e.ID // which begins with the rule's id
	}
	return e.Workspace + "/" + rule.ID + "/" + e.ID
}

// stageOf says whether a run acts: a live rule may take a share of the keys only, always the same
// ones.
func stageOf(rule *rules.Rule, by string) rules.Stage {
	if rule.Stage != rules.Live || rule.Sample >= 1 {
		return rule.Stage
	}
	h := fnv.New64a()
	h.Write([]byte(rule.ID + "\x00" + by))
	if float64(mix(h.Sum64()))/math.MaxUint64 < rule.Sample {
		return rules.Live
	}
	return rules.Shadow
}

// told is a stage as a verdict tells it: most are live, so that goes without saying.
func told(s rules.Stage) rules.Stage {
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
