package backfill_test

import (
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service/sandbox"
)

const overdue = `
rules:
  - id: menu
    when: message.received
    if: message.text == "hello"
    do:
      - send_message: "1 sales, 2 support"
      - { wait_for: { event: message.received, timeout: 5m }, id: answer }
      - send_message: "heard {{ answer?.message?.text ?? 'nothing' }}"
  - id: sla
    when: attendance.opened
    cancel_on: [{ event: message.sent, if: message.by == "team" }]
    do: [{ wait: 5m }, { log: escalated }]
`

// said returns the engine's messages to customers.
func (d *desk) said() (texts []string) {
	for _, e := range d.Effects() {
		if e.Kind == "message" {
			_, text, _ := strings.Cut(string(e.Request), `"text":"`)
			text, _, _ = strings.Cut(text, `"`)
			texts = append(texts, text)
		}
	}
	return texts
}

func (d *desk) wantSaid(want ...string) {
	d.t.Helper()
	if got := strings.Join(d.said(), "; "); got != strings.Join(want, "; ") {
		d.t.Errorf("said %s, want %s\n%s", got, strings.Join(want, "; "), d.trace())
	}
}

func (d *desk) states(rule string) (states []journal.State) {
	for _, r := range must(d.journal.ListRuns(d.t.Context(), journal.RunFilter{Rule: rule})) {
		states = append(states, r.State)
	}
	return states
}

// A wait that expired while the engine was down resumes after the first backfill pass, with what
// came in time; the pass covers the latest events too.
func TestOverdueWaits(t *testing.T) {
	const question = "1 sales, 2 support"
	for name, tt := range map[string]struct {
		answer time.Duration // after the question; 0 is none
		back   time.Duration
		within time.Duration
		fault  func(d *desk)
		want   string
	}{
		"in time, an hour ago": {answer: 3 * time.Minute, back: time.Hour, within: 10 * time.Second, want: "heard 1"},
		"in time, just now":    {answer: 4*time.Minute + 50*time.Second, back: 5*time.Minute + 10*time.Second, within: 10 * time.Second, want: "heard 1"},
		"too late":             {answer: 6 * time.Minute, back: time.Hour, within: 10 * time.Second, want: "heard nothing"},
		"none":                 {back: time.Hour, within: 10 * time.Second, want: "heard nothing"},
		"the service fails for a while": {answer: 3 * time.Minute, back: time.Hour, within: 2 * time.Minute, want: "heard 1",
			fault: func(d *desk) { d.fault("GET /conversations", "status_before", 0, 6, 503) }},
		"the service fails for long": {answer: 3 * time.Minute, back: time.Hour, within: 5 * time.Minute, want: "heard nothing",
			fault: func(d *desk) { d.fault("GET /conversations", "status_before", 0, 0, 503) }},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, overdue, func(o *deskOptions) { o.recovery = 5 * time.Minute })
			d.pass(10 * time.Minute) // the first start reports nothing of the past
			d.customer(1, "hello")
			d.pass(time.Second)
			d.wantSaid(question)
			began := d.clock()
			d.fault("delivery", "lose", 0, 0, 0)
			d.stop()
			if tt.answer > 0 {
				d.move(began.Add(tt.answer))
				w := d.customer(1, "1")
				must(d.TeamMessage(sandbox.TeamMessage{Conversation: w.Conversation.String(), Person: "Bruno", Text: "I am here"}))
			}
			d.move(began.Add(tt.back))
			if tt.fault != nil {
				tt.fault(d)
			}
			d.start()
			must(d.engine.Tick(t.Context(), d.clock())) // before the first pass
			d.pass(tt.within)
			d.wantSaid(question, tt.want)
			want := journal.Cancelled
			if tt.answer == 0 || tt.want == "heard nothing" && tt.fault != nil {
				want = journal.Done
			}
			if got := d.states("sla"); len(got) != 1 || got[0] != want {
				t.Errorf("the escalation is %v, want %s", got, want)
			}
		})
	}
}

// An engine that starts while another is running does not hold that one's waits, and holds its own.
func TestOverdueWaitsOfEnginesThatShareAJournal(t *testing.T) {
	address := postgrestest.Shared(t).Database(t)
	d := newDesk(t, overdue, func(o *deskOptions) {
		o.recovery = 5 * time.Minute
		o.open = func() anyJournal {
			j := must(postgres.Open(t.Context(), address, postgres.Options{}))
			t.Cleanup(func() { _ = j.Close() })
			return j
		}
	})
	const question = "1 sales, 2 support"
	tick := func(e *engine.Engine) {
		t.Helper()
		for range 3 {
			must(e.Tick(t.Context(), d.clock()))
			d.settle()
		}
	}
	// begin asks a question, and lets an engine be up for a while without working, as if it were
	// overloaded.
	said := []string{}
	begin := func(n int, there time.Duration) *engine.Engine {
		t.Helper()
		d.customer(n, "hello")
		d.settle()
		tick(d.engine)
		said = append(said, question)
		d.wantSaid(said...)
		for end := d.clock().Add(there); d.clock().Before(end); d.move(d.clock().Add(10 * time.Second)) {
			d.signIn(d.engine)
		}
		return d.engine
	}
	recovered := func(e *engine.Engine, until time.Time) {
		t.Helper()
		if err := e.Recovered(t.Context(), "default", until); err != nil {
			t.Fatal(err)
		}
	}
	// restAWhile lets time pass with engines up.
	restAWhile := func(length time.Duration, list ...*engine.Engine) {
		t.Helper()
		for end := d.clock().Add(length); d.clock().Before(end); {
			d.move(d.clock().Add(5 * time.Second))
			for _, e := range list {
				d.signIn(e)
				tick(e)
			}
		}
	}

	one := begin(1, 6*time.Minute)
	d.start()
	two := d.engine
	tick(two) // an engine was up when the wait expired, and all deliveries are recorded
	said = append(said, "heard nothing")
	d.wantSaid(said...)
	recovered(one, d.clock())

	// Both are down, and restart one after the other: neither resumes before the backfill has passed.
	begin(2, time.Minute)
	d.move(d.clock().Add(time.Hour))
	d.start()
	one = d.engine
	back := d.clock()
	tick(one)
	restAWhile(20*time.Second, one)
	d.start()
	two = d.engine
	tick(two)
	restAWhile(20*time.Second, two, one)
	d.wantSaid(said...)
	recovered(one, back.Add(-time.Second))
	restAWhile(20*time.Second, two, one)
	d.wantSaid(said...)
	recovered(one, back)
	restAWhile(40*time.Second, two)
	said = append(said, "heard nothing")
	d.wantSaid(said...)
	recovered(two, d.clock())

	// The holder is down, and the other makes its own pass.
	begin(3, time.Minute)
	d.move(d.clock().Add(time.Hour))
	d.start()
	tick(d.engine)
	d.move(d.clock().Add(5 * time.Second))
	d.start()
	two = d.engine
	restAWhile(30*time.Second, two)
	d.wantSaid(said...)
	recovered(two, d.clock())
	restAWhile(20*time.Second, two)
	said = append(said, "heard nothing")
	d.wantSaid(said...)
}
