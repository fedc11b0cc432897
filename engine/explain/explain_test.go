package explain_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
)

// An office is an engine on a real journal whose desk knows a world for each event.
type office struct {
	t       *testing.T
	now     time.Time
	worlds  worlds
	journal *sqlite.Journal
	engine  *engine.Engine
	set     *rules.Set
	catalog *rules.Catalog
	own     string // whose chat events are in, if it is one of the company's own
}

func newOffice(t *testing.T, text string) *office {
	t.Helper()
	o := &office{t: t, now: friday, worlds: make(worlds)}
	o.journal = must(sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{}))
	t.Cleanup(func() { _ = o.journal.Close() })
	o.catalog = must(rules.NewCatalog())
	o.engine = must(engine.New(engine.Options{Journal: o.journal}, engine.Workspace{Name: "default", Actions: must(actions.NewRegistry()), Desk: o.worlds, Safety: engine.Safety{Internal: o.ownChat}}))
	o.load(text)
	return o
}

func (o *office) ownChat(context.Context, actions.Subject, func() (any, error)) (string, error) {
	return o.own, nil
}

// load makes these the rules, and returns them.
func (o *office) load(text string) *rules.Set {
	o.t.Helper()
	o.set = o.compile(text)
	if err := o.engine.SetRules("default", o.set); err != nil {
		o.t.Fatal(err)
	}
	return o.set
}

func (o *office) compile(text string) *rules.Set {
	set, _ := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text))}, rules.Options{Catalog: o.catalog})
	return set
}

// happens lets an event come, after some time, and whatever comes of it happen.
func (o *office) happens(after time.Duration, id, typ string) {
	o.t.Helper()
	o.pass(after)
	o.worlds[id] = &world{
		now: o.now, carried: map[string]bool{"message": true, "conversation": true, "contact": true}, human: map[string]bool{},
		facts: map[string]any{
			"message":      map[string]any{"text": "hello", "by": "customer"},
			"conversation": map[string]any{"kind": "group", "label_ids": []any{"vip"}, "sector": "s1", "sector_name": nil},
			"contact":      map[string]any{"name": "Ana"},
		},
	}
	_, err := o.engine.Accept(o.t.Context(), rules.Event{Workspace: "default", ID: id, Type: typ, Lane: "conversation:1", CreatedAt: o.now, ReceivedAt: o.now, Data: map[string]any{}})
	if err != nil {
		o.t.Fatal(err)
	}
	o.pass(0)
}

func (o *office) pass(length time.Duration) {
	o.t.Helper()
	o.now = o.now.Add(length)
	if _, err := o.engine.Tick(o.t.Context(), o.now); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) explainer() *explain.Explainer {
	return explain.New(explain.Options{
		Journal: o.journal, Desk: recordedOnly{o.worlds}, Rules: o.set, Catalog: o.catalog, Stamp: func(t time.Time) string { return t.UTC().Format("15:04") },
	})
}

// says returns what is said of each rule about an event.
func (o *office) says(x *explain.Explainer, id string) map[string]string {
	o.t.Helper()
	told := must(x.Event(o.t.Context(), must(o.journal.FindEvent(o.t.Context(), "default", id))))
	words := make(map[string]string)
	for _, r := range told.Rules {
		words[r.Rule] = fmt.Sprintf("%s: %s", r.Basis, r.Words)
	}
	return words
}

func (o *office) wants(id string, want map[string]string) {
	o.t.Helper()
	if diff := cmp.Diff(want, o.says(o.explainer(), id)); diff != "" {
		o.t.Errorf("%s (-want +got):\n%s", id, diff)
	}
}

