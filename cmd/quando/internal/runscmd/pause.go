package runscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
)

// NewPause returns the command pause, which stops rules.
func NewPause() *cobra.Command {
	var f holdFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "pause",
		Short: "Stop sending, at once: everything, a workspace, or a rule",
		Long: `Pause stops the engine from acting: without a flag everything, with --workspace that workspace, with --rule that rule. It works at once
and stays until quando resume, whatever is restarted meanwhile: when the command has ended, no engine begins another call that would change something. Calls that were under
way then are listed. Runs go on after quando resume. Events are recorded, and decided on after quando resume; only those that come while a single rule is stopped do not start
that rule, which their verdict says.`,
		Example: `  quando pause
  quando pause --reason "the price list is wrong"
  quando pause --rule away-reply`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckOutput(f.output); err != nil {
				return err
			}
			return view.Open(cmd, f.workspace, func(v *view.View) error {
				if err := mustKnow(v, cmd, f.inWorkspace(), f.rule); err != nil {
					return err
				}
				h := journal.Hold{Workspace: f.inWorkspace(), Rule: f.rule, Kind: journal.HoldPerson, Reason: reason, Since: v.Now}
				underWay, err := v.Hold(cmd.Context(), h)
				if err != nil {
					return fmt.Errorf("pause: %w", err)
				}
				return f.report(cmd, v, "Stopped: "+view.HoldSubject(h)+". "+meanwhile(h), holdsJSON{Lifted: []journal.Hold{}, UnderWay: append([]journal.UnderWay{}, underWay...)})
			})
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "a `text` for those who wonder why")
	f.add(cmd, "stop")
	return cmd
}

// NewResume returns the command resume, which lifts holds.
func NewResume() *cobra.Command {
	var f holdFlags
	var conversation string
	cmd := &cobra.Command{
		Use:   "resume",
		Short: "Let go on what was paused: everything, a workspace, or a rule",
		Long: `Resume ends what quando pause began with the same flags. With --rule it also lets a rule go on that was stopped at a safety bound: everywhere,
or with --conversation in that one. Its messages are counted anew then. It says what else is stopped, and what to do about it.`,
		Example: `  quando resume
  quando resume --rule away-reply
  quando resume --rule away-reply --conversation 0192f3a4-5b6c-7d8e-9f00-112233445566`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckOutput(f.output); err != nil {
				return err
			}
			return view.Open(cmd, f.workspace, func(v *view.View) error {
				if conversation != "" && f.rule == "" {
					return errors.New("--conversation needs --rule: which rule is to go on there?")
				}
				said, lifted, err := f.lift(cmd.Context(), v, conversation)
				if err != nil {
					return err
				}
				return f.report(cmd, v, said, holdsJSON{Lifted: append([]journal.Hold{}, lifted...)})
			})
		},
	}
	f.add(cmd, "let go on")
	cmd.Flags().StringVar(&conversation, "conversation", "", "let the rule go on only in this conversation, by its `id`")
	return cmd
}

// holdFlags say what to hold or resume.
type holdFlags struct{ rule, workspace, output string }

func (f *holdFlags) add(cmd *cobra.Command, what string) {
	cmd.Flags().StringVar(&f.rule, "rule", "", what+" only this rule, by its `id`")
	cmd.Flags().StringVar(&f.workspace, "workspace", "", what+" only this workspace, by its `name`; a rule is one of the workspace default unless named")
	cli.OutputFlag(cmd, &f.output)
	cli.JournalFlag(cmd)
}

// inWorkspace returns the workspace that the flags mean; empty is all of them.
func (f *holdFlags) inWorkspace() string {
	if f.workspace == "" && f.rule != "" {
		return config.DefaultWorkspaceName
	}
	return f.workspace
}

// mustKnow refuses to hold an unknown workspace or rule: it would hold nothing. Unreadable rules,
// and runs of removed rules, are no reason to refuse.
func mustKnow(v *view.View, cmd *cobra.Command, workspace, rule string) error {
	if !v.Configured || workspace == "" {
		return nil
	}
	known := v.Config.Named(workspace) != nil
	if known && rule == "" {
		return nil
	}
	set, err := v.WorkspaceRules(cmd, workspace)
	if known && (err != nil || set.Rule(rule) != nil || view.Broken(set, rule) != nil) {
		return nil
	}
	runs, err := v.ListRuns(cmd.Context(), journal.RunFilter{Workspace: workspace, Rule: rule, Limit: 1})
	switch {
	case err == nil && len(runs) > 0:
		return nil
	case !known:
		return cli.No(cmd, "%v", v.NoWorkspace(workspace))
	}
	return v.NoRule(cmd, workspace, rule, set)
}

