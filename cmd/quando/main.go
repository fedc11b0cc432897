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
)

// Exit codes: what scripts rely on.
const (
	exitNo    = 1 // the answer is no: problems found, a test failed, a difference
	exitError = 2 // the command could not be carried out
)

// errNo ends a command whose answer is no. What there is to say has been printed.
var errNo = errors.New("no")

func main() { os.Exit(runProcess()) }

// runProcess carries out the process's command line until it ends or a signal stops it. A second signal ends the process at once.
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
	case errors.Is(err, errNo):
		return exitNo
	default:
		fmt.Fprintf(errOut, "quando: %v\n", err)
		return exitError
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "quando",
		Short:         "Rules for customer-messaging desks: when this happens, if this holds, do that",
		Version:       version(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("quando {{.Version}}\n")
	root.PersistentFlags().String("config", "quando.yaml", "the configuration `file`")
	root.AddCommand(newCheck(), newDoctor(), newFmt(), newInit(), newDemo(), newRun(), newExplain(), newLearn(), newSchema(), newBacktest(), newDiff(), newSandbox(), newEvents(), newRuns(), newFire(), newJournal(), newPause(), newResume(), newTest(), newPassword(), newWebhook(), newHealth(), newVersion())
	complete(root)
	return root
}
