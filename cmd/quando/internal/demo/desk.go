package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/process"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// options say how time passes.
type options struct {
	speed float64       // simulated minutes in a second
	last  time.Duration // 0 is until it is stopped
	seed  uint64        // 0 is any
}

// A desk is everything that lives in one simulated time: the service, the engine, the people if
// there are any, and the person at the console.
type desk struct {
	options
	start   time.Time
	space   config.NamedWorkspace // what the rules are run with; without a path the examples are
	state   []byte                // of the service to begin with; nil is the small company
	keep    string                // the folder that everything stays in; empty is none
	listen  string                // of the console; empty is the usual address, or any free one
	outside *fakeTransport        // answers http_request; nil lets it leave this machine

	begin   func(set *rules.Set) error // when the rules are there
	opening func(console string)
	closing func()

	*process.Process
	service *sandbox.Sandbox
	people  *people // nil is nobody but the person at the console
	tell    *narrator

	heard            atomic.Int64 // how often events were recorded, which deliveries do beside everything else
	engineDue, ticks time.Time    // when the engine and the schedules have something to do; the zero time is never

	commands chan command              // of a person at the console
	over     chan struct{}             // closed when time stands still
	until    atomic.Pointer[time.Time] // where a jump ahead leads; nil is none
	jumpers  []chan error              // who wait for it
	played   time.Time                 // when somebody last played along, in real time

	mu      sync.Mutex
	reloads []reload // of the rules, since they were told
}

// A reload is what came of reading the rules.
type reload struct {
	set      *rules.Set
	problems rules.Problems
}

func newDesk() *desk {
	w := config.DefaultWorkspace()
	return &desk{space: config.NamedWorkspace{Workspace: &w, Name: config.DefaultWorkspaceName}, commands: make(chan command), over: make(chan struct{})}
}

// run shows the desk until ctx ends.
func (d *desk) run(ctx context.Context, out io.Writer) (err error) {
	// Who closes the terminal, or the other end of a pipe, ends it as Ctrl-C does: there is something
	// to tidy up.
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer stop()
	signal.Ignore(syscall.SIGPIPE)
	defer signal.Reset(syscall.SIGPIPE)

	var tidy []func() error
	defer func() {
		if ctx.Err() != nil && errors.Is(err, context.Canceled) {
			err = nil // it was stopped before it was there
		}
		for i := len(tidy) - 1; i >= 0; i-- {
			err = errors.Join(err, tidy[i]())
		}
	}()
	folder := d.keep
	if folder == "" {
		if folder, err = os.MkdirTemp("", "quando-demo-"); err != nil {
			return cli.FileError(err)
		}
		tidy = append(tidy, func() error { return os.RemoveAll(folder) })
	}
	if d.space.RulesPath == "" {
		d.space.RulesPath = filepath.Join(folder, "rules")
		if err := writeExamples(d.space.RulesPath); err != nil {
			return err
		}
	}
	o := sandbox.Options{Frozen: d.start, Seed: d.seed, AllowLoopback: true, KanbanEvents: true}
	if d.state != nil {
		o.State = bytes.NewReader(d.state)
	}
	if d.service, err = sandbox.New(o); err != nil {
		return err
	}
	tidy = append(tidy, d.service.Close)
	public, console, err := d.openAddresses(ctx)
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
	if err := d.keepNames(ctx, j); err != nil {
		return err
	}
	d.opening(console.Addr().String())
	err = d.Serve(ctx, public, console, func(ctx context.Context, start func(func() error)) {
		start(func() error {
			err := d.play(ctx, func() error { return d.keepNames(ctx, j) })
			if err == nil {
				stop() // after the time of --for, or when nobody reads any more
			}
			return err
		})
		start(func() error { d.Watch(ctx, nil); return nil })
	})
	d.closing()
	if d.keep != "" {
		err = errors.Join(err, os.WriteFile(filepath.Join(d.keep, keptState), d.service.State(), 0o600))
	}
	return err
}

