package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// explainRules are the rules of the desk in docs/explain.md.
const explainRules = `calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-18:00] }

rules:
  - id: away-reply
    when: message.received
    if:
      - closed("office")
      - conversation.kind == "direct"
      - not human_active("15m")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Hello {{ contact.name }}! We are closed."

  - id: price-list
    stage: shadow
    when: message.received
    if: says("price", "prices")
    do:
      - send_message: Here is our price list.

  - id: follow-up
    when: message.received
    if: message.by == "customer"
    mode: restart
    cancel_on: [message.sent]
    do:
      - wait: 2d
      - send_message: Is there anything else that we can do?

  - id: first-response
    when: attendance.opened
    do:
      - wait: 15m of office
      - transfer: { sector: Supervisors, reason: Nobody answered }
`

const explainDraft = `rules:
  - id: vip-night
    when: message.received
    if:
      - closed("office")
      - has_label("vip") or conversation.unread
      - customer_waiting() > duration("10m")
    do: [mark_read]
`

const explainMisspelt = `rules:
  - id: from-the-shop
    when: message.received
    if:
      - event.data.mesage.text != ""
      - event.data.message.origin == 5
    do: [mark_read]
`

// TestExplainDoc runs the examples of the documentation on a journal that a real engine has
// written.
func TestExplainDoc(t *testing.T) {
	doc, err := filepath.Abs("../../docs/explain.md")
	if err != nil {
		t.Fatal(err)
	}
	cli.Now = func() time.Time { return time.Date(2026, 11, 14, 9, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { cli.Now = time.Now })
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{
		"quando.yaml":     "timezone: America/Sao_Paulo\nservice: { api_key: \"${NOBODY_HAS_THIS}\" }\n",
		"rules/desk.yaml": explainRules, "draft.yaml": explainDraft, "misspelt.yaml": explainMisspelt,
	})
	deskDay(t, "quando.db")
	runDoc(t, doc, 8)
}

// deskDay lets a real engine live through an evening at a desk, and leaves its journal.
func deskDay(t *testing.T, file string) {
	t.Helper()
	j, err := storage.Open(t.Context(), file, false)
	if err != nil {
		t.Fatal(err)
	}
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	client, err := service.New(service.Options{BaseURL: "https://desk.example.com", APIKey: "none", Transport: polite{}})
	if err != nil {
		t.Fatal(err)
	}
	o := builtin.Options{Client: client, Location: zone}
	verbs, err := builtin.New(o)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := actions.NewRegistry(verbs...)
	if err != nil {
		t.Fatal(err)
	}
	desk, err := builtin.NewDesk(o)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Journal: j}, engine.Workspace{Name: "default", Actions: registry, Desk: deserted{desk}, Location: zone})
	if err != nil {
		t.Fatal(err)
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules/desk.yaml", []byte(explainRules))}, rules.Options{Catalog: builtin.Catalog()})
	if len(problems) > 0 && problems.HasErrors() {
		t.Fatal(problems)
	}
	if err := e.SetRules("default", set); err != nil {
		t.Fatal(err)
	}
	for i, d := range []struct {
		at, typ, conversation, kind, text string
	}{
		{"17:50", "message.received", "a", "direct", "Good afternoon"},
		{"19:05", "message.received", "a", "direct", "Are you still there? I want to know your prices."},
		{"19:05", "attendance.opened", "a", "direct", ""},
		{"19:20", "message.received", "a", "direct", "Hello?"},
		{"19:30", "message.received", "b", "group", "Party!"},
	} {
		at, err := time.ParseInLocation("2006-01-02 15:04", "2026-11-13 "+d.at, zone)
		if err != nil {
			t.Fatal(err)
		}
		event := rules.Event{
			Workspace: "default", ID: fmt.Sprintf("0192f3a4-1111-7000-8000-%012d", i+1), Type: d.typ, Lane: "conversation:0192f3a4-0000-7000-8000-00000000000" + d.conversation,
			CreatedAt: at, ReceivedAt: at.Add(time.Second), Data: delivered(d.typ, d.conversation, d.kind, d.text, at),
		}
		if _, err := e.Accept(t.Context(), event); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Tick(t.Context(), event.ReceivedAt); err != nil {
			t.Fatal(err)
		}
	}
	for more := true; more; { // so that customers are found by name
		if more, err = j.Follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
}

const supportSector = "0192f3a4-0000-7000-8000-0000000000b1"

// TestExplainNames tells names as the journal has kept them; where it has kept none, nobody knows
// them.
func TestExplainNames(t *testing.T) {
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{
		"quando.yaml": "timezone: UTC\n", "rules/desk.yaml": explainRules,
		"draft.yaml": "rules:\n  - { id: sales, when: message.received, if: 'conversation.sector_name == \"Sales\"', do: [mark_read] }\n" +
			"  - { id: by-id, when: message.received, if: 'conversation.sector == \"s2\"', do: [mark_read] }\n",
	})
	deskDay(t, "quando.db")
	explains := func(want ...string) {
		t.Helper()
		text := runExample(t, "explain --event 0192f3a4-1111-7000-8000-000000000001 --rule draft.yaml")
		for _, line := range want {
			if !strings.Contains(text, line+"\n") {
				t.Errorf("no %q in\n%s", line, text)
			}
		}
	}
	explains("sales cannot be judged: it was never asked what the name of conversation.sector was (its id is "+supportSector+")",
		"by-id would not have fired: conversation.sector was "+supportSector+", and the rule wants s2")
	j, err := storage.Open(t.Context(), "quando.db", true)
	if err != nil {
		t.Fatal(err)
	}
	snapshot := service.Snapshot{Lists: []service.SnapshotList{{Kind: service.KindSector, Entries: []service.SnapshotEntry{{ID: supportSector, Name: "Support"}}}}}
	text, err := json.Marshal(snapshot)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.SetCursor(t.Context(), storage.DirectoryCursor("default"), string(text)); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	explains("sales would not have fired: conversation.sector_name was Support, and the rule wants Sales",
		`by-id would not have fired: conversation.sector was Support, and the rule wants s2`)
}

