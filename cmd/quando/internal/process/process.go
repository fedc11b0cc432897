// Package process is the serving process: wiring, lifecycle, HTTP, metrics, reloading of rules.
package process

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

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/alerts"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/trace"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/schedule"
	"github.com/quandohq/quando/triggers/webhook"
)

// Run runs what a configuration describes, until the command's context ends.
func Run(cmd *cobra.Command, c *config.Config, strict bool) (err error) {
	ctx, log := cmd.Context(), c.NewLogger(cmd.ErrOrStderr())
	list, err := c.Active()
	if err != nil {
		return err
	}
	if list[0].Name != config.DefaultWorkspaceName {
		log.Info("the top level of the configuration names no service, so there is no default workspace")
	}
	j, err := openPatiently(ctx, c.JournalPath(), log)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := j.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close the journal: %w", closeErr))
		}
	}()
	tellExposed(c.JournalPath(), log)
	tellExposedSecrets(c, log)
	tracer, err := trace.New(ctx, trace.Options{Endpoint: c.Traces.Endpoint, Version: cli.Version(), Logger: log})
	if err != nil {
		return err
	}
	if tracer != nil {
		defer func() { _ = closeTracer(tracer) }() // an unreachable collector does not delay the shutdown
	}
	p, err := New(c, list, j, log, tracer)
	if err != nil {
		return err
	}
	if p.certificates, err = newCertificates(c, log); err != nil {
		return err
	}
	if p.certificates != nil {
		p.privately, p.metrics.expires = encryptsConsole(c), p.certificates.expires
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

// slowOpen is when opening the journal counts as slow and is logged.
const slowOpen = 2 * time.Second

// openPatiently opens the engine's journal, and logs what it may be waiting for if that takes long.
func openPatiently(ctx context.Context, where string, log *slog.Logger) (storage.Journal, error) {
	slow := time.AfterFunc(slowOpen, func() {
		log.Warn("the journal is not open yet: one that an earlier version wrote is brought up to date first, which takes minutes where it is very large; stopping it meanwhile loses nothing: the next start begins anew")
	})
	defer slow.Stop()
	return storage.Open(ctx, where, false)
}

// closeTracer sends what has not been sent yet, if that does not take long.
func closeTracer(t *trace.Tracer) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopServing)
	defer cancel()
	return t.Close(ctx)
}

// A Process is everything that runs, put together.
type Process struct {
	Engine   *engine.Engine
	Console  *console.Console
	Recorder *Recorder
	Units    []*Unit            // one for each workspace
	Books    []*Book            // the rules of each
	Sources  []*schedule.Source // the schedules of each

	log     *slog.Logger
	journal storage.Journal
	busy    string // the folder of the journal's file
	metrics *metrics
	tracer  *trace.Tracer           // nil is none
	now     func() time.Time        // for pages; nil is the real clock
	hooks   map[string]http.Handler // by workspace
	bodies  *webhook.Bodies         // of all workspaces

	certificates certificates // of listen; nil if unencrypted
	privately    bool         // the console is encrypted with them too

	alerts    *alerts.Alerts  // nil if nobody is told
	backfills []namedBackfill // of the workspaces that have one
	told      []*deliveredTypes
}

