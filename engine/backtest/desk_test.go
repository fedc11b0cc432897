package backtest_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/desktest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
)

const anaPhone = "+5511988887777"

// A desk is an engine at work on the events of an imitated service, which people can step
// into.
type desk struct {
	*sandbox.Sandbox
	t         *testing.T
	text      string
	journal   *sqlite.Journal
	engine    *engine.Engine
	directory *service.Directory
}

func newDesk(t *testing.T, text string) *desk {
	t.Helper()
	start := time.Date(2026, 11, 13, 17, 50, 0, 0, saoPaulo)
	d := &desk{t: t, text: text}
	var address sandbox.Address
	d.Sandbox, address = desktest.Start(t, func(o *sandbox.Options) { o.Frozen = start })
	d.journal = must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{}))
	t.Cleanup(func() { _ = d.journal.Close() })
	client := must(service.New(service.Options{BaseURL: address.BaseURL, APIKey: service.Secret(address.APIKey), Now: d.Now, MaxWait: -1}))
	t.Cleanup(client.CloseIdleConnections)
	d.directory = service.NewDirectory(client)
	w := desktest.Workspace(builtin.Options{Client: client, Directory: d.directory, Location: saoPaulo}, func() *engine.Engine { return d.engine })
	d.engine = must(engine.New(engine.Options{Journal: d.journal}, w))
	d.use(text)
	desktest.Register(t, client, vocabulary.EventTypes(), d.Now, d.engine.Accept)
	return d
}

// use gives the engine other rules.
func (d *desk) use(text string) {
	d.t.Helper()
	d.text = text
	if err := d.engine.SetRules("default", desktest.Compile(d.t, calendar+text)); err != nil {
		d.t.Fatal(err)
	}
}

// pass lets time go by, with everything that is due on the way at its own time.
func (d *desk) pass(length time.Duration) {
	d.t.Helper()
	end := d.Now().Add(length)
	for {
		next := d.rest()
		if next.IsZero() || next.After(end) {
			break
		}
		must(d.SetClock(d.t.Context(), next))
	}
	must(d.SetClock(d.t.Context(), end))
	d.rest()
}

// rest lets everything happen that is due now.
func (d *desk) rest() (next time.Time) {
	d.t.Helper()
	for range 100 {
		before := len(d.Effects())
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		next = must(d.engine.Tick(d.t.Context(), d.Now()))
		if err := d.Settle(d.t.Context()); err != nil {
			d.t.Fatal(err)
		}
		if due := must(d.journal.Due(d.t.Context(), nil)); len(d.Effects()) == before && (due.After(d.Now()) || due.IsZero() || len(must(d.journal.Holds(d.t.Context()))) > 0) {
			return next
		}
	}
	d.t.Fatal("it does not come to rest")
	return next
}

func (d *desk) customer(name, phone, text string) {
	d.t.Helper()
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: name, Text: text}))
	d.rest()
}

