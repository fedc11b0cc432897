package backtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
)

// A scene is a journal that a story has left, with the rules that made it.
type scene struct {
	t       *testing.T
	text    string
	options backtest.Options
}

const calendar = `
calendars:
  office:
    timezone: America/Sao_Paulo
    open: { mon-fri: [08:00-12:00, 13:30-18:00], sat: [09:00-13:00] }
`

// tell runs rules on a story, and passes the journal to look.
func tell(t *testing.T, text, story string, look func(s *scene)) {
	t.Helper()
	set := desktest.Compile(t, calendar+text+"tests:\n  - name: it\n    start: 2026-11-13T17:50:00-03:00\n    given: { contacts: [{ name: Ana, phone: \"+5511988887777\" }, { name: Bia, phone: \"+5511977776666\" }], cards: [{ board: Sales, stage: Proposal, title: Order of Ana, contact: Ana }, { board: Sales, stage: Lead, title: Order of Bia, contact: Bia }] }\n    steps:\n      - { at: \"+1s\", expect: [] }\n"+story)
	result, err := ruletest.Run(t.Context(), ruletest.Options{Set: set, Look: func(told ruletest.Told) error {
		j := must(sqlite.Open(t.Context(), told.Journal, sqlite.Options{Beside: true}))
		defer j.Close()
		look(&scene{t: t, text: text, options: optionsOf(j, told.Workspace, told.Names, told.Now)})
		return nil
	}}, set.Tests[0])
	if err != nil {
		t.Fatal(err)
	}
	if !result.OK {
		t.Fatal(result.Report())
	}
}

// edit tries the rules with a part of their text replaced; nothing leaves them as they are.
func (s *scene) edit(replace ...string) *backtest.Result {
	s.t.Helper()
	text := strings.NewReplacer(replace...).Replace(s.text)
	if len(replace) > 0 && text == s.text {
		s.t.Fatalf("there is no %q in the rules", replace[0])
	}
	r, err := backtest.Run(s.t.Context(), s.options, desktest.Compile(s.t, calendar+text))
	if err != nil {
		s.t.Fatal(err)
	}
	return r
}

// expect compares differences and what was not recorded, in words.
func (s *scene) expect(r *backtest.Result, want ...string) {
	s.t.Helper()
	got := []string{}
	for _, d := range r.Differences {
		got = append(got, fmt.Sprintf("%s, %s: %s -> %s", d.Rule, d.Who, inWords(d.Was), inWords(d.Would)))
	}
	for _, g := range r.NotRecorded {
		got = append(got, fmt.Sprintf("%s: not recorded: %s", g.Rule, g.Question))
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		s.t.Errorf("(-want +got):\n%s", diff)
	}
}

// effects compares what would have been done, in words.
func (s *scene) effects(r *backtest.Result, want ...string) {
	s.t.Helper()
	got := []string{}
	for _, e := range r.Effects {
		got = append(got, fmt.Sprintf("%s %s %s", e.At.In(saoPaulo).Format("Mon 15:04"), e.Who, effect(e)))
	}
	if diff := cmp.Diff(want, got); diff != "" && len(want)+len(got) > 0 {
		s.t.Errorf("(-want +got):\n%s", diff)
	}
}

func effect(e backtest.Effect) string {
	words := e.Verb
	for _, name := range []string{"text", "labels", "to", "sector", "reason", "title"} {
		if v := e.Arguments[name]; v != nil {
			words += fmt.Sprintf(" %v", v)
		}
	}
	if e.Stage == rules.Shadow {
		words = "(shadow) " + words
	}
	return words
}

func inWords(t backtest.Treatment) string {
	var list []string
	for _, e := range t.Effects {
		list = append(list, effect(e))
	}
	if t.State != "" && !t.State.Finished() {
		list = append(list, string(t.State))
	}
	if len(list) == 0 {
		return "nothing (" + string(t.Outcome) + ")"
	}
	return strings.Join(list, ", ")
}

const away = `
rules:
  - id: away-reply
    when: message.received
    gather: { quiet: 20s, at_most: 2m }
    if:
      - closed("office")
      - not human_active("15m")
    limit: { times: 1, per: 12h }
    do:
      - send_message: "Hello {{ contact.name }}! You wrote {{ len(messages) }}."
        id: sent
      - add_labels: [after-hours]
`

