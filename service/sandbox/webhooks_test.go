package sandbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestRegisterWebhook(t *testing.T) {
	d := open(t)
	create := "POST /integrations/webhooks"
	events := []string{"message.received"}
	r := d.api(create, m{"name": "Engine", "url": "https://hooks.example.com/webhook", "events": events}).want(201)
	id := r.text("id")
	d.run(t, "shows the secret, with its prefix", func(t *testing.T) {
		if !strings.HasPrefix(r.text("secret"), "whsec_") || r.get("active") != true || r.text("name") != "Engine" {
			t.Errorf("webhook %s", r.body)
		}
	})
	d.run(t, "shows the secret once", func(t *testing.T) {
		for _, r := range []reply{d.api("GET /integrations/webhooks", nil), d.api("PATCH /integrations/webhooks/"+id, m{"name": "x"})} {
			if strings.Contains(string(r.want(200).body), "whsec_") {
				t.Errorf("%s shows it again: %s", r.call, r.body)
			}
		}
	})
	for _, tt := range []struct {
		name string
		body m
	}{
		{"needs a name", m{"url": "https://hooks.example.com", "events": events}},
		{"needs a url", m{"name": "x", "events": events}},
		{"needs events", m{"name": "x", "url": "https://hooks.example.com"}},
		{"needs at least one event", m{"name": "x", "url": "https://hooks.example.com", "events": []string{}}},
		{"unknown event", m{"name": "x", "url": "https://hooks.example.com", "events": []string{"message.recieved"}}},
		{"kanban events cannot be chosen", m{"name": "x", "url": "https://hooks.example.com", "events": []string{"kanban.card.moved"}}},
		{"url must be an address", m{"name": "x", "url": "hooks", "events": events}},
	} {
		d.run(t, tt.name, func(t *testing.T) { d.api(create, tt.body).code(400, "invalid_request") })
	}
	d.run(t, "at most 20", func(t *testing.T) {
		for i := range 19 {
			d.api(create, m{"name": fmt.Sprint(i), "url": "https://hooks.example.com", "events": events}).want(201)
		}
		d.api(create, m{"name": "one too many", "url": "https://hooks.example.com", "events": events}).code(409, "conflict")
		d.api("DELETE /integrations/webhooks/"+id, nil).want(204)
		d.api(create, m{"name": "room again", "url": "https://hooks.example.com", "events": events}).want(201)
	})
}

func TestAddresses(t *testing.T) {
	strictly := open(t, func(o *sandbox.Options) { o.AllowLoopback = false })
	loopback := open(t)
	for _, tt := range []struct {
		name, url          string
		strict, onLoopback int
	}{
		{"https", "https://hooks.example.com/webhook", 201, 201},
		{"https on a public address", "https://93.184.216.34/webhook", 201, 201},
		{"http", "http://hooks.example.com/webhook", 400, 400},
		{"another scheme", "ftp://hooks.example.com/webhook", 400, 400},
		{"with a password", "https://me:secret@hooks.example.com/", 400, 400},
		{"localhost", "https://localhost/", 400, 201},
		{"loopback", "https://127.0.0.1/", 400, 201},
		{"loopback over http", "http://127.0.0.1:8080/", 400, 201},
		{"loopback in IPv6", "https://[::1]/", 400, 201},
		{"loopback in disguise", "https://[::ffff:127.0.0.1]/", 400, 201},
		{"internal network 10", "https://10.1.2.3/", 400, 400},
		{"internal network 172.16", "https://172.16.0.1/", 400, 400},
		{"internal network 192.168", "https://192.168.0.1/", 400, 400},
		{"internal network in IPv6", "https://[fd00::1]/", 400, 400},
		{"shared address space", "https://100.64.0.1/", 400, 400},
		{"internal name", "https://db.internal/", 400, 400},
		{"name without a domain", "https://intranet/", 400, 400},
		{"cloud metadata", "https://169.254.169.254/latest/meta-data/", 400, 400},
		{"cloud metadata in IPv6", "https://[fd00:ec2::254]/", 400, 400},
		{"cloud metadata by name", "https://metadata.google.internal/", 400, 400},
		{"unspecified", "https://0.0.0.0/", 400, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			body := m{"name": "x", "url": tt.url, "events": []string{"message.sent"}}
			for d, status := range map[*desk]int{strictly: tt.strict, loopback: tt.onLoopback} {
				r := d.api("POST /integrations/webhooks", body)
				r.t = t
				r.want(status)
				if status == 201 {
					d.api("DELETE /integrations/webhooks/"+r.text("id"), nil).want(204)
				}
			}
		})
	}
	t.Run("an edit is held to the same", func(t *testing.T) {
		id := strictly.api("POST /integrations/webhooks", m{"name": "x", "url": "https://hooks.example.com", "events": []string{"message.sent"}}).want(201).text("id")
		strictly.api("PATCH /integrations/webhooks/"+id, m{"url": "http://hooks.example.com"}).code(400, "invalid_request")
		strictly.api("PATCH /integrations/webhooks/"+id, m{"url": "https://127.0.0.1"}).code(400, "invalid_request")
	})
}

