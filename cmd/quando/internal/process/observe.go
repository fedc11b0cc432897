package process

import (
	"context"
	"log/slog"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
)

// observers notifies each of them.
type observers []engine.Observer

func (o observers) Decided(e *journal.Event) {
	for _, one := range o {
		one.Decided(e)
	}
}

func (o observers) Began(r *journal.Run, e *journal.Event) {
	for _, one := range o {
		one.Began(r, e)
	}
}

func (o observers) Changed(r *journal.Run) {
	for _, one := range o {
		one.Changed(r)
	}
}

func (o observers) Called(workspace, verb string, took time.Duration, err error) {
	for _, one := range o {
		one.Called(workspace, verb, took, err)
	}
}

func (o observers) Held(h journal.Hold) {
	for _, one := range o {
		one.Held(h)
	}
}

func (o observers) Lifted(h journal.Hold) {
	for _, one := range o {
		one.Lifted(h)
	}
}

// runLog logs each finished run, and all that needs a person. Customers' texts, names and phones do
// not belong in a log: the reason for a run's end is in the journal, under the run's number.
type runLog struct{ log *slog.Logger }

func (l runLog) Decided(*journal.Event) {}

func (l runLog) Began(r *journal.Run, e *journal.Event) {
	l.log.LogAttrs(context.Background(), slog.LevelDebug, "run began", slog.String("workspace", r.Workspace), slog.String("rule", r.Rule), slog.Int64("run", r.ID), homeOf(r), stageOf(r), slog.String("event", e.ID))
}

// Changed is called for every step, and ignores most.
func (l runLog) Changed(r *journal.Run) {
	level, message := slog.LevelError, ""
	switch {
	case r.State == journal.FailedRun:
		message = "run failed"
	case r.State == journal.Uncertain:
		message = "run uncertain: a person must say what became of a call, with quando runs resolve"
	case r.State.Finished():
		level, message = slog.LevelInfo, "run finished"
	default:
		return
	}
	attrs := append(make([]slog.Attr, 0, 10), slog.String("workspace", r.Workspace), slog.String("rule", r.Rule), slog.Int64("run", r.ID), homeOf(r),
		slog.String("state", string(r.State)), stageOf(r), slog.Int("steps", r.Reached()))
	if s := storage.LastStep(r, journal.StepFailed, journal.StepUncertain); s != nil {
		attrs = append(attrs, slog.String("step", s.Path), slog.String("verb", s.Verb))
	}
	if level == slog.LevelInfo {
		attrs = append(attrs, slog.Duration("took", r.FinishedAt.Sub(r.StartedAt).Round(time.Millisecond)))
	}
	l.log.LogAttrs(context.Background(), level, message, attrs...)
}

func homeOf(r *journal.Run) slog.Attr { return slog.String("lane", engine.WithoutPhones(r.Home)) }

func stageOf(r *journal.Run) slog.Attr { return slog.String("stage", string(r.Stage)) }

func (l runLog) Called(workspace, verb string, took time.Duration, err error) {
	if err != nil {
		l.log.Warn("call failed", "workspace", workspace, "verb", verb, "took", took.Round(time.Millisecond), "error", engine.Discreet(err))
	}
}

func (l runLog) Held(h journal.Hold) {
	args := holdArgs(h)
	if h.Kind != journal.HoldPerson { // a person's reason may be about a customer
		args = append(args, "reason", engine.WithoutPhones(h.Reason))
	}
	if !h.Until.IsZero() {
		args = append(args, "until", h.Until)
	}
	l.log.Error("hold placed", args...)
}

func (l runLog) Lifted(h journal.Hold) { l.log.Info("hold lifted", holdArgs(h)...) }

func holdArgs(h journal.Hold) []any {
	args := []any{"workspace", h.Workspace, "rule", h.Rule, "kind", string(h.Kind)}
	if h.Lane != "" {
		args = append(args, "lane", engine.WithoutPhones(h.Lane))
	}
	return args
}
