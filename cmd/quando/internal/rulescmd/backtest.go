package rulescmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/rules"
)

// NewBacktest returns the command backtest, which tries rules on recorded events.
func NewBacktest() *cobra.Command {
	var f backtestFlags
	cmd := &cobra.Command{
		Use:   "backtest [path…]",
		Short: "Tell what rules would have done on recorded events, and how that differs from what was done",
		Long: `Backtest lets rules decide again on the events that the journal has recorded, and tells who would have been messaged and what would have moved, when, and
how that differs from what was done. It sends nothing and asks nobody: there is no client of the service in it.

Facts are those that were recorded at the time. What a rule asks and nobody asked then is said to be not recorded, and nothing is claimed that depends on it.

Without a path it tries the configured rules; those that were taken away count as a difference. With paths it tries the rules in these files and
folders alone. A draft is tried as if it were live, a rule in shadow as what it is.`,
		Example: `  quando backtest
  quando backtest rules/away-reply.yaml --since 7d
  quando backtest --since 2026-11-01 --until 2026-11-08 --output json | jq '.differences'
  quando backtest --fail-on-diff`,
		RunE: func(cmd *cobra.Command, paths []string) error {
			return f.look(cmd, func(v *view.View, o backtest.Options) (*backtest.Result, error) {
				set, problems, err := f.rules(cmd, v, paths)
				if err != nil {
					return nil, err
				}
				if err := refuse(cmd, problems); err != nil {
					return nil, err
				}
				o.Only = len(paths) > 0
				return backtest.Run(cmd.Context(), o, set)
			}, "what was done")
		},
	}
	f.add(cmd)
	return cmd
}

// NewDiff returns the command diff, which compares what two rule sets would have done.
func NewDiff() *cobra.Command {
	var f backtestFlags
	cmd := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Tell who would have been treated differently by two rule sets",
		Long: `Diff lets two rule sets decide on the events that the journal has recorded, and tells who would have been treated differently. OLD and NEW are files or
folders with rules. Like backtest it sends nothing and asks nobody.`,
		Example: "  quando diff rules drafts\n  quando diff old/away-reply.yaml rules/away-reply.yaml --since 7d --output json",
		Args:    cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, paths []string) error {
			return f.look(cmd, func(v *view.View, o backtest.Options) (*backtest.Result, error) {
				var sets [2]*rules.Set
				for i := range sets {
					set, problems, err := f.rules(cmd, v, paths[i:i+1])
					if err != nil {
						return nil, err
					}
					if err := refuse(cmd, problems); err != nil {
						return nil, err
					}
					sets[i] = set
				}
				return backtest.Diff(cmd.Context(), o, sets[0], sets[1])
			}, "the old rules")
		},
	}
	f.add(cmd)
	return cmd
}

// backtestFlags are those of backtest and diff.
type backtestFlags struct {
	since, until, workspace, output string
	failOnDiff                      bool
}

func (f *backtestFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.since, "since", "14d", "look at what was received since then, such as 14d or 2026-11-13")
	flags.StringVar(&f.until, "until", "", "and until then; the present unless given")
	flags.StringVar(&f.workspace, "workspace", config.DefaultWorkspaceName, "the workspace, by its `name`")
	flags.BoolVar(&f.failOnDiff, "fail-on-diff", false, "exit with 1 when there is a difference")
	cli.OutputFlag(cmd, &f.output)
	cli.JournalFlag(cmd)
}

// look opens the journal, lets a backtest run, and prints what came of it.
func (f *backtestFlags) look(cmd *cobra.Command, try func(v *view.View, o backtest.Options) (*backtest.Result, error), was string) error {
	if err := cli.CheckOutput(f.output); err != nil {
		return err
	}
	return view.Open(cmd, f.workspace, func(v *view.View) error {
		o, err := f.options(cmd.Context(), v)
		if err != nil {
			return err
		}
		told := newStatus(cmd.ErrOrStderr())
		o.Progress = told.progress
		r, err := try(v, o)
		told.end()
		if err != nil {
			return err
		}
		if f.output == "json" {
			err = cli.WriteJSON(cmd.OutOrStdout(), newBacktestJSON(r))
		} else {
			(&backtestText{View: v, w: cmd.OutOrStdout(), c: cli.Colours(cmd.OutOrStdout()), was: was}).write(r)
		}
		if err == nil && f.failOnDiff && len(r.Differences) > 0 {
			return cli.ErrNo
		}
		return err
	})
}

// options says what is looked at.
func (f *backtestFlags) options(ctx context.Context, v *view.View) (o backtest.Options, err error) {
	if v.Config.Named(f.workspace) == nil {
		return o, fmt.Errorf("the configuration has no workspace %q", f.workspace)
	}
	desk, err := v.OfflineDesk(ctx, f.workspace)
	if err != nil {
		return o, err
	}
	o = backtest.Options{
		Journal: v.Journal, Desk: desk, Schemas: builtin.Schemas(), Workspace: f.workspace, Location: v.Config.Named(f.workspace).Timezone, Until: v.Now,
	}
	if o.Since, err = v.ParseSince(f.since); err != nil {
		return o, err
	}
	if f.until != "" {
		if o.Until, err = v.ParseSince(f.until); err != nil {
			return o, fmt.Errorf("--until: %w", err)
		}
	}
	if !o.Since.Before(o.Until) {
		return o, errors.New("--since is not before --until")
	}
	return o, nil
}

// rules compiles the rules that paths name; none are the workspace's own.
func (f *backtestFlags) rules(cmd *cobra.Command, v *view.View, paths []string) (*rules.Set, rules.Problems, error) {
	if len(paths) == 0 && v.Configured {
		return v.CompileWorkspace(cmd, f.workspace)
	}
	files, err := config.ReadRules(cmd, paths)
	if err != nil {
		return nil, nil, err
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog(), ReadFile: config.ReadBeside})
	return set, problems, nil
}

// refuse says no to rules that are wrong: half of them would be tried as if the others had been
// taken away.
func refuse(cmd *cobra.Command, problems rules.Problems) error {
	if !problems.HasErrors() {
		return nil
	}
	cli.WriteProblems(cmd.ErrOrStderr(), cli.Language(cmd), problems)
	return cli.No(cmd, "the rules have errors, so they are not tried")
}

// A status tells people who wait how far something is.
type status struct {
	w    io.Writer
	next time.Time
	said bool
}

// statusEvery is how often somebody who waits is told how far it is.
const statusEvery = time.Second

func newStatus(w io.Writer) *status { return &status{w: w, next: time.Now().Add(statusEvery)} }

func (p *status) progress(what string, done, of int) {
	if time.Now().Before(p.next) {
		return
	}
	p.next, p.said = time.Now().Add(statusEvery), true
	line := fmt.Sprintf("%s: %s", what, cli.Count(done, "event"))
	if of > 0 {
		line += fmt.Sprintf(" of %d", of)
	}
	if cli.IsTerminal(p.w) {
		fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(p.w, line)
	}
}

// end leaves the line to what comes.
func (p *status) end() {
	if p.said && cli.IsTerminal(p.w) {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
