package simulation

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service/sandbox"
)

// secret signs the desk's deliveries.
const secret = "whsec_0123456789abcdef0123456789abcdef0123456789abcdef"

// A desk is the imitated service, and the network between it and the engines. It carries their
// calls, and records everything that a judge may need.
type desk struct {
	world    *world
	sandbox  *sandbox.Sandbox
	troubles []Trouble // of deliveries, calls and reads

	posted chan *http.Request // deliveries sent by the service, not handled yet
	events []*Event
	byID   map[string]*Event
	told   int // deliveries

	step, verb string // of the current call
	reads      int
	cardCalls  int // changing calls about a card
	moves      int // of cards
	calls      []Call
	owners     []string // of effects: the steps
	slow       []slowCall
	rest       time.Time // end of the pause that the service has asked for

	stops []Stop
	fired []Firing

	conversations map[string]string // customers by their conversations' ids
	cards         map[string]string // customers by the ids of cards
	names         map[string]string // of labels, sectors, people, boards and stages, by id
	made          int               // cards created by people
}

// A slowCall has its effect after its caller has given up.
type slowCall struct {
	at      time.Time
	request *http.Request
	body    []byte
	step    string
}

// contactID is the id of a customer's contact.
func contactID(i int) string { return fmt.Sprintf("00000000-0000-4000-8000-%012d", i+1) }

func phone(i int) string { return fmt.Sprintf("+55119000000%02d", i) }

// customer returns whose contact an id is.
func (d *desk) customer(contact string) string {
	for i, name := range d.world.scenario.Customers {
		if contactID(i) == contact {
			return name
		}
	}
	return ""
}

func (d *desk) indexOf(customer string) int {
	return slices.Index(d.world.scenario.Customers, customer)
}

// openDesk opens the company of a scenario.
func openDesk(w *world) (*desk, error) {
	named := func(list []string) (out []map[string]any) {
		for _, name := range list {
			out = append(out, map[string]any{"name": name})
		}
		return out
	}
	var boards, contacts []map[string]any
	for _, name := range []string{"Deals", "Care"} {
		stages := named(Boards[name])
		for _, s := range stages {
			s["winning"] = s["name"] == "Won"
		}
		boards = append(boards, map[string]any{"name": name, "stages": stages})
	}
	if w.scenario.Reordered {
		boards = append(boards, map[string]any{"name": "Attendances", "stages": named([]string{"Open", "Done"})})
	}
	for i, name := range w.scenario.Customers {
		contacts = append(contacts, map[string]any{"id": contactID(i), "name": name, "phone": phone(i)})
	}
	state, err := json.Marshal(map[string]any{
		"labels": named(Labels), "sectors": named(Sectors), "people": named(People), "boards": boards, "contacts": contacts,
		"conversations": []any{}, "messages": []any{}, "attendances": []any{}, "cards": []any{}, "assignments": []any{}, "media": []any{},
		"webhooks": []map[string]any{{"name": "quando", "url": "http://127.0.0.1/hook", "events": vocabulary.EventTypes(), "active": true, "secret": secret}},
	})
	if err != nil {
		return nil, err
	}
	d := &desk{
		world: w, posted: make(chan *http.Request, 4096), byID: map[string]*Event{}, conversations: map[string]string{}, cards: map[string]string{}, names: map[string]string{},
	}
	d.sandbox, err = sandbox.New(sandbox.Options{
		Frozen: w.now, Seed: w.scenario.Seed*2 + 1, AllowLoopback: true, KanbanEvents: true, State: bytes.NewReader(state), Transport: deliveryReceiver(d.posted),
	})
	if err != nil {
		return nil, err
	}
	var parts map[string][]struct {
		ID, Name string
		Stages   []struct{ ID, Name string }
	}
	if err := json.Unmarshal(membersOf(d.sandbox.State(), "labels", "sectors", "people", "boards"), &parts); err != nil {
		return nil, err
	}
	for _, list := range parts {
		for _, item := range list {
			d.names[item.ID] = item.Name
			for _, stage := range item.Stages {
				d.names[stage.ID] = stage.Name
			}
		}
	}
	return d, nil
}

