package sandbox_test

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	d := open(t)
	conversation := d.ana()
	path := "POST /conversations/" + conversation + "/messages"
	operation := "POST /conversations/{id}/messages"
	messages := func() int {
		return len(d.api("GET /conversations/"+conversation+"/messages?limit=100", nil).want(200).ids())
	}
	n := 0
	send := func() reply {
		n++
		return d.api(path, m{"client_id": uuid(n), "text": "x"})
	}
	add := func(t *testing.T, fault m) {
		t.Helper()
		d.act("DELETE /faults", nil).want(200)
		if fault["operation"] == nil {
			fault["operation"] = operation
		}
		d.act("POST /faults", fault).want(200)
	}
	d.run(t, "status_before: refused without effect", func(t *testing.T) {
		before := messages()
		add(t, m{"kind": "status_before", "status": 503, "count": 1})
		send().code(503, "unavailable")
		if got := messages() - before; got != 0 {
			t.Errorf("%d messages", got)
		}
		send().want(201)
	})
	d.run(t, "status_after: refused with effect, the repeat returns the message", func(t *testing.T) {
		before := messages()
		add(t, m{"kind": "status_after", "status": 503, "count": 1})
		send().code(503, "unavailable")
		if got := messages() - before; got != 1 {
			t.Errorf("%d messages", got)
		}
		d.api(path, m{"client_id": uuid(n), "text": "x"}).want(201)
		if got := messages() - before; got != 1 {
			t.Errorf("%d messages after the repeat", got)
		}
	})
	for kind, effect := range map[string]int{"drop_before": 0, "drop_after": 1} {
		d.run(t, kind+": the connection ends without an answer", func(t *testing.T) {
			before := messages()
			add(t, m{"kind": kind, "count": 1})
			if r := send(); r.err == nil {
				t.Errorf("status %d", r.status)
			}
			if got := messages() - before; got != effect {
				t.Errorf("%d messages, want %d", got, effect)
			}
		})
	}
	d.run(t, "429 with Retry-After", func(t *testing.T) {
		add(t, m{"kind": "status_before", "status": 429, "retry_after": 30, "count": 1})
		r := send()
		r.code(429, "rate_limited")
		if got := r.header.Get("Retry-After"); got != "30" {
			t.Errorf("Retry-After %q", got)
		}
	})
	d.run(t, "delay", func(t *testing.T) {
		add(t, m{"kind": "delay", "delay": "150ms", "count": 1})
		begin := time.Now()
		send().want(201)
		if took := time.Since(begin); took < 150*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
	d.run(t, "count", func(t *testing.T) {
		add(t, m{"kind": "status_before", "count": 2})
		for _, want := range []int{503, 503, 201} {
			send().want(want)
		}
	})
	d.run(t, "without a count until cleared", func(t *testing.T) {
		add(t, m{"kind": "status_before"})
		for range 5 {
			send().want(503)
		}
		d.act("DELETE /faults", nil).want(200)
		send().want(201)
	})
	d.run(t, "share", func(t *testing.T) {
		add(t, m{"operation": "*", "kind": "status_before", "share": 0.3})
		failed := 0
		for range 300 {
			if d.api("GET /me", nil).status == 503 {
				failed++
			}
		}
		if failed < 60 || failed > 120 {
			t.Errorf("%d of 300 failed, want about 90", failed)
		}
	})
	d.run(t, "only the operation that is named", func(t *testing.T) {
		add(t, m{"kind": "status_before"})
		d.api("GET /me", nil).want(200)
	})
	d.run(t, "a refused call does not use up a fault after the effect", func(t *testing.T) {
		add(t, m{"kind": "status_after", "count": 1})
		d.api(path, m{"client_id": "x"}).want(400)
		send().want(503)
	})
	d.run(t, "refuses what does not exist", func(t *testing.T) {
		r := d.act("POST /faults", m{"operation": "POST /conversations/{id}/message", "kind": "delay", "delay": "1s"})
		r.code(400, "invalid_request")
		if !strings.Contains(r.text("message"), `did you mean "POST /conversations/{id}/messages"?`) {
			t.Errorf("no hint: %s", r.body)
		}
		for _, fault := range []m{{"operation": "*", "kind": "status"}, {"operation": "*", "kind": "delay"}, {"operation": "*", "kind": "status_before", "status": 200},
			{"operation": "*", "kind": "status_before", "share": 2}, {"operation": "*", "kind": "duplicate"}, {"operation": "*", "kind": "status_before", "often": 1}} {
			d.act("POST /faults", fault).code(http.StatusBadRequest, "invalid_request")
		}
	})
}
