package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service/sandbox"
)

// TestRunFinds runs with a service that loses every delivery, and whose key cannot ask what
// webhooks tell. Cards are found, counted, shown and marked.
func TestRunFinds(t *testing.T) {
	o := newOffice(t)
	scopes := slices.DeleteFunc(slices.Clone(sandbox.Scopes), func(s string) bool { return s == "webhooks:manage" })
	key, err := o.sandbox.NewKey(sandbox.NewKey{Name: "engine", Scopes: scopes})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.sandbox.AddFault(sandbox.Fault{Operation: "delivery", Kind: "lose"}); err != nil {
		t.Fatal(err)
	}
	o.write("rules/r.yaml", "rules: [{ id: on-moved, when: kanban.card.moved, do: [{ log: moved }] }]")
	o.start(fmt.Sprintf("service: { base_url: %q, api_key: %q }\nbackfill: { every: 1s, cards: 100ms }", o.address.BaseURL, key.APIKey))
	o.logs("looked for what no webhook told", nil)
	c, err := o.sandbox.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Order"})
	if err != nil {
		t.Fatal(err)
	}
	looks := strings.Count(o.log.String(), "looked for what no webhook told")
	clitest.Eventually(t, func() (bool, string) {
		return strings.Count(o.log.String(), "looked for what no webhook told") > looks+2, o.log.String()
	})
	if _, err := o.sandbox.MoveCard(sandbox.MoveCard{Card: c.ID.String(), Stage: "Proposal", Person: "Bruno"}); err != nil {
		t.Fatal(err)
	}
	o.shows(`quando_found_total{type="kanban.card.moved",workspace="default"} 1`, `quando_found_total{type="message.received",workspace="default"} 0`,
		`quando_events_total{type="kanban.card.moved",workspace="default"} 1`, `quando_runs_total{rule="on-moved",stage="live",state="done",workspace="default"} 1`)
	_, page := o.asks("GET", o.console+"/health", nil, "")
	if !strings.Contains(page, "kanban.card.moved 1</span>") {
		t.Error("the health page does not show what was found")
	}
	out, log := &clitest.Buffer{}, &clitest.Buffer{}
	if code := run(t.Context(), []string{"events", "--config", o.folder + "/quando.yaml"}, strings.NewReader(""), out, log); code != 0 || !out.Contains("kanban.card.moved (found)") {
		t.Errorf("%d\n%s%s", code, out, log)
	}
}

// TestBackfillOff shows that nothing is asked for where it is off.
func TestBackfillOff(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules: [{ id: on-moved, when: kanban.card.moved, do: [{ log: moved }] }]")
	o.start(o.service() + "\nbackfill: { every: off }")
	o.shows(`quando_rules_loaded{workspace="default"} 1`)
	if _, text := o.asks("GET", o.console+"/metrics", nil, ""); strings.Contains(text, "quando_backfill_ended_seconds") {
		t.Error("it looks all the same")
	}
}

// TestReplayedDeliveries replays a right signed delivery that is too old, again and again: nobody
// is asked for anything because of it.
func TestReplayedDeliveries(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for twelve seconds")
	}
	t.Parallel()
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n"+clitest.Rule("a", "a1"))
	o.start(o.service())
	o.logs("looked for what no webhook told", map[string]any{"reason": "start"})
	for end := time.Now().Add(12 * time.Second); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if got, _ := o.asks("POST", o.public+"/webhook", signedAt(string(o.secret), delivery, time.Now().Add(-6*time.Minute)), delivery); got != 401 {
			t.Fatalf("answered with %d", got)
		}
	}
	if n := strings.Count(o.log.String(), "looked for what no webhook told"); n != 1 {
		t.Errorf("it looked %d times, the last time because of %q", n, o.logged("looked for what no webhook told")["reason"])
	}
}

// TestRunHoldsOverdueWaits stops the engine between a question and its answer, which no webhook
// tells and which came in time.
func TestRunHoldsOverdueWaits(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	o := newOffice(t)
	o.write("rules/r.yaml", `
rules:
  - id: menu
    when: message.received
    if: message.text == "hello"
    do:
      - send_message: 1 sales, 2 support
      - { wait_for: { event: message.received, timeout: 10s }, id: answer }
      - send_message: "heard {{ answer?.message?.text ?? 'nothing' }}"
`)
	said := func(text string) func() (bool, string) {
		return func() (bool, string) {
			all := fmt.Sprintf("%+v", o.sandbox.Effects())
			for _, e := range o.sandbox.Effects() {
				if strings.Contains(string(e.Request), text) {
					return true, ""
				}
			}
			return false, all + o.log.String()
		}
	}
	o.start(o.service())
	o.logs("looked for what no webhook told", nil)
	o.writes("+5511988887777", "hello")
	clitest.Eventually(t, said("1 sales"))
	over := time.Now().Add(11 * time.Second)
	o.stop()
	o.writes("+5511988887777", "1")
	time.Sleep(time.Until(over))
	o.start(o.service())
	clitest.Eventually(t, said("heard"))
	if is, all := said("heard 1")(); !is {
		t.Error(all)
	}
}
