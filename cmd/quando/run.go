package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/trace"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/schedule"
	"github.com/quandohq/quando/triggers/webhook"
)

func newRun() *cobra.Command {
	var strict bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run the engine: receive events, decide, act",
		Long: `Run receives the service's webhooks, ticks schedules and carries out what the rules call for, until it is stopped. Everything is
recorded in the journal before it is acted on, so a stop at any point loses nothing and does nothing twice.

The rules are watched and reloaded within a second of a change, and on SIGHUP. A rule that is wrong is reported and left out, or goes on as it was
before the change; the others are not affected. SIGINT or SIGTERM stop it: what is under way is finished first. A second one ends it at once.`,
		Example: "  quando run\n  quando run --config /etc/quando/quando.yaml --strict",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, _ := cmd.Flags().GetString("config")
			c, err := loadConfig(file, false)
			if err != nil {
				return err
			}
			return runConfig(cmd, c, strict)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "do not start with a rule that is wrong")
	return cmd
}

// runConfig runs what a configuration describes, until the command's context ends.
func runConfig(cmd *cobra.Command, c *config, strict bool) (err error) {
	ctx, log := cmd.Context(), c.newLogger(cmd.ErrOrStderr())
	list, err := c.active()
	if err != nil {
		return err
	}
	if list[0].name != defaultWorkspaceName {
		log.Info("the top level of the configuration names no service, so there is no default workspace")
	}
	j, err := openPatiently(ctx, c.journalPath(), log)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := j.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close the journal: %w", closeErr))
		}
	}()
	tellExposed(c.journalPath(), log)
	tracer, err := trace.New(ctx, trace.Options{Endpoint: c.Traces.Endpoint, Version: version(), Logger: log})
	if err != nil {
		return err
	}
	if tracer != nil {
		defer func() { _ = closeTracer(tracer) }() // a collector that is not there keeps nobody from stopping
	}
	p, err := newProcess(c, list, j, log, tracer)
	if err != nil {
		return err
	}
	if p.certificates, err = c.certificates(log); err != nil {
		return err
	}
	if p.certificates != nil {
		p.privately, p.metrics.expires = c.encryptsConsole(), p.certificates.expires
	}
	if strict {
		if err := p.checkRules(cmd); err != nil {
			return err
		}
	}
	if err := p.loadRules(); err != nil {
		return err
	}
	tuneCollector()
	go giveMemoryBack(ctx)
	return p.run(ctx, c)
}

// slowOpen is after how long whoever waits for the journal is told what it may be waiting for.
const slowOpen = 2 * time.Second

// openPatiently opens the engine's journal, and says so when that takes long.
func openPatiently(ctx context.Context, where string, log *slog.Logger) (anyJournal, error) {
	slow := time.AfterFunc(slowOpen, func() {
		log.Warn("the journal is not open yet: one that an earlier version wrote is brought up to date first, which takes minutes where it is very large; whoever stops it meanwhile loses nothing, and it begins anew")
	})
	defer slow.Stop()
	return openJournal(ctx, where, false)
}

// closeTracer sends what has not been sent yet, if that does not take long.
func closeTracer(t *trace.Tracer) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopServing)
	defer cancel()
	return t.Close(ctx)
}

// A process is everything that runs, put together.
type process struct {
	log      *slog.Logger
	journal  anyJournal
	metrics  *metrics
	console  *console.Console
	now      func() time.Time // that people are shown; nil is this machine's
	recorder *recorder
	tracer   *trace.Tracer // nil is none
	engine   *engine.Engine
	units    []*unit
	books    []*book
	busy     string // the folder of the journal's file
	sources  []*schedule.Source
	hooks    map[string]http.Handler // by workspace
	bodies   *webhook.Bodies         // of all workspaces

	certificates certificates // of listen; nil is that nothing is encrypted
	privately    bool         // the console is encrypted with them too

	backfills []namedBackfill // of the workspaces that have one
	told      []*told
}

