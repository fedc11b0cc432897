package main

import (
	"cmp"
	"context"
	"net/http"
	"os"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/schedule"
	"github.com/quandohq/quando/triggers/webhook"
)

// metrics count what happens, for Prometheus. Every label has a bounded number of values: what comes from outside is never one.
type metrics struct {
	registry *prometheus.Registry
	types    map[string]bool // of events that have a name of their own

	events, deliveries, found, verdicts, runs, calls *prometheus.CounterVec
	seconds                                          *prometheus.HistogramVec
	loaded, broken                                   *prometheus.GaugeVec
}

var _ engine.Observer = (*metrics)(nil)

// outcomes of deliveries. They are shown from the start, so that the first refusal is a rise.
var outcomes = []webhook.Outcome{
	webhook.Recorded, webhook.Duplicate, webhook.NoSecret, webhook.Unsigned, webhook.Forged, webhook.Stale, webhook.Early, webhook.TooLarge,
	webhook.NotAnEvent, webhook.Mismatch, webhook.Interrupted, webhook.Unavailable,
}

// newMetrics returns the metrics of a journal, in a file where there is one.
func newMetrics(journal engine.Reader, file string) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	gauge := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	}
	m := &metrics{
		registry:   prometheus.NewRegistry(),
		types:      map[string]bool{schedule.EventType: true, "manual": true, "webhook.test": true},
		events:     counter("quando_events_total", "Events recorded.", "workspace", "type"),
		deliveries: counter("quando_deliveries_total", "Webhook deliveries by what became of them.", "workspace", "outcome"),
		found:      counter("quando_found_total", "Events that no webhook told and that were found in the service.", "workspace", "type"),
		verdicts:   counter("quando_verdicts_total", "Verdicts of rules on events.", "workspace", "rule", "outcome", "stage"),
		runs:       counter("quando_runs_total", "Runs that began, and runs that ended by their last state.", "workspace", "rule", "state", "stage"),
		calls:      counter("quando_calls_total", "Calls of steps by what came of them.", "workspace", "verb", "result"),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "quando_call_seconds", Help: "How long calls of steps took.", Buckets: []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"workspace", "verb"}),
		loaded: gauge("quando_rules_loaded", "Rules in use.", "workspace"),
		broken: gauge("quando_rules_broken", "Rules that are not in use as they are written.", "workspace"),
	}
	for _, name := range rules.EventNames() {
		m.types[name] = true
	}
	build := gauge("quando_build_info", "What is running.", "version", "goversion")
	build.WithLabelValues(version(), runtime.Version()).Set(1)
	m.registry.MustRegister(
		m.events, m.deliveries, m.found, m.verdicts, m.runs, m.calls, m.seconds, m.loaded, m.broken, build,
		&standing{journal: journal, file: file}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// handler serves the metrics. What cannot be read at the moment is left out.
func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4, Timeout: 10 * time.Second})
}

// deliveriesOf returns what counts a workspace's deliveries.
func (m *metrics) deliveriesOf(workspace string) func(webhook.Outcome) {
	for _, o := range outcomes {
		m.deliveries.WithLabelValues(workspace, string(o))
	}
	return func(o webhook.Outcome) { m.deliveries.WithLabelValues(workspace, string(o)).Inc() }
}

// foundOf returns what counts the events of a workspace that were found.
func (m *metrics) foundOf(workspace string) func(string) {
	for _, name := range rules.EventNames() {
		if service.Findable(name) {
			m.found.WithLabelValues(workspace, name)
		}
	}
	return func(typ string) { m.found.WithLabelValues(workspace, m.typeOf(typ)).Inc() }
}

// passesOf shows when what webhooks did not tell was last looked for.
func (m *metrics) passesOf(workspace string, ended func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quando_backfill_ended_seconds", Help: "When what webhooks did not tell was last looked for, since 1970; 0 is never.", ConstLabels: prometheus.Labels{"workspace": workspace},
	}, func() float64 {
		if t := ended(); !t.IsZero() {
			return float64(t.Unix())
		}
		return 0
	}))
}

// recorded counts an event that is new.
func (m *metrics) recorded(e rules.Event) {
	m.events.WithLabelValues(e.Workspace, m.typeOf(e.Type)).Inc()
}