const everyday = `
calendars: { office: { timezone: UTC, open: { mon-fri: [08:00-18:00] } } }
rules:
  - { id: plain, when: message.received, do: [log: a] }
  - { id: away, when: message.received, if: [ 'message.by == "customer"', closed("office") ], do: [log: a] }
  - { id: direct, when: message.received, if: [ 'conversation.kind == "direct"', has_label("vip") ], do: [log: a] }
  - { id: wrong, when: message.received, if: [ event.data.a.b == 1 ], do: [log: a] }
  - { id: limited, when: message.received, limit: { times: 1, per: 12h }, do: [log: a] }
  - { id: single, when: message.received, mode: single, do: [ wait: 1h ] }
  - { id: restart, when: message.received, mode: restart, do: [ wait: 1h ] }
  - { id: cancelled, when: message.received, mode: parallel, cancel_on: [message.sent], do: [ wait: 1h ] }
  - { id: gathers, when: message.received, gather: { quiet: 1m, at_most: 5m }, do: [log: a] }
  - { id: shadow, stage: shadow, when: message.received, do: [log: a] }
  - { id: sampled, sample: 1%, when: message.received, do: [log: a] }
  - { id: in-both, stage: shadow, sample: 99.9%, when: message.received, do: [log: a] }
  - { id: draft, stage: draft, when: message.received, if: [ human_active("15m") ], do: [log: a] }
  - { id: sent, when: [message.sent, attendance.opened], do: [log: a] }
  - { id: clock, when: { every: 1d }, do: [log: a] }
  - { id: hand, when: manual, do: [log: a] }
  - { id: broken, when: message.received, if: unheard_of, do: [log: a] }
`

// TestEveryOutcome runs a typical story and checks every sentence of it.
func TestEveryOutcome(t *testing.T) {
	o := newOffice(t, everyday)
	o.happens(0, "first", "message.received")
	o.happens(time.Minute/2, "second", "message.received")
	o.happens(time.Minute, "answer", "message.sent")
	same := map[string]string{
		"plain":  "did: fired; run 1 of 17:50, done at 17:50",
		"away":   `did: did not fire: the office was open (closed("office") was false)`,
		"wrong":  "did: did not fire, because of an error in event.data.a.b == 1: cannot fetch b from nothing; use ?. where a value may be missing",
		"direct": "would: was not asked, because it would not have fired: conversation.kind was group, and the rule wants direct",
		"draft":  "would: was not asked, because it is a draft; it cannot be judged: it was never asked whether somebody of the team had written within 15m",
		"sent":   "would: was not asked: it is for message.sent and attendance.opened",
		"clock":  "would: was not asked: the clock starts it",
		"hand":   "would: was not asked: a person starts it",
		"broken": `would: is not loaded: unknown name "unheard_of"`,
	}
	first := o.says(o.explainer(), "first")
	numbers := map[string]int{}
	for _, r := range must(o.journal.ListRuns(t.Context(), journal.RunFilter{})) {
		e := must(o.journal.Events(t.Context(), r.Event))[0]
		numbers[e.ID+" "+r.Rule] = int(r.ID)
	}
	want := map[string]string{
		"limited":   fmt.Sprintf("did: fired; run %d of 17:50, done at 17:50", numbers["first limited"]),
		"single":    fmt.Sprintf("did: fired; run %d of 17:50, waiting", numbers["first single"]),
		"restart":   fmt.Sprintf("did: fired; run %d of 17:50, replaced at 17:50 by run %d, which restart started later (mode: restart)", numbers["first restart"], numbers["second restart"]),
		"cancelled": fmt.Sprintf("did: fired; run %d of 17:50, cancelled at 17:51, because message.sent came (answer, which cancel_on names)", numbers["first cancelled"]),
		"gathers":   fmt.Sprintf("did: gathered it with others (2 in all) into run %d of 17:51, done at 17:51", numbers["second gathers"]),
		"shadow":    fmt.Sprintf("did: would have acted: it is in shadow; run %d of 17:50, done at 17:50", numbers["first shadow"]),
		"sampled":   fmt.Sprintf("did: would have acted: this one is outside of its sample of 1%%; run %d of 17:50, done at 17:50", numbers["first sampled"]),
		"in-both":   fmt.Sprintf("did: would have acted: it is in shadow; run %d of 17:50, done at 17:50", numbers["first in-both"]),
	}
	for rule, words := range same {
		want[rule] = words
	}
	want["plain"] = fmt.Sprintf("did: fired; run %d of 17:50, done at 17:50", numbers["first plain"])
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	want["plain"] = fmt.Sprintf("did: fired; run %d of 17:50, done at 17:50", numbers["second plain"])
	want["limited"] = fmt.Sprintf("did: was limited at 17:50 (limit: 1 per 12h), used up by run %d of 17:50", numbers["first limited"])
	want["single"] = fmt.Sprintf("did: was skipped at 17:50 (mode: single, and run %d is not finished)", numbers["first single"])
	want["restart"] = fmt.Sprintf("did: fired; run %d of 17:50, waiting", numbers["second restart"])
	want["cancelled"] = strings.Replace(want["cancelled"], fmt.Sprint("run ", numbers["first cancelled"]), fmt.Sprint("run ", numbers["second cancelled"]), 1)
	want["gathers"] = fmt.Sprintf("did: fired; run %d of 17:51, done at 17:51", numbers["second gathers"])
	want["shadow"] = fmt.Sprintf("did: would have acted: it is in shadow; run %d of 17:50, done at 17:50", numbers["second shadow"])
	want["sampled"] = fmt.Sprintf("did: would have acted: this one is outside of its sample of 1%%; run %d of 17:50, done at 17:50", numbers["second sampled"])
	want["in-both"] = fmt.Sprintf("did: would have acted: it is in shadow; run %d of 17:50, done at 17:50", numbers["second in-both"])
	o.wants("second", want)
	stages := map[string]rules.Stage{}
	for _, v := range must(o.journal.FindEvent(t.Context(), "default", "second")).Verdicts {
		stages[v.Rule] = v.Stage
	}
	for rule, stage := range map[string]rules.Stage{"plain": "", "gathers": "", "shadow": rules.Shadow, "sampled": rules.Shadow} {
		if stages[rule] != stage {
			t.Errorf("the verdict of %s is of stage %q, want %q", rule, stages[rule], stage)
		}
	}
}

