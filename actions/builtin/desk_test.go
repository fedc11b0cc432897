package builtin_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// friday is the time of the sandbox's clock.
var friday = time.Date(2026, 11, 13, 17, 50, 0, 0, time.FixedZone("-03", -3*3600))

const ana, nobody = "+5511988887777", "+5511977776666"

// A desk is a company in a sandbox behind real HTTP, with a conversation and a card to work on, and
// the verbs.
type desk struct {
	*sandbox.Sandbox
	t        testing.TB
	registry *actions.Registry
	tells    *builtin.Desk
	client   *service.Client
	clock    *desktest.Clock // the engine's, apart from the sandbox's
	faults   *wire
	base     string

	conversation, contact, attendance, card string
}

func newDesk(t testing.TB, change ...func(*builtin.Options)) *desk {
	t.Helper()
	desktest.InTurn(t, 3)
	s, err := sandbox.New(sandbox.Options{Frozen: friday, Seed: 7, AllowLoopback: true, KanbanEvents: true})
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{Handler: http.StripPrefix("/v1", s.Handler())}
	server := httptest.NewServer(w)
	server.Config.ErrorLog = nil
	t.Cleanup(func() {
		server.Close()
		_ = s.Close()
	})
	c := desktest.NewClock(friday)
	client, err := service.New(service.Options{
		BaseURL: server.URL + "/v1", APIKey: service.Secret(s.APIKey()), Now: c.Now, MaxWait: -1, Timeout: 5 * time.Second,
		// With kept connections, the transport would repeat dropped reads of its own accord.
		Transport: &http.Transport{DisableKeepAlives: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	o := builtin.Options{
		Client: client, Timeout: 5 * time.Second,
		Media: fstest.MapFS{"prices.pdf": {Data: []byte("everything is free")}},
	}
	for _, f := range change {
		f(&o)
	}
	list, err := builtin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := actions.NewRegistry(list...)
	if err != nil {
		t.Fatal(err)
	}
	tells, err := builtin.NewDesk(o)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{Sandbox: s, t: t, registry: registry, tells: tells, client: client, clock: c, faults: w, base: server.URL + "/v1"}
	d.open()
	return d
}

// open lets Ana write, and puts a card for her on the board.
func (d *desk) open() {
	written, err := d.CustomerMessage(sandbox.CustomerMessage{Phone: ana, Name: "Ana Lima", Text: "hello"})
	if err != nil {
		d.t.Fatal(err)
	}
	card, err := d.CreateCard(sandbox.NewCard{Board: "Sales", Stage: "Proposal", Title: "Ana's order", Conversation: written.Conversation.String()})
	if err != nil {
		d.t.Fatal(err)
	}
	d.conversation, d.attendance, d.card = written.Conversation.String(), written.Attendance.String(), card.ID.String()
	d.contact = card.ContactID.String()
}

// step returns a step of a run that Ana's message has started.
func (d *desk) step(args map[string]any) actions.Step {
	return actions.Step{
		Workspace: "acme", Key: "acme/rule/event/1", Args: args,
		Subject: actions.Subject{Conversation: d.conversation, Contact: d.contact, Attendance: d.attendance, Card: d.card},
	}
}

func (d *desk) readConversation() service.Conversation {
	d.t.Helper()
	c, err := d.client.GetConversation(context.Background(), d.conversation)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *desk) readCard() service.Card {
	d.t.Helper()
	c, err := d.client.GetCard(context.Background(), d.card)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

// id returns an id by name.
func (d *desk) id(kind service.Kind, name string) string {
	d.t.Helper()
	id, err := service.NewDirectory(d.client).ID(context.Background(), kind, name)
	if err != nil {
		d.t.Fatal(err)
	}
	return id
}

func (d *desk) stage(name string) string {
	return must(service.NewDirectory(d.client).StageID(context.Background(), "Sales", name))
}

func (d *desk) fault(f sandbox.Fault) {
	d.t.Helper()
	if err := d.AddFault(f); err != nil {
		d.t.Fatal(err)
	}
}

// A wire makes requests fail on their way, whatever they ask for. Unlike the sandbox's own faults,
// it can let the first ones through.
type wire struct {
	http.Handler
	mu    sync.Mutex
	seen  int
	at    int    // the request to fail, from 1; 0 means none
	kind  string // status_before, status_after, drop_before, drop_after
	code  int
	watch func(*http.Request)

	mishap func() (kind string, code int) // decides about each request instead
	terse  bool                           // changes are answered without a body
}

func (w *wire) fail(at int, kind string, code int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen, w.at, w.kind, w.code = 0, at, kind, code
}

// see sets a function that gets each request before it is served; nil means none.
func (w *wire) see(watch func(*http.Request)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.watch = watch
}

func (w *wire) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.seen
}

func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	w.mu.Lock()
	w.seen++
	kind, code, watch := "", w.code, w.watch
	if w.seen == w.at {
		kind = w.kind
	}
	if w.mishap != nil {
		kind, code = w.mishap()
	}
	w.mu.Unlock()
	if watch != nil {
		watch(r)
	}
	switch kind {
	case "":
		w.answer(out, r)
		return
	case "status_after", "drop_after":
		w.Handler.ServeHTTP(httptest.NewRecorder(), r)
	}
	if kind == "drop_before" || kind == "drop_after" {
		panic(http.ErrAbortHandler)
	}
	out.Header().Set("Retry-After", "30")
	out.WriteHeader(code)
}

// answer serves a request; a terse service returns only the id of a new object.
func (w *wire) answer(out http.ResponseWriter, r *http.Request) {
	if !w.terse || r.Method == http.MethodGet {
		w.Handler.ServeHTTP(out, r)
		return
	}
	answer := httptest.NewRecorder()
	w.Handler.ServeHTTP(answer, r)
	out.WriteHeader(answer.Code)
	if answer.Code != http.StatusOK {
		_, _ = out.Write(answer.Body.Bytes())
	}
}
