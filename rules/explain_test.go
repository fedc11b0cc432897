package rules_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

// TestWords checks the sentences that explain a clause.
func TestWords(t *testing.T) {
	for condition, want := range map[string]string{
		`closed("office")`:                                           "the office was open",
		`open("office")`:                                             "the office was open",
		`not open("office")`:                                         "the office was open",
		`conversation.kind == "group"`:                               "conversation.kind was direct, and the rule wants group",
		`"group" == conversation.kind`:                               "conversation.kind was direct, and the rule wants group",
		`conversation.kind != "direct"`:                              "conversation.kind was direct, and the rule wants anything else",
		`conversation.kind == "direct"`:                              "conversation.kind was direct",
		`conversation.assignee == "p1"`:                              "conversation.assignee was not set, and the rule wants p1",
		`conversation.sector == "s2"`:                                "conversation.sector was Support, and the rule wants s2",
		`contact.name in ["Bia", "Caio"]`:                            "contact.name was Ana, and the rule wants one of Bia, Caio",
		`contact.name not in ["Ana", "Caio"]`:                        "contact.name was Ana, which is one of Ana, Caio",
		`event.data.priority > 5`:                                    "event.data.priority was 3, and the rule wants more than 5",
		`5 < event.data.priority`:                                    "event.data.priority was 3, and the rule wants more than 5",
		`event.data.priority <= 2`:                                   "event.data.priority was 3, and the rule wants at most 2",
		`contact.name contains "x"`:                                  `contact.name did not contain "x"`,
		`contact.name matches "^A"`:                                  `contact.name matched "^A"`,
		`conversation.archived`:                                      "conversation.archived was false",
		`conversation.kind == "direct" and contact.name == "Bia"`:    "contact.name was Ana, and the rule wants Bia",
		`conversation.kind == "group" or contact.name == "Bia"`:      "conversation.kind was direct, and the rule wants group; contact.name was Ana, and the rule wants Bia",
		`now() < date("2020-01-01")`:                                 "the time was Fri 2026-11-13 17:50, and the rule wants before Wed 2020-01-01 00:00",
		`muted()`:                                                    "the conversation was not muted",
		`human_active("15m")`:                                        "nobody of the team had written within 15m",
		`has_label("vip")`:                                           "the conversation had the label vip",
		`says("human", "price list")`:                                `the message did not say "human" or "price list"`,
		`customer_waiting() > duration("1h")`:                        "the time that the customer had waited was 20m, and the rule wants more than 1h",
		`count_events("message.received", "1h") > 9`:                 "the number of message.received within 1h was 3, and the rule wants more than 9",
		`any(event.data.tags, # == "z")`:                             `any(event.data.tags, # == "z") was false`,
		`(event.data.priority > 1 ? "a" : "b") == conversation.kind`: "event.data.priority > 1 ? \"a\" : \"b\" was a, and the rule wants direct",
	} {
		w := newWorld()
		w.labels, w.waiting, w.events = []string{"vip"}, 20*time.Minute, 3
		got := rules.NewEvaluation(t.Context(), ruleIf(t, condition), w).Explain()
		if len(got) != 1 || got[0].Words != want {
			t.Errorf("%s\n  says %q\n  want %q", condition, got[0].Words, want)
		}
	}
}

// TestWordsInPortuguese holds the same in the other language.
func TestWordsInPortuguese(t *testing.T) {
	for condition, want := range map[string]string{
		`closed("office")`:                           "o calendário office estava aberto",
		`conversation.kind == "group"`:               "conversation.kind era direct, e a regra pede group",
		`conversation.kind != "direct"`:              "conversation.kind era direct, e a regra pede qualquer outra coisa",
		`conversation.assignee == "p1"`:              "conversation.assignee era não definido, e a regra pede p1",
		`contact.name in ["Bia", "Caio"]`:            "contact.name era Ana, e a regra pede um de Bia, Caio",
		`event.data.priority > 5`:                    "event.data.priority era 3, e a regra pede mais de 5",
		`contact.name contains "x"`:                  `contact.name não continha "x"`,
		`contact.name matches "^A"`:                  `contact.name combinava com "^A"`,
		`conversation.archived`:                      "conversation.archived era falso",
		`now() < date("2020-01-01")`:                 "a hora era 13/11/2026 17:50, e a regra pede antes de 01/01/2020 00:00",
		`muted()`:                                    "a conversa não estava silenciada",
		`human_active("15m")`:                        "ninguém da equipe tinha escrito nos últimos 15m",
		`has_label("vip")`:                           "a conversa tinha a etiqueta vip",
		`says("human", "price list")`:                `a mensagem não dizia "human" ou "price list"`,
		`customer_waiting() > duration("1h")`:        "o tempo que o cliente tinha esperado era 20m, e a regra pede mais de 1h",
		`count_events("message.received", "1h") > 9`: "o número de message.received em 1h era 3, e a regra pede mais de 9",
	} {
		w := newWorld()
		w.labels, w.waiting, w.events = []string{"vip"}, 20*time.Minute, 3
		e := rules.NewEvaluation(t.Context(), ruleIf(t, condition), w)
		e.In(rules.Portuguese)
		if got := e.Explain(); len(got) != 1 || got[0].Words != want {
			t.Errorf("%s\n  says %q\n  want %q", condition, got[0].Words, want)
		}
	}
}

