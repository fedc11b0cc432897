package rules_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

func candidateIDs(set *rules.Set, typ string, known map[string]any) []string {
	var ids []string
	for _, r := range set.Candidates(nil, typ, known) {
		ids = append(ids, r.ID)
	}
	return ids
}

func TestLooks(t *testing.T) {
	set, problems := compile("r.yaml", `rules:
  - { id: a, when: message.received, if: conversation.kind == "direct", do: [mark_read] }
  - { id: b, when: message.received, if: message.text == "hello" and now().Hour() > 3, do: [mark_read] }
  - { id: c, when: message.received, if: conversation.archived, do: [mark_read] }
  - { id: d, when: message.sent, if: contact.name contains "Ana", do: [mark_read] }
`)
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	for typ, want := range map[string][]string{"message.received": {"conversation", "message"}, "message.sent": nil, "attendance.opened": nil} {
		if diff := cmp.Diff(want, set.Looks(typ)); diff != "" {
			t.Errorf("%s (-want +got)\n%s", typ, diff)
		}
	}
}

func TestCandidates(t *testing.T) {
	conditions := map[string]string{
		"a-always":   `now().Hour() > 3`,
		"b-direct":   `conversation.kind == "direct"`,
		"c-group":    `"group" == conversation.kind`,
		"d-in":       `event.data.channel in ["web", "app"]`,
		"e-other":    `event.data.channel == "phone"`,
		"f-and":      `now().Hour() > 3 and event.data.priority == 3`,
		"g-or":       `event.data.channel == "phone" or conversation.kind == "direct"`,
		"h-or-no":    `event.data.channel == "phone" or conversation.kind == "group"`,
		"i-flag":     `conversation.archived`,
		"j-not-flag": `not conversation.archived`,
		"k-fetched":  `attendance.status == "closed"`,
		"l-fails":    `event.data.none.such == "x"`,
		"m-nil":      `event.data.missing == nil`,
		"n-optional": `event.data?.none?.such == "x"`,
		"o-or-open":  `event.data.channel == "phone" or now().Hour() > 3`,
		"p-number":   `event.data.priority == 3.0`,
		"q-false":    `event.data.channel in []`,
	}
	var b strings.Builder
	b.WriteString("rules:\n")
	for id, condition := range conditions {
		fmt.Fprintf(&b, "  - { id: %s, when: message.received, if: %q, do: [mark_read] }\n", id, condition)
	}
	b.WriteString("  - { id: z-sent, when: message.sent, do: [mark_read] }\n")
	b.WriteString("  - { id: z-draft, stage: draft, when: message.received, do: [mark_read] }\n")
	set, problems := compile("r.yaml", b.String())
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	w := newWorld()
	known := map[string]any{"event": w.facts["event"], "message": w.facts["message"], "conversation": w.facts["conversation"]}
	want := []string{"a-always", "b-direct", "d-in", "f-and", "g-or", "j-not-flag", "k-fetched", "l-fails", "m-nil", "n-optional", "o-or-open", "p-number"}
	if diff := cmp.Diff(want, candidateIDs(set, "message.received", known)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := candidateIDs(set, "message.sent", known); len(got) != 1 || got[0] != "z-sent" {
		t.Errorf("message.sent: %v", got)
	}
	if got := candidateIDs(set, "no.such", known); got != nil {
		t.Errorf("an unknown event: %v", got)
	}
}

// TestCandidatesLoseNothing compares the index with asking every rule, on random rules and events.
func TestCandidatesLoseNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	const seed = 20261113
	rnd := rand.New(rand.NewPCG(seed, 1))
	fields := []string{"event.data.a", "event.data.b", "event.data.c.d", "conversation.kind", "conversation.archived", "message.by"}
	values := []string{`"x"`, `"y"`, `3`, `3.5`, `true`, `nil`, `"direct"`}
	var clause func(depth int) string
	clause = func(depth int) string {
		f, v := fields[rnd.IntN(3)], values[rnd.IntN(len(values))]
		switch n := rnd.IntN(9); {
		case n < 3:
			return f + " == " + v
		case n == 3:
			return v + " == " + f
		case n == 4:
			return fmt.Sprintf("%s in [%s, %s]", f, v, values[rnd.IntN(len(values))])
		case n == 5 && depth > 0:
			return "(" + clause(depth-1) + ") and (" + clause(depth-1) + ")"
		case n == 6 && depth > 0:
			return "(" + clause(depth-1) + ") or (" + clause(depth-1) + ")"
		case n == 7:
			return `conversation.kind == "direct"`
		}
		return "not (" + f + " == " + v + ")"
	}
	fired := 0
	for range 60 {
		var b strings.Builder
		b.WriteString("rules:\n")
		for i := range 40 {
			fmt.Fprintf(&b, "  - { id: r%02d, when: conversation.updated, if: [%q, %q], do: [mark_read] }\n", i, clause(2), clause(2))
		}
		set, problems := compile("r.yaml", b.String())
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		for range 20 {
			pick := func() any {
				return []any{"x", "y", 3, 3.0, 3.5, true, nil, "direct", []any{"x"}}[rnd.IntN(9)]
			}
			w := newWorld()
			data := map[string]any{"a": pick(), "b": pick()}
			if rnd.IntN(3) > 0 {
				data["c"] = map[string]any{"d": pick()}
			}
			w.facts["event"] = map[string]any{"data": data}
			known := map[string]any{"event": w.facts["event"]}
			if rnd.IntN(2) == 0 {
				known["conversation"] = w.facts["conversation"]
			}
			candidates := set.Candidates(nil, "conversation.updated", known)
			if !slices.IsSortedFunc(candidates, func(a, b *rules.Rule) int { return strings.Compare(a.ID, b.ID) }) {
				t.Fatal("not in the order of ids")
			}
			for _, r := range set.Rules {
				if r.Decide(context.Background(), w).Outcome == rules.Fired {
					fired++
					if !slices.Contains(candidates, r) {
						t.Fatalf("seed %d: the index lost a rule that fires:\n%s\n%v", seed, r.Source(), data)
					}
				}
			}
		}
	}
	if fired < 1000 {
		t.Errorf("only %d fired: the test says little", fired)
	}
}

