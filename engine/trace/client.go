package trace

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	otlp "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A client sends spans to a collector as OTLP over HTTP. The library's own client for it would
// bring gRPC into the program, which is not spoken here.
type client struct {
	settings
	log     *slog.Logger
	failing atomic.Bool
}

var _ otlptrace.Client = (*client)(nil)

// Start implements otlptrace.Client. A collector may come up later.
func (c *client) Start(context.Context) error { return nil }

// Stop implements otlptrace.Client.
func (c *client) Stop(context.Context) error { return nil }

// UploadTraces sends spans. It retries until the timeout if the collector is busy.
func (c *client) UploadTraces(ctx context.Context, spans []*otlp.ResourceSpans) error {
	// TracesData is on the wire what the collector's ExportTraceServiceRequest is.
	body, err := proto.Marshal(&otlp.TracesData{ResourceSpans: spans})
	if err != nil {
		return err
	}
	if c.gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, _ = w.Write(body) // memory takes everything
		_ = w.Close()
		body = packed.Bytes()
	}
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	for pause := time.Second / 4; ; pause *= 2 {
		again, err := c.post(ctx, body)
		if again > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(max(again, pause)):
				continue
			}
		}
		c.logLoss(err)
		return err
	}
}

// post sends one request. It returns the delay before a retry, if that may help.
func (c *client) post(ctx context.Context, body []byte) (again time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.endpoint, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header = c.headers.Clone()
	r.Header.Set("Content-Type", "application/x-protobuf")
	if c.gzip {
		r.Header.Set("Content-Encoding", "gzip")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, 1<<20)) // so that the connection can be used again
	switch {
	case answer.StatusCode/100 == 2:
		return 0, nil
	case answer.StatusCode == 429 || answer.StatusCode >= 502 && answer.StatusCode <= 504:
		seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
		again = max(time.Duration(seconds)*time.Second, 1)
	}
	return again, fmt.Errorf("the collector answered %s", answer.Status)
}

// logLoss logs once that spans are lost, and once that they are not any more.
func (c *client) logLoss(err error) {
	switch failing := err != nil; {
	case failing && !c.failing.Swap(true):
		c.log.Warn("traces are lost: the collector does not take them", "endpoint", shown(c.endpoint), "error", err)
	case !failing && c.failing.Swap(false):
		c.log.Info("the collector takes traces again", "endpoint", shown(c.endpoint))
	}
}
