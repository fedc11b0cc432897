package rulescmd

import (
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/rules"
)

// NewTest returns the command test, which runs the tests that stand beside rules.
func NewTest() *cobra.Command {
	var o testOptions
	cmd := &cobra.Command{
		Use:   "test [path…]",
		Short: "Run the tests of the rules on a simulated clock",
		Long: `Test reads rule files, or folders of them, as check does, and tells the story of each test that stands in them: the real engine, an imitation of
the service and a clock that only the story moves. A test runs with the rules of its own folder and those below it, or with those that it names.
A story with faults is told again under each of them. A test file that is named alone is run with the rules of its folder. Of several workspaces,
those of the configuration or folders that have a quando.yaml of their own, each is tested by itself.

It exits with 0 when all tests passed, 1 when one failed, when the rules have problems or when there are no tests, and 2 when it could not be carried out.`,
		Example: "  quando test\n  quando test rules/away_test.yaml\n  quando test --run 'twelve hours' --faults=false\n  quando test --output junit > report.xml",
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.test(cmd, args)
		},
	}
	cmd.Flags().StringVar(&o.run, "run", "", "run only tests whose name or file matches this `regexp`")
	cmd.Flags().BoolVar(&o.faults, "faults", true, "tell each story again under the faults that it names")
	cmd.Flags().BoolVar(&o.failFast, "fail-fast", false, "begin no other test after one has failed")
	cmd.Flags().StringVar(&o.output, "output", "text", "text, json or junit")
	cli.LanguageFlag(cmd)
	return cmd
}

type testOptions struct {
	run      string
	output   string
	faults   bool
	failFast bool
}

func (o testOptions) test(cmd *cobra.Command, args []string) error {
	if err := cli.CheckLanguage(cmd); err != nil {
		return err
	}
	writer, err := newTestWriter(o.output, cli.Language(cmd), cmd.OutOrStdout())
	if err != nil {
		return err
	}
	chosen, err := regexp.Compile(o.run)
	if err != nil {
		return fmt.Errorf("--run: %w", err)
	}
	suites, err := readSuites(cmd, args)
	if err != nil {
		return err
	}
	var problems rules.Problems
	for _, s := range suites {
		problems = append(problems, s.problems...)
	}
	if problems.HasErrors() {
		if err := writer.problems(problems.In(cli.Language(cmd))); err != nil {
			return err
		}
		return cli.ErrNo
	}
	var all []*trial
	for _, s := range suites {
		trials, err := s.trials()
		if err != nil {
			return err
		}
		for _, t := range trials {
			if len(suites) > 1 {
				t.workspace = s.workspace.name
			}
		}
		all = append(all, trials...)
	}
	trials := choose(all, chosen)
	if len(trials) == 0 {
		if err := writer.end(nil, 0, 0); err != nil {
			return err
		}
		if len(all) > 0 {
			return cli.No(cmd, "none of the %s matches --run %s", cli.Count(len(all), "test"), o.run)
		}
		return cli.No(cmd, "there are no tests: write some into a file that ends in _test.yaml, beside the rules")
	}
	return o.try(cmd, trials, writer)
}

// try runs the tests and tells what comes of them.
func (o testOptions) try(cmd *cobra.Command, trials []*trial, writer testWriter) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(400) // stories make much garbage and keep little
	}
	began := time.Now()
	bar := newProgress(cmd.ErrOrStderr(), len(trials))
	defer bar.end()
	r := &trialRunner{workers: runtime.GOMAXPROCS(0), faults: o.faults, failFast: o.failFast, progress: bar.telling}
	outcomes, err := r.run(cmd.Context(), trials, func(out *outcome) {
		bar.aside(func() { writer.outcome(out) })
	})
	bar.end()
	if err != nil {
		if cmd.Context().Err() != nil {
			err = fmt.Errorf("stopped when %d of %s had been run", len(outcomes), cli.Count(len(trials), "test"))
		}
		return err
	}
	if err := writer.end(outcomes, len(trials)-len(outcomes), time.Since(began)); err != nil {
		return err
	}
	for _, out := range outcomes {
		if !out.OK {
			return cli.ErrNo
		}
	}
	return nil
}
