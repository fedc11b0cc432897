package trace

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A collector accepts spans, or sends preset answers first.
type collector struct {
	*httptest.Server
	mu      sync.Mutex
	answers []int
	asked   []*http.Request
	spans   []*otlp.Span
}

func newCollector(t *testing.T, answers ...int) *collector {
	c := &collector{answers: answers}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.asked = append(c.asked, r)
		if len(c.answers) > 0 {
			w.WriteHeader(c.answers[0])
			c.answers = c.answers[1:]
			return
		}
		var body io.Reader = r.Body
		if r.Header.Get("Content-Encoding") == "gzip" {
			body, _ = gzip.NewReader(r.Body)
		}
		raw, err := io.ReadAll(body)
		var data otlp.TracesData
		if err = errors.Join(err, proto.Unmarshal(raw, &data)); err != nil {
			t.Error(err)
		}
		for _, rs := range data.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func newTracer(t *testing.T, o Options) *Tracer {
	t.Helper()
	tracer, err := New(t.Context(), o)
	if err != nil || tracer == nil {
		t.Fatal(tracer, err)
	}
	return tracer
}

func event(id, typ string) *journal.Event {
	return &journal.Event{Event: rules.Event{Workspace: "acme", ID: id, Type: typ, ReceivedAt: time.Now()}}
}

// TestOff shows that nothing is traced without a configured collector.
func TestOff(t *testing.T) {
	for _, tt := range []struct{ endpoint, name, value string }{
		{}, {"", "OTEL_SERVICE_NAME", "desk"}, {"http://localhost:4318", "OTEL_SDK_DISABLED", "true"}, {"http://localhost:4318", "OTEL_TRACES_EXPORTER", "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name != "" {
				t.Setenv(tt.name, tt.value)
			}
			if tracer, err := New(t.Context(), Options{Endpoint: tt.endpoint}); tracer != nil || err != nil {
				t.Error(tracer, err)
			}
		})
	}
}

// TestEnvironment shows that the standard environment says where traces go and how, and that what
// the configuration says counts more.
func TestEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://one:4318/")
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x-tenant = acme")
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "2500")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "gzip")
	t.Setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
	s, err := settingsOf("")
	if err != nil {
		t.Fatal(err)
	}
	if s.endpoint != "http://one:4318/v1/traces" || s.headers.Get("Api-Key") != "a b" || s.headers.Get("X-Tenant") != "acme" || s.timeout != 2500*time.Millisecond || !s.gzip || s.share != 0.25 {
		t.Errorf("%+v", s)
	}
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://two:4318/spans")
	if s, _ := settingsOf(""); s.endpoint != "http://two:4318/spans" {
		t.Error(s.endpoint)
	}
	if s, _ := settingsOf("http://three:4318"); s.endpoint != "http://three:4318/v1/traces" {
		t.Error(s.endpoint)
	}
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "localhost:4318", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TIMEOUT": "soon",
		"OTEL_TRACES_SAMPLER": "jaeger_remote", "OTEL_TRACES_SAMPLER_ARG": "2",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := New(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), value) {
				t.Errorf("%v", err)
			}
		})
	}
}

// TestDeliveries shows where each kind of event's trace begins, that a duplicate is a second span
// of it, and that the sender's trace is linked.
func TestDeliveries(t *testing.T) {
	c := newCollector(t)
	tracer := newTracer(t, Options{Endpoint: c.URL})
	r := httptest.NewRequest("POST", "/webhook", nil)
	r.Header.Set("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	ctx := tracer.Incoming(r).Context()
	one, tick, manual := event("e1", "message.received"), event("r/2026-11-13T17:50:00Z", "schedule"), event("manual/1", "manual")
	tracer.Delivered(ctx, &one.Event, true, nil)
	tracer.Delivered(t.Context(), &one.Event, false, nil)
	tracer.Delivered(t.Context(), &one.Event, false, errors.New("the disk is full"))
	tracer.Delivered(t.Context(), &tick.Event, true, nil)
	tracer.Delivered(t.Context(), &manual.Event, true, nil)
	tracer.Trace(engine.Part{Kind: engine.PartMatch, Event: manual, Began: time.Now(), Ended: time.Now()})
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	var got []string
	first := make(map[string][]byte) // spans by trace
	for _, s := range c.spans {
		line := s.Name
		if len(s.ParentSpanId) == 0 {
			first[string(s.TraceId)] = s.SpanId
		} else if bytes.Equal(s.ParentSpanId, first[string(s.TraceId)]) {
			line = "  " + line
		} else {
			line = "lost " + line
		}
		if len(s.Links) > 0 {
			line += fmt.Sprintf(" linked to %x", s.Links[0].TraceId)
		}
		if s.Status.GetCode() == otlp.Status_STATUS_CODE_ERROR {
			line += " failed"
		}
		got = append(got, line)
	}
	want := []string{"delivery linked to 0af7651916cd43dd8448eb211c80319c", "  delivery", "  delivery failed", "tick", "event", "  match"}
	if diff := cmp.Diff(want, got); diff != "" || len(first) != 3 {
		t.Errorf("%d traces (-want +got)\n%s", len(first), diff)
	}
}

// TestShare shows that a share of the traces is whole: all spans of an event are sent, or none.
func TestShare(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "traceidratio")
	t.Setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
	c := newCollector(t)
	tracer := newTracer(t, Options{Endpoint: c.URL})
	for i := range 100 {
		e := event(fmt.Sprint(i), "message.received")
		tracer.Delivered(t.Context(), &e.Event, true, nil)
		tracer.Trace(engine.Part{Kind: engine.PartMatch, Event: e, Began: time.Now(), Ended: time.Now()})
	}
	if err := tracer.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	traces := make(map[string]int)
	for _, s := range c.spans {
		traces[string(s.TraceId)]++
	}
	for _, n := range traces {
		if n != 2 {
			t.Errorf("a trace of %d spans", n)
		}
	}
	if len(traces) < 25 || len(traces) > 75 {
		t.Errorf("%d of 100 traces", len(traces))
	}
}

// TestCollectorInTrouble shows that a busy collector gets a retry, with the same headers, and that
// lost spans are logged once.
func TestCollectorInTrouble(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=open-sesame")
	t.Setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
	c := newCollector(t, 503, 400, 400)
	var log bytes.Buffer
	tracer := newTracer(t, Options{Endpoint: strings.Replace(c.URL, "://", "://quando:open-sesame@", 1), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		tracer.Delivered(t.Context(), &event("e", "message.received").Event, true, nil)
		_ = tracer.provider.ForceFlush(t.Context())
	}
	if len(c.asked) != 4 || len(c.spans) != 1 {
		t.Errorf("asked %d times, %d spans", len(c.asked), len(c.spans))
	}
	for _, r := range c.asked {
		if r.Header.Get("Api-Key") != "open-sesame" {
			t.Error(r.Header)
		}
	}
	if text := log.String(); strings.Count(text, "traces are lost") != 1 || strings.Count(text, "takes traces again") != 1 || strings.Contains(text, "sesame") {
		t.Error(text)
	}
}
