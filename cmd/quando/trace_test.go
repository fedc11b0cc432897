package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector receives spans as OTLP over HTTP.
type collector struct {
	*httptest.Server
	mu     sync.Mutex
	bodies bytes.Buffer // everything that came, as it came
	about  map[string]string
	spans  []*otlp.Span
}

func newCollector(t *testing.T) *collector {
	c := &collector{about: make(map[string]string)}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var data otlp.TracesData
		if err == nil {
			err = proto.Unmarshal(body, &data)
		}
		if err != nil || r.Header.Get("Content-Type") != "application/x-protobuf" {
			t.Errorf("%v of %s", err, r.Header)
			http.Error(w, "not OTLP", http.StatusBadRequest)
			return
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.bodies.Write(body)
		for _, rs := range data.ResourceSpans {
			for _, a := range rs.Resource.Attributes {
				c.about[a.Key] = a.Value.GetStringValue()
			}
			for _, ss := range rs.ScopeSpans {
				c.spans = append(c.spans, ss.Spans...)
			}
		}
	})
	c.Server = httptest.NewServer(mux)
	t.Cleanup(c.Close)
	return c
}

// attribute returns an attribute of a span as a text.
func attribute(s *otlp.Span, key string) string {
	for _, a := range s.Attributes {
		if a.Key == key {
			if list := a.Value.GetArrayValue(); list != nil {
				var texts []string
				for _, v := range list.Values {
					texts = append(texts, v.GetStringValue())
				}
				return strings.Join(texts, ", ")
			}
			if a.Value.GetStringValue() != "" {
				return a.Value.GetStringValue()
			}
			return fmt.Sprint(a.Value.GetIntValue())
		}
	}
	return ""
}

// tree draws the trace of the event of a type, one line for each span below the one that it belongs
// to. There must be one such trace.
func (c *collector) tree(t *testing.T, typ string) (lines []string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	below := make(map[string][]*otlp.Span)
	seen := make(map[string]bool)
	var id string
	for _, s := range c.spans {
		if attribute(s, "quando.event.type") != typ {
			continue
		}
		if id == "" {
			id = string(s.TraceId)
		}
		if string(s.TraceId) != id || seen[string(s.SpanId)] {
			t.Errorf("the span %s belongs to another trace, or comes twice", s.Name)
		}
		if s.EndTimeUnixNano < s.StartTimeUnixNano || time.Since(time.Unix(0, int64(s.StartTimeUnixNano))) > time.Hour {
			t.Errorf("the span %s goes from %d to %d", s.Name, s.StartTimeUnixNano, s.EndTimeUnixNano)
		}
		seen[string(s.SpanId)] = true
		below[string(s.ParentSpanId)] = append(below[string(s.ParentSpanId)], s)
	}
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		list := below[parent]
		slices.SortStableFunc(list, func(a, b *otlp.Span) int { return int(a.StartTimeUnixNano) - int(b.StartTimeUnixNano) })
		for _, s := range list {
			line := indent + s.Name
			for _, key := range []string{"quando.step", "quando.state", "quando.result", "quando.attempts", "quando.verdicts"} {
				if v := attribute(s, key); v != "" {
					line += " " + v
				}
			}
			lines = append(lines, line)
			draw(string(s.SpanId), indent+"  ")
		}
	}
	draw("", "")
	if len(lines) != len(seen) {
		t.Errorf("%d of %d spans hang below none", len(seen)-len(lines), len(seen))
	}
	return lines
}

// TestTrace follows one event from its delivery to each call, across a wait and a restart, at a
// collector. What customers say stays here.
func TestTrace(t *testing.T) {
	c := newCollector(t)
	t.Setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=test")
	o := newOffice(t)
	o.write("rules/r.yaml", `
rules:
  - id: greet
    when: message.received
    if: 'message.text != "bye"'
    do:
      - send_message: "Welcome {{ contact.name }}"
      - wait: 3s
      - choose:
          - { if: 'contact.name == "Ana"', do: [{ set_labels: { labels: [vip] } }] }
      - { log: done, if: "false" }
  - { id: other, when: message.received, if: 'message.text contains "bye"', do: [{ log: x }] }
`)
	config := o.service() + "\ntraces: { endpoint: \"" + c.URL + "\" }"
	o.start(config)
	o.writes("+5511988887777", "secret-words")
	waiting := func(state string, n int) {
		o.shows(fmt.Sprintf(`quando_runs{state=%q} %d`, state, n))
	}
	waiting("waiting", 1)
	o.stop()
	o.start(config)
	o.shows(`quando_runs_total{rule="greet",stage="live",state="done",workspace="default"} 1`)
	o.stop()
	want := []string{
		"delivery",
		"  match greet: fired, other: false",
		"  run greet done",
		"    step send_message 1 done 1",
		"      call send 1 ok 1",
		"    step wait 2 done 0",
		"    step choose 3 done 0",
		"    step set_labels 3.1.1 done 1",
		"      call patch_conversation 3.1.1 ok 1",
		"    step log 4 skipped 0",
	}
	if diff := cmp.Diff(want, c.tree(t, "message.received")); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, private := range []string{"secret-words", "Welcome", "Ana", "5511988887777", "988887777", string(o.secret), o.address.APIKey} {
		if bytes.Contains(c.bodies.Bytes(), []byte(private)) {
			t.Errorf("%q was sent to the collector", private)
		}
	}
	if c.about["service.name"] != "quando" || c.about["deployment.environment"] != "test" {
		t.Error(c.about)
	}
}
