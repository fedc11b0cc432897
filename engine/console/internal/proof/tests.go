package proof

import (
	"context"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// TestsOf returns the tests of a rule: those that name it, and those of its own file and of the
// file of tests beside it that name no rule.
func TestsOf(set *rules.Set, rule *rules.Rule) (list []*rules.Test) {
	for _, t := range set.Tests {
		if slices.Contains(t.Rules, rule.ID) || len(t.Rules) == 0 && (t.File == rule.File || t.File == BesideFile(rule.File)) {
			list = append(list, t)
		}
	}
	return list
}

// BesideFile returns the file for the tests of the rules of a file.
func BesideFile(file string) string {
	ext := filepath.Ext(file)
	return strings.TrimSuffix(strings.TrimSuffix(file, ext), "_test") + "_test" + ext
}

// SetFor returns the rules that a test runs with: those of its folder, those that it names, or all.
// A draft is tested as if it were live; so is a rule in shadow, unless the test is about that.
func SetFor(set *rules.Set, test *rules.Test, rule *rules.Rule) *rules.Set {
	var list []*rules.Rule
	folder := filepath.Dir(test.File)
	for _, r := range set.Rules {
		below, err := filepath.Rel(folder, r.File)
		if !test.All && !slices.Contains(test.Rules, r.ID) && r.ID != rule.ID && (err != nil || !filepath.IsLocal(below)) {
			continue
		}
		watched := slices.ContainsFunc(test.Steps, func(s rules.TestStep) bool { return s.ExpectsWould })
		if r.ID == rule.ID && (r.Stage == rules.Draft || r.Stage == rules.Shadow && !watched) {
			live := *r
			live.Stage = rules.Live
			r = &live
		}
		list = append(list, r)
	}
	return (&rules.Set{Calendars: set.Calendars}).With(list...)
}

// RemoveTest takes a test out of the text of a file, and returns it as it stood, for undoing.
func RemoveTest(text, name string) (left, removed string, err error) {
	file, _ := source.Read("tests.yaml", []byte(text))
	if file.Root == nil || file.Root.Get("tests") == nil || file.Root.Get("tests").Kind != source.List {
		return "", "", ErrStory
	}
	lines := strings.SplitAfter(text, "\n")
	items := file.Root.Get("tests").Items
	at := slices.IndexFunc(items, func(n *source.Node) bool { return n.Get("name") != nil && n.Get("name").Value == name })
	if at < 0 || !strings.HasPrefix(strings.TrimSpace(lines[items[at].Line-1]), "- ") {
		return "", "", ErrStory
	}
	first, end := items[at].Line-1, len(lines)
	for _, p := range file.Root.Pairs {
		if p.Key.Line-1 > first {
			end = min(end, p.Key.Line-1)
		}
	}
	if at+1 < len(items) {
		end = items[at+1].Line - 1
	}
	removed = unindented(lines[first:end])
	if len(items) == 1 { // a list of none is no list: the key goes with it
		for i, p := range file.Root.Pairs {
			if p.Key.Value == "tests" {
				first = file.Root.Pairs[i].Key.Line - 1
			}
		}
	}
	return strings.Join(slices.Concat(lines[:first], lines[end:]), ""), removed, nil
}

// unindented returns lines without the indent of the first.
func unindented(lines []string) string {
	indent := len(lines[0]) - len(strings.TrimLeft(lines[0], " "))
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(strings.TrimPrefix(line, strings.Repeat(" ", indent)))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

// A TestResult is what came of a test.
type TestResult struct {
	ruletest.Result
	Unrun bool // the time was over
}

// RunTests runs the tests of a rule; the options have the whole set. Where the time is over it
// returns those that it did not suffice for as unrun, and the context's error.
func RunTests(ctx context.Context, o ruletest.Options, rule *rules.Rule) (list []TestResult, err error) {
	set := o.Set
	for _, test := range TestsOf(set, rule) {
		o.Set = SetFor(set, test, rule)
		told := test
		if !o.NoFaults {
			told = WithFaults(test)
		}
		r, err := ruletest.Run(ctx, o, told)
		if err != nil && ctx.Err() == nil {
			return nil, err
		}
		r.Test = test
		list = append(list, TestResult{r, err != nil})
	}
	return list, ctx.Err()
}

// WithFaults returns a test with the faults that it names, or with all where it names none.
func WithFaults(test *rules.Test) *rules.Test {
	if len(test.Faults) > 0 {
		return test
	}
	faulty := *test
	faulty.Faults = rules.AllFaults()
	return &faulty
}

// Why says in words why a test failed, and under which fault.
func Why(w words.Language, r *ruletest.Result) string {
	var wanted, got string
	who := customerOf(r.Test)
	if r.Differs < len(r.Actual) {
		got = effectWords(w, actions.Effect{Verb: r.Actual[r.Differs].Verb, Who: r.Actual[r.Differs].On, Args: r.Actual[r.Differs].Args})
	}
	if r.Differs < len(r.Expected) {
		wanted = effectWords(w, actions.Effect{Verb: r.Expected[r.Differs].Verb, Who: who, Args: plainArgs(r.Expected[r.Differs].Args)})
	}
	text := ""
	switch {
	case wanted != "" && got != "":
		text = w.T("tests.instead", wanted, got)
	case wanted != "":
		text = w.T("tests.missing", wanted)
	case got != "":
		text = w.T("tests.extra", got)
	default:
		text = engine.Harmless(r.Message)
	}
	if r.Fault != "" {
		return w.T("tests.under", w.Or("fault.", strings.ReplaceAll(r.Fault, " ", "_")), text)
	}
	return text
}

func effectWords(w words.Language, e actions.Effect) string {
	said, quoted := e.Would(w.RulesLanguage())
	if quoted != "" {
		said += " “" + quoted + "”"
	}
	return engine.Harmless(said)
}

// plainArgs returns expected arguments as texts: what a text must contain stands for it.
func plainArgs(args map[string]any) map[string]any {
	out := map[string]any{}
	for name, value := range args {
		if pattern, ok := value.(map[string]any); ok {
			for _, key := range []string{"contains", "matches"} {
				if text, ok := pattern[key].(string); ok {
					value = "…" + text + "…"
				}
			}
		}
		out[name] = value
	}
	return out
}

// customerOf returns the customer of a test, where it gives one.
func customerOf(t *rules.Test) string {
	contacts, _ := t.Given["contacts"].([]any)
	if len(contacts) == 0 {
		return ""
	}
	contact, _ := contacts[0].(map[string]any)
	name, _ := contact["name"].(string)
	return name
}