// lift ends the holds that the flags mean, and says which.
func (f *holdFlags) lift(ctx context.Context, v *view.View, conversation string) (said string, lifted []journal.Hold, err error) {
	before, err := v.Holds(ctx)
	if err != nil {
		return "", nil, fmt.Errorf("read what is stopped: %w", err)
	}
	h := journal.Hold{Workspace: f.inWorkspace(), Rule: f.rule}
	if conversation != "" {
		h.Lane = actions.ConversationLane(strings.TrimPrefix(conversation, actions.ConversationLane("")))
	}
	for _, b := range journal.Resumable(before, h.Workspace, h.Rule, h.Lane) {
		ok, err := v.Lift(ctx, v.Now, b)
		if err != nil {
			return "", nil, fmt.Errorf("resume: %w", err)
		}
		if ok {
			lifted = append(lifted, b)
		}
	}
	if len(lifted) == 0 {
		return "Nothing to resume: " + view.HoldSubject(h) + " was not paused.", nil, nil
	}
	said = "Goes on: " + view.HoldSubject(h) + "."
	for _, l := range lifted {
		switch {
		case l.Kind == journal.HoldSafety && l.Lane != "":
			said += " It had been stopped in " + l.Lane + ": " + reasonWords(l) + "."
		case l.Kind == journal.HoldSafety:
			said += " It had been stopped at a safety bound: " + reasonWords(l) + "."
		}
	}
	return said, lifted, nil
}

// report says what was done, and what is stopped now.
func (f *holdFlags) report(cmd *cobra.Command, v *view.View, said string, out holdsJSON) error {
	holds, err := v.Holds(cmd.Context())
	if err != nil {
		return fmt.Errorf("read what is stopped: %w", err)
	}
	w := cmd.OutOrStdout()
	if f.output == "json" {
		out.Holds = append([]journal.Hold{}, holds...)
		return cli.WriteJSON(w, out)
	}
	fmt.Fprintln(w, cli.Harmless(said))
	writeUnderWay(v, w, out.UnderWay)
	writeHolds(v, w, holds)
	return nil
}

// holdsJSON is the holds, those that this command lifted and, after placing one, the calls in
// flight then.
type holdsJSON struct {
	Holds    []journal.Hold     `json:"holds"`
	Lifted   []journal.Hold     `json:"lifted"`
	UnderWay []journal.UnderWay `json:"under_way,omitzero"`
}

// maxUnderWay bounds the calls listed for a person.
const maxUnderWay = 20

// writeUnderWay lists the calls that had begun when something was stopped.
func writeUnderWay(v *view.View, w io.Writer, calls []journal.UnderWay) {
	if len(calls) == 0 {
		return
	}
	fmt.Fprintf(w, "Calls that were under way, and may still have their effect: %d\n", len(calls))
	for i, u := range calls {
		if i == maxUnderWay {
			fmt.Fprintf(w, "  and %d more: --output json lists all of them\n", len(calls)-i)
			break
		}
		line := fmt.Sprintf("%s, step %s: %s in %s, run %d", view.HoldSubject(journal.Hold{Workspace: u.Workspace, Rule: u.Rule}), u.Step, u.Verb, u.Lane, u.Run)
		if !u.Since.IsZero() {
			line += ", since " + v.Ago(u.Since)
		}
		fmt.Fprintf(w, "  %s\n", cli.Harmless(line))
	}
}

// writeHolds lists what is stopped, with what to do about it.
func writeHolds(v *view.View, w io.Writer, holds []journal.Hold) {
	c := cli.Colours(w)
	if len(holds) == 0 {
		fmt.Fprintln(w, "Nothing is stopped.")
		return
	}
	fmt.Fprintln(w, "Stopped at present:")
	for _, h := range holds {
		fmt.Fprintf(w, "  %s\n    %s\n", c.Yellow(cli.Harmless(v.HoldWords(h))), cli.Harmless(view.HoldRemedy(h, v.Now, v.Ahead)))
	}
}

// meanwhile describes what happens to events during a hold.
func meanwhile(h journal.Hold) string {
	if h.Rule != "" {
		return "Its runs go on after quando resume; events that come meanwhile do not start it."
	}
	return "Events are still recorded; they are decided on, and runs go on, after quando resume."
}

// reasonWords returns why something was stopped.
func reasonWords(h journal.Hold) string {
	if h.Reason == "" {
		return "no reason was given"
	}
	return h.Reason
}
