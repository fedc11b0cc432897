package ruletest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Trace is what the engine has recorded in one run of a story.
type Trace struct {
	Events []*journal.Event // with the rules' verdicts, the oldest first
	Runs   []*journal.Run   // with their steps, the oldest first

	unasked  map[int64][]explain.Rule // rules that an event could start and that have no verdict on it
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
	trace.unasked = t.unasked(ctx, trace.Events[max(0, len(trace.Events)-maxExplained):])
	return trace
}

// maxExplained is how many events are explained; of those with nothing to say fewer are written.
const maxExplained = 4 * maxTraced

// unasked explains why rules that events could start were not even asked: they are drafts, or the
// events themselves rule them out.
func (t *storyRun) unasked(ctx context.Context, events []*journal.Event) map[int64][]explain.Rule {
	x := explain.New(explain.Options{
		Journal: t.process.journal, Desk: builtin.NewOffline(builtin.OfflineOptions{Snapshot: readCompany(t.service).snapshot()}), Rules: t.rules, Location: t.options.Location,
	})
	out := make(map[int64][]explain.Rule)
	for _, e := range events {
		explained, err := x.Event(ctx, e)
		if err != nil || !e.Decided {
			continue
		}
		for _, r := range explained.Rules {
			if r.Basis == explain.Would && (r.Outcome == journal.False || r.Stage == rules.Draft && r.Outcome != explain.NotForIt) {
				out[e.Seq] = append(out[e.Seq], r)
			}
		}
	}
	return out
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
	events := slices.DeleteFunc(slices.Clone(t.Events), func(e *journal.Event) bool { return len(e.Verdicts)+len(t.unasked[e.Seq]) == 0 && e.Decided })
	if before := len(events) - maxTraced; before > 0 {
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
		for _, r := range t.unasked[e.Seq] {
			if r.Stage == rules.Draft {
				write(6, "%s: not run, it is a draft", r.Rule)
				continue
			}
			write(6, "%s: %s%s%s", r.Rule, r.Outcome, because(r.Clause), because(r.Error))
			if len(r.Values) > 0 {
				write(8, "%s", showArgs(r.Values))
			}
		}
	}
	runs := t.Runs
	if before := len(runs) - maxTraced; before > 0 {
		write(2, "… %d runs before", before)
		runs = runs[before:]
	}
	for _, r := range runs {
		shadow := ""
		if r.Stage == rules.Shadow {
			shadow = ", in shadow"
		}
		write(2, "%s run of %s%s: %s%s", clock(r.StartedAt), r.Rule, shadow, r.State, because(r.Reason))
		for _, s := range r.Steps {
			reason := s.Error
			if record, err := engine.ReadRecord(s); err == nil {
				reason = cmp.Or(reason, record.Reason)
			}
			write(6, "%s %s: %s%s", s.Path, s.Verb, s.State, because(reason))
		}
	}
	return b.String()
}

// maxTraced is how many events, and how many runs, are written.
const maxTraced = 25

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ", " + reason
}
