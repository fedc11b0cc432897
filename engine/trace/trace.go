// Package trace exports one OpenTelemetry trace per event, from its delivery to each call.
package trace

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// Options configure a Tracer. Only the collector's address is required, here or in the environment.
type Options struct {
	// Endpoint is the address of the collector, to which /v1/traces is added. Where it is empty
	// OTEL_EXPORTER_OTLP_TRACES_ENDPOINT and OTEL_EXPORTER_OTLP_ENDPOINT say it.
	Endpoint string
	Version  string       // of what is traced
	Logger   *slog.Logger // logs when the collector is unreachable; nil means no log
}

// A Tracer turns what the engine reports into spans and sends them in the background. It drops what
// the collector does not accept: nothing waits for it.
//
// The ids of a trace come from its event, and those of a run and a step from their keys. So what
// happens after a wait, a restart or in another engine belongs to the same trace, and nothing has
// to be stored for it.
type Tracer struct {
	provider *sdk.TracerProvider
	tracer   trace.Tracer
}

var _ engine.Tracer = (*Tracer)(nil)

// New returns a tracer, or nil if no collector is configured, or the environment disables traces.
func New(ctx context.Context, o Options) (*Tracer, error) {
	s, err := settingsOf(o.Endpoint)
	if s == nil || err != nil {
		return nil, err
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	exporter, err := otlptrace.New(ctx, &client{settings: *s, log: o.Logger})
	if err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	// The client logs a problem once; the library would log every attempt, on standard error.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.Debug("traces", "error", err) }))
	about := resource.NewSchemaless(attribute.String("service.name", "quando"), attribute.String("service.version", o.Version))
	// The environment's OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES come last, so they count.
	if said, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithFromEnv()); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	} else if about, err = resource.Merge(about, said); err != nil {
		return nil, fmt.Errorf("traces: %w", err)
	}
	p := sdk.NewTracerProvider(
		sdk.WithBatcher(exporter), sdk.WithIDGenerator(ids{}), sdk.WithResource(about),
		// The share is taken by the trace's id alone, so that every engine and every start takes the same
		// traces.
		sdk.WithSampler(sdk.TraceIDRatioBased(s.share)),
	)
	return &Tracer{provider: p, tracer: p.Tracer("github.com/quandohq/quando", trace.WithInstrumentationVersion(o.Version))}, nil
}

// Close sends what has not been sent yet.
func (t *Tracer) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Incoming returns a request with the sender's trace context, from its traceparent.
func (t *Tracer) Incoming(r *http.Request) *http.Request {
	return r.WithContext(propagation.TraceContext{}.Extract(r.Context(), propagation.HeaderCarrier(r.Header)))
}

// Delivered reports an event that was to be recorded. It is the trace's first span or, for a
// duplicate, a further one. It links the sender's trace, if ctx has one.
func (t *Tracer) Delivered(ctx context.Context, e *rules.Event, fresh bool, err error) {
	if isInternal(e) {
		return
	}
	links := trace.WithLinks()
	if sender := trace.SpanContextFromContext(ctx); sender.IsValid() {
		links = trace.WithLinks(trace.Link{SpanContext: sender})
	}
	about := append(eventAttributes(e), attribute.Bool("quando.duplicate", err == nil && !fresh))
	s := span{name: "delivery", kind: trace.SpanKindConsumer, trace: traceOf(e), attributes: about, began: e.ReceivedAt, ended: time.Now(), failed: err != nil}
	if e.Type == "schedule" {
		s.name = "tick"
	}
	if s.id = s.trace.root; err != nil || !fresh {
		s.id, s.parent = trace.SpanID{}, s.trace.root
	}
	t.emit(s, links)
}

// isInternal reports whether an event is recorded without a delivery: a manual one, and each item
// of a tick's list.
func isInternal(e *rules.Event) bool {
	return e.Type == "manual" || e.Type == "schedule" && len(e.Data) > 0
}

