package runscmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// NewFire returns the command fire, which starts a rule by hand.
func NewFire() *cobra.Command {
	var f fireFlags
	cmd := &cobra.Command{
		Use:   "fire RULE",
		Short: "Start a rule by hand, for a conversation or with data of your own",
		Long: `Fire records an event for one rule, as if it had happened now. The rule's conditions, its limit and its mode hold as ever: fire prints
the event's id, then the verdict, then what became of the run.

The running engine does it; without one it happens as soon as an engine runs. It exits with 1 when the rule did not fire, and when the run failed.`,
		Example: `  quando fire away-reply --conversation 0192f3a4-5b6c-7d8e-9f00-112233445566
  quando fire winter-campaign --data campaign.yaml
  echo '{"city":"Recife"}' | quando fire winter-campaign --data -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckOutput(f.output); err != nil {
				return err
			}
			data, err := f.readData(cmd.InOrStdin())
			if err != nil {
				return err
			}
			return view.Open(cmd, f.workspace, func(v *view.View) error {
				if err := canFire(v, cmd, f.workspace, args[0]); err != nil {
					return err
				}
				e := engine.ManualEvent(f.workspace, args[0], uuid.NewString(), cli.Now(), data)
				fresh, err := v.Accept(cmd.Context(), []rules.Event{e})
				if err != nil {
					return fmt.Errorf("record the event: %w", err)
				}
				if !slices.Equal(fresh, []bool{true}) {
					return fmt.Errorf("record the event: the id %s is taken", e.ID)
				}
				return f.follow(cmd, v, e)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.conversation, "conversation", "", "the conversation that it is about, by its `id`")
	flags.StringVar(&f.data, "data", "", "a `file` with a JSON or YAML mapping that the event carries; - is standard input")
	flags.StringVar(&f.workspace, "workspace", config.DefaultWorkspaceName, "the rule's workspace, by its `name`")
	f.wait.Add(cmd)
	cli.OutputFlag(cmd, &f.output)
	cli.JournalFlag(cmd)
	return cmd
}

type fireFlags struct {
	conversation, data, workspace, output string
	wait                                  cli.WaitFlag
}

// readData reads what the event carries.
func (f *fireFlags) readData(in io.Reader) (map[string]any, error) {
	data := make(map[string]any)
	if f.data != "" {
		var text []byte
		var err error
		if f.data == "-" {
			text, err = io.ReadAll(io.LimitReader(in, source.MaxBytes+1))
		} else {
			text, err = cli.ReadBounded(f.data)
		}
		if err != nil {
			return nil, fmt.Errorf("--data: %w", err)
		}
		file, problems := source.Read(f.data, text) // JSON is YAML too
		if err := problems.Err(); err != nil {
			return nil, fmt.Errorf("--data cannot be read:\n%w", err)
		}
		if file.Root == nil || file.Root.Kind != source.Mapping {
			return nil, fmt.Errorf("--data %s must hold a mapping, as in {\"city\": \"Recife\"}", f.data)
		}
		data = file.Root.Any().(map[string]any)
	}
	const key = "conversation_id"
	if f.conversation = strings.TrimPrefix(f.conversation, actions.ConversationLane("")); f.conversation != "" {
		if other, ok := data[key]; ok && other != f.conversation {
			return nil, fmt.Errorf("--data has the conversation_id %v and --conversation is %s: which one?", other, f.conversation)
		}
		data[key] = f.conversation
	}
	return data, nil
}

// canFire refuses a rule that an engine would not know. Without a configuration it cannot tell.
func canFire(v *view.View, cmd *cobra.Command, workspace, id string) error {
	if !v.Configured {
		return nil
	}
	set, err := v.WorkspaceRules(cmd, workspace)
	if err != nil {
		return err
	}
	if b := view.Broken(set, id); b != nil {
		cli.WriteProblems(cmd.ErrOrStderr(), cli.Language(cmd), b.Problems)
		return cli.No(cmd, "the rule %q has errors, so it cannot fire", id)
	}
	switch rule := set.Rule(id); {
	case rule == nil:
		return v.NoRule(cmd, workspace, id, set)
	case rule.Stage == rules.Draft:
		return cli.No(cmd, "the rule %q is a draft, which never fires; its stage must be shadow or live", id)
	}
	return nil
}

// fireJSON is the result of an event. Verdict and run are null until there is one.
type fireJSON struct {
	Event   string       `json:"event"`
	Verdict *verdictJSON `json:"verdict"`
	Run     *runJSON     `json:"run"`
}

// follow waits for the verdict and the run, and prints them.
func (f *fireFlags) follow(cmd *cobra.Command, v *view.View, e rules.Event) error {
	w, text := cmd.OutOrStdout(), f.output == "text"
	if text {
		fmt.Fprintf(w, "%s\n", e.ID)
	}
	began := time.Now()
	event, verdict, err := f.verdict(cmd.Context(), v, e)
	if err != nil {
		return err
	}
	var run *journal.Run
	if verdict != nil && verdict.Outcome == journal.Fired {
		rest := cli.WaitFlag{Duration: max(0, f.wait.Duration-time.Since(began))}
		if run, err = outcome(cmd.Context(), v, rest, event, e.Rule); err != nil {
			return err
		}
	}
	v.Now = cli.Now()
	if text {
		f.writeFired(cmd, v, event, verdict, run)
	} else {
		j := fireJSON{Event: e.ID}
		if verdict != nil {
			d := newVerdictJSON(*verdict)
			j.Verdict = &d
		}
		if run != nil {
			r := newRunJSON(run, event, nil)
			j.Run = &r
		}
		if err := cli.WriteJSON(w, j); err != nil {
			return err
		}
	}
	if event.Decided && (verdict == nil || verdict.Outcome != journal.Fired && verdict.Outcome != journal.Gathered) || run != nil && run.State == journal.FailedRun {
		return cli.ErrNo
	}
	return nil
}

// verdict waits until the event is decided, and returns it with the rule's verdict, nil if there is
// none.
func (f *fireFlags) verdict(ctx context.Context, v *view.View, e rules.Event) (*journal.Event, *journal.Verdict, error) {
	var event *journal.Event
	_, err := f.wait.Until(ctx, func() (bool, error) {
		var err error
		event, err = v.FindEvent(ctx, e.Workspace, e.ID)
		return event != nil && event.Decided, err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("wait for the verdict: %w", err)
	}
	for i := range event.Verdicts {
		if event.Verdicts[i].Rule == e.Rule {
			return event, &event.Verdicts[i], nil
		}
	}
	return event, nil, nil
}

// outcome waits until the run that an event started is idle, and returns it; nil if it cannot be
// found.
func outcome(ctx context.Context, v *view.View, wait cli.WaitFlag, e *journal.Event, rule string) (*journal.Run, error) {
	runs, err := v.ListRuns(ctx, journal.RunFilter{Workspace: e.Workspace, Rule: rule, Event: e.Seq, Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("find the run: %w", err)
	}
	if len(runs) == 0 {
		return nil, nil
	}
	r := runs[0]
	_, err = wait.Until(ctx, func() (bool, error) {
		found, err := v.FindRun(ctx, r.ID)
		if errors.Is(err, journal.ErrNoRun) {
			return true, nil // it is finished and forgotten
		}
		if err == nil {
			r = found
		}
		return err == nil && settled(r), err
	})
	if err != nil {
		return nil, fmt.Errorf("wait for run %d: %w", r.ID, err)
	}
	return r, nil
}

// writeFired prints the result of the event.
func (f *fireFlags) writeFired(cmd *cobra.Command, v *view.View, e *journal.Event, verdict *journal.Verdict, run *journal.Run) {
	w := cmd.OutOrStdout()
	switch {
	case !e.Decided:
		fmt.Fprintln(w, f.wait.TimeoutText())
	case verdict == nil:
		fmt.Fprintf(w, "The engine has not asked the rule %s: is it loaded?\n", cli.Harmless(e.Rule))
	default:
		c := cli.Colours(w)
		paint := c.Yellow
		if verdict.Outcome == journal.Fired {
			paint = c.Green
		}
		fmt.Fprintf(w, "%s %s\n", c.Bold(cli.Harmless(verdict.Rule)), paint(cli.Harmless(verdictWords(*verdict))))
	}
	if run != nil {
		writeOutcome(v, cmd, run)
	}
}
