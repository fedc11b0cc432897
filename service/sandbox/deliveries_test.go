package sandbox_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

// verify checks a delivery as the reference describes.
func verify(d delivery, secret string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(d.header.Get("X-Service-Timestamp") + "." + string(d.body)))
	want := "sha256=" + hex.EncodeToString(mac.Sum(nil))
	return hmac.Equal([]byte(want), []byte(d.header.Get("X-Service-Signature")))
}

func TestDeliveryFormat(t *testing.T) {
	d := open(t)
	hook := d.receive(200)
	id, _ := d.subscribe(hook, "message.received")
	conversation := d.ana()
	d.settle()
	got := hook.deliveries()[0]
	d.run(t, "body", func(t *testing.T) {
		var body map[string]any
		if err := json.Unmarshal(got.body, &body); err != nil {
			t.Fatal(err)
		}
		if len(body) != 5 || body["type"] != "message.received" || body["created_at"] != "2026-11-13T20:50:00Z" ||
			body["tenant_id"] != d.api("GET /me", nil).text("tenant_id") {
			t.Errorf("body %s", got.body)
		}
		if _, err := sandbox.ParseID(got.data(t, "id")); err != nil {
			t.Error(err)
		}
	})
	d.run(t, "data of a message", func(t *testing.T) {
		if got.data(t, "data.message.text") != "hello" || got.data(t, "data.message.sender.kind") != "customer" ||
			got.data(t, "data.conversation.id") != conversation || got.data(t, "data.contact.phone") != "+5511988887777" {
			t.Errorf("body %s", got.body)
		}
	})
	d.run(t, "X-Service-Event", func(t *testing.T) {
		if got.header.Get("X-Service-Event") != "message.received" {
			t.Errorf("headers %v", got.header)
		}
	})
	d.run(t, "X-Service-Event-Id", func(t *testing.T) {
		if got.header.Get("X-Service-Event-Id") != got.data(t, "id") {
			t.Errorf("headers %v", got.header)
		}
	})
	d.run(t, "X-Service-Delivery", func(t *testing.T) {
		list := d.api("GET /integrations/webhooks/"+id+"/deliveries", nil).want(200)
		if got.header.Get("X-Service-Delivery") != list.text("data.0.id") {
			t.Errorf("headers %v", got.header)
		}
	})
	d.run(t, "X-Service-Timestamp is the real time of sending", func(t *testing.T) {
		seconds, err := strconv.ParseInt(got.header.Get("X-Service-Timestamp"), 10, 64)
		if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > time.Minute {
			t.Errorf("timestamp %q: %v", got.header.Get("X-Service-Timestamp"), err)
		}
	})
	d.run(t, "another header prefix", func(t *testing.T) {
		d := open(t, func(o *sandbox.Options) { o.HeaderPrefix = "X-Acme" })
		hook := d.receive(200)
		d.subscribe(hook, "message.received")
		d.ana()
		d.settle()
		if got := hook.deliveries()[0].header.Get("X-Acme-Event"); got != "message.received" {
			t.Errorf("headers %v", hook.deliveries()[0].header)
		}
	})
}

// TestSignature checks the signature with another implementation.
func TestSignature(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	switch {
	case err != nil && strings.Contains(os.Getenv("QUANDO_LEFT_OUT"), "openssl"):
		t.Skip("left out: this machine has no openssl")
	case err != nil:
		t.Fatal("this machine has no openssl: make tools installs it")
	}
	d := open(t)
	hook := d.receive(200)
	_, secret := d.subscribe(hook, "message.received", "conversation.updated")
	d.writes("+5511988887777", "João", `a "quoted" <text> & ção 😀`)
	d.settle()
	for _, got := range hook.deliveries() {
		command := exec.Command(openssl, "dgst", "-sha256", "-hmac", secret)
		command.Stdin = bytes.NewReader(append([]byte(got.header.Get("X-Service-Timestamp")+"."), got.body...))
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		_, digest, _ := strings.Cut(strings.TrimSpace(string(out)), "= ")
		if want := "sha256=" + digest; got.header.Get("X-Service-Signature") != want {
			t.Errorf("signature %s, openssl says %s", got.header.Get("X-Service-Signature"), want)
		}
	}
	if len(hook.deliveries()) != 2 {
		t.Errorf("%d deliveries", len(hook.deliveries()))
	}
}

