package trace

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/quandohq/quando/rules"
)

// traceIDs are the ids of an event's trace and of its first span.
type traceIDs struct {
	id   trace.TraceID
	root trace.SpanID
}

// traceOf returns the ids of an event's trace: derived from the event, so that they need not be
// stored.
func traceOf(e *rules.Event) (t traceIDs) {
	sum := sha256.Sum256([]byte("event\x00" + e.Workspace + "\x00" + e.ID))
	copy(t.id[:], sum[:16])
	copy(t.root[:], sum[16:24])
	return t
}

// spanOf returns the id of a run's or a step's span from its key. A retry has another.
func spanOf(kind, key string, again int) (id trace.SpanID) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", kind, key, again))
	copy(id[:], sum[:8])
	return id
}

// ids gives spans the ids that their context has, and others random ones.
type ids struct{}

var _ sdk.IDGenerator = ids{}

type idsKey struct{}

type chosenIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

// withIDs sets the ids of the next span; without a span id it gets a random one.
func withIDs(ctx context.Context, t trace.TraceID, s trace.SpanID) context.Context {
	return context.WithValue(ctx, idsKey{}, chosenIDs{t, s})
}

// NewIDs implements sdk.IDGenerator.
func (g ids) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	c, _ := ctx.Value(idsKey{}).(chosenIDs)
	return c.trace, g.NewSpanID(ctx, c.trace)
}

// NewSpanID implements sdk.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) (id trace.SpanID) {
	if c, _ := ctx.Value(idsKey{}).(chosenIDs); c.span.IsValid() {
		return c.span
	}
	binary.BigEndian.PutUint64(id[:], rand.Uint64()|1) // zero is none
	return id
}
