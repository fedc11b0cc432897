package ruletest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
)

// A Trace is what the engine has recorded in a telling of a story.
type Trace struct {
	Events []*engine.Event // with the rules' verdicts, the oldest first
	Runs   []*engine.Run   // with their steps, the oldest first

	location *time.Location
}

// most is how much of a journal is shown.
const most = 500

// readTrace reads what the engine has recorded. What cannot be read is left out: there is something else to report.
func (t *telling) readTrace(ctx context.Context) Trace {
	trace := Trace{location: t.options.Location}
	if t.process == nil {
		return trace
	}
	trace.Events, _ = t.process.journal.ListEvents(ctx, engine.EventFilter{Limit: most})
	trace.Runs, _ = t.process.journal.ListRuns(ctx, engine.RunFilter{Limit: most})
	slices.Reverse(trace.Events)
	slices.Reverse(trace.Runs)
	return trace
}

// String writes one line for each verdict and for each step.
func (t *Trace) String() string {
	var b strings.Builder
	clock := func(at time.Time) string { return at.In(t.location).Format("Mon 15:04:05") }
	for _, e := range t.Events {
		if len(e.Verdicts) == 0 && e.Decided {
			continue
		}
		fmt.Fprintf(&b, "  %s %s\n", clock(e.CreatedAt), e.Type)
		if !e.Decided {
			fmt.Fprintf(&b, "      not decided yet\n")
		}
		for _, v := range e.Verdicts {
			fmt.Fprintf(&b, "      %s: %s%s%s\n", v.Rule, v.Outcome, because(v.Clause), because(v.Error))
			if v.Clause != "" && len(v.Values) > 0 {
				fmt.Fprintf(&b, "        %s\n", showArgs(v.Values))
			}
		}
	}
	for _, r := range t.Runs {
		fmt.Fprintf(&b, "  %s run of %s: %s%s\n", clock(r.StartedAt), r.Rule, r.State, because(r.Reason))
		for _, s := range r.Steps {
			fmt.Fprintf(&b, "      %s %s: %s%s\n", s.Path, s.Verb, s.State, because(s.Error))
		}
	}
	return b.String()
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + reason
}
