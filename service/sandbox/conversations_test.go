package sandbox_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestChannels(t *testing.T) {
	d := open(t)
	r := d.api("GET /channels", nil).want(200)
	if r.text("data.0.name") != "Main" || r.text("data.0.phone") == "" || r.get("data.0.private") != false {
		t.Errorf("channels %s", r.body)
	}
}

// openFiltered opens a desk of five conversations, each with something the others lack.
func openFiltered(t *testing.T) (*desk, map[string]string) {
	d := open(t)
	if err := d.AddState([]byte(`{"channels":[{"name":"Second"}]}`)); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for i, name := range []string{"Ana Lima", "Beto", "Caio", "Duda"} {
		ids[name], _, _ = d.writes(fmt.Sprintf("+55119888877%02d", i), name, "question about "+name)
		d.advance(time.Minute)
	}
	w, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887799", Name: "Eva", Text: "in a group", Group: "Family", Channel: "Second"})
	if err != nil {
		t.Fatal(err)
	}
	ids["Family"] = w.Conversation.String()
	d.api("PATCH /conversations/"+ids["Ana Lima"], m{"archived": true, "label_ids": []string{d.label("vip")}}).want(200)
	d.api("POST /conversations/"+ids["Beto"]+"/read", nil).want(200)
	d.api("POST /conversations/"+ids["Caio"]+"/transfer", m{"user_id": d.person("Bruno"), "sector_id": d.sector("Sales")}).want(200)
	return d, ids
}

func TestListConversations(t *testing.T) {
	d, ids := openFiltered(t)
	bruno, _ := d.NewKey(sandbox.NewKey{Scopes: sandbox.Scopes, Person: "Bruno"})
	all := []string{"Caio", "Beto", "Ana Lima", "Family", "Duda"} // by the last change
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"without filters", "", all},
		{"q is a name", "q=ana+lima", []string{"Ana Lima"}},
		{"q is a phone", "q=%2B5511988887701", []string{"Beto"}},
		{"q is part of a phone", "q=8887701", []string{"Beto"}},
		{"q is a phone without the ninth digit", "q=551188887701", []string{"Beto"}},
		{"q is part of the last message", "q=about+Duda", []string{"Duda"}},
		{"archived true", "archived=true", []string{"Ana Lima"}},
		{"archived false", "archived=false", []string{"Caio", "Beto", "Family", "Duda"}},
		{"unread true", "unread=true", []string{"Caio", "Ana Lima", "Family", "Duda"}},
		{"kind direct", "kind=direct", []string{"Caio", "Beto", "Ana Lima", "Duda"}},
		{"kind group", "kind=group", []string{"Family"}},
		{"channel", "channel=" + d.named("/channels", "Second"), []string{"Family"}},
		{"assignee none", "assignee=none", []string{"Beto", "Ana Lima", "Family", "Duda"}},
		{"assignee a person", "assignee=" + d.person("Bruno"), []string{"Caio"}},
		{"assignee me", "assignee=me", []string{"Caio"}},
		{"sector", "sector=" + d.sector("Sales"), []string{"Caio"}},
		{"label", "label=" + d.label("vip"), []string{"Ana Lima"}},
		{"several filters", "archived=false&unread=true&assignee=none&kind=direct", []string{"Duda"}},
		{"limit", "limit=2", []string{"Caio", "Beto"}},
		{"offset skips", "limit=2&offset=2", []string{"Ana Lima", "Family"}},
		{"offset beyond the end", "offset=9", []string{}},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			r := d.api("GET /conversations?"+tt.query, nil, "Authorization: Bearer "+bruno.APIKey).want(200)
			want := []string{}
			for _, name := range tt.want {
				want = append(want, ids[name])
			}
			if diff := cmp.Diff(want, r.ids()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.query, diff)
			}
		})
	}
	for _, query := range []string{"archived=1", "unread=yes", "kind=channel", "channel=Main", "assignee=Bruno", "sector=1", "label=vip", "limit=0", "limit=x", "offset=-1"} {
		d.run(t, "refuses "+query, func(t *testing.T) {
			d.api("GET /conversations?"+query, nil).code(400, "invalid_request")
		})
	}
}

func TestConversationFields(t *testing.T) {
	d := open(t)
	id := d.ana()
	r := d.api("GET /conversations/"+id, nil).want(200)
	for path, want := range map[string]any{
		"id": id, "kind": "direct", "archived": false, "pinned": false, "muted": false, "name": "Ana Lima",
		"channel_id": d.channel(), "phone": "+5511988887777", "assignee_id": nil, "sector_id": nil,
		"unread": true, "unread_count": 1.0, "last_message.text": "hello", "last_message.direction": "inbound",
		"created_at": "2026-11-13T20:50:00Z",
	} {
		if got := r.get(path); got != want {
			t.Errorf("%s is %v, want %v", path, got, want)
		}
	}
	if got := r.get("label_ids").([]any); len(got) != 0 {
		t.Errorf("label_ids %v", got)
	}
}

