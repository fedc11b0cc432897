// Package runscmd has the commands that show what the engine did, and control it.
package runscmd

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// runStates are the states of a run, in the order of its life.
var runStates = []journal.State{
	journal.Queued, journal.Running, journal.Waiting, journal.Held, journal.Uncertain, journal.Done, journal.Stopped, journal.Cancelled, journal.FailedRun, journal.Dealt,
}

// NewRuns returns the command runs, which lists runs, with the commands below it.
func NewRuns() *cobra.Command {
	var f listFlags
	var state string
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List what rules have done and are doing; show, cancel, retry or resolve a run",
		Long: `Runs lists the runs of the journal, the newest first: which rule, since when, where it stands and why. It works while an engine runs.

A run is queued, running, waiting, held or uncertain, and in the end done, stopped, cancelled or failed, or dealt with by a person after it failed. An uncertain one waits for a person to
say what became of a call: see quando runs resolve. The runs of a shadow rule show what it would have done.`,
		Example: `  quando runs
  quando runs --state failed --since 1d
  quando runs --contact Bia
  quando runs --rule away-reply --output json | jq '.runs[].steps'
  quando runs show 12`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			if state != "" && !slices.Contains(runStates, journal.State(state)) {
				return noState(state)
			}
			return view.Open(cmd, f.workspace, func(v *view.View) error {
				since, err := v.ParseSince(f.since)
				if err != nil {
					return err
				}
				who, err := f.narrow(cmd, v)
				if err != nil {
					return err
				}
				filter := journal.RunFilter{Workspace: cmp.Or(f.workspace, who.Workspace), Rule: f.rule, State: journal.State(state), Lane: who.Lane, Since: since, Limit: f.limit}
				runs, err := v.ListRuns(cmd.Context(), filter)
				if err != nil {
					return fmt.Errorf("list runs: %w", err)
				}
				names, err := customersOf(cmd.Context(), v, runs, func(r *journal.Run) (string, string) { return r.Workspace, r.Home })
				if err != nil {
					return err
				}
				if f.output == "json" {
					return writeRunsJSON(cmd.Context(), v, cmd.OutOrStdout(), runs, names)
				}
				writeRuns(v, cmd.OutOrStdout(), cmd.ErrOrStderr(), runs, names, &f)
				return noteStopped(cmd, v, &f, who)
			})
		},
	}
	f.add(cmd, "of this rule", "started")
	cmd.Flags().StringVar(&state, "state", "", "only those in this `state`: "+stateNames())
	cmd.AddCommand(newRunsShow(), newRunsCancel(), newRunsRetry(), newRunsResolve())
	return cmd
}

func noState(state string) error {
	names := make([]string, len(runStates))
	for i, s := range runStates {
		names[i] = string(s)
	}
	if near := source.DidYouMean(state, names); near != nil {
		return fmt.Errorf("there is no state %q (%s)", state, near.String())
	}
	return fmt.Errorf("there is no state %q: a run is %s", state, stateNames())
}