const evening = `
      - { at: "fri 18:10", customer: Ana, says: hello }
      - { at: "+5s", customer: Ana, says: anybody }
      - { at: "fri 18:20", customer: Bia, says: hi }
      - { at: "fri 18:30", team: Bruno, to: Bia, says: one moment }
      - { at: "fri 18:40", customer: Bia, says: thanks }
      - { at: "fri 20:00", customer: Ana, says: still nobody }
      - { at: "sat 07:00", customer: Bia, says: good morning }
      - { at: "sat 07:05" }
`

func TestEdits(t *testing.T) {
	tell(t, away, evening, func(s *scene) {
		r := s.edit()
		s.expect(r)
		s.effects(r,
			"Fri 18:10 Ana send_message Hello Ana! You wrote 2.", "Fri 18:10 Ana add_labels [after-hours]",
			"Fri 18:20 Bia send_message Hello Bia! You wrote 1.", "Fri 18:20 Bia add_labels [after-hours]",
			"Sat 07:00 Bia send_message Hello Bia! You wrote 1.")
		if r.Events < 10 {
			t.Errorf("%d events", r.Events)
		}
		s.expect(s.edit(`Hello {{`, `Hi {{`),
			"away-reply, Ana: send_message Hello Ana! You wrote 2., add_labels [after-hours] -> send_message Hi Ana! You wrote 2., add_labels [after-hours]",
			"away-reply, Bia: send_message Hello Bia! You wrote 1., add_labels [after-hours] -> send_message Hi Bia! You wrote 1., add_labels [after-hours]",
			"away-reply, Bia: send_message Hello Bia! You wrote 1. -> send_message Hi Bia! You wrote 1.")
		// A name is no meaning.
		s.expect(s.edit("id: away-reply", "id: away-reply\n    name: Away"))
		// The office is closed either way.
		s.expect(s.edit(`closed("office")`, `not open("office")`))
		// Bia wrote when Bruno had just done so, and was limited besides.
		s.expect(s.edit("per: 12h", "per: 20m"),
			"away-reply, Ana: nothing (limited) -> send_message Hello Ana! You wrote 1., add_labels [after-hours]")
	})
}

// The team's past activity is known only as far as it was read.
// TestEditsInOwnChats shows that what was in a chat of our own starts no rule of a replay either,
// unless it says so.
func TestEditsInOwnChats(t *testing.T) {
	tell(t, `
rules:
  - { id: away, when: message.received, do: [{ send_message: Closed }] }
`, `
      - { customer: Ana, says: hello }
      - { customer: Bia, says: ok }
      - { at: "+5m" }
    safety: { internal: ["+5511977776666"] }
`, func(s *scene) {
		s.effects(s.edit(), "Fri 17:50 Ana send_message Closed")
		s.expect(s.edit("id: away,", "id: away, internal: run,"), "away, Bia: nothing (internal) -> send_message Closed")
		s.effects(s.edit("id: away,", "id: away2,"), "Fri 17:50 Ana send_message Closed")
	})
}

// TestEditsElsewhere shows that what a rule does in a conversation that it took up is told of that
// conversation.
func TestEditsElsewhere(t *testing.T) {
	tell(t, `
rules:
  - id: both
    when: message.received
    if: contact.name == "Ana"
    do:
      - add_labels: [one]
      - read_conversation: { conversation: { phone: "+5511977776666", channel: Main } }
      - add_labels: [two]
`, `
      - { customer: Bia, says: hi }
      - { at: "+1m", customer: Ana, says: hello }
      - { at: "+5m" }
`, func(s *scene) {
		s.effects(s.edit(), "Fri 17:51 Ana add_labels [one]", "Fri 17:51 Bia add_labels [two]")
		s.effects(s.edit("[two]", "[three]"), "Fri 17:51 Ana add_labels [one]", "Fri 17:51 Bia add_labels [three]")
	})
}

func TestEditsOfWhoWasActive(t *testing.T) {
	tell(t, away, evening, func(s *scene) {
		s.expect(s.edit(`      - not human_active("15m")`+"\n", "")) // Bia is limited anyway

		s.expect(s.edit(`15m`, `9m`), "away-reply: not recorded: human_active(9m)")
		s.expect(s.edit(`15m`, `12m`)) // Bruno's message is in the journal
		s.expect(s.edit(`15m`, `30m`),
			"away-reply: not recorded: human_active(30m)", "away-reply: not recorded: human_active(30m)", "away-reply: not recorded: human_active(30m)",
			"away-reply: not recorded: human_active(30m)")
	})
}