func TestOpenConversation(t *testing.T) {
	d := open(t)
	channel := d.channel()
	contact := d.api("POST /contacts", m{"name": "Beto", "phone": "+5511977776666"}).want(201).text("id")
	d.run(t, "with a phone", func(t *testing.T) {
		r := d.api("POST /conversations", m{"channel_id": channel, "phone": "+5511988887777", "name": "Ana"}).want(201)
		if r.text("name") != "Ana" || r.text("phone") != "+5511988887777" || r.text("contact_id") == "" {
			t.Errorf("conversation %s", r.body)
		}
	})
	d.run(t, "with an existing contact", func(t *testing.T) {
		r := d.api("POST /conversations", m{"channel_id": channel, "contact_id": contact}).want(201)
		if r.text("contact_id") != contact || r.text("name") != "Beto" {
			t.Errorf("conversation %s", r.body)
		}
	})
	d.run(t, "that is there returns it, also without the ninth digit", func(t *testing.T) {
		before := len(d.Effects())
		first := d.api("POST /conversations", m{"channel_id": channel, "contact_id": contact}).want(201).text("id")
		again := d.api("POST /conversations", m{"channel_id": channel, "phone": "+551177776666"}).want(201).text("id")
		if first != again || len(d.Effects()) != before {
			t.Errorf("%s and %s, %d new effects", first, again, len(d.Effects())-before)
		}
	})
	d.run(t, "opens an attendance", func(t *testing.T) {
		id := d.api("POST /conversations", m{"channel_id": channel, "phone": "+5511955554444"}).want(201).text("id")
		if got := d.api("GET /conversations/"+id+"/attendance", nil).want(200).text("status"); got != "open" {
			t.Errorf("status %q", got)
		}
	})
	for name, tt := range map[string]struct {
		body m
		code int
	}{
		"needs channel_id":            {m{"phone": "+5511988887777"}, 400},
		"needs a UUID as channel_id":  {m{"channel_id": "Main", "phone": "+5511988887777"}, 400},
		"needs a phone or contact_id": {m{"channel_id": channel}, 400},
		"takes no two of them":        {m{"channel_id": channel, "phone": "+5511988887777", "contact_id": contact}, 400},
		"needs a phone number":        {m{"channel_id": channel, "phone": "Ana"}, 400},
		"unknown channel":             {m{"channel_id": uuid(1), "phone": "+5511988887777"}, 404},
		"unknown contact":             {m{"channel_id": channel, "contact_id": uuid(1)}, 404},
	} {
		d.run(t, name, func(t *testing.T) { d.api("POST /conversations", tt.body).want(tt.code) })
	}
}

func TestPatchConversation(t *testing.T) {
	d := open(t)
	id := d.ana()
	r := d.receive(200)
	d.subscribe(r, "conversation.updated")
	vip := d.label("vip")
	for _, tt := range []struct {
		name, field string
		value       any
	}{
		{"archived", "archived", true},
		{"archived again to false", "archived", false},
		{"pinned", "pinned", true},
		{"muted", "muted", true},
		{"name", "name", "Ana L."},
		{"label_ids", "label_ids", []any{vip}},
		{"label_ids to none", "label_ids", []any{}},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			before := len(r.deliveries())
			got := d.api("PATCH /conversations/"+id, m{tt.field: tt.value}).want(200).get(tt.field)
			if diff := cmp.Diff(tt.value, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.field, diff)
			}
			d.settle()
			events := r.deliveries()[before:]
			if len(events) != 1 || events[0].data(t, "data.changed.0") != tt.field {
				t.Errorf("%d events", len(events))
			}
		})
	}
	d.run(t, "leaves what is not sent", func(t *testing.T) {
		got := d.api("PATCH /conversations/"+id, m{}).want(200)
		if got.get("pinned") != true || got.text("name") != "Ana L." {
			t.Errorf("conversation %s", got.body)
		}
	})
	for name, body := range map[string]m{
		"archived must be a boolean": {"archived": "yes"}, "pinned must not be null": {"pinned": nil},
		"name must be a string": {"name": 7}, "label_ids must be UUIDs": {"label_ids": []string{"vip"}},
		"label_ids must exist": {"label_ids": []string{uuid(1)}}, "label_ids must be a list": {"label_ids": vip},
	} {
		d.run(t, name, func(t *testing.T) { d.api("PATCH /conversations/"+id, body).code(400, "invalid_request") })
	}
}

func TestReadConversation(t *testing.T) {
	d := open(t)
	id := d.ana()
	r := d.api("POST /conversations/"+id+"/read", nil).want(200)
	if r.get("unread") != false || r.get("unread_count") != 0.0 {
		t.Errorf("conversation %s", r.body)
	}
	d.ana()
	if got := d.api("GET /conversations/"+id, nil).get("unread"); got != true {
		t.Errorf("unread is %v after another message", got)
	}
}

