package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// addToGather adds an event to those that are being gathered for the same rule and key. The gather
// that the lane had ends later now, so this visit does not end it: the next one sees its new end.
func (v *visit) addToGather(p *prospect, e *journal.Event) {
	g := p.rule.Gather
	v.change.Gather = append(v.change.Gather, journal.Gather{
		Workspace: e.Workspace, Rule: p.rule.ID, By: p.by, Lane: v.lane.Name, Events: []int64{e.Seq}, Since: v.now(),
		Quiet: g.Quiet, AtMost: g.AtMost,
	})
	until := v.now().Add(g.Quiet)
	v.lane.Gathers = slices.DeleteFunc(v.lane.Gathers, func(old *journal.Gather) bool {
		grown := old.Rule == p.rule.ID && old.By == p.by
		if grown {
			until = earlier(until, old.Since.Add(g.AtMost))
		}
		return grown
	})
	v.wake(until)
}

// endGathers decides the gathers whose quiet time was over at the time by.
func (v *visit) endGathers(ctx context.Context, by time.Time) error {
	for _, g := range slices.Clone(v.lane.Gathers) {
		if v.stopped() || g.Until.After(by) {
			continue
		}
		if err := v.endGather(ctx, g); err != nil {
			return err
		}
	}
	return nil
}

// endGather decides the last of the gathered events, on behalf of all of them.
func (v *visit) endGather(ctx context.Context, g *journal.Gather) error {
	// The journal may refuse the end of the gather; commit the work done so far, so that it is not
	// lost with it.
	if err := v.save(ctx, false); err != nil {
		return err
	}
	events, err := v.eventsOf(ctx, g.Events...)
	if err != nil {
		return err
	}
	if len(events) == 0 {
		v.removeGather(g)
		return nil
	}
	last, began := events[len(events)-1], v.traceTime()
	f := v.factsOf(last)
	f.gathered, f.rule = events, g.Rule
	f.decideAt(journal.GatherNow(g.Rule))
	p, own, err := v.judgeGathered(ctx, g, f)
	if errors.Is(err, errStopped) {
		v.halt()
		return nil
	}
	if missing, ok := errors.AsType[*deskError](err); ok {
		halted, err := v.pauseWorkspace(ctx, missing)
		if halted || err != nil {
			return err
		}
		if pause, givenUp := retryDelay(missing, v.now().Sub(g.Until)); !givenUp {
			g.Until = v.now().Add(pause)
			return nil
		}
		p.verdict.Outcome, p.verdict.Error = journal.Failed, missing.Error()
	} else if err != nil {
		return err
	}
	i := slices.IndexFunc(last.Verdicts, func(old journal.Verdict) bool { return old.Rule == g.Rule })
	if i < 0 {
		last.Verdicts = append(last.Verdicts, journal.Verdict{})
		i = len(last.Verdicts) - 1
	}
	last.Verdicts[i] = *p.verdict
	p.verdict = &last.Verdicts[i]
	last.Answers = last.Answers.With(g.Rule, f.answers)
	v.change.Decided = append(v.change.Decided, last)
	v.recordMatch(last, began)
	v.removeGather(g)
	if p.verdict.Outcome != journal.Fired {
		return nil
	}
	sure := v.certainToBegin(p)
	return v.beginRuns(ctx, []*journal.Start{v.newStart(p, f, own)}, f, sure)
}

// judgeGathered decides whether a rule fires for its gathered events.
func (v *visit) judgeGathered(ctx context.Context, g *journal.Gather, f *facts) (*prospect, *journal.Caused, error) {
	rule := v.workspace.rules.Load().Rule(g.Rule)
	p := &prospect{rule: rule, verdict: &journal.Verdict{Rule: g.Rule, Outcome: journal.Fired}}
	own, err := v.recognise(ctx, f.event, f, true)
	if err != nil {
		return p, nil, err
	}
	if rule == nil || rule.Stage == rules.Draft {
		p.verdict.Because(journal.Failed, phrases.New(phrases.RuleGone))
		return p, own, nil
	}
	p.verdict.Version, p.verdict.Stage = rule.Version, recordedStage(rule.Stage)
	if h, err := v.pausedRule(g.Rule); h != nil || err != nil {
		if h != nil {
			p.verdict.Because(journal.Paused, h.Said())
		}
		return p, own, err
	}
	if late, err := v.lateReason(ctx, rule, f.event, v.now().Sub(f.event.CreatedAt)-g.Quiet); late != nil || err != nil {
		p.verdict.Because(journal.Late, late)
		return p, own, err
	}
	return p, own, v.conditions(ctx, p, f)
}

// removeGather ends a gather.
func (p *pending) removeGather(g *journal.Gather) {
	p.change.Ended = append(p.change.Ended, g)
	p.lane.Gathers = slices.DeleteFunc(p.lane.Gathers, func(other *journal.Gather) bool { return other == g })
}

// isListTick reports whether an event is a tick of a rule with a list: each item becomes an event
// of its own.
func isListTick(rule *rules.Rule, e *journal.Event) bool {
	return e.Type == "schedule" && len(e.Data) == 0 && rule.When.Schedule != nil && rule.When.Schedule.Each != ""
}

// expandTick records an event for each item of a tick's list. It is safe to repeat: the ids of the
// tick and of the item identify the item's event.
func (j *judge) expandTick(ctx context.Context, rule *rules.Rule, e *journal.Event, f *facts, verdict *journal.Verdict) error {
	schedule := rule.When.Schedule
	eval := j.evaluate(ctx, rule, f)
	where := make(map[string]any, len(schedule.Where))
	for _, s := range schedule.Where {
		value, err := eval.Render(s.Value)
		if err != nil {
			if err := deskFailure(err); err != nil {
				return err
			}
			verdict.Outcome, verdict.Error = journal.Failed, fmt.Sprintf("where: %s: %v", s.Name, err)
			return nil
		}
		where[s.Name] = value
	}
	n := 0
	var batch []rules.Event
	record := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := j.engine.Accept(ctx, batch...)
		batch = batch[:0]
		return err
	}
	for item, err := range j.workspace.Desk.Items(ctx, schedule.Each, where) {
		if err != nil {
			if permanent := deskFailure(&deskError{err}) == nil; permanent {
				verdict.Outcome, verdict.Error = journal.Failed, err.Error()
				return record()
			}
			return &deskError{err}
		}
		n++
		batch = append(batch, rules.Event{
			Workspace: e.Workspace, ID: e.ID + "/" + item.ID, Type: e.Type, Tenant: e.Tenant, Rule: rule.ID, Lane: item.Lane,
			CreatedAt: e.CreatedAt, ReceivedAt: j.now(), Data: item.Data,
		})
		if len(batch) == 100 {
			if err := record(); err != nil {
				return err
			}
		}
	}
	verdict.Values = map[string]any{"items": n}
	return record()
}