const sla = `
rules:
  - id: sla
    when: attendance.opened
    mode: single
    cancel_on: [attendance.closed, { event: message.sent, if: message.by == "team" }]
    do:
      - wait: 15m of office
      - stop_if: attendance.status != "open" or attendance.first_response != nil
      - transfer: { sector: Supervisors, reason: No answer }
      - add_labels: [sla-breach]
`

const nobodyAnswersAna = `
      - { customer: Ana, says: hello }
      - { at: "+1m", customer: Bia, says: hi }
      - { at: "+2m", team: Bruno, to: Bia, says: hello }
      - { at: "sat 09:20" }
`

// After another wait the facts would have been asked for at another time.
func TestEditsAroundAWait(t *testing.T) {
	tell(t, sla, nobodyAnswersAna, func(s *scene) {
		s.expect(s.edit())
		s.expect(s.edit("15m of", "20m of"), "sla: not recorded: the attendance")
		s.expect(s.edit("No answer", "Nobody"), "sla, Ana: transfer Supervisors No answer, add_labels [sla-breach] -> transfer Supervisors Nobody, add_labels [sla-breach]")
		// A step before the others moves their places, not what they ask and find.
		s.expect(s.edit("      - wait: 15m", "      - log: waiting\n      - wait: 15m"))
		s.expect(s.edit("      - stop_if", "      - mark_read\n      - stop_if"), "sla, Ana: transfer Supervisors No answer, add_labels [sla-breach] -> mark_read, transfer Supervisors No answer, add_labels [sla-breach]")
		s.expect(s.edit(`, { event: message.sent, if: message.by == "team" }`, ""), "sla: not recorded: the attendance")
		s.expect(s.edit(`attendance.status != "open" or attendance.first_response != nil`, `attendance.status == "open"`), "sla, Ana: transfer Supervisors No answer, add_labels [sla-breach] -> nothing (fired)")
		s.expect(s.edit(`      - stop_if: attendance.status != "open" or attendance.first_response != nil`+"\n", "", "15m of", "17m of"),
			"sla, Ana: transfer Supervisors No answer, add_labels [sla-breach] -> transfer Supervisors No answer, add_labels [sla-breach]") // two minutes later
		// It is unknown whether it ends before the record does.
		r := s.edit("15m of", "2h of")
		s.expect(r, "sla, Ana: transfer Supervisors No answer, add_labels [sla-breach] -> waiting")
		if r.Rules[0].Waiting != 1 {
			t.Errorf("%+v", r.Rules)
		}
	})
}

func TestEditsOfAWaitFor(t *testing.T) {
	tell(t, `
rules:
  - id: ask
    when: attendance.closed
    do:
      - send_message: "Were you content?"
      - wait_for: { event: message.received, if: 'message.text matches "^[1-5]$"', timeout: 1h }
        id: answer
      - choose:
          - if: answer == nil
            do: [{ add_labels: [silent] }]
          - else: [{ send_message: "Thank you for the {{ answer.message.text }}." }]
`, `
      - { customer: Ana, says: hello }
      - { customer: Bia, says: hello }
      - { team: Bruno, closes: Ana }
      - { team: Bruno, closes: Bia }
      - { at: "+10m", customer: Ana, says: good }
      - { at: "+1m", customer: Ana, says: "4" }
      - { at: "+3h" }
`, func(s *scene) {
		s.expect(s.edit())
		s.effects(s.edit(), "Fri 17:50 Ana send_message Were you content?", "Fri 17:50 Bia send_message Were you content?",
			"Fri 18:01 Ana send_message Thank you for the 4.", "Fri 18:50 Bia add_labels [silent]")
		s.expect(s.edit("^[1-5]$", "^(good|bad)$"),
			"ask, Ana: send_message Were you content?, send_message Thank you for the 4. -> send_message Were you content?, send_message Thank you for the good.")
		s.expect(s.edit("timeout: 1h", "timeout: 5m"),
			"ask, Ana: send_message Were you content?, send_message Thank you for the 4. -> send_message Were you content?, add_labels [silent]",
			"ask, Bia: send_message Were you content?, add_labels [silent] -> send_message Were you content?, add_labels [silent]") // earlier
	})
}

