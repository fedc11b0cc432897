// Package demo has the commands that need no service: an invented desk, and a sandbox to try on.
package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// New returns the command demo, which runs an invented desk on simulated time.
func New() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Watch a small desk at work: invented customers, real rules, nothing to set up",
		Long: `Demo runs the engine with the rules of examples/ against an imitation of the messaging service, on this machine alone. A few invented
customers write, wait and are looked after. What people do is printed indented, and what the rules do as one line for each run.

Time is simulated and runs fast, from a Friday afternoon shortly before the office closes. Stretches in which nothing happens are left out.
Ctrl-C stops it; nothing is left behind.`,
		Example: "  quando demo\n  quando demo --speed 5 --for 1m",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(o.speed > 0 && o.speed <= 10000) { // not a number is neither
				return fmt.Errorf("--speed is more than 0 and at most 10000 simulated minutes in a second, not %v", o.speed)
			}
			if o.last < 0 {
				return fmt.Errorf("--for is how long to go on, such as 1m, and not below 0: %s", o.last)
			}
			return runDemo(cmd.Context(), o, cmd.OutOrStdout())
		},
	}
	flags := cmd.Flags()
	flags.Float64Var(&o.speed, "speed", 1, "simulated `minutes` that pass in a second")
	flags.DurationVar(&o.last, "for", 0, "stop after this `time`; 0 is when you stop it")
	flags.Uint64Var(&o.seed, "seed", 1, "which customers come after the first; the same `number` brings the same ones")
	return cmd
}

type options struct {
	speed float64       // simulated minutes in a second
	last  time.Duration // 0 is until it is stopped
	seed  uint64
}

// A demo is the whole desk: the service, the engine, the people, and the time that they live in.
type demo struct {
	options
	*process.Process
	service *sandbox.Sandbox
	people  *people
	tell    *teller

	heard            atomic.Int64 // how often events were recorded, which deliveries do beside everything else
	engineDue, ticks time.Time    // when the engine and the schedules have something to do; the zero time is never

	wishes  chan wish                 // of a person at the console
	over    chan struct{}             // closed when time stands still
	until   atomic.Pointer[time.Time] // where a jump ahead leads; nil is none
	jumpers []chan error              // who wait for it
	played  time.Time                 // when somebody last played along, in real time
}

// runDemo shows the demo until ctx ends.
func runDemo(ctx context.Context, o options, out io.Writer) (err error) {
	// Who closes the terminal, or the other end of a pipe, ends the demo as Ctrl-C does: it has
	// something to tidy up.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)

	folder, err := os.MkdirTemp("", "quando-demo-")
	if err != nil {
		return cli.FileError(err)
	}
	tidy := []func() error{func() error { return os.RemoveAll(folder) }}
	defer func() {
		for i := len(tidy) - 1; i >= 0; i-- {
			err = errors.Join(err, tidy[i]())
		}
	}()
	d := &demo{options: o, wishes: make(chan wish), over: make(chan struct{})}
	if d.service, err = sandbox.New(sandbox.Options{
		Frozen: startTime(), Seed: max(o.seed, 1), AllowLoopback: true, KanbanEvents: true,
	}); err != nil {
		return err
	}
	tidy = append(tidy, d.service.Close)
	public, console, err := listenDemo(ctx)
	if err != nil {
		return err
	}
	tidy = append(tidy, func() error {
		_, _ = public.Close(), console.Close() // they are closed already, unless something went wrong on the way
		return nil
	})
	c, err := d.config(ctx, folder, public)
	if err != nil {
		return err
	}
	j, err := storage.Open(ctx, c.JournalPath(), false)
	if err != nil {
		return err
	}
	tidy = append(tidy, j.Close)
	if err := d.open(c, j, out); err != nil {
		return err
	}
	if err := d.Units[0].KeepNamesOnce(ctx, j); err != nil {
		return fmt.Errorf("write down the names that the service knows: %w", err)
	}
	d.tell.opening(console.Addr().String(), d.people.office, o)
	err = d.Serve(ctx, public, console, func(ctx context.Context, start func(func() error)) {
		start(func() error {
			err := d.play(ctx)
			if err == nil {
				stop() // after the time of --for, or when nobody reads any more
			}
			return err
		})
	})
	d.tell.closing(d.service.Now())
	return err
}

