package studio

import (
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/form"
	"github.com/quandohq/quando/rules/form/formtest"
	"github.com/quandohq/quando/rules/source"
	"github.com/quandohq/quando/rules/vocabulary"
)

var (
	cases = flag.Int("cases", 120, "how many random rules are opened and changed")
	seed  = flag.Uint64("seed", 1, "of what is made up")
)

// wanted returns how many cases a test goes through.
func wanted() int {
	if testing.Short() {
		return min(*cases, 50)
	}
	return *cases
}

var fenced = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// written returns the rule files of the examples, of the sixteen automations and of the documents.
func written(t *testing.T) map[string][]byte {
	t.Helper()
	top := filepath.Join("..", "..", "..", "..")
	out := map[string][]byte{}
	for name, folder := range map[string]fs.FS{
		"examples": examples.FS(), "sixteen": os.DirFS(filepath.Join(top, "cmd", "quando", "testdata", "sixteen")), "good": os.DirFS(filepath.Join(top, "rules", "testdata", "good")),
	} {
		err := fs.WalkDir(folder, ".", func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
				return err
			}
			out[name+"/"+path], err = fs.ReadFile(folder, path)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	documents, err := filepath.Glob(filepath.Join(top, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range append(documents, filepath.Join(top, "README.md")) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range fenced.FindAllSubmatch(text, -1) {
			out[fmt.Sprintf("%s, %d", filepath.Base(name), i)] = block[1]
		}
	}
	return out
}

// rulesOf returns the ids of the rules of a file.
func rulesOf(text []byte) (ids []string) {
	file, _ := source.Read("rules.yaml", text)
	if file.Root == nil || file.Root.Get("rules") == nil {
		return nil
	}
	for _, item := range file.Root.Get("rules").Items {
		if id := item.Get("id"); id != nil {
			ids = append(ids, id.Value)
		}
	}
	return ids
}

// own matches texts of people that look like code: addresses, and patterns, which are beyond words.
var own = regexp.MustCompile(`https://\S*|\(\?i\)\S*`)

// codeShown matches what a person who writes no code would not write.
var codeShown = regexp.MustCompile(`[{}=_⟦]|#|\?\.|\?\?|&&|\|\||\w\(|%!|[a-z]\.[a-z*]|\bnil\b`)

// gapsOf returns what of a rule the studio does not show as it should. Plain says that its texts
// are ordinary words, so that code in what is shown is none of a person's own.
func gapsOf(text []byte, id string, plain bool) (gaps []string, chips int) {
	f, err := form.Read(catalog, text, id)
	if err != nil {
		return []string{err.Error()}, 0
	}
	for _, l := range words.Languages {
		list := everything(maker(l.Code, text).View(f, nil))
		for _, s := range list {
			if s.chip != nil {
				chips++
			}
			if s.hand {
				gaps = append(gaps, fmt.Sprintf("%s is by hand: %s", s.path, s.words))
			} else if found := codeShown.FindString(own.ReplaceAllString(s.words, "")); plain && found != "" {
				gaps = append(gaps, fmt.Sprintf("%s shows %s: %s", s.path, found, s.words))
			}
		}
		for _, path := range hidden(f, list) {
			gaps = append(gaps, fmt.Sprintf("%s is not shown", path))
		}
	}
	if same, err := form.Write(catalog, text, id, f); err != nil || string(same) != string(text) {
		gaps = append(gaps, fmt.Sprintf("%v: saving it without a change changes it:\n%s", err, same))
	}
	return gaps, chips
}

// TestNoGap shows that every rule of the examples, of the sixteen automations and of the documents
// is opened with nothing by hand, nothing hidden and no code in either language, and that saving
// it without a change changes no byte.
func TestNoGap(t *testing.T) {
	t.Parallel()
	count, chips := 0, 0
	for name, text := range written(t) {
		for _, id := range rulesOf(text) {
			gaps, n := gapsOf(text, id, true)
			count, chips = count+1, chips+n
			for _, g := range gaps {
				t.Errorf("%s, %s: %s", name, id, g)
			}
		}
	}
	t.Logf("%d rules with %d chips in two languages", count, chips)
	if count < 60 {
		t.Errorf("only %d rules were found", count)
	}
}

const head = "vars: { n: 2, word: vip, sla: 15m, on: true, words: [vip, Ana], m: 3, other: new, off: false, more: [Ana] }\ncalendars:\n  office: { timezone: UTC, open: { mon-fri: [08:00-17:00] } }\n  night: { timezone: UTC, open: { mon-fri: [20:00-24:00] } }\n"

// random makes up a file with one rule, and says whether its texts are plain.
func random(t *testing.T, n int) (text []byte, plain bool) {
	t.Helper()
	r := rand.New(rand.NewPCG(*seed, uint64(n)))
	c := formtest.Conditions{Rand: r, Plain: r.IntN(3) > 0, Gathers: r.IntN(3) == 0}
	m := &formtest.Maker{Rand: r, Catalog: catalog, Plain: c.Plain}
	m.Condition = func() string { x, _ := c.Condition(2); return x }
	m.Value = func() string {
		x, _ := formtest.Conditions{Rand: r, Plain: true, Gathers: c.Gathers}.Value(vocabulary.Text, 1)
		return x
	}
	f := m.Form("made-up")
	if c.Gathers {
		f.When, f.Gather = form.When{Events: []string{"message.received"}}, &form.Gather{Quiet: "20s", AtMost: formtest.One(r, "", "2m")}
	}
	text, err := form.Write(catalog, []byte(head+"rules:\n  - id: made-up\n    when: manual\n    do: [log: x]\n"), "made-up", f)
	if err != nil {
		t.Fatalf("case %d: %v", n, err)
	}
	return text, c.Plain
}

// compiles reports whether the rule of a file is one.
func compiles(text []byte) (bool, rules.Problems) {
	_, problems := rules.Compile([]*rules.File{rules.Parse("rules.yaml", text)}, rules.Options{Catalog: catalog})
	return !problems.HasErrors(), problems
}

// TestRandomNoGap shows the same of rules that are made up over the whole language, with every
// condition that the catalogue can say.
func TestRandomNoGap(t *testing.T) {
	t.Parallel()
	working, chips, failed := 0, 0, 0
	for n := range wanted() {
		text, plain := random(t, n)
		gaps, some := gapsOf(text, "made-up", plain)
		chips += some
		if ok, _ := compiles(text); ok {
			working++
		}
		if len(gaps) > 0 {
			failed++
			t.Errorf("case %d: %s\n%s", n, strings.Join(gaps, "\n"), text)
		}
		if failed == 10 {
			break
		}
	}
	t.Logf("%d rules, %d of which work, with %d chips in two languages", wanted(), working, chips)
}
