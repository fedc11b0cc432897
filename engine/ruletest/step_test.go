package ruletest

import (
	"strings"
	"testing"
	"time"
)

func TestMoment(t *testing.T) {
	zone, err := time.LoadLocation("America/Sao_Paulo")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, zone) // a Friday
	for text, want := range map[string]string{
		"+15m":                 "2026-11-13T18:05:00-03:00",
		"+1d":                  "2026-11-14T17:50:00-03:00",
		"18:04":                "2026-11-13T18:04:00-03:00",
		"17:50":                "2026-11-13T17:50:00-03:00",
		"09:00":                "2026-11-14T09:00:00-03:00",
		"sat 09:06":            "2026-11-14T09:06:00-03:00",
		"fri 17:50":            "2026-11-13T17:50:00-03:00",
		"fri 17:49":            "2026-11-20T17:49:00-03:00",
		"2026-12-25T10:00:00Z": "2026-12-25T10:00:00Z",
	} {
		got, err := moment(text, now)
		if err != nil || got.Format(time.RFC3339) != want {
			t.Errorf("%s is %s (%v), not %s", text, got.Format(time.RFC3339), err, want)
		}
	}
}

// TestSteps runs a story with every kind of step.
func TestSteps(t *testing.T) {
	r := tell(t, `
rules:
  - id: heard
    when: [message.sent, attendance.closed, kanban.card.moved]
    if: event.type == "message.sent" and message.by == "team" or event.type == "attendance.closed" or card?.board_name == "Care"
    do: [{ send_message: { to: { phone: "+5511900000000", channel: Main }, text: "{{ event.type }}: {{ message?.text ?? card?.stage_name ?? attendance?.status ?? '' }}" } }]
  - id: odd
    when: conversation.updated
    if: event.data?.campaign == "spring"
    do: [{ add_labels: [spring] }]
  - id: left-out
    when: message.received
    do: [{ add_labels: [never] }]
tests:
  - name: it
    rules: [heard, odd]
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Duty, phone: "+5511900000000" }]
      conversations: [{ contact: Duty }]
      boards: [{ name: Care, stages: [New, Done] }]
      people: [{ name: Zoe, sectors: [Night] }]
      sectors: [Night]
      cards: [{ board: Care, title: A card, contact: Marina }]
    steps:
      - { customer: Marina, says: Hello, expect: [] }
      - { at: +1m, team: Zoe, to: Marina, says: Good evening, expect: [{ send_message: "message.sent: Good evening" }] }
      - { team: Zoe, moves: A card, to: Done, expect: [{ send_message: "kanban.card.moved: Done" }] }
      - { team: Zoe, closes: Marina, expect: [{ send_message: "attendance.closed: closed" }] }
      - { event: conversation.updated, contact: Marina, data: { campaign: spring }, expect: [{ add_labels: [spring] }] }
      - { event: attendance.closed, contact: Marina, expect: [{ send_message: "attendance.closed: closed" }] }
      - { fault: { operation: "POST /conversations/{id}/messages", kind: status_before, status: 503, count: 1 } }
      - { event: attendance.closed, contact: Marina, expect: [] }
      - { at: +1m, expect: [{ send_message: "attendance.closed: closed" }] }
`)
	r.passes(t)
}

// TestSchedule runs a story whose rules follow a schedule, also without catching up.
func TestSchedule(t *testing.T) {
	r := tell(t, `
rules:
  - id: hourly
    when: { every: 1h }
    late: { run: none }
    do: [{ send_message: { to: { phone: "+5511900000000", channel: Main }, text: "{{ now().Format('15:04') }}" } }]
tests:
  - name: it
    start: 2026-11-13T10:30:00-03:00
    given:
      contacts: [{ name: Duty, phone: "+5511900000000" }]
      conversations: [{ contact: Duty }]
    steps:
      - { at: "10:59", expect: [] }
      - { at: "13:30", expect: [{ send_message: "11:00" }, { send_message: "12:00" }, { send_message: "13:00" }] }
    faults: { crash: every_step }
`)
	r.passes(t)
}

// TestLate shows that what is heard of too late starts nothing, that what comes in time does, and
// that a wait counts from when it happened, under every fault.
func TestLate(t *testing.T) {
	r := tell(t, `
rules:
  - id: answer
    when: message.received
    do: [{ send_message: "I heard {{ message.text }}" }]
  - id: ask
    when: attendance.closed
    late: { skip_after: 2h }
    do: [{ wait: 1h }, { send_message: "How was it?" }]
tests:
  - name: it
    start: 2026-11-13T10:00:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Paulo, phone: "+5511988887778" }] }
    steps:
      - { customer: Marina, says: one, late: 45m }
      - { customer: Paulo, says: two, late: 15m, expect: [] }
      - { at: "10:14", expect: [] }
      - { at: "10:25", expect: [{ send_message: { text: I heard two, to: { contact: Paulo } } }] }
      - { at: "12:00", expect: [] }
      - { team: Bruno, closes: Paulo, late: 40m }
      - { team: Bruno, closes: Marina, late: 3h }
      - { at: "12:59", expect: [] }
      - { at: "13:10", expect: [{ send_message: { text: "How was it?", to: { contact: Paulo } } }] }
      - { at: "20:00", expect: [] }
    faults: all
`)
	r.passes(t)
}

