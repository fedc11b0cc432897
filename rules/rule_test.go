package rules_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

func TestFactsOfARule(t *testing.T) {
	tests := []struct {
		name, body string
		want       []string
	}{
		{"nothing", `do: [{ log: hello }]`, nil},
		{"conditions", `if: [contact.name == "Ana", event.age < duration("1h")], do: [{ log: hello }]`, []string{"contact", "event"}},
		{"functions ask about the conversation", `if: has_label("vip"), do: [{ log: hello }]`, []string{"conversation"}},
		{"what was said", `if: says("hello"), do: [{ log: hello }]`, []string{"message"}},
		{"what was said in a burst", `gather: { quiet: 5s }, if: says("hello"), do: [{ log: hello }]`, []string{"messages"}},
		{"keys", `by: contact.id, limit: { times: 1, per: 1h, by: attendance.id }, do: [{ log: hello }]`, []string{"attendance", "contact"}},
		{"verbs", `do: [mark_read]`, []string{"conversation"}},
		{"verbs with a target of their own", `do: [{ send_message: { text: hello, to: "{{ vars.boss }}" } }]`, nil},
		{"texts", `do: [{ log: "{{ contact.name }}: {{ message.text }}" }]`, []string{"contact", "message"}},
		{"inside of steps", `do: [{ choose: [{ if: card != nil, do: [mark_read] }, { else: [{ for_each: { in: conversation.label_ids, do: [{ log: "{{ item }}" }] } }] }] }], on_error: [{ log: "{{ attendance.protocol }}" }]`,
			[]string{"attendance", "card", "conversation"}},
		{"events that are waited for", `cancel_on: [{ event: message.sent, if: message.by == "team" }], do: [{ wait_for: { event: attendance.closed, if: attendance.sector == nil, timeout: 1h } }]`,
			[]string{"attendance", "message"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			when := "message.received"
			if strings.Contains(tt.body, "card") {
				when = "kanban.card.moved"
			}
			set := mustCompile(t, "vars: { boss: c1 }\nrules:\n  - { id: r, when: "+when+", "+tt.body+" }\n")
			if diff := cmp.Diff(tt.want, set.Rules[0].Facts); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

func TestSteps(t *testing.T) {
	r := oneRule(t, `    do:
      - mark_read
      - choose:
          - { if: message.text == "", do: [mark_read, stop] }
          - else:
              - for_each: { in: conversation.label_ids, do: [{ log: "{{ item }}" }] }
      - stop
    on_error:
      - log: hello
`)
	var paths []string
	for s := range r.Steps() {
		paths = append(paths, s.Path)
	}
	want := []string{"1", "2", "2.1.1", "2.1.2", "2.else.1", "2.else.1[].1", "3", "on_error.1"}
	if diff := cmp.Diff(want, paths); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	for _, last := range want {
		n := 0
		for s := range r.Steps() {
			if n++; s.Path == last {
				break
			}
		}
		if want[n-1] != last {
			t.Errorf("stopped at %s after %d steps", last, n)
		}
	}
}

// TestWaits shows when waits are over: by the clock, by the calendar that the rule was compiled
// with, and at a time that an expression gives.
func TestWaits(t *testing.T) {
	r := oneRule(t, `    do:
      - wait: 15m
      - wait: 15m of office
      - wait: { until: "{{ next_open('office') }}" }
      - wait: { until: event.data.when }
`)
	// A version that is kept has its calendars with it.
	kept := mustCompile(t, r.Source()).Rules[0]
	for _, r := range []*rules.Rule{r, kept} {
		for i, want := range []time.Time{saoPaulo.Add(15 * time.Minute), time.Date(2026, 11, 14, 9, 5, 0, 0, saoPaulo.Location())} {
			span := r.Do[i].Span
			if end, err := span.End(saoPaulo, r.Calendar(span.Calendar)); !end.Equal(want) || err != nil {
				t.Errorf("%s: %v, %v", span, end, err)
			}
		}
	}
	if _, err := r.Do[1].Span.End(saoPaulo, r.Calendar("none")); err == nil {
		t.Error("business time without a calendar has an end")
	}
	w := newWorld()
	e := rules.NewEvaluation(context.Background(), r, w)
	if at, err := e.Time(r.Do[2].Condition); !at.Equal(time.Date(2026, 11, 14, 9, 0, 0, 0, saoPaulo.Location())) || err != nil {
		t.Errorf("until: %v, %v", at, err)
	}
	if _, err := e.Time(r.Do[3].Condition); err == nil || err.Error() != "a time is needed, not nothing" {
		t.Errorf("until nothing: %v", err)
	}
}

// TestArrivingEvent shows what the conditions of wait_for and cancel_on see: the facts of the event
// that arrives, and in a wait_for also what the steps before it have named.
func TestArrivingEvent(t *testing.T) {
	r := oneRule(t, `    gather: { quiet: 5s }
    cancel_on: [{ event: message.sent, if: 'message.by == "team" and says("done") and vars.tries == 3' }]
    do:
      - read_contact:
        id: before
      - set: { expected: "sim" }
      - wait_for: { event: [message.received, attendance.closed], if: 'event.type == "message.received" and says(expected) and before.name == "Ana" and steps.before.id == "k1" and contact.name == "Bia"', timeout: 1h }
        id: reply
      - stop_if: reply.message.text == "Sim!" and says("boleto")
`)
	started, arrived := newWorld(), newWorld()
	started.facts["messages"] = []any{started.facts["message"]}
	arrived.facts["event"].(map[string]any)["type"] = "message.received"
	arrived.facts["message"] = map[string]any{"text": "Sim!", "by": "customer"}
	arrived.facts["contact"] = map[string]any{"name": "Bia"}
	names := map[string]any{"before": started.facts["contact"], "steps": map[string]any{"before": started.facts["contact"]}, "expected": "sim"}
	in := func(w *world) *rules.Evaluation {
		e := rules.NewEvaluation(context.Background(), r, w)
		for name, v := range names {
			e.Set(name, v)
		}
		return e
	}
	if ok, err := in(arrived).True(r.Do[2].Condition); !ok || err != nil {
		t.Errorf("wait_for: %v, %v", ok, err)
	}
	if ok, err := in(started).True(r.Do[2].Condition); ok || err != nil {
		t.Errorf("wait_for, with what started the rule: %v, %v", ok, err)
	}
	cancel := r.CancelOn[0].If
	arrived.facts["message"] = map[string]any{"text": "All done.", "by": "team"}
	if ok, err := rules.NewEvaluation(context.Background(), r, arrived).True(cancel); !ok || err != nil {
		t.Errorf("cancel_on: %v, %v", ok, err)
	}
	// A name of a step that was not reached is nil.
	if _, err := rules.NewEvaluation(context.Background(), r, arrived).True(r.Do[2].Condition); err == nil {
		t.Error("a condition on a step that was not reached was decided")
	}
	names["reply"] = map[string]any{"message": map[string]any{"text": "Sim!"}}
	if ok, err := in(started).True(r.Do[3].Condition); !ok || err != nil {
		t.Errorf("the event as a result, and what was gathered: %v, %v", ok, err)
	}
}

// TestCancelOnSeesNoSteps shows that a condition of cancel_on cannot depend on how far the run has
// come.
func TestCancelOnSeesNoSteps(t *testing.T) {
	_, problems := compile("r.yaml", `rules:
  - id: r
    when: message.received
    limit: { times: 1, per: 1h }
    cancel_on: [{ event: message.sent, if: answer.id == message.id }]
    do:
      - { send_message: hello, id: answer }
`)
	if len(problems) != 1 || problems[0].Message != `unknown name "answer"` {
		t.Error(problems)
	}
}

// A rule set may be reloaded while runs bring back the versions that they began with. The race
// detector is the judge.
func TestCompileAtOnce(t *testing.T) {
	names, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(names) == 0 {
		t.Fatal(names, err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			var files []*rules.File
			for _, name := range names {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Error(err)
				}
				files = append(files, rules.Parse(name, text))
			}
			if _, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()}); problems.HasErrors() {
				t.Error(problems)
			}
		})
	}
	all.Wait()
}

// Two pages may explain rules, while a worker records the values of a verdict and the rules are
// reloaded. The race detector is the judge.
func TestExplainAtOnce(t *testing.T) {
	conditions := []string{
		`contact.name == "Ana" and conversation.last_message.text != ""`, `now() < date("2020-01-01") or now().Hour() > 12`,
		`event.created_at.Hour() > 25`, `any(event.data.tags, # == "z")`, `message.created_at > now() - duration("1h")`,
	}
	var all sync.WaitGroup
	for range 4 {
		for _, condition := range conditions {
			rule := ruleIf(t, condition)
			all.Go(func() {
				eval := rules.NewEvaluation(t.Context(), rule, newWorld())
				for range 10 {
					eval.Explain()
					eval.Partly(rule.If[0], func(error) bool { return true })
					eval.Values(ruleIf(t, condition).If[0])
				}
			})
		}
	}
	all.Wait()
}
