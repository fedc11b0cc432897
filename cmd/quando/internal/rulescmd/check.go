// Package rulescmd has the commands for those who write rules: check, test, backtest and others.
package rulescmd

import (
	"fmt"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/learn"
	"github.com/quandohq/quando/rules"
)

// NewCheck returns the command check, which reports every problem of the rules.
func NewCheck() *cobra.Command {
	var output, journal string
	var online bool
	cmd := &cobra.Command{
		Use:   "check [path…]",
		Short: "Report every problem of the rules, and the scopes that the key needs",
		Long: `Check reads rule files, or folders of them, as one rule set and reports everything that is wrong, each problem with
its file, line and column. Without a path it takes the rules of the configuration, each workspace by itself, else the folder rules, else this folder.

It exits with 0 when there is no error (warnings are allowed), 1 when there is one, and 2 when the files could not be read.`,
		Example: "  quando check\n  quando check rules/away.yaml\n  quando check --output json rules",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := cli.CheckOutput(output); err != nil {
				return err
			}
			sets, err := setsToCheck(cmd, args)
			if err != nil {
				return err
			}
			people, err := config.PeopleNames(cmd)
			if err != nil {
				return err
			}
			report := cli.NewReport()
			for _, one := range sets {
				known := people[one.workspace]
				if one.named {
					known = people[""]
				}
				set, problems := rules.Compile(one.files, rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside, People: known})
				if online {
					more, err := checkOnline(cmd, one.workspace, set)
					if err != nil {
						return err
					}
					problems = append(problems, more...)
				}
				if journal != "" {
					more, err := checkJournal(cmd, set, journal)
					if err != nil {
						return err
					}
					problems = append(problems, more...)
				}
				report.Add(len(one.files), set, problems.Sort())
			}
			if output == "text" {
				report.WriteText(cmd.OutOrStdout(), cmd.ErrOrStderr())
			} else if err := cli.WriteJSON(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if report.Problems.HasErrors() {
				return cli.ErrNo
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the service of the configuration for the names that the rules use, and for the key's scopes")
	cmd.Flags().StringVar(&journal, "journal", "", "compare what the rules read of event.data with the events recorded in this `file`")
	cli.OutputFlag(cmd, &output)
	return cmd
}

// A setToCheck is the files that make one rule set, of a workspace.
type setToCheck struct {
	workspace string
	files     []*rules.File
	named     bool // by paths, which may be of any workspace
}

// setsToCheck reads what the paths name as one set. Without any, each workspace of the
// configuration has its own: neither ids nor calendars are shared.
func setsToCheck(cmd *cobra.Command, paths []string) (sets []setToCheck, err error) {
	c, _, err := config.LoadPart(cmd, "rules")
	if len(paths) > 0 || err != nil || len(c.Workspaces) == 0 {
		files, err := config.ReadRules(cmd, paths)
		return []setToCheck{{config.DefaultWorkspaceName, files, len(paths) > 0}}, err
	}
	v := &view.View{Config: c}
	for _, name := range append([]string{config.DefaultWorkspaceName}, slices.Sorted(maps.Keys(c.Workspaces))...) {
		// Where the top level has only what is common, it has no rules either.
		if _, err := os.Stat(c.Path(c.Rules)); name == config.DefaultWorkspaceName && err != nil && c.Rules == config.Default().Rules {
			continue
		}
		files, err := v.WorkspaceFiles(cmd, name)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 || name != config.DefaultWorkspaceName {
			sets = append(sets, setToCheck{name, files, false})
		}
	}
	return sets, nil
}

// checkJournal finds what rules read of event.data that no recorded event has.
func checkJournal(cmd *cobra.Command, set *rules.Set, file string) (rules.Problems, error) {
	j, err := storage.Open(cmd.Context(), file, true)
	if err != nil {
		return nil, err
	}
	shapes := make(learn.Shapes)
	err = storage.EachEvent(cmd.Context(), j, journal.EventFilter{}, mostEvents, func(e *journal.Event) { shapes.Add(e.Event) })
	if closeErr := j.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return learn.Check(set, shapes), err
}
