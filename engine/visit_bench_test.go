package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/memory"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/service"
)

const (
	nothingFires = `rules:
  - { id: never, when: message.received, if: message.text contains "there is no such word", do: [{ send_message: "a {{ event.id }}" }] }
`
	nothingWants = `rules:
  - { id: never, when: message.received, if: message.text == "there is no such text", do: [{ send_message: "a {{ event.id }}" }] }
`
	twelveFalse = `rules:
  - { id: away, when: message.received, if: message.text contains "anybody there", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: price, when: message.received, if: 'message.text matches "(?i)price|how much"', do: [{ send_message: "a {{ event.id }}" }] }
  - { id: invoice, when: message.received, if: says("invoice") or says("receipt"), do: [{ send_message: "a {{ event.id }}" }] }
  - { id: thanks, when: message.received, if: lower(message.text) startsWith "thank", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: cancel, when: message.received, if: says("cancel") and not says("order"), do: [{ send_message: "a {{ event.id }}" }] }
  - { id: long, when: message.received, if: len(message.text) > 2000, do: [{ send_message: "a {{ event.id }}" }] }
  - { id: group, when: message.received, if: conversation.name contains "Team", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: abroad, when: message.received, if: not (contact.phone startsWith "+55"), do: [{ send_message: "a {{ event.id }}" }] }
  - { id: nameless, when: message.received, if: len(contact.name) > 80 or len(contact.name) < 2, do: [{ send_message: "a {{ event.id }}" }] }
  - { id: code, when: message.received, if: 'message.text matches "^[0-9]{6}$"', do: [{ send_message: "a {{ event.id }}" }] }
  - { id: link, when: message.received, if: message.text contains "https://", do: [{ send_message: "a {{ event.id }}" }] }
  - { id: shout, when: message.received, if: len(message.text) > 10 and upper(message.text) == message.text, do: [{ send_message: "a {{ event.id }}" }] }
`
	sendsOnce = `rules:
  - { id: answer, when: message.received, if: message.text contains "order", do: [{ send_message: "a {{ event.id }}" }] }
`
	sendsTwice = `rules:
  - { id: answer, when: message.received, if: message.text contains "order", do: [{ send_message: "a {{ event.id }}" }, { send_message: "b {{ event.id }}" }] }
`
)

// delivery is what the service delivers when a customer writes.
const delivery = `{
	"message":{"id":"0192f3a4-0000-7000-a000-000000000001","conversation_id":"0192f3a4-0000-7000-9000-000000000001","client_id":null,"text":"Good morning, is my order on its way?","media_id":null,
		"reply_to_external_id":null,"external_id":"wamid.1","direction":"inbound","sender":{"kind":"customer","id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","name":"Ana"},"created_at":"2026-11-13T20:50:00.000Z"},
	"conversation":{"id":"0192f3a4-0000-7000-9000-000000000001","kind":"direct","archived":false,"pinned":false,"muted":false,"name":"Ana","label_ids":[],"channel_id":"1176a058-713b-4033-a84d-0e6b373793ce",
		"contact_id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","phone":"+5511988887777","assignee_id":null,"sector_id":null,"unread":true,"unread_count":1,
		"last_message":{"id":"0192f3a4-0000-7000-a000-000000000001","text":"Good morning, is my order on its way?","direction":"inbound","created_at":"2026-11-13T20:50:00.000Z"},
		"created_at":"2026-11-13T20:50:00.000Z","updated_at":"2026-11-13T20:50:00.000Z"},
	"contact":{"id":"44ebb9f6-0c55-4533-aab2-c62244ad9e1e","name":"Ana","phone":"+5511988887777","company":null,"city":null,"channel_id":null,"label_ids":[],"blocked":false,
		"created_at":"2026-11-13T20:50:00.000Z","updated_at":"2026-11-13T20:50:00.000Z"}}`

// sentAnswer is the service's answer to a message.
const sentAnswer = `{"id":"0192f3a4-0000-7000-b000-000000000001","conversation_id":"0192f3a4-0000-7000-9000-000000000001","client_id":"0192f3a4-0000-5000-b000-000000000001","text":"a 1","media_id":null,` +
	`"reply_to_external_id":null,"external_id":"wamid.2","direction":"outbound","sender":{"kind":"api","id":"a7a3a18e-3b98-4109-9c55-ea7a178af9a7","name":"Bench"},"created_at":"2026-11-13T20:50:00.123Z"}`

