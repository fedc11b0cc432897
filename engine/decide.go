package engine

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

// decideAll decides on the lane's events in their order, and takes the first steps of the runs that come of each before the next.
func (v *visit) decideAll(ctx context.Context) error {
	if v.lane.More {
		if err := v.catchUp(ctx); err != nil {
			return err
		}
	}
	for _, e := range v.lane.Events {
		d := v.decided
		if v.decided = nil; d == nil {
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

// catchUp does what was due before the first event came. Where more comes to a lane than can be done, it would not have its turn otherwise.
func (v *visit) catchUp(ctx context.Context) error {
	for _, r := range v.lane.Runs {
		if r.State == Held && r.WakeAt.IsZero() && v.due(r, v.now()) {
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

// undecided leaves an event, and those behind it, for later. An error says why, unless the lane is due again already.
func (v *visit) undecided(ctx context.Context, e *Event, err error) error {
	if err != nil && v.tooSoon() {
		return errTooSoon
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

// A prospect is a rule's verdict on an event, with what a run would be counted by.
type prospect struct {
	rule        *rules.Rule
	verdict     *Verdict
	by, limitBy string
}

// A decision is what was decided on an event: which runs are to begin, and whether nobody can be in the way of one.
type decision struct {
	starts []*Start
	facts  *facts
	sure   bool

	waits bool  // it has to be decided later
	err   error // why it could not be decided
}

// decide gives every rule that an event may call for its verdict. As long as an answer may be missing nothing is changed: the event may have to be decided another time.
func (v *visit) decide(ctx context.Context, e *Event) *decision {
	d := &decision{facts: v.factsOf(e), sure: true}
	if d.waits, d.err = v.settleFirst(ctx, e, d.facts); d.err == nil && !d.waits {
		d.waits = v.stopped()
	}
	if d.err == nil && !d.waits {
		d.err = v.giveVerdicts(ctx, e, d)
	}
	return d
}

// giveVerdicts gives the verdicts, and plans the runs.
func (v *visit) giveVerdicts(ctx context.Context, e *Event, d *decision) error {
	began, f := v.moment(), d.facts
	f.decideAt(AnswerNow)
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
	if own != nil {
		v.pending.Used = append(v.pending.Used, own.ID)
	}
	e.Decided, e.Answers = true, f.asked
	v.pending.Decided = append(v.pending.Decided, e)
	v.matched(e, began)
	heard.take(v, e)
	for i := range prospects {
		p := &prospects[i]
		switch {
		case p.verdict.Outcome == Gathered:
			v.gather(p, e)
		case p.verdict.Outcome == Fired && !expands(p.rule, e):
			d.sure = v.sure(p) && d.sure
			d.starts = append(d.starts, v.start(p, f, own))
		}
	}
	return nil
}

// begin takes the first steps of runs. Where somebody else may be in the way of one, the journal is asked before anything is planned.
func (v *visit) begin(ctx context.Context, starts []*Start, f *facts, sure bool) error {
	if !sure {
		if err := v.save(ctx, false); err != nil {
			return err
		}
	}
	for i, s := range starts {
		if v.refused[s.Run] {
			continue
		}
		own := f
		if i < len(starts)-1 {
			own = f.twin() // the next one knows nothing of what this one learns
		}
		if err := v.walk(ctx, s.Run, own.serve(s.Run)); err != nil {
			return err
		}
	}
	return nil
}

// prospects asks every candidate for its verdict.
func (v *visit) prospects(ctx context.Context, e *Event, f *facts, own *Caused) ([]prospect, error) {
	candidates, err := v.candidates(ctx, e, f)
	if err != nil {
		return nil, err
	}
	list := make([]prospect, len(candidates))
	verdicts := make([]Verdict, len(candidates))
	for i, rule := range candidates {
		p := &list[i]
		p.rule, p.verdict = rule, &verdicts[i]
		if err := v.judge(ctx, p, e, f, own); err != nil {
			return nil, err
		}
		if p.verdict.Outcome == Fired && expands(rule, e) {
			if err := v.expand(ctx, rule, e, f, p.verdict); err != nil {
				return nil, err
			}
		}
	}
	if e.Rule != "" && len(candidates) == 0 {
		verdicts = []Verdict{{Rule: e.Rule, Outcome: Failed, Error: "there is no such rule, or it is a draft"}}
	}
	e.Verdicts = verdicts
	return list, nil
}

// candidates are the rules that an event may call for.
func (v *visit) candidates(ctx context.Context, e *Event, f *facts) ([]*rules.Rule, error) {
	set := v.workspace.rules.Load()
	if e.Rule != "" {
		if rule := set.Rule(e.Rule); rule != nil && rule.Stage != rules.Draft {
			return []*rules.Rule{rule}, nil
		}
		return nil, nil
	}
	if err := f.load(ctx); err != nil {
		return nil, err
	}
	known := make(map[string]any)
	for _, name := range set.Looks(e.Type) {
		fact, ok, err := f.told(ctx, name)
		if err != nil {
			return nil, err
		}
		if ok {
			known[name] = fact
		}
	}
	return set.Candidates(nil, e.Type, known), nil
}

// judge decides whether a rule fires. An error means that it cannot be told yet.
func (v *visit) judge(ctx context.Context, p *prospect, e *Event, f *facts, own *Caused) error {
	rule := p.rule
	*p.verdict = Verdict{Rule: rule.ID, Outcome: Fired, Version: rule.Version, Stage: told(rule.Stage)}
	because := func(o Outcome, reason string) error {
		p.verdict.Outcome, p.verdict.Error = o, reason
		return nil
	}
	if h, err := v.pausedRule(rule.ID); h != nil || err != nil {
		if err != nil {
			return err
		}
		return because(Paused, h.Reason)
	}
	if own != nil && !rule.FromAny {
		return because(Own, fmt.Sprintf("the rule %s did this", own.Rule))
	}
	if own != nil && (own.Rule == rule.ID || slices.Contains(own.Ancestry, rule.ID)) {
		return because(Looped, "it came of this rule itself")
	}
	late, err := v.late(ctx, rule, e, v.now().Sub(e.CreatedAt))
	if err != nil {
		return err
	}
	if late != "" {
		return because(Late, late)
	}
	if expands(rule, e) {
		return nil // the conditions are those of each item
	}
	if rule.Gather != nil && e.Rule == "" {
		p.verdict.Outcome = Gathered
		return v.count(v.evaluate(ctx, rule, f), p, e)
	}
	return v.conditions(ctx, p, f)
}

// conditions evaluates a rule's conditions.
func (v *visit) conditions(ctx context.Context, p *prospect, f *facts) error {
	eval := v.evaluate(ctx, p.rule, f)
	d := eval.Decide()
	if err := unanswered(d.Err); err != nil {
		return err
	}
	p.verdict.Outcome, p.verdict.Clause, p.verdict.Values = Outcome(d.Outcome), d.Clause, named(d.Values)
	if d.Err != nil {
		p.verdict.Error = d.Err.Error()
	}
	if p.verdict.Outcome != Fired {
		return nil
	}
	return v.count(eval, p, f.event)
}

// count works out what a run would be counted by.
func (v *visit) count(eval *rules.Evaluation, p *prospect, e *Event) error {
	var err error
	if p.by, err = key(eval, p.rule.By, e.Lane); err == nil {
		p.limitBy = p.by
		if p.rule.Limit != nil {
			p.limitBy, err = key(eval, p.rule.Limit.By, p.by)
		}
	}
	if err := unanswered(err); err != nil {
		return err
	}
	if err != nil {
		p.verdict.Outcome, p.verdict.Error = Failed, err.Error()
	}
	return nil
}

// unanswered returns the error of an expression that failed only because the desk could not answer now.
func unanswered(err error) error {
	if e, ok := errors.AsType[*deskError](err); ok && !actions.IsPermanent(e) {
		return e
	}
	return nil
}

// late says why an event of an age comes too late for a rule; empty is that it does not.
func (v *visit) late(ctx context.Context, rule *rules.Rule, e *Event, age time.Duration) (string, error) {
	if e.Type != "schedule" {
		if limit := rule.Late.SkipAfter; limit > 0 && age > limit {
			return fmt.Sprintf("it is %s old, and late: skip_after is %s", rules.FormatDuration(age.Round(time.Second)), rules.FormatDuration(limit)), nil
		}
		return "", nil
	}
	if len(e.Data) > 0 {
		return "", nil // an item of a tick that was on time
	}
	switch rule.Late.Run {
	case "none":
		if age > time.Minute {
			return fmt.Sprintf("the tick was %s ago, and late: run is none", rules.FormatDuration(age.Round(time.Second))), nil
		}
	case "last", "":
		if later, err := v.laterTick(ctx, e); later || err != nil {
			return "a later tick has come", err
		}
	}
	return "", nil
}

// laterTick reports whether a later tick of the same rule waits in the lane, also among the events that are not loaded.
func (v *visit) laterTick(ctx context.Context, e *Event) (bool, error) {
	later := func(other *Event) bool {
		return other.Rule == e.Rule && other.Type == e.Type && other.CreatedAt.After(e.CreatedAt)
	}
	if here := slices.ContainsFunc(v.lane.Events, later); here || !v.lane.More {
		return here, nil
	}
	behind, err := v.engine.journal.Happened(ctx, e.Workspace, e.Lane, []string{e.Type}, e.CreatedAt, 100)
	return slices.ContainsFunc(behind, later), err
}

// evaluations are those of visits that are over.
var evaluations sync.Pool

// evaluate returns an evaluation of a rule's expressions. There is one in a visit, so it is for one rule at a time.
func (v *visit) evaluate(ctx context.Context, rule *rules.Rule, f *facts) *rules.Evaluation {
	if v.evaluation == nil {
		v.evaluation, _ = evaluations.Get().(*rules.Evaluation)
	}
	if v.evaluation == nil {
		v.evaluation = rules.NewEvaluation(ctx, rule, f)
	} else {
		v.evaluation.Reset(ctx, rule, f)
	}
	return v.evaluation
}

// evaluated ends the use of the visit's evaluation.
func (v *visit) evaluated() {
	if v.evaluation != nil {
		v.evaluation.Clear()
		evaluations.Put(v.evaluation)
		v.evaluation = nil
	}
}

// postpone leaves an event undecided because the desk could not answer. How long grows with how long it has been so.
func (v *visit) postpone(ctx context.Context, e *Event, err *deskError) error {
	now := v.now()
	halted, holdErr := v.pause(ctx, err)
	if halted || holdErr != nil {
		return holdErr
	}
	pause, givenUp := patience(err, now.Sub(e.ReceivedAt))
	if givenUp {
		e.Verdicts = []Verdict{{Rule: e.Rule, Outcome: Failed, Error: err.Error()}}
		e.Decided = true
		v.pending.Decided = append(v.pending.Decided, e)
		v.wake(now)
		return nil
	}
	v.engine.log.Warn("an event waits to be decided", "workspace", e.Workspace, "event", e.ID, "error", Discreet(err))
	v.postponed = true
	v.wake(now.Add(pause))
	return nil
}

// patience is how long to wait before the desk is asked again what it could not answer for so long, or that it is given up. A scope that
// is missing is waited for, like a refused key.
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
		h := Hold{Workspace: v.lane.Workspace, Kind: HoldRate, Reason: err.Error(), Since: now, Until: now.Add(wait)}
		v.halt()
		return true, v.engine.stop(ctx, h)
	case actions.IsHeld(err):
		h := Hold{Workspace: v.lane.Workspace, Kind: HoldKey, Reason: err.Error(), Since: now, Until: now.Add(probeEvery)}
		v.halt()
		return true, v.engine.stop(ctx, h)
	}
	return false, nil
}

// start asks the journal for a run of a rule that has fired.
func (v *visit) start(p *prospect, f *facts, own *Caused) *Start {
	e, rule, now := f.event, p.rule, v.now()
	run := &Run{
		Key: runKey(e, rule), Workspace: e.Workspace, Rule: rule.ID, Version: rule.Version, Event: e.Seq, Home: e.Lane, Lane: e.Lane, By: p.by,
		State: Running, Stage: stageOf(rule, p.by), About: *f.about, StartedAt: now, WakeAt: now,
	}
	for _, g := range f.gathered {
		run.Gathered = append(run.Gathered, g.Seq)
	}
	if own != nil {
		run.Ancestry = append(slices.Clone(own.Ancestry), own.Rule)
	}
	p.verdict.Run, p.verdict.Stage = run.Key, told(run.Stage)
	s := &Start{Run: run, Mode: rule.Mode, Max: rule.Max, Source: rule.Source(), Verdict: p.verdict}
	if rule.Limit != nil {
		s.Limit = &Slot{Key: fmt.Sprintf("limit/%s/%s/%s", rule.ID, run.Stage, p.limitBy), Times: rule.Limit.Times, Per: rule.Limit.Per}
	}
	v.pending.Starts = append(v.pending.Starts, s)
	v.lane.Runs = append(v.lane.Runs, run)
	return s
}

// sure reports whether nothing can keep a run from beginning: there is no limit, and no unfinished run of its rule. A by of its own may be
// that of a run in another lane.
func (v *visit) sure(p *prospect) bool {
	return p.rule.Limit == nil && p.rule.By == nil && !slices.ContainsFunc(v.lane.Runs, func(r *Run) bool {
		return r.Rule == p.rule.ID && r.By == p.by && !r.State.Finished()
	})
}

// key is what "the same" means, as a text.
func key(eval *rules.Evaluation, x *rules.Expression, otherwise string) (string, error) {
	if x == nil {
		return otherwise, nil
	}
	value, err := eval.Value(x)
	if err != nil {
		return "", fmt.Errorf("by: %w", err)
	}
	if value == nil {
		return "", errors.New("by: there is no value")
	}
	return fmt.Sprint(value), nil
}

// runKey is the run's idempotency key: the same event and rule never make two runs.
func runKey(e *Event, rule *rules.Rule) string {
	if e.Type == "schedule" {
		return e.Workspace + "/" + e.ID // which begins with the rule's id
	}
	return e.Workspace + "/" + rule.ID + "/" + e.ID
}

// stageOf says whether a run acts: a live rule may take a share of the keys only, always the same ones.
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

func named(list []rules.NamedValue) map[string]any {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]any, len(list))
	for _, n := range list {
		out[n.Name] = n.Value
	}
	return out
}
