package sandbox_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

// parse reads JSON so that two documents can be compared by meaning.
func parse(t *testing.T, src []byte) any {
	t.Helper()
	var v any
	if err := json.Unmarshal(src, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

func TestState(t *testing.T) {
	t.Run("what is read is what was written", func(t *testing.T) {
		d := open(t, func(o *sandbox.Options) { o.KanbanEvents = true; o.RateLimit = 1000 })
		hook := d.receive(500)
		d.subscribe(hook, "message.received", "kanban.card.moved")
		conversation := d.ana()
		d.upload("file", "a.txt", "content").want(201)
		d.api("POST /conversations/"+conversation+"/messages", m{"client_id": uuid(1), "text": "hi"}).want(201)
		d.api("POST /conversations/"+conversation+"/transfer", m{"sector_id": d.sector("Sales")}).want(200)
		d.newCard(m{"label_ids": []string{d.label("vip")}}).want(201)
		if _, err := d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Secret", Private: true}); err != nil {
			t.Fatal(err)
		}
		d.act("POST /faults", m{"operation": "GET /team", "kind": "status_before"}).want(200)
		d.writes("+5511977776666", "Beto", "hi")
		d.advance(time.Minute)
		first := d.act("GET /state", nil).want(200)

		other := open(t, func(o *sandbox.Options) { o.State = bytes.NewReader(first.body) })
		if diff := cmp.Diff(parse(t, first.body), parse(t, func() []byte { _, _ = other.SetClock(t.Context(), d.Now()); return other.State() }())); diff != "" {
			t.Errorf("--state (-written +read):\n%s", diff)
		}
		d.act("PUT /state", first.body).want(200)
		if diff := cmp.Diff(parse(t, first.body), parse(t, d.State())); diff != "" {
			t.Errorf("PUT (-written +read):\n%s", diff)
		}
		d.run(t, "and it goes on from there", func(t *testing.T) {
			hook.answer(200)
			before := len(hook.deliveries())
			d.advance(time.Hour)
			if got := len(hook.deliveries()) - before; got != 2 {
				t.Errorf("%d retries after the state was put back, want 2", got)
			}
			d.api("POST /conversations/"+conversation+"/messages", m{"client_id": uuid(1), "text": "hi"}).want(201)
			if got := len(d.api("GET /conversations/"+conversation+"/messages", nil).ids()); got != 2 {
				t.Errorf("%d messages: the client_id was forgotten", got)
			}
			if got := d.writesProtocol("+5511966665555"); got != "ATD-000003" {
				t.Errorf("protocol %s", got)
			}
		})
	})
	t.Run("a few lines are enough", func(t *testing.T) {
		d := open(t)
		d.act("PUT /state", `{"contacts":[{"name":"Ana","phone":"+5511988887777"}]}`).want(200)
		r := d.api("GET /contacts", nil).want(200) // the key has stayed
		if r.text("data.0.name") != "Ana" || r.text("data.0.id") == "" || r.text("data.0.created_at") != "2026-11-13T20:50:00Z" {
			t.Errorf("contacts %s", r.body)
		}
		d.sector("Supervisors") // the small company is there
	})
	t.Run("names stand for ids", func(t *testing.T) {
		d := open(t)
		d.act("PUT /state", `{
			"people": [{"name":"Zoe","role":"agent","sectors":["Support"]}],
			"sectors": [{"name":"Support"},{"name":"Night","members":["Zoe"]}],
			"contacts": [{"name":"Ana","phone":"+5511988887777","labels":["vip"]}],
			"conversations": [{"contact":"Ana","assignee":"Zoe","sector":"Night","labels":["vip"],"unread":true}],
			"messages": [{"conversation":"Ana","text":"hello"}],
			"attendances": [{"conversation":"Ana"}],
			"cards": [{"board":"Sales","stage":"Proposal","title":"Offer","contact":"Ana","due":"2026-12-01"}]}`).want(200)
		conversation := d.api("GET /conversations?label="+d.label("vip"), nil).want(200)
		if conversation.text("data.0.assignee_id") != d.person("Zoe") || conversation.text("data.0.sector_id") != d.sector("Night") || conversation.text("data.0.last_message.text") != "hello" {
			t.Errorf("conversations %s", conversation.body)
		}
		if got := d.api("GET /sectors", nil).text("data.1.member_ids.0"); got != d.person("Zoe") {
			t.Errorf("members %s", got)
		}
		if got := d.api("GET /kanban/cards?q=Ana", nil).want(200); len(got.ids()) != 1 || got.text("data.0.due_date") != "2026-12-01" {
			t.Errorf("cards %s", got.body)
		}
	})
	t.Run("an attendance by hand has its card", func(t *testing.T) {
		d := open(t)
		d.act("PUT /state", `{"contacts":[{"name":"Ana"}],"conversations":[{"contact":"Ana"}],"attendances":[{"conversation":"Ana"}]}`).want(200)
		board, done := d.stage("Attendances", "Done")
		d.act("POST /team/close", m{"conversation": "Ana"}).want(200)
		if got := d.api("GET /kanban/cards?board_id="+board, nil).want(200).text("data.0.stage_id"); got != done {
			t.Errorf("stage %s, want %s", got, done)
		}
	})
	t.Run("adding leaves what is there", func(t *testing.T) {
		d := open(t)
		vip := d.label("vip")
		d.act("POST /state", `{"labels":[{"name":"vip"},{"name":"new"}],"boards":[{"name":"Sales","stages":[{"name":"Lead"},{"name":"Lost"}]}]}`).want(200)
		if d.label("vip") != vip || d.label("new") == "" {
			t.Error("labels")
		}
		d.stage("Sales", "Won")
		d.stage("Sales", "Lost")
	})
	t.Run("refuses, and stays as it was", func(t *testing.T) {
		d := open(t)
		d.ana()
		before := parse(t, d.State())
		for _, tt := range []struct{ state, hint string }{
			{`[]`, "JSON object"},
			{`{"contact":[]}`, `did you mean "contacts"?`},
			{`{"contacts":{}}`, "must be a list"},
			{`{"contacts":[{"nome":"Ana"}]}`, "nome"},
			{`{"contacts":[{"name":"Ana","phone":"+551190000000"},{"name":"Bia","phone":"+551190000000"}]}`, "item 2"},
			{`{"conversations":[{"contact":"Ana"}]}`, "no contact"},
			{`{"cards":[{"board":"Sale","title":"x"}]}`, `did you mean "Sales"?`},
			{`{"boards":[{"name":"Sales","stages":[null]}]}`, "a stage needs a name"},
			{`{"now":"today"}`, "now"},
			{`{"webhooks":[{"url":"http://10.0.0.1/"}]}`, "https"},
		} {
			r := d.act("PUT /state", tt.state)
			r.code(400, "invalid_request")
			if !strings.Contains(r.text("message"), tt.hint) {
				t.Errorf("%s: %s does not mention %q", tt.state, r.text("message"), tt.hint)
			}
		}
		if diff := cmp.Diff(before, parse(t, d.State())); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
	t.Run("the same seed makes the same ids", func(t *testing.T) {
		a, b := open(t), open(t)
		a.ana()
		b.ana()
		if diff := cmp.Diff(parse(t, a.State()), parse(t, b.State())); diff != "" {
			t.Errorf("(-a +b):\n%s", diff)
		}
		c := open(t, func(o *sandbox.Options) { o.Seed = 0 })
		if c.key == a.key {
			t.Error("without a seed the key is the same")
		}
	})
	t.Run("empty", func(t *testing.T) {
		d := open(t, func(o *sandbox.Options) { o.Empty = true })
		if got := d.api("GET /channels", nil).want(200).ids(); len(got) != 0 {
			t.Errorf("channels %v", got)
		}
	})
}

// writesProtocol sends a customer's message and returns the attendance's protocol.
func (d *desk) writesProtocol(phone string) string {
	_, _, attendance := d.writes(phone, "", "hi")
	return d.api("GET /attendances/"+attendance, nil).want(200).text("protocol")
}