// What was written before the question is no answer, also if it is unknown when the question would
// have reached the service.
func TestQuestionThatWasNotAsked(t *testing.T) {
	tell(t, `
rules:
  - id: menu
    when: attendance.opened
    do:
      - send_message: "1 sales, 2 support"
      - wait_for: { event: message.received, timeout: 1h }
        id: answer
      - send_message: "{{ answer?.message?.text ?? 'nothing' }}"
`, `
      - { customer: Ana, says: hello }
      - { customer: Bia, says: hello }
      - { at: "+10m", customer: Ana, says: "1" }
      - { at: "+3h" }
`, func(s *scene) {
		s.expect(s.edit())
		s.effects(s.edit("1 sales, 2 support", "What is it about?"), "Fri 17:50 Ana send_message What is it about?", "Fri 17:50 Bia send_message What is it about?",
			"Fri 18:00 Ana send_message 1", "Fri 18:50 Bia send_message nothing")
	})
}

func TestEditsOfCards(t *testing.T) {
	tell(t, `
rules:
  - id: after-close
    when: attendance.closed
    do:
      - find_card: { board: Sales, q: "Order of {{ contact.name }}" }
        id: found
      - stop_if: found == nil
      - move_card: { to: Follow-up, only_from: Proposal }
      - create_card: { board: Sales, stage: Lead, title: "Again {{ found.title }}" }
        id: made
      - send_message: "Card {{ made.title }}"
      - add_labels: [vip]
`, `
      - { customer: Ana, says: hello }
      - { customer: Bia, says: hello }
      - { team: Bruno, closes: Ana }
      - { team: Bruno, closes: Bia }
      - { at: "+1m" }
`, func(s *scene) {
		s.expect(s.edit())
		s.effects(s.edit(),
			"Fri 17:50 Ana move_card Follow-up", "Fri 17:50 Ana create_card Again Order of Ana", "Fri 17:50 Ana send_message Card Again Order of Ana", "Fri 17:50 Ana add_labels [vip]",
			"Fri 17:50 Bia create_card Again Order of Bia", "Fri 17:50 Bia send_message Card Again Order of Bia", "Fri 17:50 Bia add_labels [vip]")
		ana := "move_card Follow-up, create_card Again Order of Ana, send_message Card Again Order of Ana, add_labels [vip]"
		bia := "create_card Again Order of Bia, send_message Card Again Order of Bia, add_labels [vip]"
		// The same question of the same card has the same answer: Bia's was not in Proposal.
		s.expect(s.edit("to: Follow-up", "to: Won"), "after-close, Ana: "+ana+" -> "+strings.Replace(ana, "Follow-up", "Won", 1))
		s.expect(s.edit("only_from: Proposal", "only_from: Lead"),
			"after-close: not recorded: where the card was, for only_from", "after-close: not recorded: where the card was, for only_from")
		s.expect(s.edit("q: \"Order", "q: \"order"),
			"after-close: not recorded: what find_card {\"board\":\"Sales\",\"q\":\"order of Ana\"} finds", "after-close: not recorded: what find_card {\"board\":\"Sales\",\"q\":\"order of Bia\"} finds")
		// What the service would have answered to another card is not known, and a text needs it.
		s.expect(s.edit("\"Again {{", "\"Once more {{"),
			"after-close, Ana: "+ana+" -> move_card Follow-up, create_card Once more Order of Ana", "after-close, Bia: "+bia+" -> create_card Once more Order of Bia",
			"after-close: not recorded: what the service answers to create_card (step 4)", "after-close: not recorded: what the service answers to create_card (step 4)")
		s.expect(s.edit("\"Again {{", "\"Once more {{", "Card {{ made.title }}", "Card"),
			"after-close, Ana: "+ana+" -> move_card Follow-up, create_card Once more Order of Ana, send_message Card, add_labels [vip]",
			"after-close, Bia: "+bia+" -> create_card Once more Order of Bia, send_message Card, add_labels [vip]")
	})
}

// An unknown result takes no slot of a limit: reporting a customer once too often is better than
// missing one.
func TestEditsOfALimit(t *testing.T) {
	tell(t, `
rules:
  - id: reply
    when: message.received
    limit: { times: 1, per: 12h }
    do:
      - send_message: Hello
`, `
      - { customer: Ana, says: one }
      - { at: "+10m", customer: Ana, says: two }
      - { at: "+10m", customer: Ana, says: three }
      - { at: "+1m" }
`, func(s *scene) {
		s.expect(s.edit())
		s.expect(s.edit("    limit:", "    if: 'message.text != \"one\" or customer_waiting() > duration(\"1m\")'\n    limit:"),
			"reply, Ana: nothing (limited) -> send_message Hello", "reply: not recorded: customer_waiting()")
		// A run that has begun has its slot, whatever its end.
		s.expect(s.edit("      - send", "      - stop_if: 'customer_waiting() > duration(\"1m\")'\n      - send"), "reply: not recorded: customer_waiting()")
	})
}
