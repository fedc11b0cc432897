// Package demo has the commands that need no service: an invented desk at work, one's own rules at
// play, and a sandbox to try on.
package demo

import (
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
)

// New returns the command demo, which is play with an invented desk whose people are at work.
func New() *cobra.Command {
	d := newDesk()
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a small desk at work: invented customers, real rules, nothing to set up",
		Long: `Demo runs the engine with the rules of examples/ against an imitation of the messaging service, on this machine alone. A few invented
customers write, wait and are looked after. What people do is printed indented, and what the rules do as one line for each run.

Time is simulated and runs fast, from a Friday afternoon shortly before the office closes. Stretches in which nothing happens are left out.
Ctrl-C stops it; nothing is left behind. Quando play does the same for rules of your own.`,
		Example: "  quando demo\n  quando demo --speed 5 --for 1m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(d.speed > 0 && d.speed <= 10000) { // not a number is neither
				return fmt.Errorf("--speed is more than 0 and at most 10000 simulated minutes in a second, not %v", d.speed)
			}
			if d.last < 0 {
				return fmt.Errorf("--for is how long to go on, such as 1m, and not below 0: %s", d.last)
			}
			d.start, d.seed = startTime(), max(d.seed, 1)
			d.begin, d.opening, d.closing = d.beginStory, d.openDemo, d.closeDemo
			return d.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&d.speed, "speed", 1, "simulated `minutes` that pass in a second")
	flags.DurationVar(&d.last, "for", 0, "stop after this `time`; 0 is when you stop it")
	flags.Uint64Var(&d.seed, "seed", 1, "which customers come after the first; the same `number` brings the same ones")
	return cmd
}

// beginStory lets the people of the demo begin their work.
func (d *desk) beginStory(set *rules.Set) error {
	d.takeReloads() // nobody has to be told
	if err := d.Books[0].Problems.Err(); err != nil {
		return fmt.Errorf("compile the examples: %w", err)
	}
	d.people = &people{service: d.service, tell: d.tell, office: set.Rule("away-reply").Calendar("office"), random: rand.New(rand.NewPCG(d.seed, 0))}
	return d.people.begin(d.start)
}

func (d *desk) openDemo(console string) { d.tell.opening(console, d.people.office, d.options) }

func (d *desk) closeDemo() { d.tell.closing(d.service.Now()) }

// startTime is a Friday afternoon, shortly before the office closes.
func startTime() time.Time {
	return time.Date(2026, 11, 13, 17, 40, 0, 0, config.DefaultWorkspace().Timezone)
}

// writeExamples writes all examples into a folder as the rules of one desk, where they can be
// changed in the console.
func writeExamples(folder string) error {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return cli.FileError(err)
	}
	for _, name := range examples.Names() {
		text, err := fs.ReadFile(examples.FS(), path.Join(name, examples.RulesFile))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, name+".yaml"), text, 0o666); err != nil {
			return cli.FileError(err)
		}
	}
	return nil
}
