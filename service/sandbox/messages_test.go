package sandbox_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestListMessages(t *testing.T) {
	d := open(t)
	id := d.ana()
	all := []string{d.api("GET /conversations/"+id+"/messages", nil).want(200).text("data.0.id")}
	for i := range 6 { // newest first
		sent := d.api("POST /conversations/"+id+"/messages", m{"client_id": uuid(i + 1), "text": fmt.Sprint(i)}).want(201)
		all = append([]string{sent.text("id")}, all...)
	}
	other, message, _ := d.writes("+5511977776666", "Beto", "hi")
	_ = other
	for _, tt := range []struct {
		name, query string
		want        []string
		next        string
	}{
		{"newest first", "", all, ""},
		{"limit", "limit=3", all[:3], all[2]},
		{"before pages backwards", "limit=3&before=" + all[2], all[3:6], all[5]},
		{"before reaches the oldest", "limit=3&before=" + all[5], all[6:], ""},
		{"after gives newer ones", "after=" + all[3], all[:3], ""},
		{"after pages forwards", "limit=2&after=" + all[5], all[3:5], all[3]},
	} {
		d.run(t, tt.name, func(t *testing.T) {
			r := d.api("GET /conversations/"+id+"/messages?"+tt.query, nil).want(200)
			if diff := cmp.Diff(tt.want, r.ids()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := r.text("next_cursor"); got != tt.next {
				t.Errorf("next_cursor %q, want %q", got, tt.next)
			}
		})
	}
	for _, query := range []string{"limit=0", "limit=101", "before=x", "before=" + message, "before=" + all[0] + "&after=" + all[1]} {
		d.run(t, "refuses "+query[:7], func(t *testing.T) {
			d.api("GET /conversations/"+id+"/messages?"+query, nil).code(400, "invalid_request")
		})
	}
	d.run(t, "limit 1 to 100", func(t *testing.T) {
		d.api("GET /conversations/"+id+"/messages?limit=1", nil).want(200)
		d.api("GET /conversations/"+id+"/messages?limit=100", nil).want(200)
	})
}

func TestSendMessage(t *testing.T) {
	d := open(t)
	id := d.ana()
	hook := d.receive(200)
	d.subscribe(hook, "message.sent", "conversation.updated")
	path := "POST /conversations/" + id + "/messages"
	external := d.api("GET /conversations/"+id+"/messages", nil).text("data.0.external_id")
	other, _, _ := d.writes("+5511977776666", "Beto", "hi")
	d.settle()

	d.run(t, "a text", func(t *testing.T) {
		before := len(hook.types())
		r := d.api(path, m{"client_id": uuid(1), "text": "hello", "reply_to_external_id": external}).want(201)
		for field, want := range map[string]any{"client_id": uuid(1), "text": "hello", "media_id": nil,
			"conversation_id": id, "direction": "outbound", "sender.kind": "api", "reply_to_external_id": external} {
			if got := r.get(field); got != want {
				t.Errorf("%s is %v, want %v", field, got, want)
			}
		}
		d.settle()
		if diff := cmp.Diff([]string{"message.sent", "conversation.updated"}, hook.types()[before:]); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		if got := d.api("GET /conversations/"+id, nil).text("last_message.text"); got != "hello" {
			t.Errorf("last message %q", got)
		}
	})
	d.run(t, "repeated returns the message and sends nothing", func(t *testing.T) {
		before, effects := len(hook.types()), len(d.Effects())
		first := d.api(path, m{"client_id": uuid(2), "text": "once"}).want(201)
		for _, body := range []m{{"client_id": uuid(2), "text": "once"}, {"client_id": uuid(2), "text": "other"}, {"client_id": uuid(2)}} {
			again := d.api(path, body).want(201)
			if diff := cmp.Diff(string(first.body), string(again.body)); diff != "" {
				t.Errorf("repeat (-first +again):\n%s", diff)
			}
		}
		d.settle()
		if got := len(hook.types()) - before; got != 2 {
			t.Errorf("%d events, want those of one message", got)
		}
		if got := len(d.Effects()) - effects; got != 1 {
			t.Errorf("%d effects, want 1", got)
		}
	})
	d.run(t, "is found by its id", func(t *testing.T) {
		sent := d.api(path, m{"client_id": uuid(3), "text": "find me"}).want(201)
		got := d.api("GET /messages/"+sent.text("id"), nil).want(200)
		if diff := cmp.Diff(string(sent.body), string(got.body)); diff != "" {
			t.Errorf("(-sent +got):\n%s", diff)
		}
	})
	foreign := d.api("GET /conversations/"+other+"/messages", nil).text("data.0.external_id")
	for _, tt := range []struct {
		name string
		body m
	}{
		{"needs client_id", m{"text": "x"}},
		{"client_id must be a UUID", m{"client_id": "mine", "text": "x"}},
		{"needs text without media", m{"client_id": uuid(9)}},
		{"text must be a string", m{"client_id": uuid(9), "text": 7}},
		{"media_id must be a UUID", m{"client_id": uuid(9), "media_id": "x"}},
		{"media_id must exist", m{"client_id": uuid(9), "media_id": uuid(1)}},
		{"replies only within the conversation", m{"client_id": uuid(9), "text": "x", "reply_to_external_id": foreign}},
	} {
		d.run(t, tt.name, func(t *testing.T) { d.api(path, tt.body).code(400, "invalid_request") })
	}
	d.run(t, "to a blocked contact", func(t *testing.T) {
		contact := d.api("GET /conversations/"+other, nil).text("contact_id")
		d.api("PATCH /contacts/"+contact, m{"blocked": true}).want(200)
		d.api("POST /conversations/"+other+"/messages", m{"client_id": uuid(10), "text": "x"}).code(409, "conflict")
	})
}

// upload sends a file and returns the answer.
func (d *desk) upload(field, name, content string) reply {
	d.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile(field, name)
	if err != nil {
		d.t.Fatal(err)
	}
	_, _ = io.WriteString(part, content)
	_ = form.Close()
	return d.api("POST /media", body.Bytes(), "Content-Type: "+form.FormDataContentType())
}

func TestMedia(t *testing.T) {
	d := open(t)
	id := d.ana()
	content := string(bytes.Repeat([]byte("%PDF "), 20<<10)) // more than JSON may have
	r := d.upload("file", "offer.pdf", content).want(201)
	media := r.text("id")
	if r.text("name") != "offer.pdf" || r.get("size") != float64(len(content)) {
		t.Errorf("media %s", r.body)
	}
	d.run(t, "its id is sent as media_id, with the text as caption", func(t *testing.T) {
		sent := d.api("POST /conversations/"+id+"/messages", m{"client_id": uuid(1), "media_id": media, "text": "our offer"}).want(201)
		if sent.text("media_id") != media || sent.text("text") != "our offer" {
			t.Errorf("message %s", sent.body)
		}
		d.api("POST /conversations/"+id+"/messages", m{"client_id": uuid(2), "media_id": media}).want(201)
	})
	d.run(t, "has a temporary download link", func(t *testing.T) {
		link := d.api("GET /media/"+media+"/url", nil).want(200)
		got := d.do(http.MethodGet, link.text("url"), nil, "Authorization:").want(200)
		if string(got.body) != content {
			t.Errorf("%d bytes", len(got.body))
		}
		d.do(http.MethodGet, link.text("url")+"0", nil).want(404)
		d.advance(time.Hour)
		d.do(http.MethodGet, link.text("url"), nil).want(404)
	})
	d.run(t, "needs the field file", func(t *testing.T) {
		d.upload("document", "offer.pdf", "x").code(400, "invalid_request")
		d.api("POST /media", m{"file": "x"}).code(400, "invalid_request")
	})
}
