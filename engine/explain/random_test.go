package explain_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"iter"
	"math/rand/v2"
	"path/filepath"
	"slices"
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
	"github.com/quandohq/quando/rules/duration"
)

var (
	cases = flag.Int("cases", 2_000, "how many random rules are explained")
	seed  = flag.Uint64("seed", 1, "of what is made up")
)

var friday = time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)

// A madeUp is a random rule, as its author thinks of it.
type madeUp struct {
	id      string
	when    []string
	clauses []*term
	late    time.Duration
}

// worlds is a desk on which each event has a world of its own.
type worlds map[string]*world

func (w worlds) of(e rules.Event) *world { return w[e.ID] }

func (w worlds) Carried(_ context.Context, e rules.Event) (map[string]any, actions.Subject, error) {
	facts := make(map[string]any)
	for name := range w.of(e).carried {
		if name != "event" {
			facts[name] = w.of(e).facts[name]
		}
	}
	return facts, actions.Subject{Conversation: e.ID, Contact: e.ID, Attendance: e.ID, Message: e.ID}, nil
}

func (w worlds) Read(ctx context.Context, e rules.Event) (actions.Carried, actions.Subject, error) {
	facts, about, err := w.Carried(ctx, e)
	return actions.Told(facts), about, err
}

func (w worlds) Fact(_ context.Context, name string, about *actions.Subject) (any, error) {
	return w[about.Conversation].facts[name], nil
}

func (w worlds) HumanActive(_ context.Context, id string, since time.Time) (bool, error) {
	return w[id].human[duration.Format(w[id].now.Sub(since))], nil
}

func (w worlds) WaitingSince(_ context.Context, id string) (time.Time, error) {
	return w[id].now.Add(-w[id].waiting), nil
}

func (w worlds) Received(context.Context, string, time.Time) ([]rules.Event, error) {
	return nil, nil
}

func (w worlds) HasLabel(_ context.Context, fact map[string]any, label string) (bool, error) {
	return slices.Contains(fact["label_ids"].([]any), any(label)), nil
}

func (w worlds) LabelNames(_ context.Context, fact map[string]any) ([]any, error) {
	return fact["label_ids"].([]any), nil
}

func (w worlds) Items(context.Context, string, map[string]any) iter.Seq2[engine.Item, error] {
	return nil
}

func (w worlds) Probe(context.Context) error { return nil }

// recordedOnly is the desk for explanations: it must not be asked for anything but what events
// carry and what label ids mean.
type recordedOnly struct{ worlds }

// A batch is a rule set with events on which it has decided.
type batch struct {
	now     time.Time // when it decided
	rules   []*madeUp
	set     *rules.Set
	events  []rules.Event
	worlds  worlds
	journal *sqlite.Journal
}

func newBatch(t *testing.T, r *rand.Rand, journal *sqlite.Journal, prefix string, size, events int) *batch {
	t.Helper()
	b := &batch{now: friday.Add(time.Duration(r.IntN(24*60)) * time.Minute), worlds: make(worlds), journal: journal}
	var text strings.Builder
	text.WriteString("calendars:\n  office: { timezone: UTC, open: { mon-sun: [08:00-17:00] } }\nrules:\n")
	for i := range size {
		m := &madeUp{id: fmt.Sprintf("%s-%d", prefix, i), when: one(r, []string{"message.received"}, []string{"message.sent"}, []string{"message.received", "message.sent"}), late: 30 * time.Minute}
		fmt.Fprintf(&text, "  - id: %s\n    when: [%s]\n    mode: parallel\n", m.id, strings.Join(m.when, ", "))
		if r.IntN(3) > 0 {
			m.late = 48 * time.Hour
			text.WriteString("    late: { skip_after: 2d }\n")
		}
		text.WriteString("    if:\n")
		for range 1 + r.IntN(3) {
			c := condition(r, 2)
			for slices.ContainsFunc(m.clauses, func(other *term) bool { return other.text == c.text }) {
				c = condition(r, 2)
			}
			m.clauses = append(m.clauses, c)
			quoted, _ := json.Marshal(c.text)
			fmt.Fprintf(&text, "      - %s\n", quoted)
		}
		text.WriteString("    do: [log: done]\n")
		b.rules = append(b.rules, m)
	}
	catalog, err := rules.NewCatalog()
	if err != nil {
		t.Fatal(err)
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(text.String()))}, rules.Options{Catalog: catalog})
	if problems.HasErrors() || len(set.Rules) != size {
		t.Fatalf("%d rules: %v", len(set.Rules), problems)
	}
	b.set = set
	for i := range events {
		b.happen(r, fmt.Sprintf("%s-event-%d", prefix, i), prefix+"-lane-"+fmt.Sprint(i%2))
	}
	b.count()
	return b
}

