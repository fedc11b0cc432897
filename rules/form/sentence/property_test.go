package sentence_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/form/sentence"
	"github.com/quandohq/quando/rules/vocabulary"
)

var (
	cases = flag.Int("cases", 1000, "how many random conditions are read and printed")
	seed  = flag.Uint64("seed", 1, "of what is made up")
)

// wanted returns how many cases a test goes through.
func wanted() int {
	if testing.Short() {
		return min(*cases, 200)
	}
	return *cases
}

// TestRandomConditions shows that a condition of the catalogue, however it is written, is read as
// its sentences and nothing by hand; that what is printed is read as the same; and that it decides
// like the original on random events, missing facts and errors included.
func TestRandomConditions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(*seed, 0))
	const batch = 50
	outcomes := map[rules.Outcome]int{}
	changed := 0
	for done := 0; done < wanted(); done += batch {
		gathers := r.IntN(2) == 0
		var texts []string
		for range batch {
			text, want := formtest.Conditions{Rand: r, Gathers: gathers}.Condition(2)
			got := sentence.Read(text)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("%s is read as another condition:\n%s", text, diff)
			}
			printed := sentence.Print(got)
			if diff := cmp.Diff(got, sentence.Read(printed)); diff != "" {
				t.Fatalf("%s is printed as %s, which is read as another condition:\n%s", text, printed, diff)
			}
			if printed != text {
				changed++
			}
			texts = append(texts, text, printed)
		}
		list := compileAll(t, gathers, texts)
		for i := 0; i < len(list); i += 2 {
			for range 4 {
				w := newWorld(r)
				a, b := list[i].Decide(context.Background(), w), list[i+1].Decide(context.Background(), w)
				if a.Outcome != b.Outcome {
					t.Fatalf("%s\ndecides %v (%v), and as printed,\n%s\n%v (%v)", texts[i], a.Outcome, a.Err, texts[i+1], b.Outcome, b.Err)
				}
				outcomes[a.Outcome]++
			}
		}
	}
	t.Logf("%d conditions, %d of them printed in other words; decided %v", wanted(), changed, outcomes)
	for _, o := range []rules.Outcome{rules.Fired, rules.False, rules.Failed} {
		if outcomes[o]*50 < wanted() {
			t.Errorf("only %d decisions are %q", outcomes[o], o)
		}
	}
}

// compileAll makes a rule of each condition.
func compileAll(t *testing.T, gathers bool, texts []string) []*rules.Rule {
	t.Helper()
	var b strings.Builder
	b.WriteString("vars: { n: 2, word: vip, sla: 15m, on: true, words: [vip, Ana] }\ncalendars:\n  office: { timezone: UTC, open: { mon-fri: [08:00-17:00] } }\nrules:\n")
	for i, text := range texts {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		when := "manual"
		if gathers {
			when = "message.received\n    gather: { quiet: 20s }"
		}
		fmt.Fprintf(&b, "  - id: r%05d\n    when: %s\n    if: [%s]\n    do: [log: done]\n", i, when, quoted)
	}
	catalog, err := rules.NewCatalog()
	if err != nil {
		t.Fatal(err)
	}
	set, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", []byte(b.String()))}, rules.Options{Catalog: catalog})
	if problems.HasErrors() || len(set.Rules) != len(texts) {
		t.Fatalf("%d of %d rules: %v", len(set.Rules), len(texts), problems)
	}
	return set.Rules
}

// A world is what is true when a rule is decided.
type world struct {
	now     time.Time
	facts   map[string]any
	human   bool
	muted   bool
	waiting time.Duration
	count   int
	labels  []any
}

func newWorld(r *rand.Rand) *world {
	w := &world{
		now:   time.Date(2026, 11, 13, 0, 0, 0, 0, time.UTC).Add(time.Duration(r.IntN(3*24*60)) * time.Minute),
		facts: map[string]any{}, human: r.IntN(2) == 0, muted: r.IntN(2) == 0, waiting: time.Duration(r.IntN(3)) * 45 * time.Minute, count: r.IntN(5),
	}
	for _, l := range []string{"vip", "late", "new", "Ana"} {
		if r.IntN(2) == 0 {
			w.labels = append(w.labels, l)
		}
	}
	for _, f := range vocabulary.Facts() {
		if f.ListOf != "" {
			items := []any{}
			for range r.IntN(3) {
				items = append(items, w.object(r, f.ListOf))
			}
			w.facts[f.Name] = items
		} else if r.IntN(8) > 0 {
			w.facts[f.Name] = w.object(r, f.Name)
		}
	}
	return w
}

// object makes up a fact, with values that conditions ask for, and without some.
func (w *world) object(r *rand.Rand, name string) map[string]any {
	out := map[string]any{}
	for _, f := range vocabulary.FactOf(name).Fields {
		if f.Name == "labels" || r.IntN(5) == 0 {
			continue
		}
		switch f.Type {
		case vocabulary.Text:
			out[f.Name] = formtest.One(r, append(formtest.HardLiterals, "3", "1.234,56", "boleto", "quero a segunda via")...)
			if f.Values != nil {
				out[f.Name] = formtest.One(r, f.Values...)
			}
		case vocabulary.Texts:
			out[f.Name] = []any{"vip", formtest.One(r, formtest.HardLiterals...)}
		case vocabulary.Number:
			out[f.Name] = float64(r.IntN(4))
		case vocabulary.Flag:
			out[f.Name] = r.IntN(2) == 0
		case vocabulary.Time:
			out[f.Name] = w.now.Add(time.Duration(r.IntN(7)-5) * 15 * time.Minute)
		case vocabulary.Duration:
			out[f.Name] = time.Duration(r.IntN(5)) * 15 * time.Minute
		}
	}
	return out
}

func (w *world) Now() time.Time                                           { return w.now }
func (w *world) Fact(_ context.Context, name string) (any, error)         { return w.facts[name], nil }
func (w *world) HumanActive(context.Context, time.Duration) (bool, error) { return w.human, nil }
func (w *world) Muted(context.Context) (bool, error)                      { return w.muted, nil }
func (w *world) CustomerWaiting(context.Context) (time.Duration, error)   { return w.waiting, nil }
func (w *world) CountEvents(context.Context, string, time.Duration) (int, error) {
	return w.count, nil
}

func (w *world) HasLabel(_ context.Context, _, name string) (bool, error) {
	for _, l := range w.labels {
		if l == name {
			return true, nil
		}
	}
	return false, nil
}

func (w *world) Labels(context.Context, string, map[string]any) ([]any, error) { return w.labels, nil }
