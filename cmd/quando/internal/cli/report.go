package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Report is what check has to say.
type Report struct {
	Problems rules.Problems `json:"problems"`
	Rules    []ruleReport   `json:"rules"`
	Scopes   []string       `json:"scopes"` // all that the key needs
	Reads    []string       `json:"reads"`  // those of them with which facts, names and the outcome of repeats are read, and nothing else
	Needs    []scopeNeed    `json:"needs"`  // what each of the scopes is for
	Cycles   [][]string     `json:"cycles"`

	files int
}

// A scopeNeed is what a scope is needed for.
type scopeNeed struct {
	Scope string   `json:"scope"`
	For   []string `json:"for"` // verbs, and what else is done with it
}

type ruleReport struct {
	ID     string      `json:"id"`
	Stage  rules.Stage `json:"stage"`
	Scopes []string    `json:"scopes"`
	Reads  []string    `json:"reads"`
}

// NewReport returns an empty report. Its lists are empty and not null: programs read them.
func NewReport() *Report {
	// Empty lists, not null: programs read this.
	return &Report{Problems: rules.Problems{}, Rules: []ruleReport{}, Scopes: []string{}, Reads: []string{}, Needs: []scopeNeed{}, Cycles: [][]string{}}
}

// Add adds a rule set.
func (r *Report) Add(files int, set *rules.Set, problems rules.Problems) {
	r.files += files
	r.Problems = append(r.Problems, problems...)
	for _, rule := range set.Rules {
		r.Rules = append(r.Rules, ruleReport{ID: rule.ID, Stage: rule.Stage, Scopes: append([]string{}, rule.Scopes...), Reads: append([]string{}, rule.Reads...)})
		if rule.Stage != rules.Draft { // it never runs
			r.addScopes(rule)
		}
	}
	for _, cycle := range set.Cycles() {
		ids := []string{}
		for _, edge := range cycle {
			ids = append(ids, edge.From.ID)
		}
		r.Cycles = append(r.Cycles, ids)
	}
}

// addScopes adds the scopes that a rule needs, with what for.
func (r *Report) addScopes(rule *rules.Rule) {
	left := slices.Clone(rule.Scopes) // scopes that no step needs
	for s := range rule.Steps() {
		scopes := slices.Clone(s.Schema.Scopes)
		for _, a := range s.Schema.Args {
			if s.Args[a.Name] != nil {
				scopes = append(scopes, a.Scopes...)
			}
		}
		for _, scope := range scopes {
			if slices.Contains(rule.Scopes, scope) {
				r.Need(scope, phrases.Word(s.Verb))
				left = slices.DeleteFunc(left, func(other string) bool { return other == scope })
			}
		}
	}
	for _, scope := range left {
		r.Need(scope, "the items that the schedule goes through")
	}
	for _, scope := range rule.Reads {
		if !slices.Contains(r.Scopes, scope) {
			r.Reads = append(r.Reads, scope)
		}
		r.Need(scope, readWith[scope])
	}
	slices.Sort(r.Reads)
	r.Reads = slices.DeleteFunc(r.Reads, func(read string) bool { return slices.Contains(rule.Scopes, read) })
}

// readWith is what rules read with a scope.
var readWith = map[string]phrases.Word{
	"attendances:read":   "facts of attendances",
	"contacts:read":      "facts of contacts, names of labels",
	"conversations:read": "facts of conversations, names of channels",
	"messages:read":      "who wrote last, whether a message was sent",
	"team:read":          "names of people and sectors",
	"read":               "cards, names of boards and stages",
}

// Need adds a scope that the key needs, and what for.
func (r *Report) Need(scope string, use phrases.Word) {
	i, found := slices.BinarySearch(r.Scopes, scope)
	if !found {
		r.Scopes = slices.Insert(r.Scopes, i, scope)
		r.Needs = slices.Insert(r.Needs, i, scopeNeed{Scope: scope, For: []string{}})
	}
	if n := &r.Needs[i]; use != "" && !slices.Contains(n.For, string(use)) {
		n.For = append(n.For, string(use))
	}
}

// In returns the report with its problems in a language.
func (r *Report) In(l phrases.Language) *Report {
	told := *r
	told.Problems = r.Problems.In(l)
	return &told
}

// WriteText writes the report for people, in a language.
func (r *Report) WriteText(w io.Writer, l phrases.Language) {
	c := Colours(w)
	WriteProblems(w, l, r.Problems)
	errors := 0
	for _, p := range r.Problems {
		if p.Severity == source.Error {
			errors++
		}
	}
	warnings := len(r.Problems) - errors
	good := phrases.Sprintf("%s in %s", counted(len(r.Rules), "1 good rule", "%d good rules"), counted(r.files, "1 file", "%d files"))
	summary := good.In(l) + ": "
	switch {
	case errors > 0:
		summary += c.Red(counted(errors, "1 error", "%d errors").In(l))
	default:
		summary += c.Green(phrases.Word("no errors").In(l))
	}
	if warnings > 0 {
		summary += ", " + c.Yellow(counted(warnings, "1 warning", "%d warnings").In(l))
	}
	fmt.Fprintln(w, summary)
	if len(r.Needs) > 0 {
		fmt.Fprintln(w, phrases.Word("Scopes that the key needs, and what for:").In(l))
		width := 0
		for _, n := range r.Needs {
			width = max(width, len(n.Scope))
		}
		for _, n := range r.Needs {
			fmt.Fprintf(w, "  %s%s  %s\n", c.Bold(n.Scope), strings.Repeat(" ", width-len(n.Scope)), strings.Join(wordsIn(l, n.For), "; "))
		}
	}
	if len(r.Cycles) == 0 && errors == 0 {
		fmt.Fprintln(w, phrases.Word("No rules start each other for ever.").In(l))
	}
}

// counted returns a number with its noun.
func counted(n int, one phrases.Word, format string) *phrases.Message {
	if n == 1 {
		return one.Message()
	}
	return phrases.Sprintf(format, n)
}

// wordsIn returns what scopes are needed for in a language; the names of verbs stay as they are.
func wordsIn(l phrases.Language, words []string) []string {
	told := make([]string, len(words))
	for i, word := range words {
		told[i] = phrases.Word(word).In(l)
	}
	return told
}
