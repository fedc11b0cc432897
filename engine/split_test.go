package engine

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
)

// splitRules compiles rules with these samples, each in a file of its own, in any order of files.
func splitRules(t *testing.T, samples map[string]string) *rules.Set {
	t.Helper()
	var files []*rules.File
	for id, sample := range samples {
		text := fmt.Sprintf("rules: [{ id: %s, when: message.received, by: conversation.id, sample: %s, do: [mark_read] }]", id, sample)
		files = append(files, rules.Parse(fmt.Sprintf("%d.yaml", rand.Uint64()), []byte(text)))
	}
	set, problems := rules.Compile(files, rules.Options{Catalog: builtin.Catalog()})
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	return set
}

// TestSplit shows that every key is live in exactly one rule of a group, in the shares that the
// rules say, whatever the order of their files is.
func TestSplit(t *testing.T) {
	const keys = 10_000
	for _, c := range []struct {
		samples map[string]string
		want    map[string]float64
	}{
		{map[string]string{"a": "{ share: 10%, of: greeting }", "z": "{ share: 20%, of: greeting }", "m": "{ rest: greeting }"}, map[string]float64{"a": .1, "z": .2, "m": .7}},
		{map[string]string{"a": "{ share: 33.3%, of: greeting }", "b": "{ share: 33.3%, of: greeting }", "c": "{ share: 33.4%, of: greeting }"}, map[string]float64{"a": .333, "b": .333, "c": .334}},
		{map[string]string{"a": "{ rest: greeting }", "b": "{ share: 100%, of: greeting }"}, map[string]float64{"a": 0, "b": 1}},
	} {
		chosen := make(map[string]string)
		for try := range 3 {
			set := splitRules(t, c.samples)
			got := make(map[string]float64)
			for i := range keys {
				key := fmt.Sprintf("conversation-%d", i)
				var live []string
				for _, r := range set.Rules {
					if stageOf(r, key) == rules.Live {
						live = append(live, r.ID)
					}
				}
				if len(live) != 1 || try > 0 && chosen[key] != live[0] {
					t.Fatalf("%s is live in %v, before in %s", key, live, chosen[key])
				}
				chosen[key] = live[0]
				got[live[0]] += 1.0 / keys
			}
			for id, share := range c.want {
				if d := got[id] - share; d > .02 || d < -.02 {
					t.Errorf("%s takes %f, want %f", id, got[id], share)
				}
			}
		}
	}
}

// TestSplitWithTheLastGoodRule shows that a rule whose text is broken now, and which goes on as it
// was, keeps its share: no key is live twice. It may have been compiled by itself.
func TestSplitWithTheLastGoodRule(t *testing.T) {
	all := splitRules(t, map[string]string{"a": "{ share: 30%, of: greeting }", "b": "{ rest: greeting }"})
	alone, _ := rules.Compile([]*rules.File{rules.Parse("a.yaml", []byte(all.Rule("a").Source()))}, rules.Options{Catalog: builtin.Catalog()})
	set := splitRules(t, map[string]string{"b": "{ rest: greeting }"}).With(alone.Rule("a"))
	only := (&rules.Set{}).With(all.Rule("b"))
	for i := range 1000 {
		key := fmt.Sprint(i)
		a, b := stageOf(set.Rule("a"), key) == rules.Live, stageOf(set.Rule("b"), key) == rules.Live
		if a == b {
			t.Fatalf("%s: %t and %t", key, a, b)
		}
		if b != (stageOf(only.Rule("b"), key) == rules.Live) {
			t.Fatalf("%s: a rule taken out of its set changes its share", key)
		}
	}
}
