package rulescmd

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/learn"
)

// maxEvents is how many events are looked at, the newest, where nobody asks for more or for fewer.
const maxEvents = 20_000

// NewLearn returns the command learn, which reports what recorded events look like.
func NewLearn() *cobra.Command {
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
			if err := cli.CheckOutput(output); err != nil {
				return err
			}
			if limit < 1 {
				return fmt.Errorf("--limit is at least 1, not %d", limit)
			}
			return view.Open(cmd, workspaceName, func(v *view.View) error {
				w := v.Config.Named(workspaceName)
				if w == nil {
					return fmt.Errorf("the configuration has no workspace %q", workspaceName)
				}
				profile, err := v.Config.Profile(w)
				if err != nil {
					return err
				}
				filter := journal.EventFilter{Workspace: workspaceName, Type: typ}
				if filter.Since, err = v.ParseSince(since); err != nil {
					return err
				}
				reading := learn.NewReading(&profile)
				if err := storage.EachEvent(cmd.Context(), v, filter, limit, func(e *journal.Event) { reading.Add(e.Event) }); err != nil {
					return err
				}
				report := newLearnt(reading)
				if output == "json" {
					return cli.WriteJSON(cmd.OutOrStdout(), report)
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
	flags.IntVar(&limit, "limit", maxEvents, "at most so many, the newest")
	cli.OutputFlag(cmd, &output)
	cli.JournalFlag(cmd)
	return cmd
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
	c := cli.Colours(w)
	if len(l.Types) == 0 {
		fmt.Fprintln(notes, "No such events.")
		return
	}
	for _, t := range l.Types {
		fmt.Fprintf(w, "%s, %s\n", c.Bold(cli.Harmless(t.Type)), cli.Count(t.Events, "event"))
		widest := 0
		for _, p := range t.Paths {
			widest = max(widest, min(cli.Width(cli.Harmless(p.Path)), 50))
		}
		for _, p := range t.Paths {
			name := cli.Truncate(cli.Harmless(p.Path), 50)
			fmt.Fprintf(w, "  %s%s  %4s  %s\n", name, strings.Repeat(" ", widest-min(cli.Width(name), widest)), share(p), cli.Harmless(strings.Join(p.Kinds, ", ")))
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
		if lines[i] = cli.Harmless(text); end {
			lines[i] += "\n"
		}
	}
	return strings.Join(lines, "")
}

// share writes how many of the events have a path; what some lack is never all, and what some have
// is never none.
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
func findingWords(c cli.Palette, f learn.Finding) string {
	name := strings.TrimSuffix(f.Field, "_id")
	if f.Events == 0 {
		return c.Yellow(fmt.Sprintf("the profile never finds the %s", name))
	}
	words := fmt.Sprintf("the profile finds the %s at %s", name, cli.Harmless(f.Found))
	if f.Events < f.Of {
		words += fmt.Sprintf(", in %d of %d", f.Events, f.Of)
	}
	return c.Dim(words)
}
