package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// runOf returns the run of a verdict, or nil.
func (x *Explainer) runOf(ctx context.Context, e *journal.Event, v journal.Verdict) (*journal.Run, error) {
	if v.Run == "" {
		return nil, nil
	}
	runs, known := x.runs[e.Seq]
	if !known {
		list, err := x.o.Journal.ListRuns(ctx, journal.RunFilter{Event: e.Seq, Limit: 1000})
		if err != nil {
			return nil, fmt.Errorf("look for what came of the event: %w", err)
		}
		runs = make(map[string]*journal.Run, len(list))
		for _, r := range list {
			runs[r.Rule] = r
		}
		x.runs[e.Seq] = runs
	}
	return runs[v.Rule], nil
}

// briefly sums up a run.
func (x *Explainer) briefly(ctx context.Context, r *journal.Run) (*Run, error) {
	out := &Run{ID: r.ID, Key: r.Key, State: r.State, Stage: r.Stage, StartedAt: r.StartedAt}
	if !r.FinishedAt.IsZero() {
		at := r.FinishedAt
		out.FinishedAt = &at
	}
	var err error
	out.Words, err = x.Standing(ctx, r)
	return out, err
}

// cancelledBy begins the reason of a run that an event has ended.
const cancelledBy = "cancel_on: "

// Standing says where a run stands or how it ended, when, and what had a part in it.
func (x *Explainer) Standing(ctx context.Context, r *journal.Run) (string, error) {
	words := x.o.Standing(r)
	if !r.State.Finished() {
		return cmp.Or(words, x.t("explain.state."+phrases.Code(r.State))), nil
	}
	ended := x.t("explain.ended", x.t("explain.state."+phrases.Code(r.State)), x.o.Stamp(r.FinishedAt))
	if r.State != journal.Cancelled {
		return ended + prefixed(": ", words), nil
	}
	if typ, ok := strings.CutPrefix(r.Reason, cancelledBy); ok {
		e, err := x.canceller(ctx, r, typ)
		if err != nil || e == nil {
			return ended + ": " + words, err
		}
		return x.t("explain.because_of", ended, typ, e.ID), nil
	}
	if newer, err := x.replacement(ctx, r); err != nil || newer != nil {
		if err != nil {
			return "", err
		}
		return x.t("explain.replaced", x.o.Stamp(r.FinishedAt), newer.ID, r.Rule), nil
	}
	return ended + prefixed(": ", words), nil
}

// canceller returns the event that ended a run, or nil: the last of its type before the end.
func (x *Explainer) canceller(ctx context.Context, r *journal.Run, typ string) (*journal.Event, error) {
	events, err := x.o.Journal.ListEvents(ctx, journal.EventFilter{Workspace: r.Workspace, Lane: r.Home, Type: typ})
	if err != nil {
		return nil, fmt.Errorf("look for what ended run %d: %w", r.ID, err)
	}
	i := slices.IndexFunc(events, func(e *journal.Event) bool { return e.Seq != r.Event && !e.ReceivedAt.After(r.FinishedAt) })
	if i < 0 {
		return nil, nil
	}
	return events[i], nil
}

// replacement returns the newer run that replaced one, or nil.
func (x *Explainer) replacement(ctx context.Context, r *journal.Run) (*journal.Run, error) {
	if r.Reason != journal.Replaced.String() {
		return nil, nil
	}
	runs, err := x.o.Journal.ListRuns(ctx, journal.RunFilter{Workspace: r.Workspace, Rule: r.Rule, Since: r.StartedAt})
	if err != nil {
		return nil, fmt.Errorf("look for what replaced run %d: %w", r.ID, err)
	}
	for _, other := range slices.Backward(runs) {
		if other.ID > r.ID && other.By == r.By {
			return other, nil
		}
	}
	return nil, nil
}

// Cause explains why a run began: what its rule made of the event that started it. It is nil when
// the journal has forgotten the event.
func (x *Explainer) Cause(ctx context.Context, r *journal.Run) (*journal.Event, *Rule, error) {
	events, err := x.o.Journal.Events(ctx, r.Event)
	if err != nil {
		return nil, nil, fmt.Errorf("read what started run %d: %w", r.ID, err)
	}
	if len(events) == 0 {
		return nil, nil, nil
	}
	e := events[0]
	v := verdictOf(e, r.Rule)
	if v.Rule == "" {
		return e, nil, nil
	}
	rule, err := x.asked(ctx, x.factsOf(ctx, e), v)
	return e, &rule, err
}
