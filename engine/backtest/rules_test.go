package backtest_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quandohq/quando/engine/backtest"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/service"
)

const greet = `
rules:
  - { id: greet, when: message.received, limit: { times: 1, per: 1h }, do: [{ send_message: "Hello {{ contact.name }}" }] }
`

const twoCustomers = `
      - { customer: Ana, says: hello }
      - { at: "+1m", customer: Bia, says: hi }
      - { at: "+1m" }
`

func TestStages(t *testing.T) {
	const live, shadow = "send_message Hello ", "(shadow) send_message Hello "
	tell(t, greet, twoCustomers, func(s *scene) {
		s.expect(s.edit("id: greet", "id: greet, stage: shadow"), "greet, Ana: "+live+"Ana -> "+shadow+"Ana", "greet, Bia: "+live+"Bia -> "+shadow+"Bia")
		r := s.edit("id: greet", "id: greet, stage: draft")
		s.expect(r) // a draft is tried as if it were live
		s.effects(r, "Fri 17:50 Ana send_message Hello Ana", "Fri 17:51 Bia send_message Hello Bia")
		s.expect(s.edit("id: greet", "id: greet, stage: draft", "Hello", "Bom dia"),
			"greet, Ana: "+live+"Ana -> send_message Bom dia Ana", "greet, Bia: "+live+"Bia -> send_message Bom dia Bia")
	})
	tell(t, `
rules:
  - id: greet
    stage: shadow
    when: message.received
    limit: { times: 1, per: 1h }
    do:
      - send_message: "Hello {{ contact.name }}"
        id: sent
      - create_card: { board: Sales, title: "{{ sent.text ?? 'none' }}" }
`, twoCustomers, func(s *scene) {
		s.expect(s.edit())
		s.effects(s.edit(), "Fri 17:50 Ana "+shadow+"Ana", "Fri 17:50 Ana (shadow) create_card none", "Fri 17:51 Bia "+shadow+"Bia", "Fri 17:51 Bia (shadow) create_card none")
		s.expect(s.edit("Hello", "Bom dia"),
			"greet, Ana: "+shadow+"Ana, (shadow) create_card none -> (shadow) send_message Bom dia Ana, (shadow) create_card none",
			"greet, Bia: "+shadow+"Bia, (shadow) create_card none -> (shadow) send_message Bom dia Bia, (shadow) create_card none")
		s.expect(s.edit("    stage: shadow\n", ""),
			"greet, Ana: "+shadow+"Ana, (shadow) create_card none -> "+live+"Ana", "greet, Bia: "+shadow+"Bia, (shadow) create_card none -> "+live+"Bia",
			"greet: not recorded: what the service answers to send_message (step 1)", "greet: not recorded: what the service answers to send_message (step 1)")
	})
}

func TestRulesComeAndGo(t *testing.T) {
	tell(t, greet, twoCustomers, func(s *scene) {
		removed := []string{"greet, Ana: send_message Hello Ana -> nothing ()", "greet, Bia: send_message Hello Bia -> nothing ()"}
		added := []string{"other, Ana: nothing () -> send_message Hello Ana", "other, Bia: nothing () -> send_message Hello Bia"}
		s.expect(s.edit("id: greet", "id: other"), append(removed, added...)...)
		s.options.Only = true
		s.expect(s.edit("id: greet", "id: other"), added...)
	})
}

// A fact that was not read for one rule is known if another rule read it.
func TestOneRuleKnowsWhatAnotherAsked(t *testing.T) {
	tell(t, greet+`
  - { id: other, when: message.received, if: 'attendance.status == "open"', do: [{ log: x }] }
`, twoCustomers, func(s *scene) {
		s.expect(s.edit("limit: { times: 1", "if: 'attendance.protocol != \"\"', limit: { times: 1"))
		s.expect(s.edit("limit: { times: 1", "if: 'attendance.protocol == \"\"', limit: { times: 1"),
			"greet, Ana: send_message Hello Ana -> nothing (false)", "greet, Bia: send_message Hello Bia -> nothing (false)")
		s.expect(s.edit("limit: { times: 1", "if: 'customer_waiting() > duration(\"1s\")', limit: { times: 1"),
			"greet: not recorded: customer_waiting()", "greet: not recorded: customer_waiting()")
	})
}

