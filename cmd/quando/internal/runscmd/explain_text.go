package runscmd

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// writeExplainedEvent prints the verdict of each rule on an event, with every clause of those that
// it could start.
func writeExplainedEvent(v *view.View, w io.Writer, e *explain.Event) {
	c := cli.Colours(w)
	fmt.Fprintf(w, "%s, received %s\n", c.Bold(cli.Harmless(e.Type+" "+e.ID)), v.Ago(e.ReceivedAt))
	if about := aboutWords(e.About); about != "" {
		if e.Contact != "" {
			about = e.Contact + "; " + about
		}
		fmt.Fprintf(w, "  %s\n", c.Dim(cli.Harmless(about)))
	}
	if e.Words != "" {
		fmt.Fprintf(w, "  %s\n", c.Yellow(cli.Harmless(e.Words)))
	}
	if len(e.Rules) == 0 {
		fmt.Fprintln(w, "\nThere are no rules.")
	}
	var elsewhere []explain.Rule
	for _, r := range e.Rules {
		if r.Outcome == explain.NotForIt {
			elsewhere = append(elsewhere, r)
			continue
		}
		fmt.Fprintln(w)
		writeExplainedRule(w, c, r)
	}
	if len(elsewhere) > 0 {
		fmt.Fprintln(w)
		for _, r := range elsewhere {
			fmt.Fprintf(w, "%s %s\n", c.Bold(cli.Harmless(r.Rule)), cli.Harmless(r.Words))
		}
	}
}

// writeExplainedRule prints a rule's verdict on an event, and the result of each clause.
func writeExplainedRule(w io.Writer, c cli.Palette, r explain.Rule) {
	fmt.Fprintf(w, "%s %s\n", c.Bold(cli.Harmless(r.Rule)), outcomeColour(c, r)(cli.Harmless(r.Words)))
	if r.Basis == explain.Did && r.Changed {
		fmt.Fprintf(w, "    %s\n", c.Dim("the rule has changed since, or is gone"))
	}
	writeClauses(w, c, r.Clauses)
}

// writeClauses prints the result of each clause.
func writeClauses(w io.Writer, c cli.Palette, clauses []explain.Clause) {
	for _, clause := range clauses {
		fmt.Fprintf(w, "    %s %s\n", resultColour(c, clause.Result)(fmt.Sprintf("%-11s", clause.Result)), cli.Harmless(clause.Clause))
		if detail := clauseDetail(clause); detail != "" {
			fmt.Fprintf(w, "                %s\n", c.Dim(cli.Harmless(detail)))
		}
	}
}

// clauseDetail returns the details of a clause's result.
func clauseDetail(clause explain.Clause) string {
	var parts []string
	if clause.Words != "" {
		parts = append(parts, clause.Words)
	}
	for _, name := range slices.Sorted(maps.Keys(clause.Values)) {
		if !strings.Contains(clause.Words, name+" was ") && (clause.Words == "" || name != clause.Clause) {
			parts = append(parts, name+" was "+explain.ValueWords(clause.Values[name]))
		}
	}
	if clause.Error != "" {
		parts = append(parts, clause.Error)
	}
	return strings.Join(parts, "; ")
}

// outcomeColour paints what happened green, what went wrong red, and what did not happen not at
// all.
func outcomeColour(c cli.Palette, r explain.Rule) func(string) string {
	switch {
	case r.Outcome == journal.Failed || r.Outcome == explain.Broken:
		return c.Red
	case r.Outcome == journal.Fired && r.Basis == explain.Did && r.Stage != rules.Shadow:
		return c.Green
	case r.Outcome == journal.False || r.Outcome == explain.NotForIt:
		return plain
	}
	return c.Yellow
}

func plain(s string) string { return s }

func resultColour(c cli.Palette, r rules.ClauseResult) func(string) string {
	switch r {
	case rules.ClauseTrue:
		return c.Green
	case rules.ClauseFalse:
		return c.Yellow
	case rules.ClauseFailed:
		return c.Red
	}
	return c.Dim
}

// writeExplainedConversation prints the verdicts on each event, one line each, and lists the runs.
func writeExplainedConversation(v *view.View, w, notes io.Writer, told *explainedConversation, who string, f *explainFlags) {
	c := cli.Colours(w)
	fmt.Fprintf(w, "%s\n\n", c.Bold(cli.Harmless(who)))
	for _, e := range told.Events {
		fmt.Fprintf(w, "%s  %s  %s\n", v.Stamp(e.ReceivedAt), c.Bold(cli.Harmless(e.Type)), c.Dim(cli.Harmless(e.ID)))
		if e.Words != "" {
			fmt.Fprintf(w, "    %s\n", c.Yellow(cli.Harmless(e.Words)))
		}
		lines := 0
		for _, r := range e.Rules {
			if r.Outcome == explain.NotForIt {
				continue // most rules are for something else
			}
			lines++
			fmt.Fprintf(w, "    %s %s\n", c.Bold(cli.Harmless(r.Rule)), outcomeColour(c, r)(cli.Harmless(r.Words)))
		}
		if lines == 0 {
			fmt.Fprintf(w, "    %s\n", c.Dim("no rule is for it"))
		}
	}
	if len(told.Runs) > 0 {
		fmt.Fprintln(w, "\nRuns")
	}
	for _, r := range told.Runs {
		fmt.Fprintf(w, "  %s  %s%s %s\n", r.ID, c.Bold(cli.Harmless(r.Rule)), stageWords(r.Stage), cli.Harmless(r.Words))
	}
	if len(told.Events) == f.limit || len(told.Runs) == f.limit {
		fmt.Fprintf(notes, "These are the newest %d; --limit shows more.\n", f.limit)
	}
}

// stageWords marks what a run did not do.
func stageWords(s rules.Stage) string {
	if s == rules.Shadow {
		return " (shadow)"
	}
	return ""
}

// writeExplainedRun prints why a run began, and then what runs show prints.
func writeExplainedRun(v *view.View, w io.Writer, told *explainedRun, r *journal.Run, e *journal.Event, names customers) {
	c := cli.Colours(w)
	fmt.Fprintf(w, "%s%s %s\n", c.Bold(fmt.Sprintf("Run %d of %s", r.ID, cli.Harmless(r.Rule))), stageWords(r.Stage)+":", stateColour(c, r.State)(cli.Harmless(told.Words)))
	switch {
	case e == nil:
		fmt.Fprintln(w, "The journal has forgotten the event that started it.")
	case told.Cause == nil:
		fmt.Fprintf(w, "It was started by %s, received %s. Why is not recorded.\n", cli.Harmless(e.Type+" "+e.ID), v.Ago(e.ReceivedAt))
	default:
		fmt.Fprintf(w, "It was started by %s, received %s", cli.Harmless(e.Type+" "+e.ID), v.Ago(e.ReceivedAt))
		if len(told.Cause.Clauses) == 0 {
			fmt.Fprintln(w, ".")
			break
		}
		fmt.Fprintln(w, ", because:")
		writeClauses(w, c, told.Cause.Clauses)
	}
	fmt.Fprintln(w)
	writeRunBody(v, w, r, e, names)
}