// TestExplain checks the result of each clause: those after the first that is not true are not
// reached.
func TestExplain(t *testing.T) {
	rule := oneRule(t, `
    if:
      - conversation.kind == "direct"
      - event.data.missing.deeper == 1
      - has_label("vip")
    do: [log: done]`)
	type verdict struct {
		Result rules.ClauseResult
		Values []rules.NamedValue
		Fails  bool
	}
	var got []verdict
	for _, v := range rules.NewEvaluation(t.Context(), rule, newWorld()).Explain() {
		got = append(got, verdict{v.Result, v.Values, v.Err != nil})
	}
	want := []verdict{
		{rules.ClauseTrue, []rules.NamedValue{{Name: "conversation.kind", Value: "direct"}}, false},
		{rules.ClauseFailed, []rules.NamedValue{}, true},
		{rules.ClauseNotReached, nil, false},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// partlyUnknown is a world of which a part is not known.
type partlyUnknown struct{ *world }

var errSecret = errors.New("not known")

func (partlyUnknown) HumanActive(context.Context, time.Duration) (bool, error) {
	return false, errSecret
}

func (s partlyUnknown) Fact(ctx context.Context, name string) (any, error) {
	if name == "attendance" {
		return nil, errSecret
	}
	return s.world.Fact(ctx, name)
}

// TestPartly finds what is false for sure, and says of nothing else that it is known.
func TestPartly(t *testing.T) {
	for condition, want := range map[string]rules.ClauseResult{
		`human_active("15m")`: rules.ClauseFailed,
		`human_active("15m") and conversation.kind == "group"`:            rules.ClauseFalse,
		`attendance.status == "open" and conversation.kind == "group"`:    rules.ClauseFalse,
		`attendance.status == "open" and conversation.kind == "direct"`:   rules.ClauseFailed,
		`conversation.kind == "direct" or attendance.status == "open"`:    rules.ClauseTrue,
		`attendance.status == "open" or conversation.kind == "direct"`:    rules.ClauseFailed,
		`attendance == nil and conversation.kind == "group"`:              rules.ClauseFalse,
		`not (conversation.kind == "direct" or human_active("15m"))`:      rules.ClauseFalse,
		`event.data.missing.deeper == 1 and conversation.kind == "group"`: rules.ClauseFailed,
	} {
		eval := rules.NewEvaluation(t.Context(), ruleIf(t, condition), partlyUnknown{newWorld()})
		got := eval.Partly(ruleIf(t, condition).If[0], func(err error) bool { return errors.Is(err, errSecret) })
		if got.Result != want || (got.Err != nil) != (want == rules.ClauseFailed) {
			t.Errorf("%s is %s (%v), want %s", condition, got.Result, got.Err, want)
		}
		for _, v := range got.Values {
			if strings.HasPrefix(v.Name, "attendance") {
				t.Errorf("%s: %s is told, and nobody knows it", condition, v.Name)
			}
		}
	}
}

// TestBeside compiles a rule that is in no set with the calendars of one.
func TestBeside(t *testing.T) {
	set := rules.Parse("set.yaml", []byte(`
calendars:
  office: { timezone: UTC, open: { mon-fri: [08:00-18:00] } }
  shop: { timezone: UTC, open: { sat: [08:00-18:00] } }
rules:
  - { id: broken, when: nothing }
`))
	draft := rules.Parse("draft.yaml", []byte(`
calendars:
  shop: { timezone: UTC, open: { sun: [08:00-18:00] } }
rules:
  - { id: broken, when: message.received, if: [ closed("office"), closed("shop") ], do: [log: done] }
`))
	got, problems := rules.Compile(draft.Beside([]*rules.File{set, draft}), rules.Options{Catalog: builtin.Catalog()})
	if len(problems) > 0 || len(got.Rules) != 1 {
		t.Fatalf("%d rules: %v", len(got.Rules), problems)
	}
	sunday := time.Date(2026, 11, 15, 12, 0, 0, 0, time.UTC)
	if !got.Rules[0].Calendar("shop").Open(sunday) {
		t.Error("the draft has another shop than its own")
	}
}