// A conveyor is a journal that hands out as many lanes as it is told to, each with one event, and
// stores nothing: what is left is the cost of a visit.
type conveyor struct {
	*memory.Journal
	data  map[string]any
	left  int
	fired int
}

func (c *conveyor) Claim(_ context.Context, now time.Time, _ int, _ []string) ([]*journal.Lane, error) {
	lanes := make([]*journal.Lane, min(c.left, 256))
	for i := range lanes {
		event := &journal.Event{Seq: int64(c.left), Event: rules.Event{
			Workspace: "default", ID: "0192f3a4-0000-7000-8000-000000000001", Type: "message.received", Tenant: "7c65bdd8-1890-4c53-9bf6-ab1f2857706e",
			Lane: "conversation:0192f3a4-0000-7000-9000-000000000001", CreatedAt: now, ReceivedAt: now, Data: c.data,
		}}
		lanes[i] = &journal.Lane{Workspace: "default", Name: event.Lane, Epoch: 1, Events: []*journal.Event{event}}
		c.left--
	}
	return lanes, nil
}

func (c *conveyor) Save(_ context.Context, _ *journal.Lane, change *journal.Change) error {
	for _, s := range change.Starts {
		s.Run.ID, s.Begun = 1, true
	}
	for _, r := range change.Runs {
		if r.Run.State == journal.Done {
			c.fired++
		}
	}
	return nil
}

type answering func(*http.Request) (*http.Response, error)

func (f answering) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newConveyor returns an engine whose service answers from memory, and its journal.
func newConveyor(t testing.TB, text string) (*conveyor, *engine.Engine) {
	c := &conveyor{Journal: memory.New()}
	if err := json.Unmarshal([]byte(delivery), &c.data); err != nil {
		t.Fatal(err)
	}
	body := []byte(sentAnswer)
	client := must(service.New(service.Options{
		BaseURL: "https://service.example.com/v1", APIKey: "key", MaxWait: -1, Transport: answering(func(r *http.Request) (*http.Response, error) {
			if !strings.HasSuffix(r.URL.Path, "/messages") {
				return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(`{"data":[],"next_cursor":null}`))}, nil
			}
			_, _ = io.Copy(io.Discard, r.Body)
			return &http.Response{StatusCode: 201, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(body))}, nil
		}),
	}))
	o := builtin.Options{Client: client, Directory: service.NewDirectory(client), Location: saoPaulo}
	w := engine.Workspace{
		Name: "default", Actions: must(actions.NewRegistry(must(builtin.New(o))...)), Desk: must(builtin.NewDesk(o)), Location: saoPaulo,
		Safety: engine.Safety{PerConversation: duration.Rate{Times: 1e8, Per: time.Hour}, Messages: duration.Rate{Times: 1e8, Per: time.Hour}},
	}
	e := must(engine.New(engine.Options{Journal: c}, w))
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	if err := e.SetRules("default", set); err != nil {
		t.Fatal(err)
	}
	return c, e
}

// work lets an engine visit so many lanes.
func (c *conveyor) work(t testing.TB, e *engine.Engine, visits int) {
	c.left = visits
	if _, err := e.Tick(t.Context(), friday); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkVisit measures a visit without the journal and the network: of an event that matches no
// rule, of one for which a rule's condition is false, and of runs.
func BenchmarkVisit(b *testing.B) {
	for _, bench := range []struct{ name, rules string }{
		{"unwanted", nothingWants}, {"false", nothingFires}, {"twelve-false", twelveFalse}, {"one-call", sendsOnce}, {"two-calls", sendsTwice},
	} {
		b.Run(bench.name, func(b *testing.B) {
			c, e := newConveyor(b, bench.rules)
			c.work(b, e, 1) // fills the cache of names
			b.ReportAllocs()
			b.ResetTimer()
			c.work(b, e, b.N)
			b.StopTimer()
			if fired := strings.Contains(bench.name, "call"); fired != (c.fired == b.N+1) {
				b.Fatalf("%d of %d runs are done", c.fired, b.N+1)
			}
		})
	}
}
