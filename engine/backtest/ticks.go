package backtest

import (
	"context"
	"time"

	"github.com/quandohq/quando/rules"
)

// maxTicks bounds how many ticks of one schedule are computed.
const maxTicks = 100_000

// ticks are those of schedules that did not tick then: new ones, and such with other times.
type ticks struct {
	paces    []*pace
	location *time.Location
}

// A pace is a schedule with its next tick.
type pace struct {
	rule *rules.Rule
	next time.Time
	n    int
}

// schedules finds the recorded ticks that are not those of the given rules, and computes theirs.
// What a schedule's each would have found is not recorded.
func (r *replay) schedules(ctx context.Context) error {
	r.ticks.location = r.Location
	if !r.timeline.given {
		return nil
	}
	for _, rule := range r.set.Rules {
		schedule := rule.When.Schedule
		if schedule == nil {
			continue
		}
		same, err := r.ticked(ctx, rule)
		if err != nil {
			return err
		}
		if same {
			continue
		}
		r.unscheduled[rule.ID] = true
		if schedule.Each != "" {
			r.blind[rule.ID] = true
			r.gaps = append(r.gaps, Gap{Rule: rule.ID, Question: "which " + schedule.Each + " there were at each of its ticks"})
			continue
		}
		first := r.from
		if first.IsZero() {
			first = r.first
		}
		if first.IsZero() {
			continue // nothing is recorded, so its start is unknown
		}
		r.ticks.paces = append(r.ticks.paces, &pace{rule: rule, next: schedule.Next(first, r.Location)})
	}
	return nil
}

// ticked reports whether a rule's schedule is the one that ticked throughout the record.
func (r *replay) ticked(ctx context.Context, rule *rules.Rule) (bool, error) {
	seen := r.seen[rule.ID]
	if seen == nil || !seen.ticks {
		return false, nil
	}
	for version := range seen.triggers {
		if version == rule.Version {
			continue
		}
		old, err := r.version(ctx, rule.ID, version)
		if err != nil {
			return false, err
		}
		if old == nil || !old.SameTrigger(rule) {
			return false, nil
		}
	}
	return true, nil
}

// next returns when the next tick comes; the zero time is never.
func (t *ticks) next() (at time.Time) {
	for _, p := range t.paces {
		if !p.next.IsZero() && (at.IsZero() || p.next.Before(at)) {
			at = p.next
		}
	}
	return at
}

// dueTicks returns the ticks of a moment.
func (t *ticks) dueTicks(workspace string, at time.Time) []rules.Event {
	var list []rules.Event
	for _, p := range t.paces {
		if !p.next.Equal(at) {
			continue
		}
		list = append(list, rules.Event{
			Workspace: workspace, ID: p.rule.ID + "/" + at.UTC().Format(time.RFC3339), Type: "schedule", Rule: p.rule.ID, Lane: "schedule:" + p.rule.ID,
			CreatedAt: at.UTC(), ReceivedAt: at, Data: map[string]any{},
		})
		p.next = p.rule.When.Schedule.Next(at, t.location)
		if p.n++; p.n >= maxTicks {
			p.next = time.Time{}
		}
	}
	return list
}
