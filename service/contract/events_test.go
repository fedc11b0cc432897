package contract_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"

	"github.com/quandohq/quando/rules/programtest"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// delivery is a request as it came to a webhook.
type delivery struct {
	header http.Header
	body   []byte
	event  struct {
		ID        string         `json:"id"`
		Type      string         `json:"type"`
		CreatedAt time.Time      `json:"created_at"`
		TenantID  string         `json:"tenant_id"`
		Data      map[string]any `json:"data"`
	}
}

// receiver is a webhook behind real HTTP.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []delivery
}

func receive(t *testing.T) *receiver {
	t.Helper()
	r := &receiver{}
	r.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		d := delivery{header: req.Header}
		var err error
		if d.body, err = io.ReadAll(req.Body); err == nil {
			err = json.Unmarshal(d.body, &d.event)
		}
		if err != nil {
			t.Errorf("a delivery that cannot be read: %v", err)
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.got = append(r.got, d)
	}))
	t.Cleanup(r.Close)
	return r
}

// take gives what was delivered since it was last asked, when nothing is on its way any more.
func (r *receiver) take(t *testing.T, d *desk) []delivery {
	t.Helper()
	noError(t, d.Settle(d.ctx))
	r.mu.Lock()
	defer r.mu.Unlock()
	got := r.got
	r.got = nil
	return got
}

// listening lets webhooks be on this machine and subscribe to everything.
func listening(o *sandbox.Options) { o.AllowLoopback, o.KanbanEvents, o.Transport = true, true, nil }

// The secret that the client is shown verifies what is delivered, under the header names that its
// profile knows.
func TestWebhookSignature(t *testing.T) {
	w, r := newWorld(t, listening), receive(t)
	hook := must(w.RegisterWebhook(w.ctx, service.NewWebhook{Name: "here", URL: r.URL, Events: []string{"message.sent"}}))(t)
	check := func(what string, secret service.Secret) {
		t.Helper()
		must(w.SendMessage(w.ctx, w.conversation, service.NewMessage{ClientID: uuid.NewString(), Text: "olá, “Maria” & <João>"}))(t)
		for _, d := range r.take(t, w.desk) {
			checkSignature(t, what, d, w.Profile(), secret)
			return
		}
		t.Errorf("%s: nothing was delivered", what)
	}
	check("the first secret", hook.Secret)
	rotated := must(w.RotateSecret(w.ctx, hook.ID))(t)
	check("the second secret", rotated.Secret)
}

// checkSignature computes the signature outside of Go, as the reference describes it.
func checkSignature(t *testing.T, what string, d delivery, p *service.Profile, secret service.Secret) {
	t.Helper()
	timestamp := d.header.Get(p.Header("Timestamp"))
	command := exec.Command(programtest.Find(t, "openssl", "openssl"), "dgst", "-sha256", "-hmac", string(secret))
	command.Stdin = io.MultiReader(strings.NewReader(timestamp+"."), bytes.NewReader(d.body))
	digest := strings.Fields(string(must(command.Output())(t)))
	want(t, what+": the signature", d.header.Get(p.Header("Signature")), "sha256="+digest[len(digest)-1])
	seconds := must(strconv.ParseInt(timestamp, 10, 64))(t)
	if age := time.Since(time.Unix(seconds, 0)).Abs(); age > 5*time.Minute {
		t.Errorf("%s: the timestamp is off by %v", what, age)
	}
}

var allEvents = []string{
	"message.received", "message.sent", "conversation.updated", "attendance.opened", "attendance.closed",
	"kanban.card.created", "kanban.card.moved", "kanban.card.completed",
}

