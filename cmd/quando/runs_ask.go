package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
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

// askFlags are those of the commands that ask something of a run.
type askFlags struct {
	reason string
	wait   waitFlag
}

func (f *askFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.reason, "reason", "", "a `text` for those who look at the run later")
	f.wait.add(cmd)
}

// A waitFlag is how long a command waits for the engine.
type waitFlag struct{ time.Duration }

func (f *waitFlag) add(cmd *cobra.Command) {
	f.Duration = 5 * time.Second
	cmd.Flags().Var(f, "wait", "how long to wait for the engine; 0s does not wait")
}

// Set reads a duration of the rule language, or 0.
func (f *waitFlag) Set(s string) error {
	if s == "0" {
		s = "0s"
	}
	d, err := rules.ParseDuration(s)
	f.Duration = d
	return err
}

// String writes the duration for the help.
func (f *waitFlag) String() string { return rules.FormatDuration(f.Duration) }

// Type names the value for the help.
func (f *waitFlag) Type() string { return "duration" }

// inVain says what happens to something that no engine has done within the time.
func (f *waitFlag) inVain() string {
	if f.Duration == 0 {
		return "The engine does it: the one that runs, or else the next one."
	}
	return fmt.Sprintf("No engine has taken it up in %s. It happens as soon as one runs (quando run).", f)
}

// until asks done again and again until it says yes or the time is over, and reports whether it did.
func (f *waitFlag) until(ctx context.Context, done func() (bool, error)) (bool, error) {
	over := time.Now().Add(f.Duration)
	for {
		if ok, err := done(); ok || err != nil {
			return ok, err
		}
		if !time.Now().Before(over) {
			return false, nil
		}
		select {
		case <-ctx.Done():
			return false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ask asks something of a run that makes sense for it, and says what came of it.
func (f *askFlags) ask(cmd *cobra.Command, name string, what journal.AskKind) error {
	ctx := cmd.Context()
	return look(cmd, "", func(v *view) error {
		r, err := v.findRun(cmd, name)
		if err != nil {
			return err
		}
		if why := nonsense(r, what); why != "" {
			return no(cmd, "%s", why)
		}
		err = v.Ask(ctx, v.now, r.ID, journal.Ask{What: what, Reason: f.reason, At: v.now})
		switch {
		case errors.Is(err, journal.ErrNoRun):
			return no(cmd, "there is no run %d any more", r.ID)
		case err != nil:
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "Run %d of %s: %s.\n", r.ID, harmless(r.Rule), askWords(what))
		return f.report(cmd, v, r.ID, what)
	})
}

// nonsense says why something cannot be asked of a run; empty when it can.
func nonsense(r *journal.Run, what journal.AskKind) string {
	switch {
	case what == journal.AskCancel && r.State.Finished():
		return fmt.Sprintf("run %d is finished (%s): there is nothing to cancel", r.ID, r.State)
	case what == journal.AskRetry && r.State == journal.Uncertain:
		return fmt.Sprintf("run %d is uncertain, not failed: find out what became of the call, then use quando runs resolve %d --done or --repeat", r.ID, r.ID)
	case what == journal.AskRetry && r.State != journal.FailedRun:
		return fmt.Sprintf("run %d is %s: only a failed run can be retried", r.ID, r.State)
	case (what == journal.AskDone || what == journal.AskRepeat) && r.State == journal.FailedRun:
		return fmt.Sprintf("run %d has failed, and nothing about it is uncertain: use quando runs retry %d", r.ID, r.ID)
	case (what == journal.AskDone || what == journal.AskRepeat) && r.State != journal.Uncertain:
		return fmt.Sprintf("run %d is %s: only an uncertain run can be resolved", r.ID, r.State)
	}
	return ""
}

// report waits for an engine to do what was asked, and says what came of it.
func (f *askFlags) report(cmd *cobra.Command, v *view, id int64, what journal.AskKind) error {
	var r *journal.Run
	taken, err := f.wait.until(cmd.Context(), func() (bool, error) {
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
		fmt.Fprintln(cmd.OutOrStdout(), f.wait.inVain())
		return nil
	}
	v.now = now()
	if !taken {
		fmt.Fprintln(cmd.OutOrStdout(), "The engine is still at it.")
	}
	v.writeOutcome(cmd, r)
	if r.State == journal.FailedRun || what == journal.AskCancel && r.State != journal.Cancelled {
		return errNo
	}
	return nil
}

// settled reports whether a run has come to rest: nothing more is going to happen right away.
func settled(r *journal.Run) bool { return r.State != journal.Running }

// writeOutcome says in a line where a run stands.
func (v *view) writeOutcome(cmd *cobra.Command, r *journal.Run) {
	w := cmd.OutOrStdout()
	c := colours(w)
	fmt.Fprintf(w, "Run %d is %s", r.ID, stateColour(c, r.State)(string(r.State)))
	if why := v.standing(r); why != "" {
		fmt.Fprintf(w, ": %s", harmless(why))
	}
	fmt.Fprintln(w)
}
