// Command bench measures what a user of quando gets, against a bare server that only verifies and
// decodes, in one run on one machine.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	if playRole() {
		return
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	if err := measure(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	pattern, scale, write, peers, learn string
	list                                bool
	duration                            time.Duration
	rounds, connections                 int
}

// parse reads the command line.
func parse(args []string, b *bench) (o options, err error) {
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.pattern, "run", "acknowledge|desk|disk|runs|journals|latency|matching|backlog|waiting|rows|memory|kill", "a regular expression of the scenarios to run; .* is the others too")
	flags.BoolVar(&o.list, "list", false, "list the scenarios")
	flags.StringVar(&o.scale, "scale", "short", "test, short or full")
	flags.StringVar(&o.write, "write", "", "write bench.json and bench.svg into this folder, and the table into its benchmarks.md")
	flags.DurationVar(&o.duration, "duration", 0, "how long one load lasts, where the scale is not to say it")
	flags.IntVar(&o.rounds, "rounds", 0, "how many rounds there are, where the scale is not to say it")
	flags.IntVar(&o.connections, "connections", 0, "how many connections deliver, where the scale is not to say it")
	flags.StringVar(&o.peers, "peers", "peers", "the folder with a script for each peer")
	flags.Uint64Var(&b.seed, "seed", 1, "decides when the engine is killed")
	flags.StringVar(&b.quando, "quando", "", "the program to measure; built from the tree unless given")
	flags.StringVar(&b.folder, "folder", "", "where journals are kept meanwhile: the disk that is measured; the system's folder for temporary files unless given")
	flags.StringVar(&b.profile, "profile", "", "keep processor profiles of quando in this folder, one for each case; the figures of such a run are not to be trusted")
	flags.StringVar(&o.learn, "learn", "", "write what the compiler can learn from the profiles into this file")
	flags.BoolVar(&b.keep, "keep", false, "keep the folders with journals and logs")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	var ok bool
	if b.scale, ok = scales[o.scale]; !ok {
		return o, fmt.Errorf("-scale is test, short or full, not %q", o.scale)
	}
	if o.duration > 0 {
		b.scale.duration = o.duration
	}
	if o.rounds > 0 {
		b.scale.rounds = o.rounds
	}
	if o.connections > 0 {
		b.scale.connections = []int{o.connections}
	}
	if b.profile != "" && b.quando != "" {
		return o, errors.New("a profile needs a quando that is built for it: leave out -quando")
	}
	if o.learn != "" && b.profile == "" {
		return o, errors.New("there is nothing to learn from without -profile")
	}
	b.peers, err = filepath.Glob(filepath.Join(o.peers, "*.sh"))
	return o, err
}

// measure runs what the flags select.
func measure(ctx context.Context, args []string) error {
	b := &bench{told: os.Stderr}
	o, err := parse(args, b)
	if err != nil {
		return err
	}
	if o.list {
		for _, s := range scenarios {
			fmt.Printf("%-12s %s\n", s.name, s.about)
		}
		return nil
	}
	chosen, err := chosen(o.pattern)
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if err := b.runAll(ctx, chosen); err != nil {
		return err
	}
	r, err := b.report(ctx, o.scale)
	if err != nil {
		return err
	}
	r.table(os.Stdout)
	if o.write != "" {
		if err := r.write(o.write); err != nil {
			return err
		}
	}
	if o.learn != "" {
		if err := b.writeProfile(ctx, o.learn); err != nil {
			return err
		}
	}
	if n := len(b.problems); n > 0 {
		return fmt.Errorf("%d accounts do not close:\n%s", n, joined(b.problems))
	}
	return nil
}

// runAll runs scenarios one after the other.
func (b *bench) runAll(ctx context.Context, list []scenario) error {
	for _, s := range list {
		b.scenario = s.name
		b.printProgress("%s", s.about)
		if err := s.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}
