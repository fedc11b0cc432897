package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/learn"
)

// mostEvents is how many events are looked at, the newest, where nobody asks for more or for fewer.
const mostEvents = 20_000

func newLearn() *cobra.Command {
	var since, typ, workspaceName, output string
	var limit int
	cmd := &cobra.Command{
		Use:   "learn",
		Short: "Report what the data of recorded events looks like, and what the profile finds in it",
		Long: `Learn reads recorded events and reports for each type which paths its data has: how many of the events have it, and what kinds of values
stand there. It never shows a value, because customers wrote them. Rules read these paths as event.data.…; quando check --journal finds those that no event ever had.

It also says where the service's profile finds the conversation, contact, message, attendance and card of an event. For what it never finds, and
where something looks like it, it proposes an entry for profile.yaml.`,
		Example: "  quando learn\n  quando learn --type message.received --since 14d\n  quando learn --output json | jq '.types[].paths[].path'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			if limit < 1 {
				return fmt.Errorf("--limit is at least 1, not %d", limit)
			}
			return look(cmd, workspaceName, func(v *view) error {
				w := v.config.named(workspaceName)
				if w == nil {
					return fmt.Errorf("the configuration has no workspace %q", workspaceName)
				}
				profile, err := v.config.profile(w)
				if err != nil {
					return err
				}
				filter := journal.EventFilter{Workspace: workspaceName, Type: typ}
				if filter.Since, err = v.parseSince(since); err != nil {
					return err
				}
				reading := learn.NewReading(&profile)
				if err := eachEvent(cmd.Context(), v, filter, limit, func(e *journal.Event) { reading.Add(e.Event) }); err != nil {
					return err
				}
				report := newLearnt(reading)
				if output == "json" {
					return writeJSON(cmd.OutOrStdout(), report)
				}
				report.text(cmd.OutOrStdout(), cmd.ErrOrStderr())
				return nil
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&since, "since", "", "only events received since then, such as 14d or 2026-11-13")
	flags.StringVar(&typ, "type", "", "only those of this `type`, such as message.received")
	flags.StringVar(&workspaceName, "workspace", "", "only those of this workspace, by its `name`")
	flags.IntVar(&limit, "limit", mostEvents, "at most so many, the newest")
	outputFlag(cmd, &output)
	journalFlag(cmd)
	return cmd
}

// eachEvent goes through the newest events, at most so many.
func eachEvent(ctx context.Context, j journal.Reader, filter journal.EventFilter, most int, take func(*journal.Event)) error {
	for most > 0 {
		filter.Limit = min(500, most)
		events, err := j.ListEvents(ctx, filter)
		if err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for _, e := range events {
			take(e)
		}
		if len(events) < filter.Limit {
			return nil
		}
		most -= len(events)
		filter.Before = events[len(events)-1].Seq
	}
	return nil
}

// learnt is what learn has to say.
type (
	learnt struct {
		Types     []learntType     `json:"types"`
		Profile   []learn.Finding  `json:"profile"`
		Proposals []learn.Proposal `json:"proposals"`
		YAML      string           `json:"profile_yaml"` // the proposals as they stand in a profile; empty where there are none
	}
	learntType struct {
		Type   string       `json:"type"`
		Events int          `json:"events"`
		Paths  []learn.Path `json:"paths"`
	}
)

func newLearnt(r *learn.Reading) *learnt {
	l := &learnt{Types: []learntType{}, Profile: append([]learn.Finding{}, r.Findings()...), Proposals: append([]learn.Proposal{}, r.Proposals()...)}
	for _, typ := range r.Types() {
		shape := r.Shapes()[typ]
		l.Types = append(l.Types, learntType{typ, shape.Events, shape.Paths()})
	}
	for i, p := range l.Proposals {
		if i == 0 {
			l.YAML = "event:\n"
		}
		l.YAML += fmt.Sprintf("  %s: [%s]\n", strings.TrimPrefix(p.Field, "event."), strings.Join(p.Paths, ", "))
	}
	return l
}

func (l *learnt) text(w, notes io.Writer) {
	c := colours(w)
	if len(l.Types) == 0 {
		fmt.Fprintln(notes, "No such events.")
		return
	}
	for _, t := range l.Types {
		fmt.Fprintf(w, "%s, %s\n", c.bold(harmless(t.Type)), count(t.Events, "event"))
		widest := 0
		for _, p := range t.Paths {
			widest = max(widest, min(width(harmless(p.Path)), 50))
		}
		for _, p := range t.Paths {
			name := cut(harmless(p.Path), 50)
			fmt.Fprintf(w, "  %s%s  %4s  %s\n", name, strings.Repeat(" ", widest-min(width(name), widest)), share(p), harmless(strings.Join(p.Kinds, ", ")))
		}
		if len(t.Paths) == 0 {
			fmt.Fprintln(w, "  no data")
		}
		for _, f := range l.Profile {
			if f.Type == t.Type {
				fmt.Fprintf(w, "  %s\n", findingWords(c, f))
			}
		}
		fmt.Fprintln(w)
	}
	if l.YAML == "" {
		fmt.Fprintln(w, "There is nothing to propose for the profile.")
		return
	}
	fmt.Fprintln(w, "The profile finds nothing where something looks like it. For profile.yaml:")
	fmt.Fprintf(w, "\n%s", harmlessLines(l.YAML))
}

// harmlessLines is harmless for a text of several lines.
func harmlessLines(s string) string {
	lines := strings.SplitAfter(s, "\n")
	for i, line := range lines {
		text, end := strings.CutSuffix(line, "\n")
		if lines[i] = harmless(text); end {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

// share writes how many of the events have a path; what some lack is never all, and what some have is never none.
func share(p learn.Path) string {
	percent := math.Round(100 * p.Share)
	switch {
	case percent == 100 && p.Share < 1:
		percent = 99
	case percent == 0:
		return "<1%"
	}
	return fmt.Sprintf("%.0f%%", percent)
}

// findingWords says where the profile finds something.
func findingWords(c palette, f learn.Finding) string {
	name := strings.TrimSuffix(f.Field, "_id")
	if f.Events == 0 {
		return c.yellow(fmt.Sprintf("the profile never finds the %s", name))
	}
	words := fmt.Sprintf("the profile finds the %s at %s", name, harmless(f.Found))
	if f.Events < f.Of {
		words += fmt.Sprintf(", in %d of %d", f.Events, f.Of)
	}
	return c.dim(words)
}
