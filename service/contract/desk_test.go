package contract_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// friday is where the sandbox's clock stands until a test moves it.
var friday = time.Date(2026, 11, 13, 17, 50, 0, 0, time.FixedZone("-03", -3*3600))

const (
	mount      = "/self/hosted/v1"
	mariaPhone = "+5511987654321"
	nowhere    = "https://hooks.example.com/quando"
)

// desk is a sandbox behind real HTTP, with a client that has every scope.
type desk struct {
	*sandbox.Sandbox
	*service.Client
	t    *testing.T
	ctx  context.Context
	base string
	wire *wire
}

// open serves a sandbox under a sub-path until the test ends. Deliveries reach nobody unless the
// test says so.
func open(t *testing.T, change ...func(*sandbox.Options)) *desk {
	t.Helper()
	o := sandbox.Options{Frozen: friday, Seed: 11, Transport: accepting{}}
	for _, c := range change {
		c(&o)
	}
	s, err := sandbox.New(o)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.StripPrefix(mount, s.Handler()))
	w := &wire{t: t, mount: mount, next: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 8}}
	t.Cleanup(func() {
		w.CloseIdleConnections()
		_ = s.Close() // first, or the server would wait for delayed answers
		server.Close()
	})
	d := &desk{Sandbox: s, t: t, ctx: t.Context(), base: server.URL + mount, wire: w}
	d.Client = d.client(s.APIKey())
	return d
}

// client makes another client of the same service.
func (d *desk) client(key string, change ...func(*service.Options)) *service.Client {
	d.t.Helper()
	o := service.Options{BaseURL: d.base, APIKey: service.Secret(key), Transport: d.wire}
	for _, c := range change {
		c(&o)
	}
	c, err := service.New(o)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// withKey makes a client whose key has the given scopes.
func (d *desk) withKey(scopes ...string) *service.Client {
	d.t.Helper()
	return d.client(must(d.NewKey(sandbox.NewKey{Scopes: scopes}))(d.t).APIKey)
}

// accepting is a transport at whose other end everything is welcome.
type accepting struct{}

func (accepting) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusNoContent, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Body: http.NoBody, Request: r}, nil
}

// must ends the test on an error: must(f())(t) is f's value.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// want complains when a value is not as expected.
func want[T comparable](t *testing.T, what string, got, expected T) {
	t.Helper()
	if got != expected {
		t.Errorf("%s is %v, want %v", what, got, expected)
	}
}

// refused gives the client's error, which must be there.
func refused(t *testing.T, err error) *service.Error {
	t.Helper()
	e, ok := errors.AsType[*service.Error](err)
	if !ok {
		t.Fatalf("the error is %v, want a *service.Error", err)
	}
	return e
}

// effects gives what was changed through the API from a certain effect on, without its bodies.
func (d *desk) effects(from int) []string {
	var out []string
	for _, e := range d.Effects()[from:] {
		out = append(out, e.Operation)
	}
	return out
}

// world is what a customer's message, a card, a file and a webhook leave behind: an object for
// every operation.
type world struct {
	*desk
	channel, label, person, other, sector, board, lead, won string
	conversation, message, attendance, contact              string
	card, media, webhook                                    string
}

func newWorld(t *testing.T, change ...func(*sandbox.Options)) *world {
	t.Helper()
	w := &world{desk: open(t, change...)}
	written := must(w.CustomerMessage(sandbox.CustomerMessage{Phone: mariaPhone, Name: "Maria", Text: "good evening"}))(t)
	w.conversation, w.message, w.attendance = written.Conversation.String(), written.Message.String(), written.Attendance.String()

	dir := service.NewDirectory(w.Client)
	id := func(kind service.Kind, name string) string { return must(dir.ID(w.ctx, kind, name))(t) }
	w.channel, w.label, w.sector = id(service.KindChannel, "Main"), id(service.KindLabel, "vip"), id(service.KindSector, "Support")
	w.person, w.other, w.board = id(service.KindPerson, "Ana"), id(service.KindPerson, "Bruno"), id(service.KindBoard, "Sales")
	w.lead, w.won = must(dir.StageID(w.ctx, "Sales", "Lead"))(t), must(dir.StageID(w.ctx, "Sales", "Won"))(t)

	w.contact = must(w.FindContact(w.ctx, mariaPhone))(t).ID
	w.card = must(w.Client.CreateCard(w.ctx, uuid.NewString(), service.NewCard{BoardID: w.board, StageID: w.lead, Title: "Proposal"}))(t).ID
	w.media = must(w.UploadMedia(w.ctx, service.File{Name: "price.txt", Content: strings.NewReader("ten reais")}))(t).ID
	w.webhook = must(w.RegisterWebhook(w.ctx, service.NewWebhook{Name: "quando", URL: nowhere, Events: []string{"message.sent"}}))(t).ID
	return w
}