// listenDemo opens the address for deliveries and that of the console, which is any free one where
// the usual one is taken.
func listenDemo(ctx context.Context) (public, console net.Listener, err error) {
	if public, err = process.Listen(ctx, "webhooks", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	if console, err = process.Listen(ctx, "console", config.Default().Console.Listen); err != nil {
		console, err = process.Listen(ctx, "console", "127.0.0.1:0")
	}
	if err != nil {
		err = errors.Join(err, public.Close())
	}
	return public, console, err
}

// config starts the service, registers the webhook there, and returns what quando.yaml would say of
// it.
func (d *demo) config(ctx context.Context, folder string, public net.Listener) (*config.Config, error) {
	// The service goes on until all that the engine does has come to its end.
	address, err := d.service.Start(context.WithoutCancel(ctx), "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := config.Default()
	c.Now = d.service.Now
	c.Journal, c.Rules = filepath.Join(folder, "quando.db"), filepath.Join(folder, "rules")
	c.Service.BaseURL, c.Service.APIKey = address.BaseURL, service.Secret(address.APIKey)
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	hook, err := client.RegisterWebhook(ctx, service.NewWebhook{Name: "quando", URL: "http://" + public.Addr().String() + "/webhook", Events: vocabulary.EventTypes()})
	if err != nil {
		return nil, fmt.Errorf("register the webhook: %w", err)
	}
	c.Service.Webhook.Secrets, c.Service.Webhook.PublicURL = []service.Secret{hook.Secret}, hook.URL
	c.Simulator = &simulator{process.NewSandboxControl(address.ControlURL), d}
	return c, nil
}

// open puts the engine, its rules and the people together.
func (d *demo) open(c *config.Config, j storage.Journal, out io.Writer) error {
	list, err := c.Active()
	if err != nil {
		return err
	}
	d.tell = newTeller(out, c.Timezone)
	if d.Process, err = process.New(c, list, j, slog.New(slog.DiscardHandler), nil, d.tell); err != nil {
		return err
	}
	accept := d.Recorder.Accept
	d.Recorder.Accept = func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		for i := range events {
			events[i].ReceivedAt = d.service.Now()
		}
		fresh, err := accept(ctx, events...)
		if err == nil && len(events) > 0 {
			d.heard.Add(1)
		}
		return fresh, err
	}
	set, err := d.loadExamples()
	if err != nil {
		return err
	}
	d.people = &people{service: d.service, tell: d.tell, office: set.Rule("away-reply").Calendar("office"), random: rand.New(rand.NewPCG(d.seed, 0))}
	if err := d.people.begin(startTime()); err != nil {
		return err
	}
	var state any
	if err := json.Unmarshal(d.service.State(), &state); err != nil {
		return fmt.Errorf("read the service's state: %w", err)
	}
	d.tell.know(set, state)
	return nil
}

// loadExamples puts all examples to use as the rules of one desk, from files that can be changed in
// the console.
func (d *demo) loadExamples() (*rules.Set, error) {
	b := d.Books[0]
	if err := os.MkdirAll(b.Path, 0o777); err != nil {
		return nil, cli.FileError(err)
	}
	for _, name := range examples.Names() {
		text, err := fs.ReadFile(examples.FS(), path.Join(name, examples.RulesFile))
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(b.Path, name+".yaml"), text, 0o666); err != nil {
			return nil, cli.FileError(err)
		}
	}
	if _, err := b.Load(false, false); err != nil {
		return nil, err
	}
	if err := b.Problems.Err(); err != nil {
		return nil, fmt.Errorf("compile the examples: %w", err)
	}
	return b.Set, nil
}
