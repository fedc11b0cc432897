package runscmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// explainFlags are the flags of explain.
type explainFlags struct {
	customerFlags
	event, run, rule, workspace, output string
	limit                               int
}

// NewExplain returns the command explain, which says why rules did or did not fire.
func NewExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:   "explain --event ID | --conversation CUSTOMER | --run ID",
		Short: "Say why each rule did or did not fire, clause by clause with values",
		Long: `Explain says in words what an event meant to every rule: fired, or the first condition that was not true with the values in it, or
limited, late, replaced, cancelled, paused, looped, with the run and the time. For a conversation it does so for its newest events, one line
for each rule, and lists its runs; for a run it says what started it and why, and what it waits for or why it ended.

It tells what was recorded when the event was decided. Of a rule that was not asked it says what the rule would have done, worked out now with
what was recorded then; --rule explains rules of a file that are not loaded in the same way. What was never recorded is not guessed, and nothing is asked of the service.`,
		Example: `  quando explain --event 0192f3a4-5b6c-7d8e-9f00-112233445566
  quando explain --conversation Bia
  quando explain --protocol ATD-000123
  quando explain --run 12
  quando explain --event 0192f3a4-5b6c-7d8e-9f00-112233445566 --rule draft.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := cli.CheckOutput(f.output); err != nil {
				return err
			}
			if f.limit < 1 {
				return fmt.Errorf("--limit is at least 1, not %d", f.limit)
			}
			return view.Open(cmd, f.workspace, func(v *view.View) error {
				switch {
				case f.event != "":
					return explainEvent(v, cmd, &f)
				case f.given():
					return explainConversation(v, cmd, &f)
				}
				return explainRun(v, cmd, &f)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.event, "event", "", "explain this event, by its `id`")
	f.add(cmd, "explain the newest events")
	flags.StringVar(&f.run, "run", "", "explain this run, by its `number` or key")
	flags.StringVar(&f.rule, "rule", "", "explain the rules of this `file` instead, as if they had been loaded")
	flags.StringVar(&f.workspace, "workspace", "", "the event or conversation is of this workspace, by its `name`")
	flags.IntVar(&f.limit, "limit", 20, "of a conversation: at most so many events, and so many runs")
	cli.OutputFlag(cmd, &f.output)
	cli.JournalFlag(cmd)
	cmd.MarkFlagsOneRequired("event", "conversation", "contact", "phone", "protocol", "run")
	cmd.MarkFlagsMutuallyExclusive("event", "conversation", "run")
	for _, name := range []string{"contact", "phone", "protocol"} {
		cmd.MarkFlagsMutuallyExclusive("event", name)
		cmd.MarkFlagsMutuallyExclusive("run", name)
	}
	cmd.MarkFlagsMutuallyExclusive("run", "rule")
	return cmd
}

// explainer returns what explains the events of a workspace. File is one with rules that are not
// loaded; empty is none.
func explainer(v *view.View, cmd *cobra.Command, workspaceName, file string) (*explain.Explainer, error) {
	v.ShowTimesOf(workspaceName)
	desk, err := v.OfflineDesk(cmd.Context(), workspaceName)
	if err != nil {
		return nil, err
	}
	o := explain.Options{Journal: v, Desk: desk, Catalog: builtin.Catalog(), Location: v.Zone, Stamp: v.Stamp, Standing: v.Standing}
	o.Rules = rulesToExplain(v, cmd, workspaceName)
	if file != "" {
		if o.Only, err = draftRules(v, cmd, workspaceName, file); err != nil {
			return nil, err
		}
	}
	return explain.New(o), nil
}

// rulesToExplain returns the rules of a workspace. If they cannot be read, explain still shows what
// is recorded.
func rulesToExplain(v *view.View, cmd *cobra.Command, workspaceName string) *rules.Set {
	set, err := v.WorkspaceRules(cmd, workspaceName)
	if err != nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "note: only the rules that were asked are explained: %s\n", cli.Harmless(err.Error()))
		set, _ = rules.Compile(nil, rules.Options{Catalog: builtin.Catalog()})
	}
	return set
}

// draftRules compiles the rules of a file that is not loaded, with the calendars of those that are.
func draftRules(v *view.View, cmd *cobra.Command, workspaceName, file string) ([]*rules.Rule, error) {
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, err
	}
	var others []*rules.File
	if w := v.Config.Named(workspaceName); w != nil {
		if names, err := config.RuleFiles(cmd, []string{v.Config.Path(w.Rules)}); err == nil {
			if others, err = config.ReadRules(cmd, names); err != nil {
				return nil, err
			}
		}
	}
	set, problems := rules.Compile(rules.Parse(file, text).Beside(others), rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside})
	if problems.HasErrors() {
		cli.WriteProblems(cmd.ErrOrStderr(), cli.Language(cmd), problems)
		return nil, cli.ErrNo
	}
	if len(set.Rules) == 0 {
		return nil, cli.No(cmd, "%s has no rules", file)
	}
	return set.Rules, nil
}

// workspaceNames lists the workspaces to search: the given one, or all.
func workspaceNames(v *view.View, asked string) []string {
	if asked != "" {
		return []string{asked}
	}
	return append([]string{config.DefaultWorkspaceName}, slices.Sorted(maps.Keys(v.Config.Workspaces))...)
}

func explainEvent(v *view.View, cmd *cobra.Command, f *explainFlags) error {
	e, err := eventNamed(cmd.Context(), v, f.workspace, f.event)
	if err != nil {
		return err
	}
	if e == nil {
		return cli.No(cmd, "there is no event %s; quando events lists them", f.event)
	}
	x, err := explainer(v, cmd, e.Workspace, f.rule)
	if err != nil {
		return err
	}
	told, err := x.Event(cmd.Context(), e)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), told)
	}
	writeExplainedEvent(v, cmd.OutOrStdout(), told)
	return nil
}

// eventNamed returns an event by its id, or nil.
func eventNamed(ctx context.Context, v *view.View, workspaceName, id string) (*journal.Event, error) {
	for _, name := range workspaceNames(v, workspaceName) {
		e, err := v.FindEvent(ctx, name, engine.ObjectKey(id)) // as it was recorded, whatever the service writes
		if err == nil || !errors.Is(err, journal.ErrNoEvent) {
			return e, err
		}
	}
	return nil, nil
}

// The JSON of a conversation and of a run.
type (
	explainedConversation struct {
		Conversation string           `json:"conversation"`
		Workspace    string           `json:"workspace"`
		Events       []*explain.Event `json:"events"`
		Runs         []explainedRun   `json:"runs"`
	}
	explainedRun struct {
		shownRunJSON
		Words string        `json:"words"` // where it stands, or how it ended, and why
		Cause *explain.Rule `json:"cause"` // the verdict on the event that started it; null if its retention is over
	}
)

func explainConversation(v *view.View, cmd *cobra.Command, f *explainFlags) error {
	ctx := cmd.Context()
	who, err := f.find(cmd, v, f.workspace)
	if err != nil {
		return err
	}
	lane, names := who.Lane, customers{{who.Workspace, who.Lane}: who}
	for _, name := range workspaceNames(v, f.workspace) {
		events, err := v.ListEvents(ctx, journal.EventFilter{Workspace: name, Lane: lane, Limit: f.limit})
		if err != nil {
			return fmt.Errorf("list the events of the conversation: %w", err)
		}
		runs, err := v.ListRuns(ctx, journal.RunFilter{Workspace: name, Lane: lane, Limit: f.limit})
		if err != nil {
			return fmt.Errorf("list the runs of the conversation: %w", err)
		}
		if len(events)+len(runs) == 0 {
			continue
		}
		x, err := explainer(v, cmd, name, f.rule)
		if err != nil {
			return err
		}
		told := explainedConversation{Conversation: lane, Workspace: name, Events: []*explain.Event{}, Runs: []explainedRun{}}
		for _, e := range events {
			one, err := x.Event(ctx, e)
			if err != nil {
				return err
			}
			told.Events = append(told.Events, one)
		}
		for _, r := range runs {
			one, err := newExplainedRun(ctx, x, r, names)
			if err != nil {
				return err
			}
			told.Runs = append(told.Runs, *one)
		}
		if f.output == "json" {
			return cli.WriteJSON(cmd.OutOrStdout(), told)
		}
		writeExplainedConversation(v, cmd.OutOrStdout(), cmd.ErrOrStderr(), &told, nameOf(who), f)
		return nil
	}
	return cli.No(cmd, "there is nothing of the conversation %s; quando events lists what there is", f.text())
}

func newExplainedRun(ctx context.Context, x *explain.Explainer, r *journal.Run, names customers) (*explainedRun, error) {
	e, cause, err := x.Cause(ctx, r)
	if err != nil {
		return nil, err
	}
	words, err := x.Standing(ctx, r)
	return &explainedRun{shownRunJSON: newShownRunJSON(r, e, names), Words: words, Cause: cause}, err
}

func explainRun(v *view.View, cmd *cobra.Command, f *explainFlags) error {
	r, err := findRun(v, cmd, f.run)
	if err != nil {
		return err
	}
	x, err := explainer(v, cmd, r.Workspace, "")
	if err != nil {
		return err
	}
	names := customers{}
	if err := names.learn(cmd.Context(), v, r.Workspace, []string{r.Home}); err != nil {
		return err
	}
	told, err := newExplainedRun(cmd.Context(), x, r, names)
	if err != nil {
		return err
	}
	if f.output == "json" {
		return cli.WriteJSON(cmd.OutOrStdout(), told)
	}
	events, err := eventsOf(cmd.Context(), v, []*journal.Run{r})
	if err != nil {
		return err
	}
	writeExplainedRun(v, cmd.OutOrStdout(), told, r, events[r.Event], names)
	return nil
}
