package engine_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// friday is ten to six, ten minutes before the office closes.
var friday = time.Date(2026, 11, 13, 17, 50, 0, 0, saoPaulo)

var saoPaulo = must(time.LoadLocation("America/Sao_Paulo"))

const ana, bia = "+5511988887777", "+5511977776666"

var atOnce = flag.Bool("at-once", false, "let the ticked desks decide on events as they arrive")

// A desk is a company in a sandbox with an engine that handles its events, all on one simulated
// clock.
type desk struct {
	*sandbox.Sandbox
	t       *testing.T
	address sandbox.Address
	clock   *desktest.Clock
	file    string
	options deskOptions
	set     *rules.Set

	mu      sync.Mutex
	sink    func(context.Context, ...rules.Event) ([]bool, error)
	journal *sqlite.Journal
	engine  *engine.Engine
	client  *service.Client
	key     service.Secret
	watch   *stateWatch
	arrived func() // waits for the visits of arriving events; nil if events are only recorded
	closed  func() // ends these visits
	from    int    // the effects before this index have been checked
}

// A fileJournal is a journal in a file, which allows events to be decided before they are recorded.
type fileJournal interface {
	journal.Journal
}

// deskOptions change how a desk is set up.
type deskOptions struct {
	safety    engine.Safety
	http      []builtin.HTTPHost
	journal   func(fileJournal) journal.Journal
	action    func(actions.Action) actions.Action
	profile   *service.Profile
	timeout   time.Duration     // of calls; 10 seconds by default
	deliver   http.RoundTripper // of the sandbox's deliveries
	transport http.RoundTripper // of the engine's calls
	tracer    engine.Tracer
	workers   int
	others    []engine.Workspace // besides the desk's own
	ahead     time.Duration      // of the service's clock, relative to ours
	recovery  time.Duration
	log       *slog.Logger
}

func newDesk(t *testing.T, text string, change ...func(*deskOptions)) *desk {
	t.Helper()
	if !*atOnce {
		desktest.InTurn(t, 6, "TestReloadsUnderLoad", "TestDeathAtEveryPoint", "TestFlakyJournal", "TestNobodyWaitsForCallThatIsOver", "TestVersionsDoNotWaitForEachOther", "TestWholeAtEveryMoment")
	}
	d := &desk{t: t, clock: desktest.NewClock(friday), file: filepath.Join(t.TempDir(), "journal.db")}
	for _, f := range change {
		f(&d.options)
	}
	d.Sandbox, d.address = desktest.Start(t, func(o *sandbox.Options) { o.Frozen, o.Transport = friday.Add(d.options.ahead), d.options.deliver })
	d.key = service.Secret(d.address.APIKey)
	d.set = desktest.Compile(t, text)
	d.watch = &stateWatch{t: t, drawn: transitions(t), last: make(map[string]seenRun)}
	d.open()
	t.Cleanup(func() { _ = d.journal.Close() })
	d.register()
	d.effects()
	return d
}

// open makes an engine on the journal, as at a start.
func (d *desk) open() {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.journal = must(sqlite.Open(d.t.Context(), d.file, sqlite.Options{}))
	var journal journal.Journal = d.journal
	if d.options.journal != nil {
		journal = d.options.journal(d.journal)
	}
	var transport http.RoundTripper = &http.Transport{DisableKeepAlives: true}
	if d.options.transport != nil {
		transport = d.options.transport
	}
	d.client = must(service.New(service.Options{
		BaseURL: d.address.BaseURL, APIKey: d.key, Now: d.clock.Now, MaxWait: -1, Allow: actions.MayCall, Timeout: 5 * time.Second, Profile: d.options.profile,
		Transport: transport,
	}))
	var wrap []func(actions.Action) actions.Action
	if d.options.action != nil {
		wrap = append(wrap, d.options.action)
	}
	w := desktest.Workspace(builtin.Options{Client: d.client, HTTP: d.options.http, Location: saoPaulo}, func() *engine.Engine { return d.engine }, wrap...)
	w.Safety, w.Timeout, w.Recovery = d.options.safety, d.options.timeout, d.options.recovery
	d.engine = must(engine.New(engine.Options{Logger: d.options.log, Journal: journal, Observer: d.watch, Tracer: d.options.tracer, Workers: d.options.workers}, append([]engine.Workspace{w}, d.options.others...)...))
	if err := d.engine.SetRules("default", d.set); err != nil {
		d.t.Fatal(err)
	}
	d.sink = d.engine.Accept
	if *atOnce {
		d.arrived, d.closed = d.engine.DecideAtOnce(d.clock.Now)
	}
}

// onlyRecord makes the engine record arriving events without deciding them.
func (d *desk) onlyRecord() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.sink = func(ctx context.Context, events ...rules.Event) ([]bool, error) { return d.journal.Accept(ctx, events) }
}

// restart kills the engine like a power failure, and starts another on the same journal.
func (d *desk) restart() {
	d.t.Helper()
	if err := d.journal.Close(); err != nil {
		d.t.Fatal(err)
	}
	d.open()
}

// register makes the sandbox deliver its events here, like the service's webhook.
func (d *desk) register() {
	d.t.Helper()
	desktest.Register(d.t, d.client, vocabulary.EventTypes(), d.clock.Now, func(ctx context.Context, events ...rules.Event) ([]bool, error) {
		d.mu.Lock()
		sink := d.sink
		d.mu.Unlock()
		return sink(ctx, events...)
	})
}

// rest does everything that is due now, and everything that follows from it now.
func (d *desk) rest() {
	d.t.Helper()
	for range 100 {
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		if d.arrived != nil {
			d.arrived()
		}
		before := len(d.Effects())
		next, err := d.engine.Tick(d.t.Context(), d.clock.Now())
		if err != nil {
			d.t.Fatalf("tick: %v", err)
		}
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		if len(d.Effects()) == before && (next.IsZero() || next.After(d.clock.Now())) && d.quiet() {
			return
		}
	}
	d.t.Fatal("it does not come to rest")
}

