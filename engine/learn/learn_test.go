package learn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/learn"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

type m = map[string]any

func received(data m) rules.Event { return rules.Event{Type: "message.received", Data: data} }

// TestPaths shows the paths, their counts and kinds, and no values of customers.
func TestPaths(t *testing.T) {
	shapes := make(learn.Shapes)
	for _, data := range []m{
		{"text": "my card is 4111", "who": m{"id": "0192f3a4-0000-7000-8000-00000000000a", "phone": "+5511988887777"}, "tags": []any{"a", m{"deep": 1.0}}, "n": nil},
		{"text": "hi", "at": "2026-11-13T17:50:00Z", "who": m{"mail": "ana@example.com"}, "n": 3.0, "ok": true, "url": "https://example.com/secret"},
	} {
		shapes.Add(received(data))
	}
	want := []learn.Path{
		{Path: "at", Events: 1, Share: .5, Kinds: []string{"time"}},
		{Path: "n", Events: 2, Share: 1, Kinds: []string{"null", "number"}},
		{Path: "ok", Events: 1, Share: .5, Kinds: []string{"true or false"}},
		{Path: "tags", Events: 1, Share: .5, Kinds: []string{"list(2 items)"}},
		{Path: "tags[]", Events: 1, Share: .5, Kinds: []string{"object", "text(1 char)"}},
		{Path: "tags[].deep", Events: 1, Share: .5, Kinds: []string{"number"}},
		{Path: "text", Events: 2, Share: 1, Kinds: []string{"text(2–15 chars)"}},
		{Path: "url", Events: 1, Share: .5, Kinds: []string{"web address"}},
		{Path: "who", Events: 2, Share: 1, Kinds: []string{"object"}},
		{Path: "who.id", Events: 1, Share: .5, Kinds: []string{"uuid"}},
		{Path: "who.mail", Events: 1, Share: .5, Kinds: []string{"email-like"}},
		{Path: "who.phone", Events: 1, Share: .5, Kinds: []string{"phone-like"}},
	}
	if diff := cmp.Diff(want, shapes["message.received"].Paths()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestPathsAreBounded takes events with random names.
func TestPathsAreBounded(t *testing.T) {
	shapes := make(learn.Shapes)
	for i := range 5000 {
		shapes.Add(received(m{fmt.Sprintf("name-%d", i): m{"x": 1.0}}))
	}
	if n := len(shapes["message.received"].Paths()); n > 2000 {
		t.Errorf("%d paths", n)
	}
}

// TestCheck finds what no recorded event had.
func TestCheck(t *testing.T) {
	shapes := make(learn.Shapes)
	shapes.Add(received(m{"message": m{"origin": "app", "size": 3.0, "extra": nil}, "list": []any{m{"x": 1.0}}}))
	for name, c := range map[string]struct{ condition, want string }{
		"there":             {`event.data.message.origin == "app"`, ""},
		"misspelt":          {`event.data.message.orign == "app"`, `8:28: no recorded event has event.data.message.orign (message.received: 1) (did you mean "event.data.message.origin"?)`},
		"misspelt above":    {`event.data.mesage.origin == "app"`, `8:20: no recorded event has event.data.mesage (message.received: 1) (did you mean "event.data.message.origin"?)`},
		"elsewhere":         {`event.data.contact.size > 1`, `8:20: no recorded event has event.data.contact (message.received: 1) (did you mean "event.data.message.size"?)`},
		"optional":          {`event.data?.mesage?.origin == "app"`, `8:21: no recorded event has event.data.mesage (message.received: 1) (did you mean "event.data.message.origin"?)`},
		"nothing like it":   {`event.data.zzz == nil`, `8:20: no recorded event has event.data.zzz (message.received: 1)`},
		"another type":      {`event.data.message.size == "3"`, `8:28: event.data.message.size is compared with a text, and was a number in all recorded events`},
		"below a list":      {`event.data.list[0].y == 1`, ""},
		"below nothing":     {`event.data.message.extra.deep == 1`, ""},
		"compared with nil": {`event.data.message.size != nil`, ""},
	} {
		text := "\n\nrules:\n  - id: r\n    when: message.received\n    limit: { times: 1, per: 1h }\n    if:\n      - " + c.condition + "\n    do: [log: done]\n"
		set, problems := rules.Compile([]*rules.File{rules.Parse("r.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
		if problems.HasErrors() {
			t.Fatalf("%s: %v", name, problems)
		}
		var got []string
		for _, p := range learn.Check(set, shapes) {
			line := fmt.Sprintf("%d:%d: %s", p.Line, p.Column, p.Message)
			if p.Hint != "" {
				line += " (" + p.Hint + ")"
			}
			got = append(got, line)
		}
		if strings.Join(got, "\n") != c.want {
			t.Errorf("%s:\n  got  %s\n  want %s", name, strings.Join(got, "\n"), c.want)
		}
	}
}

// TestCheckKnowsNothing says nothing of rules whose events were never recorded.
func TestCheckKnowsNothing(t *testing.T) {
	set, _ := rules.Compile([]*rules.File{rules.Parse("r.yaml", []byte("rules: [{ id: r, when: attendance.opened, if: event.data.x == 1, do: [log: done] }]"))}, rules.Options{Catalog: builtin.Catalog()})
	shapes := make(learn.Shapes)
	shapes.Add(received(m{}))
	if got := learn.Check(set, shapes); len(got) > 0 {
		t.Error(got)
	}
}

// TestProposals finds what a profile does not, where something looks like it.
func TestProposals(t *testing.T) {
	profile := service.DefaultProfile()
	r := learn.NewReading(&profile)
	for range 3 {
		r.Add(received(m{
			"message": m{"id": "m-1", "text": "hi"},
			"talk":    m{"chatRef": "0192f3a4-0000-7000-8000-00000000000a", "chat": "a long text about a chat, by somebody who likes to write long texts"},
			"cliente": m{"uuid": "0192f3a4-0000-7000-8000-0000000000d1", "nome": "Ana"},
		}))
	}
	want := []learn.Finding{
		{Type: "message.received", Field: "message_id", Found: "message.id", Events: 3, Of: 3},
		{Type: "message.received", Field: "conversation_id", Of: 3},
		{Type: "message.received", Field: "contact_id", Of: 3},
	}
	if diff := cmp.Diff(want, r.Findings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got := map[string]string{}
	for _, p := range r.Proposals() {
		got[p.Field] = p.Path
		if p.Paths[0] != p.Path || len(p.Paths) < 5 {
			t.Errorf("%s: %v must go on with what the profile has", p.Field, p.Paths)
		}
	}
	if diff := cmp.Diff(map[string]string{"event.conversation_id": "talk.chatRef", "event.contact_id": "cliente.uuid"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	found := r.Proposals()[0]
	settings := m{"event": m{strings.TrimPrefix(found.Field, "event."): anyList(found.Paths)}}
	with, errs := service.ProfileFromMap(settings)
	if len(errs) > 0 || with.EventID(service.KindConversation, "message.received", m{"talk": m{"chatRef": "c-1"}}) != "c-1" {
		t.Errorf("the proposal does not work: %v", errs)
	}
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i := range list {
		out[i] = list[i]
	}
	return out
}