func TestSchedules(t *testing.T) {
	tell(t, `
rules:
  - id: sweep
    when: { every: 10m, each: attendances, where: { status: open, assignee: none } }
    limit: { times: 1, per: 1d }
    do: [{ transfer: { sector: Support, reason: "waiting" } }]
  - id: report
    when: { cron: "0 18 * * *" }
    do: [{ send_message: { text: good night, to: { phone: "+5511955554444", channel: Main } } }]
`, `
      - { customer: Ana, says: hello }
      - { at: "+45m" }
`, func(s *scene) {
		s.expect(s.edit())
		s.effects(s.edit(), "Fri 18:00  send_message good night map[channel:Main phone:+5511955554444]", "Fri 18:00 Ana transfer Support waiting", "Fri 18:10 +5511955554444 transfer Support waiting")
		s.expect(s.edit("waiting", "alone"), "sweep, Ana: transfer Support waiting -> transfer Support alone", "sweep, +5511955554444: transfer Support waiting -> transfer Support alone")
		const unknown = "sweep: not recorded: which attendances there were at each of its ticks"
		s.expect(s.edit("every: 10m", "every: 20m"), unknown)
		s.expect(s.edit("status: open, assignee: none", "status: open"), unknown)
		const night = "send_message good night map[channel:Main phone:+5511955554444]"
		s.expect(s.edit(`cron: "0 18 * * *"`, "every: 15m"), "report, : nothing () -> "+night, "report, : nothing () -> "+night)
		s.expect(s.edit("id: report", "id: farewell"), "report, : "+night+" -> nothing ()", "farewell, : nothing () -> "+night)
	})
}

// What a rule would not have said starts nothing, and ends nothing.
func TestOwnMessages(t *testing.T) {
	tell(t, greet+`
  - { id: echo, when: message.sent, from: any, do: [{ add_labels: [vip] }] }
  - id: wait
    when: message.received
    mode: single
    cancel_on: [{ event: message.sent, if: message.by == "engine" }]
    do: [{ wait: 30s }, { mark_read: }]
`, twoCustomers, func(s *scene) {
		s.expect(s.edit())
		echo := s.edit("[vip]", "[after-hours]")
		s.expect(echo, "echo, Ana: add_labels [vip] -> add_labels [after-hours]", "echo, Bia: add_labels [vip] -> add_labels [after-hours]")
		r := s.edit("limit: { times: 1", "if: contact.name == \"Ana\", limit: { times: 1", "[vip]", "[after-hours]", "wait: 30s", "wait: 31s")
		s.expect(r, "greet, Bia: send_message Hello Bia -> nothing (false)", "echo, Bia: add_labels [vip] -> nothing (false)",
			"echo, Ana: add_labels [vip] -> add_labels [after-hours]", "wait, Bia: nothing (fired) -> mark_read")
	})
}

func TestDiff(t *testing.T) {
	tell(t, away, evening, func(s *scene) {
		diff := func(before, after string) *backtest.Result {
			r, err := backtest.Diff(t.Context(), s.options, desktest.Compile(t, calendar+before), desktest.Compile(t, calendar+after))
			if err != nil {
				t.Fatal(err)
			}
			return r
		}
		s.expect(diff(away, away))
		s.expect(diff(greet, greet))
		s.expect(diff(away, greet),
			"away-reply, Ana: send_message Hello Ana! You wrote 2., add_labels [after-hours] -> nothing ()",
			"away-reply, Bia: send_message Hello Bia! You wrote 1., add_labels [after-hours] -> nothing ()",
			"away-reply, Bia: send_message Hello Bia! You wrote 1. -> nothing ()",
			"greet, Ana: nothing () -> send_message Hello Ana", "greet, Ana: nothing () -> send_message Hello Ana",
			"greet, Bia: nothing () -> send_message Hello Bia", "greet, Bia: nothing () -> send_message Hello Bia")
		half := replace(greet, "per: 1h", "per: 1d")
		s.expect(diff(greet, half), "greet, Ana: send_message Hello Ana -> nothing (limited)", "greet, Bia: send_message Hello Bia -> nothing (limited)")
	})
}