func TestWebhooks(t *testing.T) {
	d := open(t)
	hook := d.receive(200)
	id, secret := d.subscribe(hook, "message.received")
	path := "/integrations/webhooks/" + id
	d.run(t, "list", func(t *testing.T) {
		if got := d.api("GET /integrations/webhooks", nil).want(200).ids(); !cmp.Equal(got, []string{id}) {
			t.Errorf("webhooks %v", got)
		}
	})
	d.run(t, "available events", func(t *testing.T) {
		want := []any{"message.received", "message.sent", "conversation.updated", "attendance.opened", "attendance.closed"}
		if diff := cmp.Diff(want, d.api("GET /integrations/webhooks/events", nil).want(200).get("data")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	d.run(t, "edit", func(t *testing.T) {
		r := d.api("PATCH "+path, m{"name": "New", "url": hook.URL + "/new", "events": []string{"message.sent", "message.received"}}).want(200)
		if r.text("name") != "New" || r.text("url") != hook.URL+"/new" || len(r.get("events").([]any)) != 2 {
			t.Errorf("webhook %s", r.body)
		}
		for _, body := range []m{{"name": ""}, {"events": []string{"x"}}, {"events": nil}, {"active": nil}, {"active": 1}, {"url": 1}} {
			d.api("PATCH "+path, body).code(400, "invalid_request")
		}
	})
	d.run(t, "inactive receives nothing", func(t *testing.T) {
		d.api("PATCH "+path, m{"active": false}).want(200)
		d.ana()
		d.settle()
		if got := hook.types(); len(got) != 0 {
			t.Errorf("events %v", got)
		}
		d.api("POST "+path+"/test", nil).code(409, "conflict")
		d.api("PATCH "+path, m{"active": true}).want(200)
	})
	d.run(t, "rotate-secret", func(t *testing.T) {
		r := d.api("POST "+path+"/rotate-secret", nil).want(200)
		if next := r.text("secret"); next == secret || !strings.HasPrefix(next, "whsec_") {
			t.Errorf("secret %q", next)
		}
		secret = r.text("secret")
		d.ana()
		d.settle()
		got := hook.deliveries()
		if len(got) != 1 || !verify(got[0], secret) {
			t.Error("the delivery is not signed with the new secret")
		}
	})
	d.run(t, "test event", func(t *testing.T) {
		r := d.api("POST "+path+"/test", nil).want(200)
		d.settle()
		got := hook.deliveries()
		last := got[len(got)-1]
		if last.data(t, "type") != "webhook.test" || last.header.Get("X-Service-Delivery") != r.text("id") || !verify(last, secret) {
			t.Errorf("delivery %s", last.body)
		}
	})
	d.run(t, "delete", func(t *testing.T) {
		d.api("DELETE "+path, nil).want(204)
		before := len(hook.types())
		d.ana()
		d.settle()
		if got := len(hook.types()) - before; got != 0 {
			t.Errorf("%d events after the end", got)
		}
		d.api("DELETE "+path, nil).code(404, "not_found")
	})
}
