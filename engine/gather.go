package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
)

// gather adds an event to those of the same rule and by that are being collected.
func (v *visit) gather(p prospect, e *Event) {
	g := p.rule.Gather
	v.pending.Gather = append(v.pending.Gather, Gather{
		Workspace: e.Workspace, Rule: p.rule.ID, By: p.by, Lane: v.lane.Name, Events: []int64{e.Seq}, Since: v.now(),
		Quiet: g.Quiet, AtMost: g.AtMost,
	})
	until := v.now().Add(g.Quiet)
	for _, old := range v.lane.Gathers {
		if end := old.Since.Add(g.AtMost); old.Rule == p.rule.ID && old.By == p.by && end.Before(until) {
			until = end
		}
	}
	v.wake(until)
}

// endGathers decides on what was gathered, when it has been quiet for long enough.
func (v *visit) endGathers(ctx context.Context) error {
	if len(v.pending.Gather) > 0 {
		// Some may have grown: the next visit sees them as they are.
		return nil
	}
	for _, g := range slices.Clone(v.lane.Gathers) {
		if v.stopped() || g.Until.After(v.now()) {
			continue
		}
		err := v.endGather(ctx, g)
		if missing, ok := errors.AsType[*deskError](err); ok {
			halted, err := v.pause(ctx, missing)
			if halted || err != nil {
				return err
			}
			late := v.now().Sub(g.Until)
			g.Until = v.now().Add(min(max(late/2, time.Second), 5*time.Minute))
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// endGather decides on the last of the gathered events, for all of them.
func (v *visit) endGather(ctx context.Context, g *Gather) error {
	events, err := v.eventsOf(ctx, g.Events...)
	if err != nil {
		return err
	}
	rule := v.workspace.rules.Load().Rule(g.Rule)
	end := func() {
		v.pending.Ended = append(v.pending.Ended, g)
		v.lane.Gathers = slices.DeleteFunc(v.lane.Gathers, func(other *Gather) bool { return other == g })
	}
	if len(events) == 0 {
		end()
		return nil
	}
	last := events[len(events)-1]
	f := v.factsOf(last)
	f.gathered, f.rule = events, g.Rule
	f.decideAt(GatherNow(g.Rule))
	own, err := v.recognise(ctx, last, f, true)
	if err != nil {
		return err
	}
	p := prospect{rule: rule, verdict: Verdict{Rule: g.Rule, Outcome: Fired}}
	switch h := v.engine.holdOn(v.lane.Workspace, g.Rule); {
	case rule == nil || rule.Stage == rules.Draft:
		p.verdict.Outcome, p.verdict.Error = Failed, "there is no such rule any more, or it is a draft"
	case h != nil:
		p.verdict.Outcome, p.verdict.Error = Paused, h.Reason
	default:
		p.verdict.Version = rule.Version
		if p, err = v.conditions(ctx, p, f); err != nil {
			return err
		}
	}
	i := slices.IndexFunc(last.Verdicts, func(old Verdict) bool { return old.Rule == g.Rule })
	if i < 0 {
		last.Verdicts = append(last.Verdicts, Verdict{})
		i = len(last.Verdicts) - 1
	}
	last.Verdicts[i] = p.verdict
	last.Answers = last.Answers.with(g.Rule, f.asked)
	v.pending.Decided = append(v.pending.Decided, last)
	end()
	if p.verdict.Outcome != Fired {
		return nil
	}
	sure := v.sure(p)
	return v.begin(ctx, []*Start{v.start(p, &last.Verdicts[i], f, own)}, f, sure)
}

// expands reports whether an event is a tick of a rule that goes through a list: each item becomes an event of its own.
func expands(rule *rules.Rule, e *Event) bool {
	return e.Type == "schedule" && len(e.Data) == 0 && rule.When.Schedule != nil && rule.When.Schedule.Each != ""
}

// expand records an event for each item of a tick's list. It may be done again: an item's event is known by the tick and the item.
func (v *visit) expand(ctx context.Context, rule *rules.Rule, e *Event, f *facts, verdict *Verdict) error {
	schedule := rule.When.Schedule
	eval := v.evaluate(ctx, rule, f)
	where := make(map[string]any, len(schedule.Where))
	for _, s := range schedule.Where {
		value, err := eval.Render(s.Value)
		if err != nil {
			if err := unanswered(err); err != nil {
				return err
			}
			verdict.Outcome, verdict.Error = Failed, fmt.Sprintf("where: %s: %v", s.Name, err)
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
		_, err := v.engine.Accept(ctx, batch...)
		batch = batch[:0]
		return err
	}
	for item, err := range v.workspace.Desk.Items(ctx, schedule.Each, where) {
		if err != nil {
			if permanent := unanswered(&deskError{err}) == nil; permanent {
				verdict.Outcome, verdict.Error = Failed, err.Error()
				return record()
			}
			return &deskError{err}
		}
		n++
		batch = append(batch, rules.Event{
			Workspace: e.Workspace, ID: e.ID + "/" + item.ID, Type: e.Type, Tenant: e.Tenant, Rule: rule.ID, Lane: item.Lane,
			CreatedAt: e.CreatedAt, ReceivedAt: v.now(), Data: item.Data,
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