// TestNotAsked explains why rules were not evaluated, and what they would have decided.
func TestNotAsked(t *testing.T) {
	o := newOffice(t, `
rules:
  - { id: paused, when: message.received, if: 'message.text == "hello"', do: [log: a] }
  - { id: changed, when: message.received, if: 'conversation.kind in ["direct", "group"]', do: [log: a] }
`)
	if _, err := o.journal.Hold(t.Context(), journal.Hold{Workspace: "default", Rule: "paused", Kind: journal.HoldPerson, Reason: "too many", Since: o.now}); err != nil {
		t.Fatal(err)
	}
	o.happens(0, "e1", "message.received")
	o.set = o.compile(`
rules:
  - { id: changed, when: message.received, if: 'message.text == "bye"', do: [log: a] }
  - { id: added, when: message.received, if: [ 'human_active("15m")', 'message.text == "hello"' ], do: [log: a] }
  - { id: sure, when: message.received, if: [ 'human_active("15m")', 'len(message.text) > 10' ], do: [log: a] }
  - { id: named, when: message.received, if: 'conversation.sector_name contains "Sales"', do: [log: a] }
  - { id: free, when: message.received, if: 'message.text == "hello"', do: [log: a] }
  - { id: bounded, when: message.received, if: 'message.text == "hello"', limit: { times: 1, per: 1h }, do: [log: a] }
  - { id: once, when: message.received, if: 'message.text == "hello"', mode: single, do: [log: a] }
`)
	o.wants("e1", map[string]string{
		"paused":  "did: was not asked, because the rule was paused at 17:50: too many",
		"changed": "did: fired; run 1 of 17:50, done at 17:50",
		"added":   "would: was not asked: it was not there, or was another rule then; it cannot be judged: it was never asked whether somebody of the team had written within 15m",
		"sure":    "would: was not asked: it was not there, or was another rule then; it would not have fired: len(message.text) was 5, and the rule wants more than 10 (message.text was \"hello\")",
		"free":    "would: was not asked: it was not there, or was another rule then; it would have fired",
		"bounded": "would: was not asked: it was not there, or was another rule then; it would have fired, unless its limit or mode had stood in the way",
		"once":    "would: was not asked: it was not there, or was another rule then; it would have fired, unless its limit or mode had stood in the way",
		"named":   "would: was not asked: it was not there, or was another rule then; it cannot be judged: it was never asked what the name of conversation.sector was (its id is s1)",
	})
	told := must(o.explainer().Event(t.Context(), must(o.journal.FindEvent(t.Context(), "default", "e1"))))
	for _, r := range told.Rules {
		if r.Rule == "changed" && (!r.Changed || len(r.Clauses) != 1 || r.Clauses[0].Words != "conversation.kind was group, which is one of direct, group") {
			t.Errorf("the rule as it was then: %+v", r)
		}
	}
}

