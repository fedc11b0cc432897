package ruletest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// A Trace is what the engine has recorded in one run of a story.
type Trace struct {
	Events []*journal.Event // with the rules' verdicts, the oldest first
	Runs   []*journal.Run   // with their steps, the oldest first

	location *time.Location
}

// most bounds the journal rows shown.
const most = 500

// readTrace reads what the engine has recorded. It skips what cannot be read: there is another
// failure to report.
func (t *storyRun) readTrace(ctx context.Context) Trace {
	trace := Trace{location: t.options.Location}
	if t.process == nil {
		return trace
	}
	trace.Events, _ = t.process.journal.ListEvents(ctx, journal.EventFilter{Limit: most})
	trace.Runs, _ = t.process.journal.ListRuns(ctx, journal.RunFilter{Limit: most})
	slices.Reverse(trace.Events)
	slices.Reverse(trace.Runs)
	return trace
}

// String writes one line for each verdict and for each step of what happened last.
func (t *Trace) String() string {
	var b strings.Builder
	write := func(indent int, format string, args ...any) {
		for _, line := range fold(strings.Repeat(" ", indent)+fmt.Sprintf(format, args...), reportWidth, indent+4) {
			b.WriteString(line + "\n")
		}
	}
	clock := func(at time.Time) string { return at.In(t.location).Format("Mon 15:04:05") }
	events := slices.DeleteFunc(slices.Clone(t.Events), func(e *journal.Event) bool { return len(e.Verdicts) == 0 && e.Decided })
	if before := len(events) - mostTraced; before > 0 {
		write(2, "… %d events before", before)
		events = events[before:]
	}
	for _, e := range events {
		write(2, "%s %s", clock(e.CreatedAt), e.Type)
		if !e.Decided {
			write(6, "not decided yet")
		}
		for _, v := range e.Verdicts {
			write(6, "%s: %s%s%s", v.Rule, v.Outcome, because(v.Clause), because(v.Error))
			if v.Clause != "" && len(v.Values) > 0 {
				write(8, "%s", showArgs(v.Values))
			}
		}
	}
	runs := t.Runs
	if before := len(runs) - mostTraced; before > 0 {
		write(2, "… %d runs before", before)
		runs = runs[before:]
	}
	for _, r := range runs {
		write(2, "%s run of %s: %s%s", clock(r.StartedAt), r.Rule, r.State, because(r.Reason))
		for _, s := range r.Steps {
			write(6, "%s %s: %s%s", s.Path, s.Verb, s.State, because(s.Error))
		}
	}
	return b.String()
}

// mostTraced is how many events, and how many runs, are written.
const mostTraced = 25

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + reason
}