// New builds the process. It starts nothing. The observers get what the engine reports; the tracer
// may be nil.
func New(c *config.Config, list []config.NamedWorkspace, j storage.Journal, log *slog.Logger, tracer *trace.Tracer, watch ...engine.Observer) (*Process, error) {
	p := &Process{log: log, journal: j, busy: filepath.Dir(c.JournalPath()), now: c.Now, tracer: tracer, hooks: make(map[string]http.Handler), bodies: webhook.NewBodies()}
	p.metrics = newMetrics(j, c.JournalPath(), p.present)
	p.Recorder = &Recorder{
		tracer: tracer,
		write: func(ctx context.Context) error {
			return j.SetCursor(ctx, "ready", time.Now().UTC().Format(time.RFC3339))
		},
		fresh: func(e rules.Event) {
			p.metrics.recorded(e)
			p.Console.Recorded()
		},
	}
	p.metrics.ready = p.Recorder.ready
	owns := func(ctx context.Context, workspace string, m service.Message) (bool, error) {
		if alerts.IsAlert(m.ClientID) {
			return true, nil
		}
		return p.Engine.Owns(ctx, workspace, m.ID, m.ClientID)
	}
	shared := limiters(list)
	if c.Now != nil {
		shared = nil // an own limiter uses the client's clock
	}
	var workspaces []engine.Workspace
	for _, w := range list {
		u, err := NewUnit(c, w, shared[w.Name], owns, log)
		if err != nil {
			return nil, fmt.Errorf("workspace %s: %w", w.Name, err)
		}
		finds, err := p.addUnit(c, u)
		if err != nil {
			return nil, fmt.Errorf("workspace %s: %w", w.Name, err)
		}
		of := u.engineWorkspace()
		if !c.Alerts.None() {
			of.Safety.Alert = alerts.IsAlert
		}
		recovery(&of, finds)
		workspaces = append(workspaces, of)
	}
	var err error
	if p.Console, err = p.newConsole(c); err != nil {
		return nil, err
	}
	if err := p.addAlerts(c, p.Console.Attention()); err != nil {
		return nil, err
	}
	o := engine.Options{Journal: j, Keep: c.Keep, Logger: log, Observer: append(observers{p.metrics, runLog{log}, p.Console}, watch...)}
	if tracer != nil { // a nil *trace.Tracer would not be nil as an engine.Tracer
		o.Tracer = tracer
	}
	if p.Engine, err = engine.New(o, workspaces...); err != nil {
		return nil, err
	}
	p.Recorder.Accept = p.Engine.Accept
	return p, nil
}

// addUnit adds the event sources of a workspace: its webhook, its schedules, its rules, and returns
// its backfill, or nil.
func (p *Process) addUnit(c *config.Config, u *Unit) (*backfill.Source, error) {
	b := &Book{Workspace: u.Name, Path: u.RulesPath, Except: u.Except, Options: rules.Options{Catalog: u.Catalog, ReadFile: config.ReadBeside, People: u.People.Names()}, Log: p.log}
	finds, err := p.addBackfill(c, u, b)
	if err != nil {
		return nil, err
	}
	if err := p.subscribe(c, u, finds); err != nil {
		return nil, err
	}
	o := webhook.Options{
		Workspace: u.Name, Sink: p.Recorder.Record, Profile: u.Client.Profile(), Count: u.notesDelivery(wakes(p.metrics.deliveriesOf(u.Name), finds)), Logger: p.log,
		Bodies: p.bodies, Verified: trust,
		Secrets: func(time.Time) []service.Secret { return u.Service.Webhook.Secrets },
	}
	if u.subscription != nil {
		o.Secrets, o.Renew = u.subscription.Secrets, u.subscription.Renew
	} else if len(u.Service.Webhook.Secrets) == 0 {
		p.log.Warn("no signing secret is known, so every delivery is refused; set service.webhook.public_url, so that the webhook is looked after, or service.webhook.secrets", "workspace", u.Name)
	}
	hook, err := webhook.New(o)
	if err != nil {
		return nil, err
	}
	ticks, err := schedule.New(schedule.Options{Workspace: u.Name, Location: u.Timezone, Cursors: p.journal, Logger: p.log})
	if err != nil {
		return nil, err
	}
	b.Use = func(set *rules.Set) {
		if err := p.Engine.SetRules(u.Name, set); err != nil {
			p.log.Error("the rules cannot be used", "workspace", u.Name, "error", err)
		}
		ticks.SetRules(set)
		if u.subscription != nil {
			u.subscription.SetRules(set)
		}
		p.metrics.rulesOf(u.Name, set)
		b.public.Store(&console.Book{Set: set, Problems: b.Problems})
		p.noteRules(u.Name, set, b.content)
	}
	p.Units, p.Books, p.Sources, p.hooks[u.Name] = append(p.Units, u), append(p.Books, b), append(p.Sources, ticks), hook
	return finds, nil
}

// checkRules prints what is wrong with the rules as check does, and says no if there is an error.
func (p *Process) checkRules(cmd *cobra.Command) error {
	bad := false
	for _, b := range p.Books {
		r, err := b.Read()
		if err != nil {
			return err
		}
		set, problems := rules.Compile(r.files, b.Options)
		if problems = append(problems, r.Problems...).Sort(); problems.HasErrors() {
			bad = true
			report := cli.NewReport()
			report.Add(len(r.files), set, problems)
			report.WriteText(cmd.OutOrStdout(), cli.Language(cmd))
		}
	}
	if bad {
		return cli.ErrNo
	}
	return nil
}

