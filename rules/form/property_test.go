package form_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/source"
)

var (
	cases = flag.Int("cases", 150, "how many random rules are changed")
	why   = flag.Bool("why", false, "say what is wrong with rules that do not work")
	seed  = flag.Uint64("seed", 1, "of what is made up")
)

// TestRandomForms makes up rules, writes them in many styles with comments everywhere, and changes
// one thing of each.
func TestRandomForms(t *testing.T) {
	if testing.Short() {
		*cases /= 10
	}
	working := 0
	for n := range *cases {
		r := rand.New(rand.NewPCG(*seed, uint64(n)))
		m := &formtest.Maker{Rand: r, Catalog: catalog}
		shape := shaper{r}
		made := []form.Form{m.Form("before"), m.Form("this-one"), m.Form("behind")}
		s := &stylist{Rand: r, quiet: r.IntN(4) == 0}
		text := s.file(shape.rule(made[0]), shape.rule(made[1]), shape.rule(made[2]))
		read, err := form.Read(catalog, []byte(text), "this-one")
		if err != nil {
			t.Fatalf("case %d: %v\n%s", n, err, text)
		}
		if diff := cmp.Diff(tidy(made[1]), tidy(read)); diff != "" {
			t.Fatalf("case %d: what is read is not what was made (-made +read):\n%s\n%s", n, diff, text)
		}
		same, err := form.Write(catalog, []byte(text), "this-one", fromJSON(t, read))
		if err != nil || string(same) != text {
			t.Fatalf("case %d: %v: unchanged, the file becomes\n%s", n, err, same)
		}
		changed := fromJSON(t, read)
		change := mutate(r, &changed)
		out, err := form.Write(catalog, []byte(text), "this-one", changed)
		if err != nil {
			t.Fatalf("case %d: %v\n%s\n%s", n, err, cmp.Diff(read, changed), text)
		}
		if problem := compare(text, string(out), changed, change); problem != "" {
			t.Fatalf("case %d: %s\n%s\n%s", n, problem, cmp.Diff(read, changed), lineDiff(text, string(out)))
		}
		if w := wanted(changed); !strings.HasPrefix(w, "broken") {
			working++
		} else if *why {
			t.Log(w)
		}
	}
	t.Logf("%d of %d are rules that work", working, *cases)
	if working < *cases/3 {
		t.Error("too few rules work: the test has lost its point")
	}
}

// TestFormattedStaysFormatted changes forms of files that are in their canonical form: what comes
// out is too.
func TestFormattedStaysFormatted(t *testing.T) {
	for n := range *cases {
		r := rand.New(rand.NewPCG(*seed+1, uint64(n)))
		m, shape := &formtest.Maker{Rand: r, Catalog: catalog}, shaper{r}
		s := &stylist{Rand: r, quiet: true}
		text, problems := rules.Format("rules.yaml", []byte(s.file(shape.rule(m.Form("before")), shape.rule(m.Form("this-one")))))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		f, err := form.Read(catalog, text, "this-one")
		if err != nil {
			t.Fatal(err)
		}
		changed := fromJSON(t, f)
		mutate(r, &changed)
		out, err := form.Write(catalog, text, "this-one", changed)
		if err != nil {
			t.Fatalf("case %d: %v\n%s\n%s", n, err, cmp.Diff(f, changed), text)
		}
		again, problems := rules.Format("rules.yaml", out)
		if diff := lineDiff(string(out), string(again)); len(problems) > 0 || diff != "" {
			t.Fatalf("case %d: %v\n%s\nquando fmt would change it:\n%s", n, problems, lineDiff(string(text), string(out)), diff)
		}
	}
}

// compare returns what is wrong with a changed file.
func compare(text, out string, f form.Form, change mutation) string {
	again, err := form.Read(catalog, []byte(out), f.ID)
	if err != nil {
		return err.Error()
	}
	if diff := cmp.Diff(tidy(f), tidy(again)); diff != "" {
		return "what was written is not what was wanted (-wanted +read):\n" + diff
	}
	// Alone, because rules that start each other are a mistake of all of them.
	alone := surroundings(out) + "rules: [" + ruleNode(out, f.ID).Flow() + "]\n"
	if diff := cmp.Diff(wanted(f), meaning(alone, f.ID)); diff != "" {
		return "the rules parser sees another rule (-wanted +seen):\n" + diff
	}
	for _, id := range []string{"before", "behind"} {
		if a, b := ruleText(text, id), ruleText(out, id); a == "" || a != b {
			return fmt.Sprintf("the rule %s has changed:\n%s\n%s", id, a, b)
		}
	}
	if !strings.HasPrefix(ruleText(text, "this-one"), "{") {
		about := lines(keyLines(text, change.key))
		for _, line := range lines(lineDiff(text, out)) {
			if gone, ok := strings.CutPrefix(line, "-"); ok && gone != "" && !slices.Contains(about, gone) {
				return fmt.Sprintf("a change of %s takes the line %q", change.key, gone)
			}
		}
	}
	for _, c := range comments.FindAllString(text, -1) {
		if !strings.Contains(out, c) && !(change.takes && slices.Contains(comments.FindAllString(keyLines(text, change.key), -1), c)) {
			return fmt.Sprintf("the comment %s is lost by a change of %s (%v)", c, change.key, change.takes)
		}
	}
	return ""
}

var comments = regexp.MustCompile(`# c\d+\.`)

// ruleText returns a rule as it is written.
func ruleText(text, id string) string { return ruleNode(text, id).Text() }

func ruleNode(text, id string) *source.Node {
	f, _ := source.Read("", []byte(text))
	for _, item := range f.Root.Get("rules").Items {
		if n := item.Get("id"); n != nil && n.Value == id {
			return item
		}
	}
	return nil
}

// keyLines returns the lines about a key of the rule that is changed, from the key above to the one
// below.
func keyLines(text, key string) string {
	f, _ := source.Read("", []byte(text))
	var rule *source.Node
	items := f.Root.Get("rules").Items
	last := len(lines(text))
	for i, item := range items {
		if item.Get("id").Value == "this-one" {
			rule = item
			if i+1 < len(items) {
				last = items[i+1].Line
			}
		}
	}
	first := rule.Line - 4
	for i, p := range rule.Pairs {
		if p.Key.Value != key {
			continue
		}
		if i > 0 {
			first = rule.Pairs[i-1].Key.Line
		}
		if i+1 < len(rule.Pairs) {
			last = rule.Pairs[i+1].Key.Line
		}
	}
	return strings.Join(lines(text)[max(0, first-1):last], "\n")
}

// tidy makes forms comparable: YAML by what it says, as Read would give it if it has fields.
func tidy(f form.Form) form.Form {
	text := "rules: [" + shaper{}.rule(f).flowOfAny() + "]\n"
	out, err := form.Read(catalog, []byte(text), f.ID)
	if err != nil {
		panic(fmt.Sprintf("%v: %s", err, text))
	}
	return out
}

// flowOfAny writes a tree as JSON, with what is YAML already brought to one line.
func (t tree) flowOfAny() string {
	if t.raw != "" {
		n, err := source.ParseValue(t.raw)
		if err != nil {
			panic(err)
		}
		return n.Flow()
	}
	for i, item := range t.items {
		if item.text == nil {
			t.items[i] = tree{raw: item.flowOfAny()}
		}
	}
	return t.flow()
}

// fromJSON sends a form to the browser and back.
func fromJSON(t *testing.T, f form.Form) form.Form {
	t.Helper()
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var out form.Form
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(f, out, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("JSON loses something: %s", diff)
	}
	return out
}