// delivered is the data of an event as the service delivers it.
func delivered(typ, conversation, kind, text string, at time.Time) map[string]any {
	name := map[string]string{"a": "Ana Lima", "b": "Friends of the shop"}[conversation]
	id := "0192f3a4-0000-7000-8000-00000000000" + conversation
	data := map[string]any{
		"conversation": map[string]any{
			"id": id, "kind": kind, "name": name, "label_ids": []any{}, "archived": false, "pinned": false, "muted": false, "unread": true,
			"channel_id": "0192f3a4-0000-7000-8000-0000000000c1", "contact_id": "0192f3a4-0000-7000-8000-0000000000d1", "assignee_id": nil, "sector_id": supportSector, "last_message": nil,
		},
		"contact": map[string]any{
			"id": "0192f3a4-0000-7000-8000-0000000000d1", "name": name, "phone": "+5511988887777", "company": nil, "city": nil, "label_ids": []any{}, "blocked": false,
			"channel_id": "0192f3a4-0000-7000-8000-0000000000c1",
		},
	}
	if typ == "attendance.opened" {
		data["attendance"] = map[string]any{
			"id": "0192f3a4-0000-7000-8000-0000000000e1", "protocol": "20261113-1", "status": "open", "conversation_id": id, "contact_id": "0192f3a4-0000-7000-8000-0000000000d1",
			"assignee_id": nil, "sector_id": nil, "opened_at": at.Format(time.RFC3339), "first_response_at": nil, "closed_at": nil,
		}
		return data
	}
	data["message"] = map[string]any{
		"id": fmt.Sprintf("0192f3a4-0000-7000-8000-0000%08d", at.Unix()%100_000_000), "text": text, "direction": "inbound", "origin": "app", "conversation_id": id, "created_at": at.Format(time.RFC3339),
	}
	return data
}

// deserted is a desk at which nobody of the team is there.
type deserted struct{ *builtin.Desk }

func (deserted) HumanActive(context.Context, string, time.Time) (bool, error) { return false, nil }

// polite answers every request as a service does that has sent the message, and knows no names.
type polite struct{}

func (polite) RoundTrip(r *http.Request) (*http.Response, error) {
	answer := &http.Response{StatusCode: http.StatusNotFound, Request: r, Header: http.Header{"Content-Type": {"application/json"}}, Body: http.NoBody}
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/messages") {
		var sent map[string]any
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			return nil, err
		}
		sent["id"], sent["direction"], sent["created_at"] = "0192f3a4-0000-7000-8000-0000000000f1", "outbound", "2026-11-13T22:05:01Z"
		text, err := json.Marshal(sent)
		if err != nil {
			return nil, err
		}
		answer.StatusCode, answer.Body = http.StatusCreated, io.NopCloser(strings.NewReader(string(text)))
	}
	return answer, nil
}
