package runscmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

func newRunsShow() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Tell all there is to know of a run: what started it, each step, what was sent",
		Long: `Show tells what started a run, where it stands and why, and of each step what was sent and what was answered. It takes the number that
quando runs lists, or the run's key.`,
		Example: "  quando runs show 12\n  quando runs show default/away-reply/0192f3a4-5b6c-7d8e-9f00-112233445566 --output json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckOutput(output); err != nil {
				return err
			}
			return view.Open(cmd, "", func(v *view.View) error {
				r, err := findRun(v, cmd, args[0])
				if err != nil {
					return err
				}
				events, err := eventsOf(cmd.Context(), v, []*journal.Run{r})
				if err != nil {
					return err
				}
				names := customers{}
				if err := names.learn(cmd.Context(), v, r.Workspace, []string{r.Home}); err != nil {
					return err
				}
				if output == "json" {
					return cli.WriteJSON(cmd.OutOrStdout(), newShownRunJSON(r, events[r.Event], names))
				}
				writeRun(v, cmd.OutOrStdout(), r, events[r.Event], names)
				return nil
			})
		},
	}
	cli.OutputFlag(cmd, &output)
	return cmd
}

// findRun returns a run by its number or its key, and sets the zone of its workspace. If there is
// none it returns an error that says so.
func findRun(v *view.View, cmd *cobra.Command, name string) (*journal.Run, error) {
	r, err := runNamed(v, cmd, name)
	if err == nil {
		v.ShowTimesOf(r.Workspace)
	}
	return r, err
}

func runNamed(v *view.View, cmd *cobra.Command, name string) (*journal.Run, error) {
	id, err := strconv.ParseInt(name, 10, 64)
	if err == nil {
		r, err := v.FindRun(cmd.Context(), id)
		switch {
		case errors.Is(err, journal.ErrNoRun):
			return nil, cli.No(cmd, "there is no run %d; quando runs lists them", id)
		case err != nil:
			return nil, fmt.Errorf("find run %d: %w", id, err)
		}
		return r, nil
	}
	r, err := runByKey(cmd.Context(), v, name)
	if err != nil {
		return nil, fmt.Errorf("find the run %s: %w", name, err)
	}
	if r == nil {
		return nil, cli.No(cmd, "there is no run %s; quando runs lists them", name)
	}
	return r, nil
}

// runByKey returns a run by its key, or nil. A key names the workspace, the rule, and what started
// the run, which most often is an event's id.
func runByKey(ctx context.Context, v *view.View, key string) (*journal.Run, error) {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) < 3 {
		return nil, nil
	}
	filter := journal.RunFilter{Workspace: parts[0], Rule: parts[1], Limit: 500}
	e, err := v.FindEvent(ctx, parts[0], parts[2])
	switch {
	case err == nil:
		filter.Event = e.Seq
	case !errors.Is(err, journal.ErrNoEvent):
		return nil, err
	}
	for {
		runs, err := v.ListRuns(ctx, filter)
		if err != nil {
			return nil, err
		}
		for _, r := range runs {
			if r.Key == key {
				return r, nil
			}
		}
		if len(runs) < filter.Limit {
			return nil, nil
		}
		filter.Before = runs[len(runs)-1].ID
	}
}

// The JSON of one run: that of a list, and further details.
type (
	shownRunJSON struct {
		runJSON
		Version  string          `json:"version"`
		By       string          `json:"by"`
		At       string          `json:"at"` // the lane in which its next step takes place
		Ancestry []string        `json:"ancestry"`
		About    actions.Subject `json:"about"`
		Asked    *journal.Ask    `json:"asked"`
		Steps    []shownStepJSON `json:"steps"`
	}
	shownStepJSON struct {
		stepJSON
		Record json.RawMessage `json:"record"`
	}
)

func newShownRunJSON(r *journal.Run, e *journal.Event, names customers) shownRunJSON {
	j := shownRunJSON{
		runJSON: newRunJSON(r, e, names), Version: r.Version, By: r.By, At: r.Lane, Ancestry: append([]string{}, r.Ancestry...), About: r.About, Asked: r.Asked,
		Steps: []shownStepJSON{},
	}
	for _, s := range r.Steps {
		one := shownStepJSON{stepJSON: newStepJSON(s)}
		one.Record = view.HideJSON(s.Record)
		j.Steps = append(j.Steps, one)
	}
	return j
}

func writeRun(v *view.View, w io.Writer, r *journal.Run, e *journal.Event, names customers) {
	c := cli.Colours(w)
	state := stateColour(c, r.State)(string(r.State))
	if r.Stage == rules.Shadow {
		state += " (shadow: nothing was changed)"
	}
	fmt.Fprintf(w, "%s %s\n", c.Bold(fmt.Sprintf("Run %d of %s:", r.ID, cli.Harmless(r.Rule))), state)
	writeRunBody(v, w, r, e, names)
}

// writeRunBody prints all details of a run but its state.
func writeRunBody(v *view.View, w io.Writer, r *journal.Run, e *journal.Event, names customers) {
	c := cli.Colours(w)
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(w, "  %s %s\n", c.Dim(fmt.Sprintf("%-11s", name)), cli.Harmless(text))
		}
	}
	line(standingName(r.State), "%s", v.Standing(r))
	if r.State == journal.Uncertain {
		line("next", "find out what became of it, then: quando runs resolve %d --done, or --repeat", r.ID)
	}
	if r.State == journal.FailedRun {
		line("next", "quando runs retry %d takes the step that failed once more", r.ID)
	}
	startedBy := "an event that the journal has forgotten"
	if e != nil {
		startedBy = fmt.Sprintf("%s %s, created %s", e.Type, e.ID, v.Stamp(e.CreatedAt))
	}
	line("started by", "%s", startedBy)
	if len(r.Gathered) > 1 {
		line("gathered", "%d events", len(r.Gathered))
	}
	if who, ok := names[[2]string{r.Workspace, r.Home}]; ok {
		line("customer", "%s", nameOf(who))
	}
	line("lane", "%s", r.Home)
	if r.Lane != r.Home && r.Lane != "" && !r.State.Finished() {
		line("works in", "%s", r.Lane)
	}
	line("workspace", "%s", r.Workspace)
	line("started", "%s", v.Ago(r.StartedAt))
	if !r.FinishedAt.IsZero() {
		line("finished", "%s, after %s", v.Stamp(r.FinishedAt), cli.Span(r.FinishedAt.Sub(r.StartedAt)))
	}
	if len(r.Ancestry) > 0 {
		line("caused by", "%s", strings.Join(r.Ancestry, ", then "))
	}
	line("about", "%s", aboutWords(r.About))
	line("key", "%s", r.Key)
	line("version", "%s", r.Version)
	writeSteps(v, w, c, r)
}

// standingName is what the sentence that standing returns answers.
func standingName(s journal.State) string {
	switch s {
	case journal.Done:
		return "did"
	case journal.Queued, journal.Running, journal.Waiting:
		return "at present"
	}
	return "why"
}

// aboutWords lists what a run is about.
func aboutWords(s actions.Subject) string {
	var parts []string
	for _, p := range [][2]string{{"conversation", s.Conversation}, {"contact", s.Contact}, {"attendance", s.Attendance}, {"card", s.Card}, {"message", s.Message}} {
		if p[1] != "" {
			parts = append(parts, p[0]+" "+p[1])
		}
	}
	return strings.Join(parts, ", ")
}