func stateNames() string {
	names := make([]string, len(runStates))
	for i, s := range runStates {
		names[i] = string(s)
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// The JSON of runs. Every member is always there: programs read it.
type (
	runsJSON struct {
		Runs []runJSON `json:"runs"`
	}
	runJSON struct {
		ID         string        `json:"id"`
		Key        string        `json:"key"`
		Workspace  string        `json:"workspace"`
		Rule       string        `json:"rule"`
		Event      string        `json:"event"` // empty when the journal has forgotten it
		Lane       string        `json:"lane"`
		Contact    string        `json:"contact"` // the customer's name; empty when it is not known
		State      journal.State `json:"state"`
		Reason     string        `json:"reason"`
		Stage      rules.Stage   `json:"stage"`
		StartedAt  *time.Time    `json:"started_at"`
		WakeAt     *time.Time    `json:"wake_at"`
		FinishedAt *time.Time    `json:"finished_at"`
		Steps      []stepJSON    `json:"steps"`
	}
	stepJSON struct {
		Path     string            `json:"path"`
		Verb     string            `json:"verb"`
		Key      string            `json:"key"`
		State    journal.StepState `json:"state"`
		Attempts int               `json:"attempts"`
		Error    string            `json:"error"`
	}
)

func writeRunsJSON(ctx context.Context, v *view.View, w io.Writer, runs []*journal.Run, names customers) error {
	events, err := eventsOf(ctx, v, runs)
	if err != nil {
		return err
	}
	list := runsJSON{Runs: []runJSON{}}
	for _, r := range runs {
		list.Runs = append(list.Runs, newRunJSON(r, events[r.Event], names))
	}
	return cli.WriteJSON(w, list)
}

// eventsOf returns what started the runs, by sequence number. What the journal has forgotten is
// missing.
func eventsOf(ctx context.Context, v *view.View, runs []*journal.Run) (map[int64]*journal.Event, error) {
	var seqs []int64
	for _, r := range runs {
		seqs = append(seqs, r.Event)
	}
	slices.Sort(seqs)
	seqs = slices.Compact(seqs)
	found := make(map[int64]*journal.Event, len(seqs))
	for part := range slices.Chunk(seqs, 500) { // a database bounds the parameters of a query
		events, err := v.Events(ctx, part...)
		if err != nil {
			return nil, fmt.Errorf("read the events of runs: %w", err)
		}
		for _, e := range events {
			found[e.Seq] = e
		}
	}
	return found, nil
}

func newRunJSON(r *journal.Run, e *journal.Event, names customers) runJSON {
	j := runJSON{
		ID: strconv.FormatInt(r.ID, 10), Key: r.Key, Workspace: r.Workspace, Rule: r.Rule, Lane: r.Home, Contact: names[[2]string{r.Workspace, r.Home}].Name, State: r.State, Reason: r.Reason, Stage: r.Stage,
		StartedAt: timeOrNull(r.StartedAt), FinishedAt: timeOrNull(r.FinishedAt), Steps: []stepJSON{},
	}
	if e != nil {
		j.Event = e.ID
	}
	if !r.State.Finished() {
		j.WakeAt = timeOrNull(r.WakeAt)
	}
	for _, s := range r.Steps {
		j.Steps = append(j.Steps, newStepJSON(s))
	}
	return j
}

func newStepJSON(s *journal.Step) stepJSON {
	return stepJSON{Path: s.Path, Verb: s.Verb, Key: s.Key, State: s.State, Attempts: s.Attempts, Error: s.Error}
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func writeRuns(v *view.View, w, notes io.Writer, runs []*journal.Run, names customers, f *listFlags) {
	if len(runs) == 0 {
		fmt.Fprintln(notes, "No such runs.")
		return
	}
	c := cli.Colours(w)
	t := &cli.Table{Head: []string{"RUN", "STARTED (" + v.ZoneName() + ")", "AGE", "STATE", "RULE", "CUSTOMER"}}
	for _, r := range runs {
		state := string(r.State)
		if r.Stage == rules.Shadow {
			state += " (shadow)"
		}
		workspace := ""
		if r.Workspace != config.DefaultWorkspaceName && f.workspace == "" {
			workspace = "workspace " + r.Workspace
		}
		t.Add([]cli.Cell{
			{Text: strconv.FormatInt(r.ID, 10)}, {Text: v.Stamp(r.StartedAt)}, {Text: cli.Span(v.Now.Sub(r.StartedAt)), Paint: c.Dim},
			{Text: state, Paint: stateColour(c, r.State)}, {Text: r.Rule, Paint: c.Bold}, {Text: names.name(r.Workspace, r.Home)},
		}, workspace, v.Standing(r))
	}
	t.Write(w, c)
	if len(runs) == f.limit {
		fmt.Fprintf(notes, "These are the newest %d; --limit shows more.\n", f.limit)
	}
}

// noteStopped says what is stopped of what was listed, and how it goes on: its rules start no runs,
// which a list of runs does not show.
func noteStopped(cmd *cobra.Command, v *view.View, f *listFlags, who journal.Who) error {
	holds, err := v.Holds(cmd.Context())
	if err != nil {
		return fmt.Errorf("read what is stopped: %w", err)
	}
	for _, h := range holds {
		listed := (h.Workspace == "" || f.workspace == "" || h.Workspace == f.workspace) && (h.Rule == "" || f.rule == "" || h.Rule == f.rule) &&
			(h.Lane == "" || who.Lane == "" || h.Lane == who.Lane)
		if listed {
			fmt.Fprintf(cmd.ErrOrStderr(), "Stopped: %s\n  %s\n", cli.Harmless(v.HoldWords(h)), cli.Harmless(view.HoldRemedy(h, v.Now, v.Ahead)))
		}
	}
	return nil
}

// stateColour paints success green, unfinished yellow, and what needs a person red.
func stateColour(c cli.Palette, s journal.State) func(string) string {
	switch s {
	case journal.Done:
		return c.Green
	case journal.FailedRun, journal.Uncertain, journal.Held:
		return c.Red
	case journal.Stopped, journal.Cancelled, journal.Dealt:
		return c.Dim
	}
	return c.Yellow
}
