package sandbox_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCreateContact(t *testing.T) {
	d := open(t)
	channel := d.channel()
	r := d.api("POST /contacts", m{"name": "Ana", "phone": "+55 11 98888-7777", "company": "Acme", "city": "Recife", "channel_id": channel}).want(201)
	for field, want := range map[string]any{"name": "Ana", "phone": "+55 11 98888-7777", "company": "Acme", "city": "Recife", "channel_id": channel, "blocked": false} {
		if got := r.get(field); got != want {
			t.Errorf("%s is %v, want %v", field, got, want)
		}
	}
	for _, tt := range []struct {
		name string
		body m
		code int
	}{
		{"needs a name", m{"phone": "+5511900000000"}, 400},
		{"needs a phone", m{"name": "Ana"}, 400},
		{"needs a phone number", m{"name": "Ana", "phone": "tomorrow"}, 400},
		{"channel_id must be a UUID", m{"name": "Ana", "phone": "+5511900000000", "channel_id": "Main"}, 400},
		{"unknown channel", m{"name": "Ana", "phone": "+5511900000000", "channel_id": uuid(1)}, 404},
		{"the same phone twice", m{"name": "Ana", "phone": "+5511988887777"}, 409},
		{"the same phone without the ninth digit", m{"name": "Ana", "phone": "+551188887777"}, 409},
	} {
		d.run(t, tt.name, func(t *testing.T) { d.api("POST /contacts", tt.body).want(tt.code) })
	}
}

func TestListContacts(t *testing.T) {
	d := open(t)
	channel, vip := d.channel(), d.label("vip")
	ana := d.api("POST /contacts", m{"name": "Ana Lima", "phone": "+5511988887777"}).want(201).text("id")
	beto := d.api("POST /contacts", m{"name": "Beto", "phone": "+551177776666", "channel_id": channel}).want(201).text("id")
	caio := d.api("POST /contacts", m{"name": "Caio", "phone": "+5511966665555"}).want(201).text("id")
	d.api("PATCH /contacts/"+caio, m{"label_ids": []string{vip}}).want(200)
	for _, tt := range []struct {
		name, query string
		want        []string
	}{
		{"all", "", []string{caio, beto, ana}},
		{"q is a name", "q=ANA", []string{ana}},
		{"q is a phone", "q=988887777", []string{ana}},
		{"q is a phone with a ninth digit it lacks", "q=5511977776666", []string{beto}},
		{"label", "label=" + vip, []string{caio}},
		{"channel", "channel=" + channel, []string{beto}},
		{"limit and offset", "limit=1&offset=1", []string{beto}},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, d.api("GET /contacts?"+tt.query, nil).want(200).ids()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	d.run(t, "refuses", func(t *testing.T) {
		for _, query := range []string{"label=vip", "channel=1", "limit=0", "offset=x"} {
			d.api("GET /contacts?"+query, nil).code(400, "invalid_request")
		}
	})
}

func TestPatchContact(t *testing.T) {
	d := open(t)
	id := d.api("POST /contacts", m{"name": "Ana", "phone": "+5511988887777", "city": "Recife"}).want(201).text("id")
	vip := d.label("vip")
	for _, tt := range []struct {
		name  string
		value any
	}{
		{"name", "Ana Lima"}, {"company", "Acme"}, {"city", "Natal"}, {"label_ids", []any{vip}}, {"blocked", true},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			d.api("PATCH /contacts/"+id, m{tt.name: tt.value}).want(200)
			if diff := cmp.Diff(tt.value, d.api("GET /contacts/"+id, nil).want(200).get(tt.name)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	d.run(t, "refuses", func(t *testing.T) {
		for _, body := range []m{{"name": ""}, {"blocked": "no"}, {"blocked": nil}, {"label_ids": nil}, {"label_ids": []string{uuid(1)}}, {"city": 1}} {
			d.api("PATCH /contacts/"+id, body).code(400, "invalid_request")
		}
	})
}

func TestLabels(t *testing.T) {
	d := open(t)
	r := d.api("GET /labels", nil).want(200)
	var names []string
	for i := range r.ids() {
		names = append(names, r.text("data."+string(rune('0'+i))+".name"))
	}
	if diff := cmp.Diff([]string{"vip", "after-hours", "sla-breach", "proposal-sent"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
