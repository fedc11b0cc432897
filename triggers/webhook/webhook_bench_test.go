package webhook

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// written is what the service delivers when a customer writes.
const written = `{"id":"0192f3a4-0000-7000-8000-000000000001","type":"message.received","created_at":"2027-01-15T08:00:00Z","tenant_id":"7c65bdd8-1890-4c53-9bf6-ab1f2857706e","data":{` +
	`"message":{"id":"0192f3a4-0000-7000-a000-000000000001","conversation_id":"0192f3a4-0000-7000-9000-000000000001","client_id":null,"text":"Good morning, is my order on its way?","media_id":null,` +
	`"reply_to_external_id":null,"external_id":"wamid.1","direction":"inbound","sender":{"kind":"customer","id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","name":"Ana"},"created_at":"2027-01-15T08:00:00.000Z"},` +
	`"conversation":{"id":"0192f3a4-0000-7000-9000-000000000001","kind":"direct","archived":false,"pinned":false,"muted":false,"name":"Ana","label_ids":[],"channel_id":"1176a058-713b-4033-a84d-0e6b373793ce",` +
	`"contact_id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","phone":"+5511988887777","assignee_id":null,"sector_id":null,"unread":true,"unread_count":1,` +
	`"last_message":{"id":"0192f3a4-0000-7000-a000-000000000001","text":"Good morning, is my order on its way?","direction":"inbound","created_at":"2027-01-15T08:00:00.000Z"},` +
	`"created_at":"2027-01-15T08:00:00.000Z","updated_at":"2027-01-15T08:00:00.000Z"},` +
	`"contact":{"id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","name":"Ana","phone":"+5511988887777","company":null,"city":null,"channel_id":null,"label_ids":[],"blocked":false,` +
	`"created_at":"2027-01-15T08:00:00.000Z","updated_at":"2027-01-15T08:00:00.000Z"}}}`

// A discardWriter accepts an answer and discards it.
type discardWriter struct {
	header http.Header
	status int
}

func (d *discardWriter) Header() http.Header               { return d.header }
func (d *discardWriter) WriteHeader(status int)            { d.status = status }
func (d *discardWriter) Write(b []byte) (int, error)       { return len(b), nil }
func (d *discardWriter) WriteString(s string) (int, error) { return len(s), nil }

// A repeated is a delivery that can be received again and again.
type repeated struct {
	*Receiver
	request *http.Request
	body    *strings.Reader
	answer  discardWriter
}

func newPouch(t testing.TB) *repeated {
	now := time.Unix(1_800_000_000, 0)
	r, err := New(Options{
		Workspace: "default", Now: func() time.Time { return now }, Secrets: func(time.Time) []service.Secret { return []service.Secret{"whsec_new"} },
		Sink: func(context.Context, ...rules.Event) ([]bool, error) { return nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	p := &repeated{Receiver: r, body: strings.NewReader(written), answer: discardWriter{header: http.Header{}}}
	p.request, err = http.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", io.NopCloser(p.body))
	if err != nil {
		t.Fatal(err)
	}
	p.request.ContentLength = int64(len(written))
	p.request.Header.Set("X-Service-Timestamp", "1800000000")
	p.request.Header.Set("X-Service-Signature", signature("whsec_new", "1800000000", written))
	p.request.Header.Set("X-Service-Event", "message.received")
	p.request.Header.Set("X-Service-Event-Id", "0192f3a4-0000-7000-8000-000000000001")
	return p
}

func (p *repeated) deliver(t testing.TB) {
	p.body.Reset(written)
	p.request.Body = io.NopCloser(p.body)
	p.ServeHTTP(&p.answer, p.request)
	if p.answer.status != http.StatusAccepted {
		t.Fatalf("the answer is %d", p.answer.status)
	}
}

// BenchmarkReceive measures a delivery without the network and the journal: checking its signature,
// decoding it, and finding its lane.
func BenchmarkReceive(b *testing.B) {
	p := newPouch(b)
	b.ReportAllocs()
	for b.Loop() {
		p.deliver(b)
	}
}