const menu = `
rules:
  - id: menu
    when: attendance.opened
    do:
      - send_message: 1 sales, 2 support
      - wait_for: { event: message.received, timeout: 1h }
        id: answer
      - stop_if: answer == nil
      - transfer: { sector: "{{ answer.message.text == '1' ? 'Sales' : 'Support' }}" }
tests:
  - name: it
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
`

// What was written before the question is no answer, in whatever order deliveries come, and what
// comes next is one, also if no time passes in between.
func TestQuestionAndAnswer(t *testing.T) {
	r := tell(t, menu+`
    steps:
      - { customer: Marina, says: Hello }
      - { at: +10m, expect: [{ send_message: "1 sales, 2 support" }] }
      - { customer: Marina, says: "1" }
      - { at: +10m, expect: [{ transfer: { sector: Sales } }] }
    faults: all
`)
	r.passes(t)
	r = tell(t, menu+`
    steps:
      - { customer: Marina, says: Hello, expect: [{ send_message: "1 sales, 2 support" }] }
      - { customer: Marina, says: "1", expect: [{ transfer: { sector: Sales } }] }
`)
	r.passes(t)
}

// teamStory is what TestTeam begins with.
const teamStory = `
rules:
  - id: labelled
    when: conversation.updated
    if: "'label_ids' in event.data.changed and has_label('urgent')"
    do: [{ transfer: Supervisors }]
  - id: taken
    when: conversation.updated
    if: "'assignee_id' in event.data.changed and conversation.assignee != nil"
    do: [{ update_conversation: { name: "with {{ conversation.assignee_name }}" } }]
  - id: file
    when: [message.received, message.sent]
    if: message.media_id != nil
    do: [{ send_message: { to: { phone: "+5511900000000", channel: Main }, text: "{{ event.type }}: {{ message.text ?? '' }}" } }]
  - id: close
    when: kanban.card.completed
    do: [{ close_attendance: { reason: won } }]
tests:
  - name: it
    given:
      contacts: [{ name: Marina, phone: "+5511988887777" }, { name: Duty, phone: "+5511900000000" }, { name: Paulo, phone: "+5511977776666" }]
      conversations: [{ contact: Duty }, { contact: Marina, name: The bakery }]
      attendances: [{ contact: Paulo, status: open }]
      cards: [{ board: Sales, stage: Proposal, title: Offer, conversation: Paulo }, { board: Sales, title: Oven, conversation: "+5511988887777" }]
      labels: [quiet, urgent]
    steps:
`

// TestTeam runs stories in which people label, take over and send files, and a card has a
// conversation.
func TestTeam(t *testing.T) {
	t.Parallel()
	r := tell(t, teamStory+`
      - { team: Bruno, labels: [quiet], of: Paulo, expect: [] }
      - { team: Bruno, labels: urgent, of: Paulo, expect: [{ transfer: { sector: Supervisors } }] }
      - { team: Bruno, labels: [urgent], of: Paulo, expect: [] }
      - { at: +1m, team: Carla, takes: Paulo, expect: [{ update_conversation: { name: with Carla } }] }
      - { at: +1m, customer: Paulo, sends: photo.jpg, expect: [{ send_message: "message.received: " }] }
      - { at: +1m, customer: Paulo, sends: offer.pdf, says: Signed, expect: [{ send_message: "message.received: Signed" }] }
      - { at: +1m, team: Carla, to: "+5511977776666", sends: contract.pdf, says: Here, expect: [{ send_message: "message.sent: Here" }] }
      - { at: +1m, team: Carla, moves: Offer, to: Won, expect: [{ close_attendance: { reason: won } }] }
      - { at: +1m, team: Carla, to: "+5511988887777", says: Hello }
      - { at: +1m, team: Carla, moves: Oven, to: Won }
      - { at: +1m, expect: [{ update_conversation: { name: with Carla } }, { close_attendance: { reason: won } }] }
`)
	r.passes(t)

	for name, tt := range map[string]struct{ step, words string }{
		"an unknown label":      {"{ team: Bruno, labels: [urgnt], of: Paulo, expect: [] }", `there is no label "urgnt" (did you mean "urgent"?): list in given what the rules do not name`},
		"an unknown customer":   {"{ team: Bruno, labels: [urgent], of: Pablo, expect: [] }", `there is no conversation "Pablo"`},
		"nobody to take":        {"{ team: Bruno, takes: Xerxes, expect: [] }", `there is no conversation "Xerxes"`},
		"nobody who takes":      {"{ team: Brno, takes: Paulo, expect: [] }", `there is no person "Brno" (did you mean "Bruno"?)`},
		"no conversation yet":   {"{ team: Bruno, takes: Nina, expect: [] }", "there is no conversation with Nina yet: let the customer write first"},
		"nothing open to close": {"{ team: Bruno, closes: Nina, expect: [] }", "there is no conversation with Nina yet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := tell(t, strings.Replace(teamStory, "contacts: [", `contacts: [{ name: Nina, phone: "+5511911111111" }, `, 1)+"      - "+tt.step+"\n")
			r.fails(t, tt.words)
		})
	}
}