// happen makes up an event and what is true when it is decided.
func (b *batch) happen(r *rand.Rand, id, lane string) {
	now := b.now
	e := rules.Event{
		Workspace: "default", ID: id, Type: one(r, "message.received", "message.sent"), Lane: lane, CreatedAt: now.Add(-time.Duration(r.IntN(50)) * time.Minute), ReceivedAt: now,
		Data: map[string]any{},
	}
	for _, field := range [][]any{{"n", nil, 0.0, 2.0, 5.0, "five"}, {"tag", nil, "a", "b"}, {"deep", nil, map[string]any{"flag": true}, map[string]any{"flag": false}}} {
		if v := one(r, field[1:]...); v != nil {
			e.Data[field[0].(string)] = v
		}
	}
	flag := func() bool { return r.IntN(2) == 0 }
	w := &world{
		now: now, office: now.Hour() >= 8 && now.Hour() < 17, carried: map[string]bool{"event": true, "message": true}, waiting: time.Duration(r.IntN(90)) * time.Minute,
		human: map[string]bool{"5m": flag(), "15m": flag(), "1h": flag()}, counts: map[string]int{},
	}
	labels := []any{}
	for _, l := range []string{"vip", "late", "new"} {
		if flag() {
			w.labels, labels = append(w.labels, l), append(labels, l)
		}
	}
	w.facts = map[string]any{
		"event":   map[string]any{"type": e.Type, "data": e.Data},
		"message": map[string]any{"text": one(r, "hello there", "what is the price", "human", "3 of those", ""), "by": one(r, "customer", "team"), "media_id": one(r, any(nil), "m1")},
		"conversation": map[string]any{
			"kind": one(r, "direct", "group"), "name": one(r, "Rosa", "home"), "archived": flag(), "unread": flag(), "assignee": one(r, any(nil), "ana", "bruno"), "label_ids": labels,
		},
		"contact":    map[string]any{"city": one(r, any(nil), "Recife", "Olinda"), "blocked": flag()},
		"attendance": map[string]any{"status": one(r, "open", "closed"), "protocol": one(r, "P1", "P2")},
	}
	if r.IntN(4) == 0 {
		w.facts["attendance"] = nil
	}
	for _, name := range []string{"conversation", "contact", "attendance"} {
		if flag() && w.facts[name] != nil {
			w.carried[name] = true
		}
	}
	b.worlds[id] = w
	b.events = append(b.events, e)
}

// count counts the events of each lane.
func (b *batch) count() {
	for _, e := range b.events {
		for _, other := range b.events {
			for _, length := range []string{"5m", "15m", "1h"} {
				d, _ := time.ParseDuration(length)
				if other.Lane == e.Lane && !other.CreatedAt.Before(b.now.Add(-d)) {
					b.worlds[e.ID].counts[other.Type+length]++
				}
			}
		}
	}
}

// decide lets a real engine decide on the events.
func (b *batch) decide(t *testing.T) {
	t.Helper()
	registry, err := actions.NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{Journal: b.journal}, engine.Workspace{Name: "default", Actions: registry, Desk: b.worlds})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.SetRules("default", b.set); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Accept(t.Context(), b.events...); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Tick(t.Context(), b.now); err != nil {
		t.Fatal(err)
	}
}

// An expectation is what an explanation must say of a rule.
type expectation struct {
	Basis   explain.Basis
	Outcome journal.Outcome
	Clause  string
	Values  map[string]any
	Results []rules.ClauseResult
	Told    []map[string]any // the values of each clause
}

// judge evaluates a rule's conditions in order. What cannot be known does not end it; what fails
// does, unless it is passed over.
func (m *madeUp) judge(k *knowledge) (x expectation) {
	x.Outcome, x.Values = journal.Fired, map[string]any{}
	for _, c := range m.clauses {
		if x.Outcome == journal.False || x.Outcome == journal.Failed && !k.patient {
			x.Results, x.Told = append(x.Results, rules.ClauseNotReached), append(x.Told, map[string]any{})
			continue
		}
		met, values, err := c.result(k)
		result, outcome := rules.ClauseTrue, journal.Fired
		switch {
		case errors.Is(err, errUnknown):
			result, outcome = explain.NotKnown, explain.Unknown
		case err != nil:
			result, outcome = rules.ClauseFailed, journal.Failed
		case !met:
			result, outcome = rules.ClauseFalse, journal.False
		}
		x.Results, x.Told = append(x.Results, result), append(x.Told, values)
		if outcome == journal.False || x.Outcome == journal.Fired && outcome != journal.Fired {
			x.Outcome, x.Clause, x.Values = outcome, c.text, values
		}
	}
	return x
}