// manyRules compiles n rules of which 10 can match the event of manyRulesEvent.
func manyRules(tb testing.TB, n int) *rules.Set {
	tb.Helper()
	var files []*rules.File
	for from := 0; from < n; from += 500 {
		var b strings.Builder
		b.WriteString("rules:\n")
		for i := from; i < min(n, from+500); i++ {
			sector := fmt.Sprintf("s%d", i)
			if i < 10 {
				sector = "mine"
			}
			fmt.Fprintf(&b, "  - id: r%05d\n    when: message.received\n    if: [conversation.sector == %q, message.by == \"customer\", not conversation.archived]\n    do: [mark_read]\n", i, sector)
		}
		files = append(files, rules.Parse(fmt.Sprintf("%d.yaml", from), []byte(b.String())))
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		tb.Fatal(problems[0])
	}
	return set
}

func manyRulesEvent() map[string]any {
	return map[string]any{
		"event":        map[string]any{"type": "message.received"},
		"message":      map[string]any{"by": "customer"},
		"conversation": map[string]any{"sector": "mine", "archived": false},
	}
}

// BenchmarkMatch matches one event against rules of which 10 can match: the cost must not grow with
// the others.
func BenchmarkMatch(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprintf("rules=%d", n), func(b *testing.B) {
			set := manyRules(b, n)
			w := &world{now: saoPaulo, facts: manyRulesEvent()}
			ctx := context.Background()
			var candidates []*rules.Rule
			e := rules.NewEvaluation(ctx, set.Rules[0], w)
			b.ReportAllocs()
			for b.Loop() {
				candidates = set.Candidates(candidates[:0], "message.received", w.facts)
				for _, r := range candidates {
					w.asked = w.asked[:0]
					e.Reset(ctx, r, w)
					if v := e.Decide(); v.Outcome != rules.Fired {
						b.Fatal(v)
					}
				}
			}
			if len(candidates) != 10 {
				b.Fatalf("%d candidates", len(candidates))
			}
		})
	}
}

// TestMatchAllocates shows that finding the candidates allocates nothing, however many rules there
// are.
func TestMatchAllocates(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long, in one goroutine")
	}
	for _, n := range []int{10, 2000} {
		set := manyRules(t, n)
		known := manyRulesEvent()
		candidates := make([]*rules.Rule, 0, 16)
		allocations := testing.AllocsPerRun(100, func() {
			candidates = set.Candidates(candidates[:0], "message.received", known)
		})
		if allocations != 0 || len(candidates) != 10 {
			t.Errorf("%d rules: %v allocations, %d candidates", n, allocations, len(candidates))
		}
	}
}