// The client finds in every event that the sandbox delivers what it is about, and what it finds is
// what the API shows.
func TestEvents(t *testing.T) {
	w, r := newWorld(t, listening), receive(t)
	hook := must(w.RegisterWebhook(w.ctx, service.NewWebhook{Name: "here", URL: r.URL, Events: allEvents}))(t)
	same(t, "events that can be chosen", must(w.ListEvents(w.ctx))(t), allEvents)

	// A customer comes, is answered by a person, by the API, and is served; a card is made and won.
	written := must(w.CustomerMessage(sandbox.CustomerMessage{Phone: "+5521977776666", Name: "Rita", Text: "hi"}))(t)
	rita := written.Conversation.String()
	must(w.TeamMessage(sandbox.TeamMessage{Conversation: "+5521977776666", Person: "Ana", Text: "hello"}))(t)
	must(w.SendMessage(w.ctx, rita, service.NewMessage{ClientID: uuid.NewString(), Text: "bye"}))(t)
	must(w.CloseAttendance(w.ctx, rita, "solved"))(t)
	card := must(w.Client.CreateCard(w.ctx, uuid.NewString(), service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Offer", ConversationID: rita}))(t)
	must(w.Sandbox.MoveCard(sandbox.MoveCard{Card: card.ID, Stage: "Won", Person: "Bruno"}))(t)
	// In a group nobody in particular is the contact.
	must(w.CustomerMessage(sandbox.CustomerMessage{Phone: "+5521977776666", Text: "hi all", Group: "Football"}))(t)
	noError(t, w.TestWebhook(w.ctx, hook.ID))

	seen := map[string]int{}
	for _, d := range r.take(t, w.desk) {
		seen[d.event.Type]++
		t.Run(d.event.Type, func(t *testing.T) { checkEvent(t, w, d) })
	}
	for _, name := range append(allEvents, "webhook.test") {
		if seen[name] == 0 {
			t.Errorf("%s was not delivered", name)
		}
	}
}

// objects says what each event carries.
var objects = map[string][]service.Kind{
	"message.received":      {service.KindMessage, service.KindConversation, service.KindContact},
	"message.sent":          {service.KindMessage, service.KindConversation, service.KindContact},
	"conversation.updated":  {service.KindConversation},
	"attendance.opened":     {service.KindAttendance, service.KindConversation, service.KindContact},
	"attendance.closed":     {service.KindAttendance, service.KindConversation, service.KindContact},
	"kanban.card.created":   {service.KindCard},
	"kanban.card.moved":     {service.KindCard},
	"kanban.card.completed": {service.KindCard},
	"webhook.test":          {},
}

func checkEvent(t *testing.T, w *world, d delivery) {
	t.Helper()
	p, kind, data := w.Profile(), d.event.Type, d.event.Data
	checkDescribed(t, d)
	want(t, p.Header("Event"), d.header.Get(p.Header("Event")), kind)
	want(t, p.Header("Event-Id"), d.header.Get(p.Header("Event-Id")), d.event.ID)
	if d.header.Get(p.Header("Delivery")) == "" || !d.event.CreatedAt.Equal(friday) {
		t.Errorf("delivery %q of an event of %v", d.header.Get(p.Header("Delivery")), d.event.CreatedAt)
	}
	want(t, "tenant", d.event.TenantID, must(w.Me(w.ctx))(t).TenantID)

	carried := map[service.Kind]bool{}
	for _, k := range objects[kind] {
		carried[k] = true
	}
	group := false
	if raw, ok := p.EventObject(service.KindConversation, kind, data); ok {
		c := service.DecodeConversation(raw, p)
		group = c.Kind == "group"
		now := must(w.GetConversation(w.ctx, c.ID))(t)
		if c.Name != now.Name || c.ChannelID != now.ChannelID || c.ContactID != now.ContactID || c.Phone != now.Phone {
			t.Errorf("conversation %+v, but the API says %+v", c, now)
		}
	}
	if group && strings.HasPrefix(kind, "message.") {
		carried[service.KindContact] = false
	}
	for _, k := range []service.Kind{service.KindMessage, service.KindConversation, service.KindContact, service.KindAttendance, service.KindCard} {
		raw, ok := p.EventObject(k, kind, data)
		want(t, "it carries a "+string(k), ok, carried[k])
		if ok && p.EventID(k, kind, data) != raw["id"] {
			t.Errorf("the id of the %s is %q, want %v", k, p.EventID(k, kind, data), raw["id"])
		}
	}
	checkLinks(t, w, d, group)
}

// checkLinks looks at what an event says of objects it may not carry.
func checkLinks(t *testing.T, w *world, d delivery, group bool) {
	t.Helper()
	p, kind, data := w.Profile(), d.event.Type, d.event.Data
	if kind == "webhook.test" {
		return
	}
	raw, _ := p.EventObject(service.KindCard, kind, data)
	own := raw != nil && service.DecodeCard(raw, p).AttendanceID == ""
	conversation := p.EventID(service.KindConversation, kind, data)
	must(w.GetConversation(w.ctx, conversation))(t)
	if contact := p.EventID(service.KindContact, kind, data); !group && !own || contact != "" {
		must(w.GetContact(w.ctx, contact))(t)
	}
	switch kind {
	case "message.received", "message.sent":
		m, _ := p.EventMessage(kind, data)
		same(t, "the message", m, must(w.GetMessage(w.ctx, m.ID))(t))
		want(t, "its side", m.Direction, map[string]string{"message.received": service.Inbound, "message.sent": service.Outbound}[kind])
	case "conversation.updated":
		if len(p.EventChanged(data)) == 0 {
			t.Error("nothing has changed")
		}
	case "attendance.opened", "attendance.closed":
		object, _ := p.EventObject(service.KindAttendance, kind, data)
		a, now := service.DecodeAttendance(object, p), must(w.GetAttendance(w.ctx, p.EventID(service.KindAttendance, kind, data)))(t)
		want(t, "protocol", a.Protocol, now.Protocol)
		want(t, "status", a.Status, map[string]string{"attendance.opened": service.StatusOpen, "attendance.closed": service.StatusClosed}[kind])
	default:
		card, now := service.DecodeCard(raw, p), must(w.GetCard(w.ctx, p.EventID(service.KindCard, kind, data)))(t)
		want(t, "title", card.Title, now.Title)
		if kind != "kanban.card.created" {
			want(t, "version", card.Version, now.Version)
		}
	}
	if kind == "kanban.card.moved" && own {
		same(t, "the move", p.EventCardMove(data), service.CardMove{FromStageID: w.lead, ToStageID: w.won, By: service.Actor{Kind: "team", ID: w.other, Name: "Bruno"}})
	}
}

// checkDescribed holds a delivered event to the description.
func checkDescribed(t *testing.T, d delivery) {
	t.Helper()
	var v any
	noError(t, json.Unmarshal(d.body, &v))
	doc := must(description())(t)
	if err := doc.Components.Schemas["Event"].Value.VisitJSON(v, openapi3.MultiErrors()); err != nil {
		t.Errorf("%s is not as described: %v", d.event.Type, err)
	}
}