// Trace turns what the engine reports into a span. It exports only ids, names of rules and verbs,
// and states; no texts, names, phones or errors.
func (t *Tracer) Trace(p engine.Part) {
	e := &p.Event.Event
	s := span{name: string(p.Kind), kind: trace.SpanKindInternal, trace: traceOf(e), attributes: eventAttributes(e), began: p.Began, ended: p.Ended}
	s.parent = s.trace.root
	add := func(list ...attribute.KeyValue) { s.attributes = append(s.attributes, list...) }
	if p.Kind == engine.PartMatch {
		if isInternal(e) {
			t.emit(span{name: "event", kind: trace.SpanKindInternal, trace: s.trace, id: s.trace.root, attributes: s.attributes, began: e.ReceivedAt, ended: p.Began})
		}
		add(verdicts(p.Event)...)
		t.emit(s)
		return
	}
	add(attribute.String("quando.rule", p.Run.Rule), attribute.Int64("quando.run", p.Run.ID), attribute.String("quando.stage", string(p.Run.Stage)))
	switch p.Kind {
	case engine.PartRun:
		s.name, s.id = "run "+p.Run.Rule, spanOf("run", p.Run.Key, p.RunAgain)
		s.failed = p.Run.State == journal.FailedRun
		add(attribute.String("quando.state", string(p.Run.State)))
	case engine.PartStep:
		s.name, s.id, s.parent = "step "+p.Step.Verb, spanOf("step", p.Step.Key, p.StepAgain), spanOf("run", p.Run.Key, p.RunAgain)
		s.failed = p.Step.State == journal.StepFailed || p.Step.State == journal.StepUncertain
		add(attribute.String("quando.state", string(p.Step.State)))
	default:
		s.name, s.parent = string(p.Kind)+" "+p.Call, spanOf("step", p.Step.Key, p.StepAgain)
		s.kind, s.failed = trace.SpanKindClient, p.Err != nil
		add(attribute.String("quando.result", actions.Sum(p.Err)))
	}
	if p.Step != nil {
		add(attribute.String("quando.step", p.Step.Path), attribute.String("quando.verb", p.Step.Verb), attribute.Int("quando.attempts", p.Step.Attempts))
	}
	t.emit(s)
}

// eventAttributes say which event it is.
func eventAttributes(e *rules.Event) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("quando.workspace", e.Workspace), attribute.String("quando.event", e.ID), attribute.String("quando.event.type", e.Type),
	}
}

// verdicts say what each rule made of an event.
func verdicts(e *journal.Event) []attribute.KeyValue {
	list, fired := make([]string, 0, len(e.Verdicts)), 0
	for _, v := range e.Verdicts {
		list = append(list, v.Rule+": "+string(v.Outcome))
		if v.Outcome == journal.Fired {
			fired++
		}
	}
	return []attribute.KeyValue{attribute.Int("quando.fired", fired), attribute.StringSlice("quando.verdicts", list)}
}

// A span is a finished one.
type span struct {
	name         string
	kind         trace.SpanKind
	trace        traceIDs
	id, parent   trace.SpanID // no id is a random one; no parent is the first of its trace
	attributes   []attribute.KeyValue
	began, ended time.Time
	failed       bool
}

// emit passes a span to the exporter.
func (t *Tracer) emit(s span, options ...trace.SpanStartOption) {
	ctx := withIDs(context.Background(), s.trace.id, s.id)
	if s.parent.IsValid() {
		ctx = trace.ContextWithRemoteSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{TraceID: s.trace.id, SpanID: s.parent, TraceFlags: trace.FlagsSampled, Remote: true}))
	}
	options = append(options, trace.WithTimestamp(s.began), trace.WithSpanKind(s.kind), trace.WithAttributes(s.attributes...))
	_, made := t.tracer.Start(ctx, s.name, options...)
	if s.failed {
		made.SetStatus(codes.Error, "")
	}
	if s.ended.Before(s.began) { // two machines' clocks may differ
		s.ended = s.began
	}
	made.End(trace.WithTimestamp(s.ended))
}