// TestAgain shows that the same question has the same answer.
func TestAgain(t *testing.T) {
	tell(t, away, evening, func(s *scene) {
		first := s.edit("Hello", "Hi")
		for range 5 {
			if diff := cmp.Diff(first, s.edit("Hello", "Hi"), cmpopts.IgnoreUnexported(backtest.Effect{}, backtest.Difference{}, backtest.Treatment{})); diff != "" {
				t.Fatal(diff)
			}
		}
	})
}

// TestWindow reports a part of the record, with the state from before.
func TestWindow(t *testing.T) {
	tell(t, away, evening, func(s *scene) {
		s.options.Since = s.options.Until.Add(-12 * 3600e9) // Friday, five past seven in the evening
		r := s.edit("Hello", "Hi")
		s.expect(r, "away-reply, Bia: send_message Hello Bia! You wrote 1. -> send_message Hi Bia! You wrote 1.")
		s.effects(r, "Sat 07:00 Bia send_message Hi Bia! You wrote 1.")
	})
}

func replace(text, old, fresh string) string { return strings.Replace(text, old, fresh, 1) }

// The result of a rule that reads names is unknown if they were not stored. An answer about a label
// was recorded.
func TestNamesThatNobodyKnows(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: channel, when: message.received, if: 'conversation.channel_name == "Main"', limit: { times: 1, per: 1h }, do: [{ send_message: Hello }] }
  - { id: label, when: message.received, if: not has_label("vip"), limit: { times: 1, per: 1h }, do: [{ send_message: Hello }] }
`)
	d.customer("Ana", anaPhone, "hello")
	s := d.scene()
	s.expect(s.edit("Hello", "Hi"), "channel, Ana: send_message Hello -> send_message Hi", "label, Ana: send_message Hello -> send_message Hi")
	s.options = optionsOf(d.journal, "default", service.Snapshot{}, d.Now())
	s.expect(s.edit())
	r := s.edit("Hello", "Hi")
	if len(r.NotRecorded) != 1 || !strings.HasPrefix(r.NotRecorded[0].Question, "the name of the channel ") {
		t.Errorf("not recorded: %v", r.NotRecorded)
	}
	r.NotRecorded = nil
	s.expect(r, "label, Ana: send_message Hello -> send_message Hi")
}

// Events have other numbers in a replay than in the record. The order of events and calls is known
// nevertheless.
func TestChangesBeforeAndAfterACall(t *testing.T) {
	tell(t, `
rules:
  - { id: pins, when: message.received, do: [{ update_conversation: { pinned: true } }, { update_conversation: { pinned: false } }] }
  - { id: notes, when: conversation.updated, do: [{ add_labels: [vip] }, { remove_labels: [vip] }] }
`, `
      - { customer: Ana, says: hello }
      - { at: "+1m", customer: Ana, says: again }
      - { at: "+1m" }
`, func(s *scene) {
		s.expect(s.edit())
		s.expect(s.edit("id: notes", "id: notes, stage: shadow"), "notes, Ana: add_labels [vip], remove_labels [vip] -> (shadow) add_labels [vip], (shadow) remove_labels [vip]",
			"notes, Ana: add_labels [vip], remove_labels [vip] -> (shadow) add_labels [vip], (shadow) remove_labels [vip]")
	})
}