func (d *desk) keepNames(ctx context.Context, j storage.Journal) error {
	if err := d.Units[0].KeepNamesOnce(ctx, j); err != nil && ctx.Err() == nil {
		return fmt.Errorf("write down the names that the service knows: %w", err)
	}
	return nil
}

// openAddresses opens the address for deliveries and that of the console, which is any free one
// where the usual one is taken.
func (d *desk) openAddresses(ctx context.Context) (public, console net.Listener, err error) {
	if public, err = process.Listen(ctx, "webhooks", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	if d.listen != "" {
		console, err = process.Listen(ctx, "--listen", d.listen)
	} else if console, err = process.Listen(ctx, "console", config.Default().Console.Listen); err != nil {
		console, err = process.Listen(ctx, "console", "127.0.0.1:0")
	}
	if err != nil {
		err = errors.Join(err, public.Close())
	}
	return public, console, err
}

// config starts the service, registers the webhook there, and returns what quando.yaml would say of
// it.
func (d *desk) config(ctx context.Context, folder string, public net.Listener) (*config.Config, error) {
	// The service goes on until all that the engine does has come to its end.
	address, err := d.service.Start(context.WithoutCancel(ctx), "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	c := config.Default()
	c.Now = d.service.Now
	c.Journal, c.Workspace = filepath.Join(folder, "quando.db"), *d.space.Workspace
	d.space.Workspace = &c.Workspace
	c.Service.BaseURL, c.Service.APIKey = address.BaseURL, service.Secret(address.APIKey)
	client, err := c.Client()
	if err != nil {
		return nil, err
	}
	old, err := client.ListWebhooks(ctx) // of a state that was kept
	if err != nil {
		return nil, err
	}
	for _, hook := range old {
		if err := client.DeleteWebhook(ctx, hook.ID); err != nil {
			return nil, err
		}
	}
	hook, err := client.RegisterWebhook(ctx, service.NewWebhook{Name: "quando", URL: "http://" + public.Addr().String() + "/webhook/" + d.space.Name, Events: vocabulary.EventTypes()})
	if err != nil {
		return nil, fmt.Errorf("register the webhook: %w", err)
	}
	c.Service.Webhook.Secrets, c.Service.Webhook.PublicURL = []service.Secret{hook.Secret}, hook.URL
	c.Simulator = &simulator{process.NewSandboxControl(address.ControlURL), d}
	if d.outside != nil { // a nil *fakeTransport would not be nil as a RoundTripper
		c.Outside = d.outside
	}
	return c, nil
}

// open puts the engine, its rules and the people together.
func (d *desk) open(c *config.Config, j storage.Journal, out io.Writer) (err error) {
	d.tell = newTeller(out, c.Timezone, d.start)
	if d.Process, err = process.New(c, []config.NamedWorkspace{d.space}, j, slog.New(slog.DiscardHandler), nil, d.tell); err != nil {
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
	b := d.Books[0]
	use := b.Use
	b.Use = func(set *rules.Set) {
		d.recordReload(set, b.Problems)
		use(set)
	}
	if _, err := b.Load(false, false); err != nil {
		return err
	}
	if err := d.begin(b.Set); err != nil {
		return err
	}
	var state any
	if err := json.Unmarshal(d.service.State(), &state); err != nil {
		return fmt.Errorf("read the service's state: %w", err)
	}
	d.tell.learn(state)
	return nil
}

// recordReload gives the service what the rules name, before they are in use, and lets the reload
// be told. Files are read beside everything else.
func (d *desk) recordReload(set *rules.Set, problems rules.Problems) {
	d.tell.rules.Store(set)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.service.AddState(madeUp(set, d.space.People, "")); err != nil {
		d.tell.unmade.Store(&err)
	}
	d.Units[0].ForgetNames() // there may be new ones
	d.reloads = append(d.reloads, reload{set, problems})
}

// takeReloads returns the reloads that were not told yet.
func (d *desk) takeReloads() []reload {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := d.reloads
	d.reloads = nil
	return list
}