// membersOf returns an object with some of its members.
func membersOf(doc []byte, members ...string) []byte {
	var all map[string]json.RawMessage
	_ = json.Unmarshal(doc, &all) // the sandbox's own writing
	for name := range all {
		if !slices.Contains(members, name) {
			delete(all, name)
		}
	}
	out, _ := json.Marshal(all)
	return out
}

// A deliveryReceiver accepts the service's deliveries and acknowledges them. The world decides
// whether they arrive.
type deliveryReceiver chan *http.Request

// RoundTrip is called by the service's own goroutine.
func (p deliveryReceiver) RoundTrip(r *http.Request) (*http.Response, error) {
	p <- r
	return &http.Response{StatusCode: http.StatusAccepted, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
}

func (d *desk) close() error { return d.sandbox.Close() }

// due is when the service has something scheduled.
func (d *desk) due() time.Time {
	at, any := d.sandbox.Due()
	if !any {
		at = time.Time{}
	}
	for _, c := range d.slow {
		if at.IsZero() || c.at.Before(at) {
			at = c.at
		}
	}
	return at
}

// setClock moves the service's clock. Slow calls that are due have their effect.
func (d *desk) setClock(ctx context.Context, to time.Time) error {
	if _, err := d.sandbox.SetClock(ctx, to); err != nil {
		return err
	}
	for len(d.slow) > 0 && !d.slow[0].at.After(to) {
		c := d.slow[0]
		d.slow = d.slow[1:]
		d.world.activity++
		d.carryOut(c.step, c.request, c.body)
		if err := d.collectFrom(ctx, c.step); err != nil {
			return err
		}
	}
	return nil
}

// collect takes the deliveries that the service has sent.
func (d *desk) collect(ctx context.Context) error { return d.collectFrom(ctx, "") }

// collectFrom takes what the service has delivered because of a step's call.
func (d *desk) collectFrom(ctx context.Context, cause string) error {
	if err := d.sandbox.Settle(ctx); err != nil {
		return err
	}
	for {
		select {
		case r := <-d.posted:
			if err := d.post(r, cause); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// An answer is what a handler has written.
type answer struct {
	header http.Header
	status int
	body   []byte
}

func (a *answer) Header() http.Header { return a.header }

// WriteHeader takes the first status, as a connection does.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(part []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	a.body = append(a.body, part...)
	return len(part), nil
}

// begin notes which step calls, and finish that it has.
func (d *desk) begin(step, verb string) {
	d.step, d.verb = step, verb
}

func (d *desk) finish() {
	d.step, d.verb = "", ""
}

// errCut is a connection that broke.
var errCut = fmt.Errorf("read tcp 127.0.0.1: connection reset by peer: %w", io.ErrUnexpectedEOF)

// RoundTrip carries a call of an engine to the service, with the scenario's troubles.
func (d *desk) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // it is in memory
	}
	d.world.activity++
	if r.Method == http.MethodGet {
		d.reads++
		if len(d.struck(d.reads, TroubleRead)) > 0 {
			d.world.outcome.Coverage[[2]string{"a read", TroubleRead}]++
			return respond(r, &answer{header: http.Header{}, status: http.StatusServiceUnavailable}), nil
		}
		return respond(r, d.serve(r, body)), nil
	}
	d.edit(r)
	call := Call{At: d.world.now, Step: d.step, Method: r.Method, Path: r.URL.Path, Key: asSent(r.Header).Get("Idempotency-Key"), Body: string(body)}
	defer func() { d.calls = append(d.calls, call) }()
	if d.world.now.Before(d.rest) && d.world.outcome.Failure == "" {
		d.world.outcome.Failure = fmt.Sprintf("%s %s was called %s before the pause was over that the service had asked for", r.Method, r.URL.Path, d.rest.Sub(d.world.now))
	}
	if call.Overtaken = d.overtake(r, body); call.Overtaken {
		call.Cut = true
		return nil, errors.Join(errCut, d.collect(r.Context()))
	}
	for _, t := range d.struck(len(d.calls)+1, Trouble429, Trouble503Before, Trouble503After, TroubleCutBefore, TroubleCutAfter, TroubleSlow) {
		d.world.outcome.Coverage[[2]string{d.verb, t.Kind}]++
		failed := &answer{header: http.Header{}, status: http.StatusServiceUnavailable}
		switch t.Kind {
		case Trouble429:
			d.rest = d.world.now.Add(3 * time.Second)
			failed.status = http.StatusTooManyRequests
			failed.header.Set("Retry-After", "3")
			return respond(r, failed), nil
		case Trouble503Before:
			return respond(r, failed), nil
		case TroubleCutBefore:
			call.Cut = true
			return nil, errCut
		case Trouble503After, TroubleCutAfter:
			call.Came = d.carryOut(d.step, r, body).status < 300
			if err := d.collectFrom(r.Context(), d.step); err != nil {
				return nil, err
			}
			if t.Kind == TroubleCutAfter {
				call.Cut = true
				return nil, errCut
			}
			return respond(r, failed), nil
		case TroubleSlow:
			call.Came, call.Cut = true, true
			d.slow = append(d.slow, slowCall{d.world.now.Add(min(t.For, 9*time.Second)), r.Clone(context.WithoutCancel(r.Context())), body, d.step})
			slices.SortStableFunc(d.slow, func(a, b slowCall) int { return a.at.Compare(b.at) })
			return nil, errCut
		}
	}
	out := d.carryOut(d.step, r, body)
	call.Came = out.status < 300
	call.Told = call.Came
	if err := d.collectFrom(context.WithoutCancel(r.Context()), d.step); err != nil {
		return nil, err
	}
	return respond(r, out), nil
}

// edit has a person edit the card that a call is about to change, if the scenario says so. On an
// exact desk it is the title, which no rule changes: a rule whose call may have come does not
// overwrite what a person has written since.
func (d *desk) edit(r *http.Request) {
	path, about := strings.CutPrefix(r.URL.Path, "/v1/kanban/cards/")
	if !about {
		return
	}
	d.cardCalls++
	if len(d.struck(d.cardCalls, TroubleEdit)) == 0 {
		return
	}
	d.world.outcome.Coverage[[2]string{d.verb, TroubleEdit}]++
	card, _, _ := strings.Cut(path, "/")
	edit := sandbox.EditCard{Card: card, Person: People[0]}
	if seen := fmt.Sprintf("seen %d times", d.cardCalls); d.world.scenario.Exact {
		edit.Title = seen
	} else {
		edit.Description = seen
	}
	_, _ = d.sandbox.EditCard(edit) // perhaps there is no such card
}

// overtake has a person move the card that a call is about to move, if the scenario says so and the
// card's board has a third stage.
func (d *desk) overtake(r *http.Request, body []byte) bool {
	path, about := strings.CutPrefix(r.URL.Path, "/v1/kanban/cards/")
	id, moves := strings.CutSuffix(path, "/move")
	if !about || !moves {
		return false
	}
	d.moves++
	if len(d.struck(d.moves, TroubleOvertake)) == 0 {
		return false
	}
	var request struct {
		Stage string `json:"stage_id"`
	}
	_ = json.Unmarshal(body, &request) // what cannot be read names no stage
	// A person who looks at the card writes so down, and sees where it is.
	card, err := d.sandbox.EditCard(sandbox.EditCard{Card: id, Description: "seen", Person: People[0]})
	if err != nil {
		return false // there is no such card
	}
	for _, stage := range Boards[d.names[card.BoardID.String()]] {
		if stage != d.names[card.StageID.String()] && stage != d.names[request.Stage] {
			d.world.outcome.Coverage[[2]string{d.verb, TroubleOvertake}]++
			_, err := d.sandbox.MoveCard(sandbox.MoveCard{Card: id, Stage: stage, Person: People[0]})
			return err == nil
		}
	}
	return false
}

// carryOut passes a changing call of a step to the service.
func (d *desk) carryOut(step string, r *http.Request, body []byte) *answer {
	out := d.serve(r, body)
	for len(d.owners) < d.sandbox.CountEffects() {
		d.owners = append(d.owners, step)
	}
	return out
}

// serve hands a request to the service.
func (d *desk) serve(r *http.Request, body []byte) *answer {
	r = r.Clone(context.WithoutCancel(r.Context()))
	r.URL.Path = strings.TrimPrefix(r.URL.Path, "/v1")
	r.Body = io.NopCloser(bytes.NewReader(body))
	r.RequestURI = r.URL.RequestURI()
	r.Header = asSent(r.Header)
	out := &answer{header: http.Header{}}
	d.sandbox.Handler().ServeHTTP(out, r)
	out.WriteHeader(http.StatusOK)
	return out
}

// asSent returns a header as a connection brings it.
func asSent(header http.Header) http.Header {
	out := make(http.Header, len(header))
	for name, values := range header {
		out[http.CanonicalHeaderKey(name)] = values
	}
	return out
}

func respond(r *http.Request, a *answer) *http.Response {
	return &http.Response{
		StatusCode: a.status, Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: a.header, Body: io.NopCloser(bytes.NewReader(a.body)), ContentLength: int64(len(a.body)), Request: r,
	}
}

// conversationOf returns the id of a customer's conversation; empty is none.
func (d *desk) conversationOf(customer string) string {
	found := ""
	for id, name := range d.conversations {
		if name == customer && (found == "" || id < found) {
			found = id
		}
	}
	return found
}

// act carries out an act of a customer or the team. An impossible act, such as closing what is
// closed, is ignored.
func (d *desk) act(ctx context.Context, a Act) error {
	conversation := d.conversationOf(a.Customer)
	switch {
	case a.Kind == ActSays:
		if _, err := d.sandbox.CustomerMessage(sandbox.CustomerMessage{Phone: phone(d.indexOf(a.Customer)), Text: a.Text}); err != nil {
			return err
		}
	case conversation == "":
	case a.Kind == ActReplies:
		if _, err := d.sandbox.TeamMessage(sandbox.TeamMessage{Conversation: conversation, Person: a.Person, Text: a.Text}); err != nil {
			return err
		}
	case a.Kind == ActCloses:
		_, _ = d.sandbox.TeamClose(sandbox.TeamClose{Conversation: conversation, Person: a.Person, Reason: "done"}) // perhaps none is open
	case a.Kind == ActTransfers:
		if _, err := d.sandbox.TeamTransfer(sandbox.TeamTransfer{Conversation: conversation, Person: a.Person, Sector: a.Text, Reason: "by hand"}); err != nil {
			return err
		}
	case a.Kind == ActCards:
		d.made++
		if _, err := d.sandbox.CreateCard(sandbox.NewCard{Board: a.Board, Title: fmt.Sprintf("%s's card %d", a.Customer, d.made), Conversation: conversation}); err != nil {
			return err
		}
	case a.Kind == ActMoves:
		if card := d.newestCard(a.Customer); card != "" {
			_, _ = d.sandbox.MoveCard(sandbox.MoveCard{Card: card, Stage: a.Text, Person: a.Person}) // perhaps its board has no such stage
		}
	}
	return d.collect(ctx)
}

// newestCard returns the customer's card that was made last.
func (d *desk) newestCard(customer string) (card string) {
	for _, e := range d.events {
		if e.Type == vocabulary.CardCreated && e.Customer == customer {
			var data struct{ Card struct{ ID string } }
			_ = json.Unmarshal(e.Data, &data) // the service's own writing
			card = data.Card.ID
		}
	}
	return card
}