// typeOf bounds the types of events, which the service chooses.
func (m *metrics) typeOf(typ string) string {
	if m.types[typ] {
		return typ
	}
	return "other"
}

// rulesOf shows how many rules of a workspace are in use.
func (m *metrics) rulesOf(workspace string, set *rules.Set) {
	m.loaded.WithLabelValues(workspace).Set(float64(len(set.Rules)))
	m.broken.WithLabelValues(workspace).Set(float64(len(set.Broken)))
}

// Decided counts the verdicts.
func (m *metrics) Decided(e *engine.Event) {
	for _, v := range e.Verdicts {
		m.verdicts.WithLabelValues(e.Workspace, v.Rule, string(v.Outcome), string(cmp.Or(v.Stage, rules.Live))).Inc()
	}
}

// Began counts a run that began.
func (m *metrics) Began(r *engine.Run, _ *engine.Event) {
	m.runs.WithLabelValues(r.Workspace, r.Rule, "began", string(r.Stage)).Inc()
}

// Changed counts a run that has come to its end.
func (m *metrics) Changed(r *engine.Run) {
	if r.State.Finished() {
		m.runs.WithLabelValues(r.Workspace, r.Rule, string(r.State), string(r.Stage)).Inc()
	}
}

// Called counts a call and how long it took.
func (m *metrics) Called(workspace, verb string, took time.Duration, err error) {
	m.calls.WithLabelValues(workspace, verb, result(err)).Inc()
	m.seconds.WithLabelValues(workspace, verb).Observe(took.Seconds())
}

// Held and Lifted are not counted: what is stopped is asked of the journal, where others may stop something too.
func (m *metrics) Held(engine.Hold)   {}
func (m *metrics) Lifted(engine.Hold) {}

// result sums up what came of a call.
func result(err error) string {
	switch {
	case err == nil:
		return "ok"
	case actions.IsUncertain(err):
		return "uncertain"
	case actions.IsStale(err):
		return "stale"
	case actions.IsHeld(err):
		return "held"
	case actions.Wait(err) > 0:
		return "paused"
	case actions.IsPermanent(err):
		return "failed"
	}
	return "retry"
}

// standing collects how things stand in the journal when somebody looks.
type standing struct {
	journal engine.Reader
	file    string
}

var (
	runsNow      = prometheus.NewDesc("quando_runs", "Unfinished runs by their state.", []string{"state"}, nil)
	heldNow      = prometheus.NewDesc("quando_held", "1 for everything that is stopped; without a rule the whole workspace is, without a workspace everything.", []string{"workspace", "rule", "kind"}, nil)
	journalBytes = prometheus.NewDesc("quando_journal_bytes", "Size of the journal's files.", nil, nil)
)

// unfinished are the states that are shown, also when no run is in them.
var unfinished = []engine.State{engine.Queued, engine.Running, engine.Waiting, engine.Held, engine.Uncertain}

// Describe implements prometheus.Collector.
func (s *standing) Describe(ch chan<- *prometheus.Desc) {
	ch <- runsNow
	ch <- heldNow
	ch <- journalBytes
}

// Collect implements prometheus.Collector.
func (s *standing) Collect(ch chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if counts, err := s.journal.CountRuns(ctx, time.Now()); err != nil {
		ch <- prometheus.NewInvalidMetric(runsNow, err)
	} else {
		for _, state := range unfinished {
			ch <- prometheus.MustNewConstMetric(runsNow, prometheus.GaugeValue, float64(counts[state]), string(state))
		}
	}
	if holds, err := s.journal.Holds(ctx); err != nil {
		ch <- prometheus.NewInvalidMetric(heldNow, err)
	} else {
		for _, h := range holds {
			ch <- prometheus.MustNewConstMetric(heldNow, prometheus.GaugeValue, 1, h.Workspace, h.Rule, string(h.Kind))
		}
	}
	size := int64(0)
	for _, name := range []string{s.file, s.file + "-wal"} {
		if info, err := os.Stat(name); err == nil {
			size += info.Size()
		}
	}
	if size > 0 { // it is no file where it is a database
		ch <- prometheus.MustNewConstMetric(journalBytes, prometheus.GaugeValue, float64(size))
	}
}