func TestEvents(t *testing.T) {
	d := open(t, func(o *sandbox.Options) { o.KanbanEvents = true })
	every := []string{"message.received", "message.sent", "conversation.updated", "attendance.opened", "attendance.closed",
		"kanban.card.created", "kanban.card.moved", "kanban.card.completed"}
	hook := d.receive(200)
	d.subscribe(hook, every...)
	conversation := d.ana()
	path := "/conversations/" + conversation
	for _, tt := range []struct {
		name string
		do   func()
		want []string
	}{
		{"a message of the customer", func() { d.ana() }, []string{"message.received", "conversation.updated"}},
		{"a message of the API", func() { d.api("POST "+path+"/messages", m{"client_id": uuid(1), "text": "x"}).want(201) },
			[]string{"message.sent", "conversation.updated"}},
		{"a message from the phone", func() { d.act("POST /team/message", m{"conversation": conversation, "text": "x"}).want(200) },
			[]string{"message.sent", "conversation.updated"}},
		{"a message from the app", func() {
			d.act("POST /team/message", m{"conversation": conversation, "person": "Ana", "text": "x"}).want(200)
		}, []string{"message.sent", "conversation.updated"}},
		{"a transfer", func() { d.api("POST "+path+"/transfer", m{"user_id": d.person("Bruno")}).want(200) }, []string{"conversation.updated"}},
		{"a sector", func() { d.api("PUT "+path+"/sector", m{"sector_id": d.sector("Sales")}).want(200) }, []string{"conversation.updated"}},
		{"an attendance closed", func() { d.api("POST "+path+"/attendance/close", nil).want(200) }, []string{"attendance.closed", "kanban.card.moved"}},
		{"an attendance opened", func() { d.ana() },
			[]string{"attendance.opened", "kanban.card.created", "message.received", "conversation.updated"}},
		{"a card created", func() { d.act("POST /cards", m{"board": "Sales", "title": "Offer"}).want(200) }, []string{"kanban.card.created"}},
		{"a card moved", func() { d.act("POST /cards/move", m{"card": "Offer", "stage": "Proposal", "person": "Ana"}).want(200) },
			[]string{"kanban.card.moved"}},
		{"a card won", func() { d.act("POST /cards/move", m{"card": "Offer", "stage": "Won", "person": "Ana"}).want(200) },
			[]string{"kanban.card.moved", "kanban.card.completed"}},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			d.settle()
			before := len(hook.types())
			tt.do()
			d.settle()
			if diff := cmp.Diff(tt.want, hook.types()[before:]); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
	d.run(t, "only the subscribed ones are sent", func(t *testing.T) {
		one := d.receive(200)
		d.subscribe(one, "message.sent")
		d.ana()
		d.api("POST "+path+"/messages", m{"client_id": uuid(2), "text": "x"}).want(201)
		d.settle()
		if diff := cmp.Diff([]string{"message.sent"}, one.types()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
}

func TestDeliveries(t *testing.T) {
	d := open(t)
	hook := d.receive(200)
	id, _ := d.subscribe(hook, "message.received")
	path := "GET /integrations/webhooks/" + id + "/deliveries"
	d.ana()
	d.advance(time.Hour)
	d.ana()
	d.settle()
	d.run(t, "newest first", func(t *testing.T) {
		r := d.api(path, nil).want(200)
		if r.text("data.0.at") != "2026-11-13T21:50:00Z" || r.text("data.1.at") != "2026-11-13T20:50:00Z" || r.text("data.0.event_type") != "message.received" {
			t.Errorf("deliveries %s", r.body)
		}
	})
	d.run(t, "kept for 14 days", func(t *testing.T) {
		d.advance(14*24*time.Hour - time.Hour - time.Second)
		if got := len(d.api(path, nil).ids()); got != 2 {
			t.Errorf("%d deliveries a second before", got)
		}
		d.advance(time.Second)
		if got := len(d.api(path, nil).ids()); got != 1 {
			t.Errorf("%d deliveries after 14 days", got)
		}
	})
	d.run(t, "in the order of the events", func(t *testing.T) {
		order := d.receive(200)
		d.subscribe(order, "message.received")
		for i := range 50 {
			d.writes("+5511988887777", "", strconv.Itoa(i))
		}
		d.settle()
		for i, got := range order.deliveries() {
			if text := got.data(t, "data.message.text"); text != strconv.Itoa(i) {
				t.Fatalf("delivery %d carries %s", i, text)
			}
		}
	})
	d.run(t, "duplicates carry the same event id", func(t *testing.T) {
		twice := d.receive(200)
		d.subscribe(twice, "message.received")
		d.act("POST /faults", m{"operation": "delivery", "kind": "duplicate"}).want(200)
		d.ana()
		d.settle()
		got := twice.deliveries()
		if len(got) != 2 || got[0].data(t, "id") != got[1].data(t, "id") ||
			got[0].header.Get("X-Service-Delivery") == got[1].header.Get("X-Service-Delivery") {
			t.Errorf("%d deliveries", len(got))
		}
	})
	d.act("DELETE /faults", nil).want(200)
	d.run(t, "what is lost never arrives, and counts as delivered", func(t *testing.T) {
		lost := d.receive(200)
		d.subscribe(lost, "message.received")
		d.act("POST /faults", m{"operation": "delivery", "kind": "lose"}).want(200)
		d.ana()
		d.act("DELETE /faults", nil).want(200)
		d.act("POST /clock", m{"advance": "9h"}).want(200)
		if got := lost.deliveries(); len(got) != 0 {
			t.Errorf("%d deliveries arrived", len(got))
		}
		d.ana()
		d.settle()
		if got := lost.deliveries(); len(got) != 1 {
			t.Errorf("%d deliveries arrived afterwards", len(got))
		}
	})
	d.run(t, "what is dropped is repeated", func(t *testing.T) {
		for kind, arrived := range map[string]int{"drop_before": 1, "drop_after": 2} {
			receiver := d.receive(200)
			d.subscribe(receiver, "attendance.closed")
			d.act("POST /faults", m{"operation": "delivery", "kind": kind}).want(200)
			d.act("POST /events", m{"type": "attendance.closed"}).want(200)
			d.settle()
			d.act("DELETE /faults", nil).want(200)
			d.act("POST /clock", m{"advance": "1m"}).want(200)
			if got := receiver.deliveries(); len(got) != arrived {
				t.Errorf("%s: %d arrived, want %d", kind, len(got), arrived)
			}
		}
	})
	d.act("POST /faults", m{"operation": "delivery", "kind": "delay", "delay": "1s"}).want(400)
	d.act("POST /faults", m{"operation": "GET /me", "kind": "lose"}).want(400)
}
