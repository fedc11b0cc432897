package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

func TestErrors(t *testing.T) {
	d := open(t)
	conversation := d.ana()
	d.run(t, "are JSON with a code", func(t *testing.T) {
		r := d.api("GET /contacts/"+uuid(1), nil)
		r.code(404, "not_found")
		if got := r.header.Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type %q", got)
		}
	})
	d.run(t, "answers are JSON", func(t *testing.T) {
		r := d.api("GET /me", nil).want(200)
		if got := r.header.Get("Content-Type"); got != "application/json" {
			t.Errorf("Content-Type %q", got)
		}
	})
	d.run(t, "an operation that does not exist", func(t *testing.T) {
		d.api("GET /nothing", nil).code(404, "not_found")
		d.api("DELETE /contacts/"+uuid(1), nil).code(404, "not_found")
	})
	d.run(t, "an id that is not a UUID", func(t *testing.T) {
		for _, path := range []string{"/conversations/1", "/contacts/x", "/messages/urn:uuid:" + uuid(1), "/attendances/1", "/kanban/boards/1"} {
			d.api("GET "+path, nil).code(400, "invalid_request")
		}
	})
	d.run(t, "an object that does not exist", func(t *testing.T) {
		for _, tt := range scopes {
			if strings.Contains(tt.operation, "{id}") {
				d.api(strings.ReplaceAll(tt.operation, "{id}", uuid(1)), m{}, "Idempotency-Key: unknown-object").code(404, "not_found")
			}
		}
	})
	d.run(t, "a body that is not JSON", func(t *testing.T) {
		d.api("POST /contacts", "{").code(400, "invalid_request")
		d.api("POST /contacts", "[]").code(400, "invalid_request")
		d.api("POST /contacts", `{"name":7,"phone":"+5511900000000"}`).code(400, "invalid_request")
	})
	d.run(t, "a body of 64 KiB is taken, a larger one is not", func(t *testing.T) {
		body := func(size int) string {
			start := `{"client_id":"` + uuid(64) + `","text":"`
			return start + strings.Repeat("x", size-len(start)-2) + `"}`
		}
		d.api("POST /conversations/"+conversation+"/messages", body(64<<10+1)).code(413, "body_too_large")
		d.api("POST /conversations/"+conversation+"/messages", body(64<<10)).want(201)
	})
	d.run(t, "503 on request", func(t *testing.T) {
		d.act("POST /faults", m{"operation": "*", "kind": "status_before", "status": 503, "count": 1}).want(200)
		d.api("GET /me", nil).code(503, "unavailable")
		d.api("GET /me", nil).want(200)
	})
}

func TestRateLimit(t *testing.T) {
	d := open(t, func(o *sandbox.Options) { o.RateLimit = 2 })
	d.api("GET /me", nil).want(200)
	d.api("GET /me", nil).want(200)
	r := d.api("GET /me", nil)
	r.code(429, "rate_limited")
	if got := r.header.Get("Retry-After"); got != "1" {
		t.Fatalf("Retry-After %q, want 1", got)
	}
	d.run(t, "is counted for each key", func(t *testing.T) {
		other, _ := d.NewKey(sandbox.NewKey{})
		d.api("GET /me", nil, "Authorization: Bearer "+other.APIKey).want(200)
	})
	d.run(t, "ends after Retry-After", func(t *testing.T) {
		d.advance(time.Second)
		d.api("GET /me", nil).want(200)
	})
}