func TestTransfer(t *testing.T) {
	d := open(t)
	id := d.ana()
	hook := d.receive(200)
	d.subscribe(hook, "conversation.updated")
	bruno, sales, support := d.person("Bruno"), d.sector("Sales"), d.sector("Support")
	path := "POST /conversations/" + id + "/transfer"
	state := func() [2]any {
		r := d.api("GET /conversations/"+id, nil).want(200)
		a := d.api("GET /conversations/"+id+"/attendance", nil).want(200)
		if r.get("assignee_id") != a.get("assignee_id") || r.get("sector_id") != a.get("sector_id") {
			t.Errorf("the attendance does not follow: %s %s", r.body, a.body)
		}
		return [2]any{r.get("assignee_id"), r.get("sector_id")}
	}
	d.run(t, "to a person and a sector", func(t *testing.T) {
		d.api(path, m{"user_id": bruno, "sector_id": sales, "reason": "sells"}).want(200)
		if got := state(); got != [2]any{bruno, sales} {
			t.Errorf("responsible %v", got)
		}
	})
	d.run(t, "to a sector waits there for somebody", func(t *testing.T) {
		d.api(path, m{"sector_id": support}).want(200)
		if got := state(); got != [2]any{nil, support} {
			t.Errorf("responsible %v", got)
		}
		if got := d.api("GET /sectors", nil).get("data.0.queues.0.waiting"); got != 1.0 {
			t.Errorf("waiting %v", got)
		}
	})
	d.run(t, "to a person stays in the sector", func(t *testing.T) {
		d.api(path, m{"user_id": bruno}).want(200)
		if got := state(); got != [2]any{bruno, support} {
			t.Errorf("responsible %v", got)
		}
	})
	d.run(t, "raises conversation.updated", func(t *testing.T) {
		d.settle()
		got := hook.deliveries()
		if len(got) != 3 || got[2].data(t, "data.changed") != "[assignee_id]" {
			t.Errorf("%v", hook.types())
		}
	})
	d.run(t, "is in the history, newest first", func(t *testing.T) {
		r := d.api("GET /conversations/"+id+"/assignments", nil).want(200)
		if len(r.ids()) != 3 || r.text("data.2.reason") != "sells" || r.text("data.2.user_id") != bruno ||
			r.text("data.2.action") != "received" || r.text("data.1.from_user_id") != bruno || r.text("data.2.by.kind") != "api" {
			t.Errorf("history %s", r.body)
		}
	})
	d.run(t, "to nobody changes nothing", func(t *testing.T) {
		before := d.api("GET /conversations/"+id, nil).want(200).body
		d.api(path, m{"reason": "x"}).want(200)
		if after := d.api("GET /conversations/"+id, nil).want(200).body; string(after) != string(before) {
			t.Errorf("%s became %s", before, after)
		}
	})
	d.run(t, "to nobody known", func(t *testing.T) {
		d.api(path, m{"user_id": uuid(1)}).code(404, "not_found")
		d.api(path, m{"sector_id": uuid(1)}).code(404, "not_found")
		d.api(path, m{"user_id": "Bruno"}).code(400, "invalid_request")
	})
}

func TestSetSector(t *testing.T) {
	d := open(t)
	id := d.ana()
	path, sales := "PUT /conversations/"+id+"/sector", d.sector("Sales")
	d.api("POST /conversations/"+id+"/transfer", m{"user_id": d.person("Bruno")}).want(200)
	d.run(t, "sets it and leaves the person", func(t *testing.T) {
		r := d.api(path, m{"sector_id": sales, "reason": "sells"}).want(200)
		if r.text("sector_id") != sales || r.text("assignee_id") != d.person("Bruno") {
			t.Errorf("conversation %s", r.body)
		}
	})
	d.run(t, "null clears it", func(t *testing.T) {
		if r := d.api(path, m{"sector_id": nil}).want(200); r.get("sector_id") != nil {
			t.Errorf("conversation %s", r.body)
		}
	})
	d.run(t, "is in the history", func(t *testing.T) {
		r := d.api("GET /conversations/"+id+"/assignments", nil).want(200)
		if r.text("data.1.reason") != "sells" || r.text("data.0.action") != "handed_back" {
			t.Errorf("history %s", r.body)
		}
	})
	d.run(t, "unknown sector", func(t *testing.T) { d.api(path, m{"sector_id": uuid(1)}).code(404, "not_found") })
	d.run(t, "everything is optional", func(t *testing.T) { d.api(path, m{}).want(200) })
}

// TestOrderOfConversations checks the index against a plain list, through
// many changes.
func TestOrderOfConversations(t *testing.T) {
	d := open(t)
	var want []string
	for i := range 700 {
		id, _, _ := d.writes(fmt.Sprintf("+551198%07d", i%300), "", "hi")
		want = slices.DeleteFunc(want, func(w string) bool { return w == id })
		want = slices.Insert(want, 0, id)
	}
	var got []string
	for offset := 0; offset < 300; offset += 100 {
		got = append(got, d.api(fmt.Sprintf("GET /conversations?limit=100&offset=%d", offset), nil).want(200).ids()...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}