// newProcess puts everything together. It starts nothing. Those who watch are told what the engine does; the tracer may be nil.
func newProcess(c *config, list []namedWorkspace, j anyJournal, log *slog.Logger, tracer *trace.Tracer, watch ...engine.Observer) (*process, error) {
	p := &process{log: log, journal: j, busy: filepath.Dir(c.journalPath()), now: c.now, tracer: tracer, hooks: make(map[string]http.Handler), bodies: webhook.NewBodies()}
	p.metrics = newMetrics(j, c.journalPath(), p.present)
	p.recorder = &recorder{
		tracer: tracer,
		accept: func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			return p.engine.Accept(ctx, events...)
		},
		write: func(ctx context.Context) error {
			return j.SetCursor(ctx, "ready", time.Now().UTC().Format(time.RFC3339))
		},
		fresh: func(e rules.Event) {
			p.metrics.recorded(e)
			p.console.Recorded()
		},
	}
	p.metrics.ready = p.recorder.ready
	owns := func(ctx context.Context, workspace string, m service.Message) (bool, error) {
		return p.engine.Owns(ctx, workspace, m.ID, m.ClientID)
	}
	shared := limiters(list)
	if c.now != nil {
		shared = nil // a limiter of its own is in the client's time
	}
	var workspaces []engine.Workspace
	for _, w := range list {
		u, err := newUnit(c, w, shared[w.name], owns, log)
		if err != nil {
			return nil, fmt.Errorf("workspace %s: %w", w.name, err)
		}
		finds, err := p.addUnit(c, u)
		if err != nil {
			return nil, fmt.Errorf("workspace %s: %w", w.name, err)
		}
		of := u.engineWorkspace()
		recovery(&of, finds)
		workspaces = append(workspaces, of)
	}
	var err error
	if p.console, err = p.newConsole(c); err != nil {
		return nil, err
	}
	o := engine.Options{Journal: j, Keep: c.Keep, Logger: log, Observer: append(observers{p.metrics, runLog{log}, p.console}, watch...)}
	if tracer != nil { // a nil *trace.Tracer would not be nil as an engine.Tracer
		o.Tracer = tracer
	}
	p.engine, err = engine.New(o, workspaces...)
	return p, err
}

// addUnit gives a workspace what feeds it: its webhook, its schedules, its rules, and returns what finds events that no webhook tells; nil is nothing.
func (p *process) addUnit(c *config, u *unit) (*backfill.Source, error) {
	b := &book{workspace: u.name, path: u.rules, except: u.except, options: rules.Options{Catalog: u.catalog, ReadFile: besideRules}, log: p.log}
	finds, err := p.addBackfill(c, u, b)
	if err != nil {
		return nil, err
	}
	if err := p.subscribe(c, u, finds); err != nil {
		return nil, err
	}
	o := webhook.Options{
		Workspace: u.name, Sink: p.recorder.record, Profile: u.client.Profile(), Count: wakes(p.metrics.deliveriesOf(u.name), finds), Logger: p.log,
		Bodies: p.bodies, Verified: trust,
		Secrets: func(time.Time) []service.Secret { return u.Service.Webhook.Secrets },
	}
	if u.subscription != nil {
		o.Secrets, o.Renew = u.subscription.Secrets, u.subscription.Renew
	} else if len(u.Service.Webhook.Secrets) == 0 {
		p.log.Warn("no signing secret is known, so every delivery is refused; set service.webhook.public_url, so that the webhook is looked after, or service.webhook.secrets", "workspace", u.name)
	}
	hook, err := webhook.New(o)
	if err != nil {
		return nil, err
	}
	ticks, err := schedule.New(schedule.Options{Workspace: u.name, Location: u.Timezone, Cursors: p.journal, Logger: p.log})
	if err != nil {
		return nil, err
	}
	b.use = func(set *rules.Set) {
		if err := p.engine.SetRules(u.name, set); err != nil {
			p.log.Error("the rules cannot be used", "workspace", u.name, "error", err)
		}
		ticks.SetRules(set)
		if u.subscription != nil {
			u.subscription.SetRules(set)
		}
		p.metrics.rulesOf(u.name, set)
		b.public.Store(&console.Book{Set: set, Problems: b.problems})
		p.noteRules(u.name, set, b.content)
	}
	p.units, p.books, p.sources, p.hooks[u.name] = append(p.units, u), append(p.books, b), append(p.sources, ticks), hook
	return finds, nil
}

// checkRules prints what is wrong with the rules as check does, and says no if there is an error.
func (p *process) checkRules(cmd *cobra.Command) error {
	bad := false
	for _, b := range p.books {
		r, err := b.read()
		if err != nil {
			return err
		}
		set, problems := rules.Compile(r.files, b.options)
		if problems = append(problems, r.problems...).Sort(); problems.HasErrors() {
			bad = true
			report := newReport()
			report.add(len(r.files), set, problems)
			report.text(cmd.OutOrStdout(), cmd.ErrOrStderr())
		}
	}
	if bad {
		return errNo
	}
	return nil
}

