package sandbox_test

import (
	"context"
	"encoding/json"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestClock(t *testing.T) {
	d := open(t)
	d.run(t, "advance", func(t *testing.T) {
		if got := d.act("POST /clock", m{"advance": "15m"}).want(200).text("now"); got != "2026-11-13T21:05:00Z" {
			t.Errorf("now %s", got)
		}
	})
	d.run(t, "set", func(t *testing.T) {
		if got := d.act("POST /clock", m{"set": "2026-11-14T09:06:00-03:00"}).want(200).text("now"); got != "2026-11-14T12:06:00Z" {
			t.Errorf("now %s", got)
		}
	})
	d.run(t, "set back", func(t *testing.T) {
		if got := d.act("POST /clock", m{"set": "2026-11-13T17:50:00-03:00"}).want(200).text("now"); got != "2026-11-13T20:50:00Z" {
			t.Errorf("now %s", got)
		}
	})
	d.run(t, "due retries are sent and answered meanwhile", func(t *testing.T) {
		hook := d.receive(500)
		d.subscribe(hook, "message.received")
		d.ana()
		d.act("POST /clock", m{"advance": "3m"}).want(200)
		if got := len(hook.deliveries()); got != 3 {
			t.Errorf("%d attempts", got)
		}
	})
	d.run(t, "refuses", func(*testing.T) {
		for _, body := range []m{{}, {"advance": "soon"}, {"advance": "-1m"}, {"set": "monday"}, {"advance": "1m", "set": "2026-11-13T17:50:00Z"}, {"forward": "1m"}} {
			d.act("POST /clock", body).code(400, "invalid_request")
		}
	})
	d.run(t, "runs with real time unless frozen", func(t *testing.T) {
		d := open(t, func(o *sandbox.Options) { o.Frozen = time.Time{} })
		if lag := time.Since(d.Now()); lag.Abs() > time.Minute {
			t.Errorf("the clock is off by %v", lag)
		}
		d.advance(time.Hour)
		time.Sleep(2 * time.Millisecond)
		if ahead := time.Until(d.Now()); ahead < 59*time.Minute || ahead > 61*time.Minute {
			t.Errorf("the clock is ahead by %v", ahead)
		}
	})
}

func TestControl(t *testing.T) {
	d := open(t)
	d.run(t, "a customer's message opens what is missing", func(t *testing.T) {
		r := d.act("POST /customers/message", m{"phone": "+5511988887777", "name": "Ana Lima", "text": "hello", "channel": "Main"}).want(200)
		conversation := d.api("GET /conversations/"+r.text("conversation"), nil).want(200)
		if conversation.text("name") != "Ana Lima" || conversation.text("last_message.id") != r.text("message") {
			t.Errorf("conversation %s", conversation.body)
		}
		d.api("GET /attendances/"+r.text("attendance"), nil).want(200)
	})
	d.run(t, "the same customer without the ninth digit", func(t *testing.T) {
		a := d.act("POST /customers/message", m{"phone": "+5511988887777", "text": "a"}).want(200)
		b := d.act("POST /customers/message", m{"phone": "+551188887777", "text": "b"}).want(200)
		if a.text("conversation") != b.text("conversation") {
			t.Error("two conversations")
		}
	})
	d.run(t, "a customer by name", func(*testing.T) {
		d.act("POST /customers/message", m{"name": "Ana Lima", "text": "again"}).want(200)
		d.act("POST /customers/message", m{"name": "Nobody", "text": "again"}).code(400, "invalid_request")
	})
	d.run(t, "team message by names", func(t *testing.T) {
		r := d.act("POST /team/message", m{"conversation": "Ana Lima", "person": "bruno", "text": "hi"}).want(200)
		message := d.api("GET /messages/"+r.text("message"), nil).want(200)
		if message.text("sender.kind") != "team" || message.text("sender.name") != "Bruno" {
			t.Errorf("message %s", message.body)
		}
	})
	d.run(t, "team transfer and hand back", func(t *testing.T) {
		r := d.act("POST /team/transfer", m{"conversation": "Ana Lima", "person": "Bruno", "to": "Carla", "sector": "Supervisors"}).want(200)
		if r.text("assignee_id") != d.person("Carla") || r.text("sector_id") != d.sector("Supervisors") {
			t.Errorf("conversation %s", r.body)
		}
		d.act("POST /team/transfer", m{"conversation": "Ana Lima", "person": "Carla"}).want(200)
		history := d.api("GET /conversations/"+r.text("id")+"/assignments", nil).want(200)
		if history.text("data.0.action") != "handed_back" || history.text("data.0.from_user_id") != d.person("Carla") {
			t.Errorf("history %s", history.body)
		}
	})
	d.run(t, "team labels are added once, with an event", func(t *testing.T) {
		hook := d.receive(200)
		d.subscribe(hook, "conversation.updated")
		r := d.act("POST /team/labels", m{"conversation": "Ana Lima", "person": "Bruno", "labels": []string{"vip"}}).want(200)
		if r.text("label_ids.0") != d.label("vip") {
			t.Errorf("conversation %s", r.body)
		}
		d.act("POST /team/labels", m{"conversation": "Ana Lima", "person": "Bruno", "labels": []string{"vip"}}).want(200)
		d.settle()
		if got := hook.deliveries(); len(got) != 1 || got[0].data(t, "data.changed") != "[label_ids]" {
			t.Errorf("%d events", len(got))
		}
		d.act("POST /team/labels", m{"conversation": "Ana Lima", "labels": []string{"vipp"}}).code(404, "not_found")
		d.act("POST /team/labels", m{"conversation": "Ana Lima"}).code(400, "invalid_request")
	})
	d.run(t, "files by their endings, with a caption or without", func(t *testing.T) {
		for file, want := range map[string]string{"photo.JPG": "image/jpeg", "voice.ogg": "audio/ogg", "clip.mp4": "video/mp4", "offer.pdf": "application/pdf", "plan.dwg": "application/octet-stream"} {
			r := d.act("POST /customers/message", m{"name": "Ana Lima", "file": file}).want(200)
			message := d.api("GET /messages/"+r.text("message"), nil).want(200)
			link := d.api("GET /media/"+message.text("media_id")+"/url", nil).want(200)
			if got, err := http.Get(link.text("url")); err != nil || got.Header.Get("Content-Type") != want {
				t.Errorf("%s: %v, not %s (%v)", file, got.Header, want, err)
			} else {
				_ = got.Body.Close()
			}
		}
		r := d.act("POST /team/message", m{"conversation": "Ana Lima", "person": "Bruno", "file": "offer.pdf", "text": "as promised"}).want(200)
		if message := d.api("GET /messages/"+r.text("message"), nil).want(200); message.text("text") != "as promised" || message.text("media_id") == "" || message.text("direction") != "outbound" {
			t.Errorf("message %s", message.body)
		}
		d.act("POST /customers/message", m{"name": "Ana Lima", "file": "photo"}).code(400, "invalid_request")
		d.act("POST /team/message", m{"conversation": "Ana Lima", "file": "photo."}).code(400, "invalid_request")
		d.act("POST /team/message", m{"conversation": "Ana Lima"}).code(400, "invalid_request")
	})
	d.run(t, "team close", func(t *testing.T) {
		r := d.act("POST /team/close", m{"conversation": "Ana Lima", "person": "Bruno", "reason": "solved"}).want(200)
		if got := d.api("GET /attendances/"+r.text("attendance"), nil).want(200); got.text("status") != "closed" || got.text("close_reason") != "solved" {
			t.Errorf("attendance %s", got.body)
		}
		d.act("POST /team/close", m{"conversation": "Ana Lima"}).code(409, "conflict")
	})
	d.run(t, "cards by names", func(t *testing.T) {
		d.act("POST /cards", m{"board": "Sales", "title": "Offer", "contact": "Ana Lima"}).want(200)
		r := d.act("POST /cards/move", m{"card": "Offer", "stage": "Follow-up", "person": "Ana"}).want(200)
		if _, stage := d.stage("Sales", "Follow-up"); r.text("stage_id") != stage {
			t.Errorf("card %s", r.body)
		}
		edited := d.act("POST /cards/edit", m{"card": "Offer", "description": "they called", "person": "Ana"}).want(200)
		if edited.text("description") != "they called" || edited.text("version") == r.text("version") {
			t.Errorf("card %s", edited.body)
		}
		renamed := d.act("POST /cards/edit", m{"card": "Offer", "title": "Two chairs", "person": "Ana"}).want(200)
		if renamed.text("title") != "Two chairs" || renamed.text("description") != "they called" || renamed.text("version") == edited.text("version") {
			t.Errorf("card %s", renamed.body)
		}
		d.act("POST /cards/edit", m{"card": "Offr", "description": "x"}).code(404, "not_found")
	})
	d.run(t, "an overview", func(t *testing.T) {
		d.act("POST /faults", m{"operation": "*", "kind": "status_after"}).want(200)
		var o sandbox.Overview
		if err := json.Unmarshal(d.act("GET /overview", nil).want(200).body, &o); err != nil {
			t.Fatal(err)
		}
		d.act("DELETE /faults", nil).want(200)
		if few := d.Overview(0, o.Conversations[0].ID); len(few.Conversations) != 1 || len(few.Cards) == 0 || len(d.Overview(0, sandbox.ID{}).Cards) != 0 {
			t.Errorf("one conversation: %+v", few)
		}
		conversation, card := o.Conversations[0], o.Cards[0]
		if conversation.Name != "Ana Lima" || conversation.Phone != "+5511988887777" || conversation.Channel != "Main" || conversation.Open || conversation.Sector != "Supervisors" {
			t.Errorf("conversation %+v", conversation)
		}
		if card.Title != "Two chairs" || card.Board != "Sales" || card.Stage != "Follow-up" || len(card.Stages) != 4 || card.Conversation != conversation.ID || card.Contact != "Ana Lima" {
			t.Errorf("card %+v", card)
		}
		if len(o.People) != 3 || len(o.Faults) != 1 || o.Faults[0].Kind != "status_after" || strings.Contains(d.act("GET /overview", nil).want(200).text("faults"), "status") {
			t.Errorf("overview %+v", o)
		}
	})
	d.run(t, "near names", func(t *testing.T) {
		r := d.act("POST /team/message", m{"conversation": "Ana Lima", "person": "Brun", "text": "hi"})
		r.code(404, "not_found")
		if !strings.Contains(r.text("message"), `did you mean "Bruno"?`) {
			t.Errorf("no hint: %s", r.body)
		}
	})
	d.run(t, "keys", func(*testing.T) {
		r := d.act("POST /keys", m{"scopes": []string{"team:read"}}).want(200)
		auth := "Authorization: Bearer " + r.text("api_key")
		d.api("GET /team", nil, auth).want(200)
		d.api("GET /contacts", nil, auth).code(403, "forbidden")
		d.act("DELETE /keys/"+r.text("id"), nil).want(204)
		d.api("GET /team", nil, auth).code(401, "unauthorized")
		d.act("POST /keys", m{"scopes": []string{"team:write"}}).code(400, "invalid_request")
	})
	d.run(t, "a blocked contact is not heard", func(t *testing.T) {
		contact := d.api("GET /contacts?q=Ana", nil).want(200).text("data.0.id")
		d.api("PATCH /contacts/"+contact, m{"blocked": true}).want(200)
		d.act("POST /customers/message", m{"name": "Ana Lima", "text": "hello?"}).code(409, "conflict")
	})
	d.run(t, "a bare event", func(t *testing.T) {
		hook := d.receive(200)
		d.subscribe(hook, "attendance.closed")
		r := d.act("POST /events", m{"type": "attendance.closed", "data": m{"attendance": m{"id": uuid(1)}}}).want(200)
		d.settle()
		got := hook.deliveries()
		if len(got) != 1 || got[0].data(t, "id") != r.text("event") || got[0].data(t, "data.attendance.id") != uuid(1) {
			t.Errorf("%d deliveries", len(got))
		}
		d.act("POST /events", m{"type": "attendance.close"}).code(400, "invalid_request")
	})
	d.run(t, "nothing of the kind", func(t *testing.T) { d.act("POST /nothing", nil).code(404, "not_found") })
}

func TestEffects(t *testing.T) {
	d := open(t)
	conversation := d.ana() // customers and the team make no effects
	d.act("POST /team/message", m{"conversation": conversation, "person": "Ana", "text": "hi"}).want(200)
	sent := d.api("POST /conversations/"+conversation+"/messages", m{"client_id": uuid(1), "text": "hello"}).want(201)
	d.api("POST /conversations/"+conversation+"/messages", m{"client_id": uuid(1), "text": "hello"}).want(201)
	d.api("PATCH /conversations/"+conversation, m{"pinned": true}).want(200)
	d.api("PATCH /conversations/"+conversation, m{"pinned": true}).want(200) // changes nothing
	d.api("GET /conversations/"+conversation, nil).want(200)
	d.api("POST /contacts", m{"name": "Ana"}).want(400)
	d.newCard(nil).want(201)

	r := d.act("GET /effects", nil).want(200)
	var out struct {
		Effects []struct {
			At, Operation, Object, Kind string
			Before, After               map[string]any
			Key                         *string
		}
	}
	if err := json.Unmarshal(r.body, &out); err != nil {
		t.Fatal(err)
	}
	var operations []string
	for _, e := range out.Effects {
		operations = append(operations, e.Operation)
	}
	if diff := cmp.Diff([]string{"POST /conversations/{id}/messages", "PATCH /conversations/{id}", "POST /kanban/cards"}, operations); diff != "" {
		t.Fatalf("operations (-want +got):\n%s", diff)
	}
	message, patch, card := out.Effects[0], out.Effects[1], out.Effects[2]
	if message.Object != sent.text("id") || message.Before != nil || message.After["text"] != "hello" || message.Key == nil || *message.Key != uuid(1) {
		t.Errorf("message %+v", message)
	}
	if patch.Object != conversation || patch.Before["pinned"] != false || patch.After["pinned"] != true || patch.Key != nil || patch.At != "2026-11-13T20:50:00Z" {
		t.Errorf("patch %+v", patch)
	}
	if card.Kind != "card" || card.Key == nil || !strings.HasPrefix(*card.Key, "card-") {
		t.Errorf("card %+v", card)
	}
}

func TestStart(t *testing.T) {
	before := runtime.NumGoroutine()
	s, err := sandbox.New(sandbox.Options{AllowLoopback: true, DeliveryTimeout: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	address, err := s.Start(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	d := &desk{s, t, address.BaseURL, address.ControlURL, address.APIKey, client}
	d.api("GET /me", nil).want(200)
	if !strings.HasSuffix(address.BaseURL, "/v1") {
		t.Errorf("base_url %s", address.BaseURL)
	}
	// A receiver that fails leaves a retry to come, and one that never
	// answers a delivery under way: Close waits for neither.
	arrived, release := make(chan struct{}), make(chan struct{})
	stuck := d.receive(500)
	stuck.Config.Handler = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(arrived)
		<-release
	})
	failing := d.receive(500)
	d.subscribe(failing, "message.received")
	d.ana()
	d.advance(3 * time.Minute) // the next retry is ten minutes after the one before
	failing.answer(204)
	d.subscribe(stuck, "message.received")
	d.ana()
	<-arrived

	closed := make(chan error)
	for range 2 {
		go func() { closed <- s.Close() }()
		select {
		case err := <-closed:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(time.Minute):
			close(release)
			t.Fatal("Close waits for a retry, or for a receiver that never answers")
		}
	}
	stacks := func() string {
		all := make([]byte, 256<<10)
		return string(all[:runtime.Stack(all, true)])
	}
	eventually := func(what string, so func() bool) {
		t.Helper()
		for range 6000 { // connections need a moment
			if so() {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("%s:\n%s", what, stacks())
	}
	eventually("connections to receivers are left", func() bool { return !strings.Contains(stacks(), "persistConn") })
	close(release)
	stuck.Close()
	failing.Close()
	eventually("goroutines are left", func() bool { return runtime.NumGoroutine() <= before })
	if _, err := s.Start(context.Background(), "127.0.0.1:0"); err == nil {
		t.Error("a closed sandbox starts")
	}
}
