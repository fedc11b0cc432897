package ruletest

import (
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/rules"
)

// TestMain collects garbage as quando test does: stories make much and keep little.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}

// tell runs the one test of a rule file. In the short form the engine is stopped in some of the
// points alone.
func tell(t *testing.T, text string, change ...func(*Options)) Result {
	t.Helper()
	desktest.InTurn(t, 8)
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() || len(set.Tests) != 1 {
		t.Fatalf("%d tests, %v", len(set.Tests), problems)
	}
	o := Options{Set: set}
	if testing.Short() {
		o.CrashEvery = 32
	}
	for _, c := range change {
		c(&o)
	}
	r, err := Run(t.Context(), o, set.Tests[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func (r *Result) passes(t *testing.T) {
	t.Helper()
	if !r.OK {
		t.Error(r.Report())
	}
}

// fails checks that a test has failed with certain words in its report.
func (r *Result) fails(t *testing.T, words ...string) {
	t.Helper()
	if r.OK {
		t.Fatal("the test passed")
	}
	for _, w := range words {
		// Wherever its lines are broken.
		if !strings.Contains(strings.Join(strings.Fields(r.Report()), " "), w) {
			t.Errorf("the report does not say %q:\n%s", w, r.Report())
		}
	}
}

const escalation = `
rules:
  - id: escalate
    when: attendance.opened
    do:
      - wait: 15m
      - send_message: "{{ contact.name }}, somebody will be with you."
      - transfer: { sector: Supervisors, reason: nobody answered }
tests:
  - name: it
    start: 2026-11-13T17:50:00-03:00
    given: { contacts: [{ name: Marina, phone: "+5511988887777" }] }
    steps:
      - { customer: Marina, says: Hello }
      - { at: "18:04", expect: [] }
      - at: "18:06"
        expect:
`

func TestStoryHolds(t *testing.T) {
	r := tell(t, escalation+`
          - send_message: { text: { contains: somebody }, to: { phone: "+55 11 98888-7777", channel: Main } }
          - transfer: Supervisors
`)
	r.passes(t)
	if r.Tellings != 1 || r.Report() != "" {
		t.Errorf("told %d times, report %q", r.Tellings, r.Report())
	}
}

func TestStoryFails(t *testing.T) {
	tests := map[string]struct {
		expect string
		says   []string
	}{
		"another text": {
			`[{ send_message: Somebody will come. }, { transfer: Supervisors }]`,
			[]string{"rules.yaml:16: number 1 of what happened is not as expected: text is \"Marina, somebody will be with you.\", not \"Somebody will come.\""},
		},
		"another sector": {
			`[{ send_message: { text: { matches: "^Marina" } } }, { transfer: Sales }]`,
			[]string{`number 2 of what happened is not as expected: sector is "Supervisors", not "Sales"`},
		},
		"a missing effect": {
			`[{ send_message: { text: { contains: Marina } } }, { transfer: Supervisors }, { add_labels: [vip] }]`,
			[]string{`add_labels: {labels: ["vip"]} did not happen`},
		},
		"an effect too many": {
			`[{ send_message: { text: { contains: Marina } } }]`,
			[]string{`transfer: {reason: "nobody answered", sector: "Supervisors"} (Marina) happened and was not expected`},
		},
		"another order": {
			`[{ transfer: Supervisors }, { send_message: { text: { contains: Marina } } }]`,
			[]string{`transfer: {sector: "Supervisors"} came only as number 2 of what happened, not as number 1`},
		},
		"nothing": {
			`[]`,
			[]string{"happened and was not expected", "≠ 18:05:00 send_message", "Fri 17:50:00 attendance.opened", "escalate: fired", "2 send_message: done"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := tell(t, escalation+"          "+test.expect+"\n")
			r.fails(t, test.says...)
			if r.Line != 16 || r.Fault != "" || len(r.Actual) != 2 || len(r.Trace.Runs) != 1 {
				t.Errorf("line %d, fault %q, effects %v, %d runs", r.Line, r.Fault, r.Actual, len(r.Trace.Runs))
			}
		})
	}
}

// TestStoryThatCannotHappen has stories whose steps make no sense in their world.
func TestStoryThatCannotHappen(t *testing.T) {
	tests := map[string]struct{ given, step, says string }{
		"somebody unknown": {"{}", "{ customer: Marina, says: Hello, expect: [] }", `rules.yaml:10: there is no contact "Marina": list it in given`},
		"a past time":      {"{}", "{ at: 2026-11-01T10:00:00Z, expect: [] }", "is over: it is 2026-11-13T17:50:00-03:00 already"},
		"nothing to close": {"{ contacts: [{ name: Marina }] }", "{ team: Bruno, closes: Marina, expect: [] }", "there is no conversation with Marina yet: let the customer write first"},
		"unknown labels":   {"{ contacts: [{ name: Marina }], conversations: [{ contact: Marina, labels: [vvip] }] }", "{ expect: [] }", `given: conversations: item 1: there is no label "vvip"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			r := tell(t, `
rules:
  - { id: label, when: message.received, do: [{ add_labels: [vip] }] }
tests:
  - name: it
    start: 2026-11-13T17:50:00-03:00
    given: `+test.given+`
    steps:
      # what happens
      - `+test.step+"\n")
			r.fails(t, test.says)
		})
	}
}