// loadRules reads the rules of every workspace. A folder that has none is no error: they may come later.
func (p *process) loadRules() error {
	for _, b := range p.books {
		if _, err := b.load(false, false); err != nil {
			return err
		}
	}
	return nil
}

// stopServing is how long answers that are under way may take when everything else has come to its end.
const stopServing = 5 * time.Second

// run listens and works until ctx ends.
func (p *process) run(ctx context.Context, c *config) error {
	p.loadSecrets(ctx)
	public, err := listen(ctx, "listen", c.Listen)
	if err != nil {
		return err
	}
	private, err := listen(ctx, "console.listen", c.Console.Listen)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	c.tellAccess(p.log)
	return p.serve(ctx, public, private, p.work)
}

// serve serves both addresses and does the work until ctx ends. Then deliveries are refused at once, the work comes to its end, and only
// after that the addresses are given up.
func (p *process) serve(ctx context.Context, public, private net.Listener, work func(ctx context.Context, start func(func() error))) error {
	h := &health{ready: p.recorder.ready}
	count := func(workspace string, o webhook.Outcome) {
		p.metrics.deliveries.WithLabelValues(workspace, string(o)).Inc()
	}
	nobody, err := unknownWorkspaceHandler(p.units[0].client.Profile(), p.bodies, p.log)
	if err != nil {
		return err
	}
	handlers := []http.Handler{incoming(publicHandler(h, p.hooks, nobody, count), p.tracer), consoleHandler(h, p.console)}
	servers := []*http.Server{newPublicServer(strictTransport(handlers[0]), p.log), newServer(strictTransport(handlers[1]), p.log)}
	p.noteRunning(ctx, public.Addr().String(), private.Addr().String())
	servers[1].RegisterOnShutdown(p.console.Close)
	if p.certificates != nil {
		servers[0].TLSConfig = tlsConfig(p.certificates)
		if p.privately {
			servers[1].TLSConfig = tlsConfig(p.certificates)
		}
	}
	encrypted := []bool{servers[0].TLSConfig != nil, servers[1].TLSConfig != nil}
	p.log.Info("listening", "webhooks", addressOf(encrypted[0], public), "console", addressOf(encrypted[1], private))
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	var serving, working sync.WaitGroup
	start := func(group *sync.WaitGroup, f func() error) {
		group.Go(func() {
			if err := f(); err != nil {
				fail(err)
			}
		})
	}
	public, private = boundConnections(public, servers[0], "listen", strangerIdle, p.log), boundConnections(private, servers[1], "console.listen", 0, p.log)
	for i, l := range []net.Listener{public, private} {
		start(&serving, func() error { return serve(servers[i], encrypted[i], l) })
	}
	start(&working, func() error { p.console.Run(ctx); return nil })
	work(ctx, func(f func() error) { start(&working, f) })

	<-ctx.Done()
	h.stopping.Store(true)
	p.log.Info("stopping; what is under way is finished first")
	working.Wait()
	last, cancel := context.WithTimeout(context.Background(), stopServing)
	defer cancel()
	for _, s := range servers {
		if err := s.Shutdown(last); err != nil {
			_ = s.Close() // those who are still at it are cut off
		}
	}
	serving.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	p.log.Info("stopped")
	return nil
}

// work starts everything that goes on beside the servers.
func (p *process) work(ctx context.Context, start func(func() error)) {
	start(func() error { return p.engine.Run(ctx) })
	if p.certificates != nil {
		start(func() error { return p.certificates.run(ctx) })
	}
	for _, s := range p.sources {
		start(func() error { return s.Run(ctx, p.recorder.record) })
	}
	for _, b := range p.backfills {
		start(func() error {
			p.engine.Attends(ctx) // so that the first look is about everything that was missed
			return b.Run(ctx)
		})
	}
	for _, t := range p.told {
		start(func() error { t.run(ctx); return nil })
	}
	for _, u := range p.units {
		start(func() error { u.checkClock(ctx, p.log); return nil })
		start(func() error { u.keepNames(ctx, p.journal, p.log); return nil })
		if u.subscription != nil {
			start(func() error { return u.subscription.Run(ctx) })
		}
	}
	start(func() error {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		(&watch{books: p.books, log: p.log, ask: hup, busy: p.busy}).run(ctx)
		return nil
	})
}