// TestOwnChat explains why an event in a chat of our own started no rule.
func TestOwnChat(t *testing.T) {
	o := newOffice(t, `
rules:
  - { id: a, when: message.received, if: 'message.by == "customer"', do: [log: a] }
  - { id: b, when: message.received, internal: run, do: [log: a] }
`)
	o.own = "Carla"
	o.happens(0, "e1", "message.received")
	o.wants("e1", map[string]string{
		"a": "did: was not asked, because chats of our own start only rules with internal: run: the chat of Carla is one of our own; otherwise it would have fired",
		"b": "did: fired; run 1 of 17:50, done at 17:50",
	})
}

// TestOnly explains rules that are in no set, whatever the set said.
func TestOnly(t *testing.T) {
	o := newOffice(t, "rules: [{ id: a, when: message.received, do: [log: a] }]")
	o.happens(0, "e1", "message.received")
	draft := o.compile(`
rules:
  - { id: a, stage: draft, when: message.received, if: 'message.by == "customer"', do: [log: a] }
  - { id: b, when: attendance.opened, do: [log: a] }
`)
	x := explain.New(explain.Options{Journal: o.journal, Desk: recordedOnly{o.worlds}, Rules: o.set, Only: draft.Rules})
	want := map[string]string{"a": "would: would have fired", "b": "would: was not asked: it is for attendance.opened"}
	if diff := cmp.Diff(want, o.says(x, "e1")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	o.now = o.now.Add(time.Hour)
	o.worlds["e2"] = o.worlds["e1"]
	_, err := o.engine.Accept(t.Context(), rules.Event{Workspace: "default", ID: "e2", Type: "message.received", Lane: "conversation:1", CreatedAt: friday, ReceivedAt: o.now, Data: map[string]any{}})
	if err != nil {
		t.Fatal(err)
	}
	o.pass(0)
	want["a"] = "would: would have left it, because it came late: it was 1h old, and late: skip_after is 30m; otherwise it would have fired"
	if diff := cmp.Diff(want, o.says(x, "e2")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestUndecided explains why nothing has happened yet.
func TestUndecided(t *testing.T) {
	o := newOffice(t, `rules: [{ id: a, when: message.received, if: 'conversation.kind == "group"', do: [log: a] }]`)
	if _, err := o.journal.Hold(t.Context(), journal.Hold{Kind: journal.HoldPerson, Reason: "the price list is wrong", Since: o.now}); err != nil {
		t.Fatal(err)
	}
	o.happens(0, "e1", "message.received")
	told := must(o.explainer().Event(t.Context(), must(o.journal.FindEvent(t.Context(), "default", "e1"))))
	if want := "not decided yet: everything is stopped since 17:50: the price list is wrong"; told.Words != want || told.Decided {
		t.Errorf("%q, want %q", told.Words, want)
	}
	if r := told.Rules[0]; r.Words != "would have fired" || r.Basis != explain.Would {
		t.Errorf("%+v", r)
	}
}

// TestOwnAndLooped explains events caused by Quando itself.
func TestOwnAndLooped(t *testing.T) {
	o := newOffice(t, `
rules:
  - { id: own, when: message.sent, if: 'conversation.kind == "group"', do: [log: a] }
  - { id: looped, when: message.sent, from: any, if: 'conversation.kind != "group"', do: [log: a] }
`)
	o.happens(0, "start", "conversation.updated")
	caused := journal.Caused{Workspace: "default", Lane: "conversation:1", Event: "message.sent", Object: "echo", Rule: "looped", From: o.now, To: o.now.Add(time.Hour)}
	_, err := o.journal.Accept(t.Context(), []rules.Event{{Workspace: "default", ID: "call", Type: "attendance.opened", Lane: "conversation:1", CreatedAt: o.now, ReceivedAt: o.now}})
	if err != nil {
		t.Fatal(err)
	}
	lane := must(o.journal.Claim(t.Context(), o.now, 1, nil))[0]
	lane.Events[0].Decided = true
	if err := o.journal.Save(t.Context(), lane, &journal.Change{At: o.now, Decided: lane.Events, Caused: []journal.Caused{caused}, Release: true}); err != nil {
		t.Fatal(err)
	}
	o.happens(0, "echo", "message.sent")
	o.wants("echo", map[string]string{
		"own":    "did: was not asked, because Quando itself caused the event: the rule looped did this; otherwise it would have fired",
		"looped": "did: was not asked, because the rule itself had a part in causing the event: it came of this rule itself; otherwise it would not have fired: conversation.kind was group, and the rule wants anything else",
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
