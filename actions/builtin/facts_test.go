package builtin_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

// fits checks that a value is of its type: an object has exactly its fields, and each is nil or of
// the right kind.
func fits(t testing.TB, where string, typ *rules.Type, v any) {
	t.Helper()
	switch {
	case v == nil || typ == rules.Anything:
	case typ.Fields() != nil:
		fact, ok := v.(map[string]any)
		if !ok {
			t.Errorf("%s is a %T, want an object", where, v)
			return
		}
		var want []string
		for _, f := range typ.Fields() {
			want = append(want, f.Name)
			fits(t, where+"."+f.Name, f.Type, fact[f.Name])
		}
		slices.Sort(want)
		if diff := cmp.Diff(want, slices.Sorted(maps.Keys(fact))); diff != "" {
			t.Errorf("%s has other fields than its type:\n%s", where, diff)
		}
	case typ.Elem() != nil:
		list, ok := v.([]any)
		if !ok {
			t.Errorf("%s is a %T, want a list", where, v)
		}
		for _, item := range list {
			fits(t, where+"[]", typ.Elem(), item)
		}
	default:
		kinds := map[*rules.Type]any{rules.Text: "", rules.Number: 0.0, rules.Flag: true, rules.Time: time.Time{}, rules.Duration: time.Duration(0)}
		if want := kinds[typ]; cmp.Diff([]string{kind(want)}, []string{kind(v)}) != "" {
			t.Errorf("%s is a %T, want %s", where, v, typ)
		}
	}
}

func kind(v any) string {
	switch v.(type) {
	case string:
		return "text"
	case float64:
		return "number"
	case bool:
		return "flag"
	case time.Time:
		return "time"
	case time.Duration:
		return "duration"
	}
	return "other"
}

// TestFactsHaveTheFieldsOfTheirTypes covers empty objects; the results of verbs cover full ones.
func TestFactsHaveTheFieldsOfTheirTypes(t *testing.T) {
	d := newDesk(t)
	facts := builtin.NewFacts(service.NewDirectory(d.client), nil)
	ctx := context.Background()
	for name, c := range map[string]struct {
		typ *rules.Type
		v   any
	}{
		"message":      {rules.MessageType, must(facts.Message(ctx, service.Message{}))},
		"conversation": {rules.ConversationType, must(facts.Conversation(ctx, service.Conversation{}))},
		"contact":      {rules.ContactType, facts.Contact(service.Contact{})},
		"attendance":   {rules.AttendanceType, must(facts.Attendance(ctx, service.Attendance{}))},
		"card":         {rules.CardType, must(facts.Card(ctx, service.Card{}))},
		"assignment":   {rules.AssignmentType, facts.Assignment(service.Assignment{})},
		"report":       {rules.ReportType, facts.Report(service.Report{})},
	} {
		fits(t, "an empty "+name, c.typ, c.v)
	}
}

func TestResultsAreOfTheirTypes(t *testing.T) {
	for _, c := range verbCases {
		t.Run(c.verb+"/"+c.name, func(t *testing.T) {
			d := newDesk(t)
			must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}))
			must(d.TeamMessage(sandbox.TeamMessage{Conversation: d.conversation, Person: "Bruno", Text: "hi"}))
			catalog := must(d.registry.Catalog())
			r, err := d.drive(c.verb, d.step(c.args(d))).run()
			if err != nil {
				t.Fatal(err)
			}
			schema := catalog.Verb(c.verb)
			if schema.Result == nil {
				if r.Value != nil {
					t.Errorf("a result of a verb that has none: %v", r.Value)
				}
				return
			}
			if r.Value == nil {
				t.Error("there is no result")
			}
			fits(t, c.verb, schema.Result, r.Value)
			back, err := actions.Typed(schema.Result, must(json.Marshal(r.Value)))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(r.Value, back); diff != "" {
				t.Errorf("a recorded result reads back otherwise:\n%s", diff)
			}
		})
	}
}

func TestFactsNameWhatTheyReferTo(t *testing.T) {
	d := newDesk(t, func(o *builtin.Options) {
		o.Own = func(_ context.Context, m service.Message) (bool, error) { return m.ClientID != "", nil }
	})
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno", Sector: "Sales"}))
	d.do("send_message", m{"text": "from the engine"})
	conversation := d.do("read_conversation", nil).Value.(m)
	got := m{}
	for _, name := range []string{"channel_name", "assignee_name", "sector_name"} {
		got[name] = conversation[name]
	}
	if diff := cmp.Diff(m{"channel_name": "Main", "assignee_name": "Bruno", "sector_name": "Sales"}, got); diff != "" {
		t.Error(diff)
	}
	card := d.do("move_card", m{"to": "Won"}).Value.(m)
	if card["board_name"] != "Sales" || card["stage_name"] != "Won" {
		t.Errorf("card: %v", card)
	}
	var by []any
	for _, message := range d.do("read_messages", nil).Value.([]any) {
		by = append(by, message.(m)["by"])
	}
	if diff := cmp.Diff([]any{"engine", "customer"}, by); diff != "" {
		t.Error(diff)
	}
	facts := builtin.NewFacts(service.NewDirectory(d.client), nil)
	moved := must(facts.MovedCard(t.Context(), d.readCard(), d.stage("Proposal"), d.id(service.KindPerson, "Bruno")))
	if moved["from_stage_name"] != "Proposal" || moved["moved_by"] == nil {
		t.Errorf("moved card: %v", moved)
	}
	fits(t, "a moved card", rules.CardType, moved)
	if contact := d.do("read_contact", nil).Value.(m); contact["phone"] != ana || contact["city"] != nil {
		t.Errorf("contact: %v", contact)
	}
	attendance := d.do("read_attendance", nil).Value.(m)
	if attendance["assignee_name"] != "Bruno" || attendance["status"] != "open" || !attendance["opened_at"].(time.Time).Equal(friday) {
		t.Errorf("attendance: %v", attendance)
	}
}

// TestNamesThatMayNotBeReadAreNil shows that a key that may not read the team still runs rules;
// only the names are missing.
func TestNamesThatMayNotBeReadAreNil(t *testing.T) {
	d := newDesk(t)
	must(d.TeamTransfer(sandbox.TeamTransfer{Conversation: d.conversation, Person: "Bruno", To: "Bruno"}))
	d.fault(sandbox.Fault{Operation: "GET /team", Kind: "status_before", Status: 403})
	conversation := d.do("read_conversation", nil).Value.(m)
	if conversation["assignee"] == nil || conversation["assignee_name"] != nil || conversation["channel_name"] != "Main" {
		t.Errorf("%v", conversation)
	}
}