// loadRules reads the rules of every workspace. A folder that has none is no error: they may come
// later.
func (p *Process) loadRules() error {
	for _, b := range p.Books {
		if _, err := b.Load(false, false); err != nil {
			return err
		}
	}
	return nil
}

// stopServing is how long in-flight answers may take after everything else has stopped.
const stopServing = 5 * time.Second

// run listens and works until ctx ends.
func (p *Process) run(ctx context.Context, c *config.Config) error {
	p.loadSecrets(ctx)
	public, err := Listen(ctx, "listen", c.Listen)
	if err != nil {
		return err
	}
	private, err := Listen(ctx, "console.listen", c.Console.Listen)
	if err != nil {
		return errors.Join(err, public.Close())
	}
	logAccess(c, p.log)
	return p.Serve(ctx, public, private, p.work)
}

// Serve serves both addresses and does the work until ctx ends. Then it refuses deliveries at once,
// finishes the work, and only after that closes the addresses.
func (p *Process) Serve(ctx context.Context, public, private net.Listener, work func(ctx context.Context, start func(func() error))) error {
	h := &health{ready: p.Recorder.ready}
	count := func(workspace string, o webhook.Outcome) {
		p.metrics.deliveries.WithLabelValues(workspace, string(o)).Inc()
	}
	nobody, err := unknownWorkspaceHandler(p.Units[0].Client.Profile(), p.bodies, p.log)
	if err != nil {
		return err
	}
	handlers := []http.Handler{incoming(publicHandler(h, p.hooks, nobody, count), p.tracer), consoleHandler(h, p.Console)}
	servers := []*http.Server{newPublicServer(strictTransport(handlers[0]), p.log), newServer(strictTransport(handlers[1]), p.log)}
	p.recordRunning(ctx, public.Addr().String(), private.Addr().String())
	servers[1].RegisterOnShutdown(p.Console.Close)
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
	public, private = boundConnections(public, servers[0], "listen", unverifiedIdle, p.log), boundConnections(private, servers[1], "console.listen", 0, p.log)
	for i, l := range []net.Listener{public, private} {
		start(&serving, func() error { return serve(servers[i], encrypted[i], l) })
	}
	start(&working, func() error { p.Console.Run(ctx); return nil })
	work(ctx, func(f func() error) { start(&working, f) })

	<-ctx.Done()
	h.stopping.Store(true)
	p.log.Info("stopping; what is under way is finished first")
	working.Wait()
	last, cancel := context.WithTimeout(context.Background(), stopServing)
	defer cancel()
	for _, s := range servers {
		if err := s.Shutdown(last); err != nil {
			_ = s.Close() // cuts off clients that are still connected
		}
	}
	serving.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	p.log.Info("stopped")
	return nil
}

// work starts everything that runs beside the servers.
func (p *Process) work(ctx context.Context, start func(func() error)) {
	start(func() error { return p.Engine.Run(ctx) })
	if p.certificates != nil {
		start(func() error { return p.certificates.run(ctx) })
	}
	if p.alerts != nil {
		start(func() error { p.alerts.Run(ctx); return nil })
	}
	for _, s := range p.Sources {
		start(func() error { return s.Run(ctx, p.Recorder.Record) })
	}
	for _, b := range p.backfills {
		start(func() error {
			p.Engine.Attends(ctx) // so that the first pass covers everything that was missed
			return b.Run(ctx)
		})
	}
	for _, t := range p.told {
		start(func() error { t.run(ctx); return nil })
	}
	for i, u := range p.Units {
		start(func() error { u.checkClock(ctx, p.log); return nil })
		start(func() error {
			u.tellUnreached(ctx, unreachedEvery, func() *rules.Set { return p.Books[i].shown().Set }, p.log)
			return nil
		})
		start(func() error { u.keepNames(ctx, p.journal, p.log); return nil })
		if u.subscription != nil {
			start(func() error { return u.subscription.Run(ctx) })
		}
	}
	start(func() error {
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		defer signal.Stop(hup)
		p.Watch(ctx, hup)
		return nil
	})
}

// Watch reloads the rules when their files change, and when it is asked to, until ctx ends.
func (p *Process) Watch(ctx context.Context, ask <-chan os.Signal) {
	(&watch{books: p.Books, log: p.log, ask: ask, busy: p.busy}).run(ctx)
}
