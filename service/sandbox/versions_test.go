package sandbox_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestCreateCard(t *testing.T) {
	d := open(t)
	conversation := d.ana()
	board, proposal := d.stage("Sales", "Proposal")
	vip := d.label("vip")
	r := d.newCard(m{"stage_id": proposal, "description": "big", "priority": "urgent", "label_ids": []string{vip},
		"due_date": "2026-12-01", "conversation_id": conversation}).want(201)
	for field, want := range map[string]any{"board_id": board, "stage_id": proposal, "title": "Offer", "description": "big",
		"priority": "urgent", "due_date": "2026-12-01", "conversation_id": conversation, "status": "open", "version": 1.0} {
		if got := r.get(field); got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	if strings.Contains(string(r.body), "private") {
		t.Errorf("the answer tells of what is private: %s", r.body)
	}
	for _, tt := range []struct {
		name   string
		fields m
		status int
	}{
		{"needs board_id", m{"board_id": nil}, 400}, {"needs a title", m{"title": ""}, 400}, {"unknown board", m{"board_id": uuid(1)}, 404},
		{"a stage of another board", m{"board_id": d.named("/kanban/boards", "Attendances"), "stage_id": proposal}, 400},
		{"unknown priority", m{"priority": "top"}, 400}, {"unknown label", m{"label_ids": []string{uuid(1)}}, 400},
		{"due_date is no date", m{"due_date": "soon"}, 400}, {"unknown contact", m{"contact_id": uuid(1)}, 400},
		{"unknown conversation", m{"conversation_id": uuid(1)}, 400},
	} {
		d.run(t, tt.name, func(t *testing.T) { d.newCard(tt.fields).want(tt.status) })
	}
}

func TestVersions(t *testing.T) {
	d := open(t)
	card := d.newCard(nil).want(201).text("id")
	_, proposal := d.stage("Sales", "Proposal")
	patch, move := "PATCH /kanban/cards/"+card, "POST /kanban/cards/"+card+"/move"

	d.run(t, "ETag carries the version", func(t *testing.T) {
		r := d.api("GET /kanban/cards/"+card, nil).want(200)
		if got := r.header.Get("ETag"); got != `"1"` || r.get("version") != 1.0 {
			t.Errorf("ETag %s, %s", got, r.body)
		}
	})
	d.run(t, "an edit without one is refused", func(t *testing.T) {
		d.api(patch, m{"title": "x"}).code(428, "version_required")
	})
	d.run(t, "a move without one is refused", func(t *testing.T) {
		d.api(move, m{"stage_id": proposal}, "Idempotency-Key: without-version").code(428, "version_required")
	})
	d.run(t, "an edit with If-Match", func(t *testing.T) {
		r := d.api(patch, m{"title": "Second"}, `If-Match: "1"`).want(200)
		if r.get("version") != 2.0 || r.header.Get("ETag") != `"2"` || r.text("title") != "Second" {
			t.Errorf("card %s", r.body)
		}
	})
	d.run(t, "an edit with version in the body", func(t *testing.T) {
		if r := d.api(patch, m{"priority": "low", "version": 2}).want(200); r.get("version") != 3.0 {
			t.Errorf("card %s", r.body)
		}
	})
	d.run(t, "an outdated edit is a conflict", func(t *testing.T) {
		d.api(patch, m{"title": "x"}, `If-Match: "1"`).code(409, "version_conflict")
		d.api(patch, m{"title": "x", "version": 2}).code(409, "version_conflict")
		if got := d.api("GET /kanban/cards/"+card, nil).text("title"); got != "Second" {
			t.Errorf("title %q", got)
		}
	})
	d.run(t, "an outdated move is a conflict", func(t *testing.T) {
		d.api(move, m{"stage_id": proposal, "version": 1}, "Idempotency-Key: outdated-move").code(409, "version_conflict")
	})
	d.run(t, "after reading again the change goes through", func(t *testing.T) {
		etag := d.api("GET /kanban/cards/"+card, nil).header.Get("ETag")
		r := d.api(move, m{"stage_id": proposal}, "If-Match: "+etag, "Idempotency-Key: current-move").want(200)
		if r.text("stage_id") != proposal || r.get("version") != 4.0 {
			t.Errorf("card %s", r.body)
		}
	})
	d.run(t, "If-Match without quotes", func(t *testing.T) { d.api(patch, m{"title": "Third"}, "If-Match: 4").want(200) })
	d.run(t, "If-Match that is no version", func(t *testing.T) {
		d.api(patch, m{"title": "x"}, "If-Match: abc").code(400, "invalid_request")
	})
}

func TestMoveCard(t *testing.T) {
	d := open(t, func(o *sandbox.Options) { o.KanbanEvents = true })
	hook := d.receive(200)
	d.subscribe(hook, "kanban.card.created", "kanban.card.moved", "kanban.card.completed")
	r := d.newCard(nil).want(201)
	card, lead := r.text("id"), r.text("stage_id")
	_, won := d.stage("Sales", "Won")
	_, done := d.stage("Attendances", "Done")
	move := "POST /kanban/cards/" + card + "/move"
	d.run(t, "to a stage of another board", func(t *testing.T) {
		d.api(move, m{"stage_id": done, "version": 1}, "Idempotency-Key: another-board").code(400, "invalid_request")
		d.api(move, m{"version": 1}, "Idempotency-Key: without-stage").code(400, "invalid_request")
	})
	d.run(t, "to a winning stage completes it", func(t *testing.T) {
		got := d.api(move, m{"stage_id": won, "version": 1}, "Idempotency-Key: to-the-won-stage").want(200)
		if got.text("status") != "completed" {
			t.Errorf("card %s", got.body)
		}
		d.settle()
		if diff := cmp.Diff([]string{"kanban.card.created", "kanban.card.moved", "kanban.card.completed"}, hook.types()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
	})
	d.run(t, "the event says from where, to where and who", func(t *testing.T) {
		e := hook.deliveries()[1]
		if e.data(t, "data.from_stage_id") != lead || e.data(t, "data.to_stage_id") != won || e.data(t, "data.moved_by.kind") != "api" {
			t.Errorf("event %s", e.body)
		}
	})
	d.run(t, "card events carry the public fields", func(t *testing.T) {
		for _, e := range hook.deliveries() {
			if strings.Contains(string(e.body), "private") || e.data(t, "data.card.id") != card {
				t.Errorf("event %s", e.body)
			}
		}
	})
}

func TestIdempotency(t *testing.T) {
	d := open(t)
	board, lead := d.stage("Sales", "Lead")
	_, proposal := d.stage("Sales", "Proposal")
	create := "POST /kanban/cards"
	body := m{"board_id": board, "stage_id": lead, "title": "Once"}
	cards := func() int { return len(d.api("GET /kanban/cards?limit=100", nil).want(200).ids()) }

	for _, tt := range []struct {
		name, key string
		status    int
	}{
		{"the key is required", "", 400}, {"7 characters are too few", "1234567", 400}, {"8 characters are enough", "12345678", 201},
		{"128 characters are taken", strings.Repeat("k", 128), 201}, {"129 characters are too many", strings.Repeat("k", 129), 400},
	} {
		d.run(t, tt.name, func(t *testing.T) { d.api(create, body, "Idempotency-Key: "+tt.key).want(tt.status) })
	}
	d.run(t, "a move requires the key too", func(t *testing.T) {
		card := d.newCard(m{"title": "Keyless"}).want(201).text("id")
		d.api("POST /kanban/cards/"+card+"/move", m{"stage_id": proposal, "version": 1}).code(400, "invalid_request")
	})
	d.run(t, "the same call is answered again", func(t *testing.T) {
		before := cards()
		first := d.api(create, body, "Idempotency-Key: same-call").want(201)
		if got := first.header.Get("Idempotency-Replayed"); got != "" {
			t.Errorf("the first answer says replayed: %q", got)
		}
		effects := len(d.Effects())
		again := d.api(create, body, "Idempotency-Key: same-call").want(201)
		if again.header.Get("Idempotency-Replayed") != "true" || string(again.body) != string(first.body) ||
			again.header.Get("ETag") != first.header.Get("ETag") {
			t.Errorf("replay %v %s", again.header, again.body)
		}
		if got := cards() - before; got != 1 || len(d.Effects()) != effects {
			t.Errorf("%d cards, %d more effects", got, len(d.Effects())-effects)
		}
	})
	d.run(t, "a completed move is answered again whatever the version is now", func(t *testing.T) {
		card := d.newCard(m{"title": "Mover"}).want(201).text("id")
		move := m{"stage_id": proposal, "version": 1}
		d.api("POST /kanban/cards/"+card+"/move", move, "Idempotency-Key: move-it-once").want(200)
		again := d.api("POST /kanban/cards/"+card+"/move", move, "Idempotency-Key: move-it-once").want(200)
		if again.header.Get("Idempotency-Replayed") != "true" || again.get("version") != 2.0 {
			t.Errorf("replay %v %s", again.header, again.body)
		}
	})
	d.run(t, "another body is a conflict", func(t *testing.T) {
		d.api(create, m{"board_id": board, "title": "Other"}, "Idempotency-Key: same-call").code(409, "idempotency_conflict")
	})
	d.run(t, "another path is a conflict", func(t *testing.T) {
		card := d.newCard(m{"title": "Path"}).want(201).text("id")
		d.api("POST /kanban/cards/"+card+"/move", body, "Idempotency-Key: same-call").code(409, "idempotency_conflict")
	})
	d.run(t, "keys of another integration are apart", func(t *testing.T) {
		other, _ := d.NewKey(sandbox.NewKey{Scopes: sandbox.Scopes})
		r := d.api(create, body, "Idempotency-Key: same-call", "Authorization: Bearer "+other.APIKey).want(201)
		if r.header.Get("Idempotency-Replayed") != "" {
			t.Error("replayed")
		}
	})
	d.run(t, "a refused call reserves nothing", func(t *testing.T) {
		d.api(create, m{"board_id": board}, "Idempotency-Key: refused-call").code(400, "invalid_request")
		d.api(create, body, "Idempotency-Key: refused-call").want(201)
	})
	for _, kind := range []string{"drop_after", "status_after"} {
		d.run(t, "pending after "+kind, func(t *testing.T) {
			card := d.newCard(m{"title": kind}).want(201).text("id")
			path, move := "POST /kanban/cards/"+card+"/move", m{"stage_id": proposal, "version": 1}
			key := "Idempotency-Key: lost-" + kind
			d.act("POST /faults", m{"operation": "POST /kanban/cards/{id}/move", "kind": kind, "count": 1}).want(200)
			if r := d.api(path, move, key); r.err == nil && r.status != 503 {
				t.Fatalf("status %d", r.status)
			}
			effects := len(d.Effects())
			d.api(path, move, key).code(409, "idempotency_pending")
			d.api(path, move, key).code(409, "idempotency_pending")
			r := d.api("GET /kanban/cards/"+card, nil).want(200)
			if r.text("stage_id") != proposal || r.get("version") != 2.0 || len(d.Effects()) != effects {
				t.Errorf("the repeat moved something: %s", r.body)
			}
			if got := d.Effects()[effects-1]; got.Object.String() != card {
				t.Errorf("the effect of the lost call is missing: %v", got)
			}
		})
	}
	d.run(t, "a reservation lasts 7 days", func(t *testing.T) {
		d.api(create, body, "Idempotency-Key: for-a-week").want(201)
		d.advance(7*24*time.Hour - time.Second)
		if r := d.api(create, body, "Idempotency-Key: for-a-week").want(201); r.header.Get("Idempotency-Replayed") != "true" {
			t.Error("forgotten before its time")
		}
		d.advance(time.Second)
		if r := d.api(create, body, "Idempotency-Key: for-a-week").want(201); r.header.Get("Idempotency-Replayed") != "" {
			t.Error("still there after 7 days")
		}
	})
}
