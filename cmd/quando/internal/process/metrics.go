package process

import (
	"cmp"
	"context"
	"net/http"
	"runtime"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/schedule"
	"github.com/quandohq/quando/triggers/webhook"
)

// metrics count for Prometheus. Every label has a bounded number of values: none comes from
// outside.
type metrics struct {
	registry *prometheus.Registry
	types    map[string]bool // of events that have a name of their own

	events, deliveries, found, verdicts, runs, calls, repairs *prometheus.CounterVec
	seconds, age, lag                                         *prometheus.HistogramVec
	loaded, broken                                            *prometheus.GaugeVec
	webhooks                                                  *webhookMetrics

	now     func() time.Time            // that events live in
	ready   func(context.Context) error // why events cannot be recorded; nil if unknown
	expires func() time.Time            // when the first certificate does; nil is that there is none
}

var _ engine.Observer = (*metrics)(nil)

// outcomes of deliveries. They are shown from the start, so that the first refusal is an increase.
var outcomes = []webhook.Outcome{
	webhook.Recorded, webhook.Duplicate, webhook.NoSecret, webhook.Unsigned, webhook.Forged, webhook.Stale, webhook.Early, webhook.TooLarge,
	webhook.NotAnEvent, webhook.Mismatch, webhook.Interrupted, webhook.Crowded, webhook.Unavailable,
}

// delays are the buckets of what takes a moment when all is well, and hours when it is not.
var delays = []float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 4 * 3600, 24 * 3600}

// newMetrics returns the metrics of a journal, in a file where there is one.
func newMetrics(j storage.Journal, file string, now func() time.Time) *metrics {
	histogram := func(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	}
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
		seconds:    histogram("quando_call_seconds", "How long calls of steps took.", []float64{.01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "workspace", "verb"),
		age:        histogram("quando_delivery_age_seconds", "How old events were when they were recorded.", delays, "workspace"),
		lag:        histogram("quando_decide_seconds", "How long events waited from being recorded to their verdicts.", delays, "workspace"),
		repairs:    counter("quando_webhook_repairs_total", "What was not as it should be with the webhook, and was mended.", "workspace", "repair"),
		loaded:     gauge("quando_rules_loaded", "Rules in use.", "workspace"),
		broken:     gauge("quando_rules_broken", "Rules that are not in use as they are written.", "workspace"),
		now:        now,
	}
	for _, name := range vocabulary.EventTypes() {
		m.types[name] = true
	}
	m.webhooks = &webhookMetrics{}
	build := gauge("quando_build_info", "What is running.", "version", "goversion")
	build.WithLabelValues(cli.Version(), runtime.Version()).Set(1)
	m.registry.MustRegister(
		m.events, m.deliveries, m.found, m.verdicts, m.runs, m.calls, m.seconds, m.age, m.lag, m.loaded, m.broken, m.repairs, m.webhooks, build,
		&stateCollector{metrics: m, journal: j, file: file}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
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
	for _, name := range vocabulary.EventTypes() {
		if service.Findable(name) {
			m.found.WithLabelValues(workspace, name)
		}
	}
	return func(typ string) { m.found.WithLabelValues(workspace, m.typeOf(typ)).Inc() }
}

// passesOf adds the time of the last backfill pass.
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

// recorded counts a new event.
func (m *metrics) recorded(e rules.Event) {
	m.events.WithLabelValues(e.Workspace, m.typeOf(e.Type)).Inc()
	m.age.WithLabelValues(e.Workspace).Observe(max(0, e.ReceivedAt.Sub(e.CreatedAt).Seconds()))
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

// Decided counts the verdicts, and how long the event waited for them. What a rule has gathered was
// to wait.
func (m *metrics) Decided(e *journal.Event) {
	gathered := slices.ContainsFunc(e.Verdicts, func(v journal.Verdict) bool { return e.Answers[journal.GatherNow(v.Rule)] != nil })
	if !gathered {
		m.lag.WithLabelValues(e.Workspace).Observe(max(0, m.now().Sub(e.ReceivedAt).Seconds()))
	}
	for _, v := range e.Verdicts {
		m.verdicts.WithLabelValues(e.Workspace, v.Rule, string(v.Outcome), string(cmp.Or(v.Stage, rules.Live))).Inc()
	}
}

// Began counts a run that began.
func (m *metrics) Began(r *journal.Run, _ *journal.Event) {
	m.runs.WithLabelValues(r.Workspace, r.Rule, "began", string(r.Stage)).Inc()
}

// Changed counts a finished run.
func (m *metrics) Changed(r *journal.Run) {
	if r.State.Finished() {
		m.runs.WithLabelValues(r.Workspace, r.Rule, string(r.State), string(r.Stage)).Inc()
	}
}

// Called counts a call and how long it took.
func (m *metrics) Called(workspace, verb string, took time.Duration, err error) {
	m.calls.WithLabelValues(workspace, verb, actions.Sum(err)).Inc()
	m.seconds.WithLabelValues(workspace, verb).Observe(took.Seconds())
}

// Held and Lifted are not counted: a scrape reads the holds from the journal, where other processes
// may place some too.
func (m *metrics) Held(journal.Hold)   {}
func (m *metrics) Lifted(journal.Hold) {}
