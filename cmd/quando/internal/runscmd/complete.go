package runscmd

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
)

// Complete registers shell completions: names of workspaces and rules, states and ids of runs.
func Complete(root *cobra.Command) {
	for _, path := range []string{"fire", "runs show", "runs cancel", "runs retry", "runs resolve", "runs", "events", "pause", "resume"} {
		cmd, _, err := root.Find(strings.Fields(path))
		if err != nil {
			panic("there is no command " + path) // a mistake in the list
		}
		switch path {
		case "fire":
			cmd.ValidArgsFunction = completeRules
		case "runs show":
			cmd.ValidArgsFunction = completeRuns("")
		case "runs cancel":
			cmd.ValidArgsFunction = completeRuns(storage.Unfinished...)
		case "runs retry":
			cmd.ValidArgsFunction = completeRuns(journal.FailedRun)
		case "runs resolve":
			cmd.ValidArgsFunction = completeRuns(journal.Uncertain)
		default:
			completeFlag(cmd, "rule", completeRules)
		}
		completeFlag(cmd, "workspace", completeWorkspaces)
		completeFlag(cmd, "output", cobra.FixedCompletions([]string{"text", "json"}, cobra.ShellCompDirectiveNoFileComp))
		completeFlag(cmd, "state", completeStates)
	}
}

// completeFlag registers a completion, if the command has the flag.
func completeFlag(cmd *cobra.Command, name string, f cobra.CompletionFunc) {
	if cmd.Flags().Lookup(name) != nil {
		_ = cmd.RegisterFlagCompletionFunc(name, f) // fails only for an unknown flag
	}
}

// completeWorkspaces completes the names of workspaces.
func completeWorkspaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	c, _, err := config.LoadPart(cmd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	names := []string{config.DefaultWorkspaceName}
	for name := range c.Workspaces {
		names = append(names, name)
	}
	slices.Sort(names)
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeRules completes the ids of the rules of the workspace that the command is about.
func completeRules(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const done = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, done
	}
	c, _, err := config.LoadPart(cmd, "rules")
	if err != nil {
		return nil, done
	}
	workspace, _ := cmd.Flags().GetString("workspace")
	set, err := (&view.View{Config: c}).WorkspaceRules(cmd, workspace)
	if err != nil {
		return nil, done
	}
	var ids []string
	for _, r := range set.Rules {
		ids = append(ids, r.ID)
	}
	return ids, done
}

// completeRuns completes the ids of the newest runs that are in one of these states; an empty one
// is any.
func completeRuns(states ...journal.State) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) (ids []string, _ cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), 2*time.Second) // a user is waiting
		defer cancel()
		cmd.SetContext(ctx)
		_ = view.Open(cmd, "", func(v *view.View) error {
			for _, state := range states {
				runs, err := v.ListRuns(ctx, journal.RunFilter{State: state, Limit: 20})
				if err != nil {
					return err
				}
				for _, r := range runs {
					ids = append(ids, fmt.Sprintf("%d\t%s of %s", r.ID, r.State, r.Rule))
				}
			}
			return nil
		}) // without a journal there is nothing to complete
		return ids, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeStates completes the states of a run.
func completeStates(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, s := range runStates {
		names = append(names, string(s))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
