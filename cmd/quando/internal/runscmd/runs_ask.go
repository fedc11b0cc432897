package runscmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
)

func newRunsCancel() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "End an unfinished run where it stands",
		Long: `Cancel ends a run that is not finished: it takes no further step. What it has done already stays done.

The running engine does it; without one it happens as soon as an engine runs. The command waits a moment to see it done.`,
		Example: "  quando runs cancel 12\n  quando runs cancel 12 --reason \"the customer called\"",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ask(cmd, args[0], journal.AskCancel)
		},
	}
	f.add(cmd)
	return cmd
}

func newRunsRetry() *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "retry ID",
		Short: "Take the step that failed once more, and go on",
		Long: `Retry lets a failed run take the step that failed once more, and go on from there. What it has done already is not done again.

The running engine does it; without one it happens as soon as an engine runs. The command waits a moment to see it done.`,
		Example: "  quando runs retry 12",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.ask(cmd, args[0], journal.AskRetry)
		},
	}
	f.add(cmd)
	return cmd
}

func newRunsResolve() *cobra.Command {
	var f askFlags
	var done, repeat bool
	cmd := &cobra.Command{
		Use:   "resolve ID --done | --repeat",
		Short: "Say what became of a call, so that an uncertain run can go on",
		Long: `A run is uncertain when nobody can know whether a call had its effect: the connection broke, and the other side cannot be
asked. Find out by looking there. Then say --done when it had its effect, and the run goes on behind it; or --repeat when it had none, and
the call is made again.

The running engine does it; without one it happens as soon as an engine runs. The command waits a moment to see it done.`,
		Example: "  quando runs show 12\n  quando runs resolve 12 --done",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if done == repeat {
				return errors.New("say either --done (the call had its effect) or --repeat (it had none: make it again)")
			}
			what := journal.AskDone
			if repeat {
				what = journal.AskRepeat
			}
			return f.ask(cmd, args[0], what)
		},
	}
	cmd.Flags().BoolVar(&done, "done", false, "the call had its effect")
	cmd.Flags().BoolVar(&repeat, "repeat", false, "the call had no effect: make it again")
	f.add(cmd)
	return cmd
}

// askFlags are the flags of the commands that request something of a run.
type askFlags struct {
	reason string
	wait   cli.WaitFlag
}

func (f *askFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "a `text` for those who look at the run later")
	f.wait.Add(cmd)
}

// ask requests something of a run, if possible in its state, and prints the result.
func (f *askFlags) ask(cmd *cobra.Command, name string, what journal.AskKind) error {
	ctx := cmd.Context()
	return view.Open(cmd, "", func(v *view.View) error {
		r, err := findRun(v, cmd, name)
		if err != nil {
			return err
		}
		if why := whyImpossible(r, what); why != "" {
			return cli.No(cmd, "%s", why)
		}
		err = v.Ask(ctx, v.Now, r.ID, journal.Ask{What: what, Reason: f.reason, At: v.Now})
		switch {
		case errors.Is(err, journal.ErrNoRun):
			return cli.No(cmd, "there is no run %d any more", r.ID)
		case err != nil:
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Run %d of %s: %s.\n", r.ID, cli.Harmless(r.Rule), view.AskWords(what))
		return f.report(cmd, v, r.ID, what)
	})
}

// whyImpossible says why a request is impossible for a run, or "".
func whyImpossible(r *journal.Run, what journal.AskKind) string {
	switch {
	case what == journal.AskCancel && r.State.Finished():
		return fmt.Sprintf("run %d is finished (%s): there is nothing to cancel", r.ID, r.State)
	case what == journal.AskRetry && r.State == journal.Uncertain:
		return fmt.Sprintf("run %d is uncertain, not failed: find out what became of the call, then use quando runs resolve %d --done or --repeat", r.ID, r.ID)
	case what == journal.AskRetry && !r.State.Allows(what):
		return fmt.Sprintf("run %d is %s: only a failed run can be retried", r.ID, r.State)
	case (what == journal.AskDone || what == journal.AskRepeat) && r.State == journal.FailedRun:
		return fmt.Sprintf("run %d has failed, and nothing about it is uncertain: use quando runs retry %d", r.ID, r.ID)
	case (what == journal.AskDone || what == journal.AskRepeat) && r.State != journal.Uncertain:
		return fmt.Sprintf("run %d is %s: only an uncertain run can be resolved", r.ID, r.State)
	}
	return ""
}

// report waits for an engine to carry out the request, and prints the result.
func (f *askFlags) report(cmd *cobra.Command, v *view.View, id int64, what journal.AskKind) error {
	var r *journal.Run
	taken, err := f.wait.Until(cmd.Context(), func() (bool, error) {
		var err error
		if r, err = v.FindRun(cmd.Context(), id); err != nil {
			return false, err
		}
		return r.Asked == nil && (what == journal.AskCancel || settled(r)), nil
	})
	if err != nil {
		return fmt.Errorf("wait for run %d: %w", id, err)
	}
	if r.Asked != nil {
		fmt.Fprintln(cmd.OutOrStdout(), f.wait.TimeoutText())
		return nil
	}
	v.Now = cli.Now()
	if !taken {
		fmt.Fprintln(cmd.OutOrStdout(), "The engine is still at it.")
	}
	writeOutcome(v, cmd, r)
	if r.State == journal.FailedRun || what == journal.AskCancel && r.State != journal.Cancelled {
		return cli.ErrNo
	}
	return nil
}

// settled reports whether a run is idle: nothing more happens right away.
func settled(r *journal.Run) bool { return r.State != journal.Running }

// writeOutcome says in a line where a run stands.
func writeOutcome(v *view.View, cmd *cobra.Command, r *journal.Run) {
	w := cmd.OutOrStdout()
	c := cli.Colours(w)
	fmt.Fprintf(w, "Run %d is %s", r.ID, stateColour(c, r.State)(string(r.State)))
	if why := v.Standing(r); why != "" {
		fmt.Fprintf(w, ": %s", cli.Harmless(why))
	}
	fmt.Fprintln(w)
}
