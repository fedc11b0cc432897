// Command quando runs, checks, tests and explains rules.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/demo"
	"github.com/quandohq/quando/cmd/quando/internal/doctor"
	"github.com/quandohq/quando/cmd/quando/internal/journalcmd"
	"github.com/quandohq/quando/cmd/quando/internal/rulescmd"
	"github.com/quandohq/quando/cmd/quando/internal/runscmd"
	"github.com/quandohq/quando/cmd/quando/internal/servercmd"
)

func main() { os.Exit(runProcess()) }

// runProcess carries out the process's command line until it ends or a signal stops it. A second
// signal ends the process at once.
func runProcess() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// run carries out one command line and returns its exit code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	switch err := root.ExecuteContext(ctx); {
	case err == nil:
		return 0
	case errors.Is(err, cli.ErrNo):
		return cli.ExitNo
	default:
		fmt.Fprintf(errOut, "quando: %v\n", err)
		return cli.ExitError
	}
}

// newRoot returns quando with all of its commands.
func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "quando",
		Short:         "Rules for customer-messaging desks: when this happens, if this holds, do that",
		Example:       "  quando demo\n  quando play\n  quando init desk",
		Version:       cli.Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("quando {{.Version}}\n")
	root.PersistentFlags().String("config", "quando.yaml", "the configuration `file`")
	root.AddCommand(
		// Rules: write, check and try them.
		rulescmd.NewInit(),     // begin a project: a configuration, a rule and its tests
		rulescmd.NewCheck(),    // report every problem of the rules, and the scopes that the key needs
		rulescmd.NewTest(),     // run the tests that stand beside rules, on a simulated clock
		rulescmd.NewFmt(),      // write rule files in their canonical form
		rulescmd.NewSchema(),   // print the JSON Schema of rule files, for editors
		rulescmd.NewLSP(),      // serve editors while one types rules
		rulescmd.NewBacktest(), // try rules on recorded events
		rulescmd.NewDiff(),     // compare what two rule sets would have done
		rulescmd.NewLearn(),    // report what the data of recorded events looks like

		// The engine: run it, and see that it can work.
		servercmd.NewRun(),      // receive events, decide, act
		servercmd.NewHealth(),   // ask whether it is alive, or able to record
		servercmd.NewWebhook(),  // look after the service's webhook
		servercmd.NewAlerts(),   // try the alerts to the team
		servercmd.NewMCP(),      // let an assistant read, prove and propose rules
		servercmd.NewPassword(), // hash a password for the console
		servercmd.NewVersion(),  // print which build this is
		doctor.New(),            // look for what is wrong, and say how to mend it

		// What the engine did: look at it, and steer it.
		runscmd.NewEvents(),  // list recorded events
		runscmd.NewRuns(),    // list runs; show, cancel, retry or resolve one
		runscmd.NewExplain(), // say why rules did or did not fire
		runscmd.NewFire(),    // start a rule by hand
		runscmd.NewPause(),   // stop rules
		runscmd.NewResume(),  // let rules go on
		runscmd.NewMute(),    // send nothing to a conversation
		runscmd.NewUnmute(),  // send to it again
		journalcmd.New(),     // copy, back up, restore, verify, prune, export; forget a person

		// Without a service.
		demo.NewPlay(),    // try rules of one's own, with a clock that can be moved
		demo.New(),        // watch an invented desk at work
		demo.NewSandbox(), // imitate the messaging service
	)
	runscmd.Complete(root)
	return root
}