// TestRandomRules generates rules and events, lets the engine decide, and compares the explanation
// with an evaluation of its own: which clause decided, with which values, and the results of the
// others.
func TestRandomRules(t *testing.T) {
	const size, events = 100, 2
	r := rand.New(rand.NewPCG(*seed, 7))
	journal, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "journal.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer journal.Close()
	seen := make(map[string]int)
	if testing.Short() {
		*cases /= 10
	}
	for n := 0; n*size < *cases && !t.Failed(); n++ {
		b := newBatch(t, r, journal, fmt.Sprintf("batch-%d", n), size, events)
		b.decide(t)
		x := explain.New(explain.Options{Journal: journal, Desk: recordedOnly{b.worlds}, Rules: b.set})
		for _, e := range b.events {
			b.compare(t, x, e, seen)
		}
	}
	t.Logf("%v", seen)
	for _, kind := range []string{"did fired", "did false", "did error", "did late", "would false", "would not_for_it"} {
		if seen[kind] == 0 && *cases >= 1000 {
			t.Errorf("no rule %s: the test has lost its point", kind)
		}
	}
}

// compare explains an event and compares.
func (b *batch) compare(t *testing.T, x *explain.Explainer, event rules.Event, seen map[string]int) {
	t.Helper()
	e, err := b.journal.FindEvent(t.Context(), "default", event.ID)
	if err != nil {
		t.Fatal(err)
	}
	told, err := x.Event(t.Context(), e)
	if err != nil {
		t.Fatal(err)
	}
	w := b.worlds[event.ID]
	asked := make(map[string]*journal.Verdict)
	for i := range e.Verdicts {
		asked[e.Verdicts[i].Rule] = &e.Verdicts[i]
	}
	recorded := make(map[string]bool) // what some rule made the engine ask
	want := make(map[string]expectation)
	for _, m := range b.rules {
		if asked[m.id] == nil {
			continue
		}
		k := &knowledge{world: w, asked: make(map[string]bool)}
		x := m.judge(k)
		x.Basis = explain.Did
		if age := b.now.Sub(event.CreatedAt); age > m.late {
			x = expectation{Basis: explain.Did, Outcome: journal.Late, Values: map[string]any{}}
			k.asked = nil // nothing was
		}
		for question := range k.asked {
			recorded[question] = true
		}
		want[m.id] = x
	}
	b.known(w, recorded)
	for _, m := range b.rules {
		k := &knowledge{world: w, recorded: recorded, asked: make(map[string]bool)}
		switch {
		case !slices.Contains(m.when, event.Type):
			want[m.id] = expectation{Basis: explain.Would, Outcome: explain.NotForIt, Values: map[string]any{}}
		case asked[m.id] == nil:
			k.patient = true
			x := m.judge(k)
			x.Basis = explain.Would
			want[m.id] = x
			if x.Outcome != journal.False {
				t.Errorf("%s was not asked about %s, though it may be true", m.id, event.ID)
			}
		case want[m.id].Outcome == journal.Late:
			x := want[m.id]
			would := m.judge(k)
			x.Results, x.Told = would.Results, would.Told
			want[m.id] = x
		}
	}
	for _, rule := range told.Rules {
		got := expectation{Basis: rule.Basis, Outcome: rule.Outcome, Clause: rule.Clause, Values: rule.Values}
		for _, c := range rule.Clauses {
			got.Results, got.Told = append(got.Results, c.Result), append(got.Told, c.Values)
		}
		if diff := cmp.Diff(want[rule.Rule], got); diff != "" {
			t.Fatalf("%s on %s (-want +got):\n%s\n%s\n%s", rule.Rule, event.ID, diff, rule.Words, b.set.Rule(rule.Rule).Source())
		}
		if rule.Words == "" || rule.Outcome == journal.Fired && rule.Run == nil {
			t.Errorf("%s on %s: %q, run %v", rule.Rule, event.ID, rule.Words, rule.Run)
		}
		seen[fmt.Sprintf("%s %s", rule.Basis, rule.Outcome)]++
	}
	if len(told.Rules) != len(b.rules) {
		t.Errorf("%s: %d rules are explained, want %d", event.ID, len(told.Rules), len(b.rules))
	}
}

// known adds what follows from what was recorded: labels are known with the conversation, which
// has_label asks for.
func (b *batch) known(w *world, recorded map[string]bool) {
	for question := range recorded {
		if strings.HasPrefix(question, "has_label") {
			recorded["conversation"] = true
		}
	}
	if recorded["conversation"] || w.carried["conversation"] {
		for _, label := range []string{"vip", "late", "new"} {
			recorded["has_label("+label+")"] = true
		}
	}
}