// quiet reports whether nothing more is due now.
func (d *desk) quiet() bool {
	due := must(d.journal.Due(d.t.Context(), nil))
	return due.IsZero() || due.After(d.clock.Now()) || len(must(d.journal.Holds(d.t.Context()))) > 0
}

// pass advances the clock step by step, and does everything that is due on the way at its own time.
func (d *desk) pass(length time.Duration) {
	d.t.Helper()
	d.passTo(d.clock.Now().Add(length))
}

func (d *desk) passTo(end time.Time) {
	d.t.Helper()
	for {
		d.rest()
		next, err := d.engine.Tick(d.t.Context(), d.clock.Now())
		if err != nil {
			d.t.Fatal(err)
		}
		if next.IsZero() || next.After(end) {
			break
		}
		d.move(next)
	}
	d.move(end)
	d.rest()
}

func (d *desk) move(to time.Time) {
	d.t.Helper()
	if !to.After(d.clock.Now()) {
		return
	}
	if _, err := d.SetClock(d.t.Context(), to.Add(d.options.ahead)); err != nil {
		d.t.Fatal(err)
	}
	d.clock.Set(to)
}

// customer lets a customer write, and waits until everything that follows is done.
func (d *desk) customer(phone, text string) sandbox.Written {
	d.t.Helper()
	name := "Ana Lima"
	if phone != ana {
		name = "Bia Reis"
	}
	w := must(d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: name, Text: text}))
	d.rest()
	return w
}

// effects describes what was done to the service since the last check.
func (d *desk) effects() []string {
	d.t.Helper()
	list := d.Effects()
	defer func() { d.from = len(list) }()
	out := []string{}
	for _, e := range list[d.from:] {
		var request map[string]any
		_ = json.Unmarshal(e.Request, &request)
		words := []string{e.Operation}
		if text, ok := request["text"].(string); ok {
			words = append(words, text)
		}
		if reason, ok := request["reason"].(string); ok {
			words = append(words, reason)
		}
		out = append(out, strings.Join(words, " "))
	}
	return out
}

// expect compares what was done to the service since the last check.
func (d *desk) expect(want ...string) {
	d.t.Helper()
	if got := d.effects(); !slices.Equal(got, want) {
		d.t.Errorf("effects:\n  %s\nwant:\n  %s\n%s", strings.Join(got, "\n  "), strings.Join(want, "\n  "), d.trace())
	}
}

// expectInAnyOrder is expect for effects on several conversations.
func (d *desk) expectInAnyOrder(want ...string) {
	d.t.Helper()
	got := d.effects()
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		d.t.Errorf("effects:\n  %s\nwant:\n  %s\n%s", strings.Join(got, "\n  "), strings.Join(want, "\n  "), d.trace())
	}
}

const (
	send      = "POST /conversations/{id}/messages "
	transfers = "POST /conversations/{id}/transfer "
	closes    = "POST /conversations/{id}/attendance/close "
	patches   = "PATCH /conversations/{id}"
	moves     = "POST /kanban/cards/{id}/move"
)

// runs returns the runs of a rule in the order in which they began.
func (d *desk) runs(rule string) []*journal.Run {
	d.t.Helper()
	list := must(d.journal.ListRuns(d.t.Context(), journal.RunFilter{Rule: rule}))
	slices.Reverse(list)
	return list
}

// states returns the states of a rule's runs.
func (d *desk) states(rule string) []journal.State {
	states := []journal.State{}
	for _, r := range d.runs(rule) {
		states = append(states, r.State)
	}
	return states
}

// wantStates compares the states of a rule's runs.
func (d *desk) wantStates(rule string, want ...journal.State) {
	d.t.Helper()
	if got := d.states(rule); !slices.Equal(got, want) {
		d.t.Errorf("runs of %s are %v, want %v\n%s", rule, got, want, d.trace())
	}
}

// outcomes returns the verdicts that a rule gave, in the order of the events.
func (d *desk) outcomes(rule string) []journal.Outcome {
	d.t.Helper()
	list := must(d.journal.ListEvents(d.t.Context(), journal.EventFilter{Rule: rule, Limit: 1000}))
	slices.Reverse(list)
	out := []journal.Outcome{}
	for _, e := range list {
		for _, v := range e.Verdicts {
			if v.Rule == rule {
				out = append(out, v.Outcome)
			}
		}
	}
	return out
}

// trace returns what is in the journal, for failures.
func (d *desk) trace() string {
	var b strings.Builder
	for _, e := range must(d.journal.ListEvents(context.Background(), journal.EventFilter{})) {
		fmt.Fprintf(&b, "event %d %s %s decided=%v", e.Seq, e.Type, e.Lane, e.Decided)
		for _, v := range e.Verdicts {
			fmt.Fprintf(&b, " %s=%s(%s%s %v)", v.Rule, v.Outcome, v.Clause, v.Error, v.Values)
		}
		b.WriteString("\n")
	}
	for _, r := range must(d.journal.ListRuns(context.Background(), journal.RunFilter{})) {
		fmt.Fprintf(&b, "run %d %s %s %s reason=%q wake=%s lane=%s\n", r.ID, r.Rule, r.State, r.Stage, r.Reason, r.WakeAt, r.Lane)
		for _, s := range r.Steps {
			fmt.Fprintf(&b, "  %s %s %s attempts=%d error=%q %s\n", s.Path, s.Verb, s.State, s.Attempts, s.Error, s.Record)
		}
	}
	return b.String()
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
