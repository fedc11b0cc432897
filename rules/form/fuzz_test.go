package form_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/source"
)

// FuzzWrite changes one thing of the rules of any file. Either that is refused, or the file says
// what the form says, and of everything else the same as before.
func FuzzWrite(f *testing.F) {
	made := uint64(200)
	if testing.Short() {
		made = 20
	}
	for _, text := range repository(f) {
		if len(text) < 4000 && !testing.Short() {
			f.Add(text, uint64(len(text)))
		}
	}
	for i := range made {
		r := rand.New(rand.NewPCG(3, i))
		m, shape := &formtest.Maker{Rand: r, Catalog: catalog}, shaper{r}
		f.Add((&stylist{Rand: r}).file(shape.rule(m.Form("a")), shape.rule(m.Form("b"))), i)
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		for _, id := range ruleIDs(text) {
			read, err := form.Read(catalog, []byte(text), id)
			if err != nil {
				continue
			}
			if same, err := form.Write(catalog, []byte(text), id, fromJSON(t, read)); err != nil || string(same) != text {
				t.Fatalf("%v: unchanged, the file becomes\n%s", err, same)
			}
			changed := fromJSON(t, read)
			mutate(rand.New(rand.NewPCG(seed, 1)), &changed)
			out, err := form.Write(catalog, []byte(text), id, changed)
			if err != nil {
				continue
			}
			again, err := form.Read(catalog, out, changed.ID)
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if diff := cmp.Diff(tidy(changed), tidy(again)); diff != "" {
				t.Fatalf("what was written is not what was wanted (-wanted +read):\n%s\n%s", diff, out)
			}
			if before, after := others(text, id), others(string(out), changed.ID); before != after {
				t.Fatalf("something else has changed:\n%s\n%s\n%s", before, after, lineDiff(text, string(out)))
			}
			head := surroundings(string(out))
			seen := meaning(head+"rules: ["+ruleNode(string(out), changed.ID).Flow()+"]\n", changed.ID)
			if diff := cmp.Diff(meaning(head+"rules: ["+shaper{}.rule(changed).flowOfAny()+"]\n", changed.ID), seen); diff != "" {
				t.Fatalf("the rules parser sees another rule (-wanted +seen):\n%s\n%s", diff, out)
			}
		}
	})
}

// others returns what a file says beside a rule.
func others(text, id string) string {
	f, _ := source.Read("", []byte(text))
	var b strings.Builder
	for _, p := range f.Root.Pairs {
		if p.Key.Value != "rules" {
			b.WriteString(p.Key.Value + ": " + p.Value.Flow() + "\n")
			continue
		}
		for _, item := range p.Value.Items {
			if name := item.Get("id"); name == nil || name.Value != id {
				b.WriteString("- " + item.Flow() + "\n")
			}
		}
	}
	return b.String()
}

// surroundings returns the constants and calendars of a file.
func surroundings(text string) string {
	f, _ := source.Read("", []byte(text))
	var b strings.Builder
	for _, key := range []string{"vars", "calendars"} {
		if n := f.Root.Get(key); n != nil {
			b.WriteString(key + ": " + n.Flow() + "\n")
		}
	}
	return b.String()
}