// scene is what there is to look back at.
func (d *desk) scene() *scene {
	d.t.Helper()
	if err := d.directory.Load(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
	return &scene{t: d.t, text: d.text, options: optionsOf(d.journal, "default", d.directory.Snapshot(), d.Now())}
}

// runs returns the runs of a rule, the newest first.
func (d *desk) runs(rule string) []*journal.Run {
	return must(d.journal.ListRuns(d.t.Context(), journal.RunFilter{Rule: rule}))
}

// What people did is no difference of the rules.
func TestPeopleStepIn(t *testing.T) {
	const nudge = `
rules:
  - { id: greet, when: message.received, do: [{ send_message: "Hello {{ contact.name }}" }, { log: greeted }] }
  - { id: nudge, when: attendance.opened, do: [{ wait: 1h }, { send_message: "Still there?" }] }
`
	d := newDesk(t, nudge)
	d.customer("Ana", anaPhone, "hello")
	d.pass(time.Minute)
	if err := d.engine.Pause(t.Context(), d.Now(), "default", "greet", "lunch"); err != nil {
		t.Fatal(err)
	}
	d.customer("Bia", "+5511977776666", "while greet is paused")
	d.pass(time.Minute)
	must(d.engine.Resume(t.Context(), d.Now(), "default", "greet"))
	if err := d.journal.Ask(t.Context(), d.Now(), d.runs("nudge")[0].ID, journal.Ask{What: journal.AskCancel, Reason: "a person", At: d.Now()}); err != nil {
		t.Fatal(err)
	}
	d.rest()
	if err := d.engine.Pause(t.Context(), d.Now(), "", "", "stop"); err != nil {
		t.Fatal(err)
	}
	d.customer("Caio", "+5511966665555", "while everything is paused")
	d.pass(time.Hour)
	must(d.engine.Resume(t.Context(), d.Now(), "", ""))
	d.pass(2 * time.Hour)
	s := d.scene()
	s.expect(s.edit())
	s.expect(s.edit("log: greeted", "log: said hello", "wait: 1h", "wait: 60m"))
	s.effects(s.edit("log: greeted", "log: said hello"), "Fri 17:50 Ana send_message Hello Ana", "Fri 18:52 Ana send_message Still there?", "Fri 18:52 Caio send_message Still there?")
	s.expect(s.edit("Hello", "Hi"), "greet, Ana: send_message Hello Ana -> send_message Hi Ana")
	s.expect(s.edit("when: message.received", "when: message.received, late: { skip_after: 3h }", "Hello", "Hi"),
		"greet, Ana: send_message Hello Ana -> send_message Hi Ana", "greet, Caio: nothing (late) -> send_message Hi Caio")
	s.expect(s.edit("Still there", "Are you there"), "nudge, Ana: send_message Still there? -> send_message Are you there?", "nudge, Caio: send_message Still there? -> send_message Are you there?")
}

// TestEventBetweenAWaitAndTheVisit has an event arrive after the end of a wait, and before the
// engine gets to it: the run was cancelled, and would have been with other words.
func TestEventBetweenAWaitAndTheVisit(t *testing.T) {
	d := newDesk(t, `
rules:
  - { id: nudge, when: attendance.opened, cancel_on: [{ event: message.received, if: says("yes") }], do: [{ wait: 30m }, { add_labels: [vip] }, { wait: 30m }, { send_message: "Still there?" }] }
`)
	d.customer("Ana", anaPhone, "hello")
	d.pass(59 * time.Minute)
	must(d.SetClock(t.Context(), d.Now().Add(time.Minute+100*time.Millisecond)))
	must(d.CustomerMessage(sandbox.CustomerMessage{Phone: anaPhone, Name: "Ana", Text: "yes"}))
	if err := d.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	must(d.SetClock(t.Context(), d.Now().Add(100*time.Millisecond)))
	d.pass(time.Hour)
	if r := d.runs("nudge"); len(r) != 1 || r[0].State != journal.Cancelled {
		t.Fatalf("%+v", r)
	}
	s := d.scene()
	s.expect(s.edit("Still there", "Are you there"))
	s.expect(s.edit("vip", "after-hours"), "nudge, Ana: add_labels [vip] -> add_labels [after-hours]")
	s.expect(s.edit("{ wait: 30m }, { send_message", "{ wait: 20m }, { send_message"), "nudge, Ana: add_labels [vip] -> add_labels [vip], send_message Still there?")
}

// What went wrong at the service is no difference of the rules either.
func TestServiceInTheWay(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: message.received
    on_error: [{ add_labels: [vip] }]
    do:
      - add_labels: [after-hours]
      - transfer: { sector: Nowhere }
        on_error: continue
      - send_message: "Hello {{ contact.name }}"
      - move_card: { card: "00000000-0000-4000-8000-000000000000", to: Won }
`)
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_after", Status: 503, Count: 3}); err != nil {
		t.Fatal(err)
	}
	d.customer("Ana", anaPhone, "hello")
	d.pass(20 * time.Minute)
	d.customer("Ana", anaPhone, "again")
	d.pass(20 * time.Minute)
	s := d.scene()
	s.expect(s.edit())
	// The service took long, the label was there the second time, and neither sector nor card is.
	s.effects(s.edit(),
		"Fri 17:50 Ana add_labels [after-hours]", "Fri 17:50 Ana send_message Hello Ana", "Fri 17:50 Ana add_labels [vip]", "Fri 18:10 Ana send_message Hello Ana")
	s.expect(s.edit("on_error: [{ add_labels: [vip] }]", "on_error: [{ add_labels: [vip] }, { log: x }]"))
	s.expect(s.edit("Hello", "Hi"),
		"it, Ana: add_labels [after-hours], send_message Hello Ana, add_labels [vip] -> add_labels [after-hours], send_message Hi Ana, add_labels [vip]",
		"it, Ana: send_message Hello Ana -> send_message Hi Ana")
}

// What a run had changed itself it knew then, and knows now.
func TestOwnEffectIsKnownAgain(t *testing.T) {
	d := newDesk(t, `
rules:
  - id: it
    when: kanban.card.created
    if: not has_label("vip")
    do:
      - add_labels: [vip]
      - choose: [{ if: has_label("vip"), do: [{ send_message: "labelled {{ contact.name }}" }] }, { else: [{ send_message: not labelled }] }]
`)
	d.customer("Ana", anaPhone, "hello")
	d.pass(time.Hour)
	s := d.scene()
	s.effects(s.edit("not labelled", "not"), "Fri 17:50 ATD-000001 Ana add_labels [vip]", "Fri 17:50 ATD-000001 Ana send_message labelled Ana")
	s.expect(s.edit("labelled {{", "it is labelled {{"), "it, ATD-000001 Ana: add_labels [vip], send_message labelled Ana -> add_labels [vip], send_message it is labelled Ana")
}

func TestVersions(t *testing.T) {
	d := newDesk(t, greet)
	d.customer("Ana", anaPhone, "hello")
	d.pass(2 * time.Hour)
	d.use(strings.Replace(greet, "Hello", "Hi", 1))
	d.customer("Ana", anaPhone, "hello")
	d.pass(2 * time.Hour)
	s := d.scene()
	s.expect(s.edit(), "greet, Ana: send_message Hello Ana -> send_message Hi Ana")
	s.expect(s.edit("Hi", "Hello"), "greet, Ana: send_message Hi Ana -> send_message Hello Ana")
}
