package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// A Report is what check has to say.
type Report struct {
	Problems rules.Problems `json:"problems"`
	Rules    []ruleReport   `json:"rules"`
	Scopes   []string       `json:"scopes"` // of the verbs' own calls
	Reads    []string       `json:"reads"`  // of the calls that fetch facts, look up names and check retries
	Cycles   [][]string     `json:"cycles"`

	files int
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
	return &Report{Problems: rules.Problems{}, Rules: []ruleReport{}, Scopes: []string{}, Reads: []string{}, Cycles: [][]string{}}
}

// Add adds a rule set.
func (r *Report) Add(files int, set *rules.Set, problems rules.Problems) {
	r.files += files
	r.Problems = append(r.Problems, problems...)
	for _, rule := range set.Rules {
		r.Rules = append(r.Rules, ruleReport{ID: rule.ID, Stage: rule.Stage, Scopes: append([]string{}, rule.Scopes...), Reads: append([]string{}, rule.Reads...)})
		if rule.Stage != rules.Draft { // it never runs
			r.Scopes = append(r.Scopes, rule.Scopes...)
			r.Reads = append(r.Reads, rule.Reads...)
		}
	}
	slices.Sort(r.Scopes)
	r.Scopes = slices.Compact(r.Scopes)
	slices.Sort(r.Reads)
	r.Reads = slices.DeleteFunc(slices.Compact(r.Reads), func(s string) bool { return slices.Contains(r.Scopes, s) })
	for _, cycle := range set.Cycles() {
		ids := []string{}
		for _, edge := range cycle {
			ids = append(ids, edge.From.ID)
		}
		r.Cycles = append(r.Cycles, ids)
	}
}

// WriteText writes the report for people. Scopes beyond those of the verbs go to notes, apart from
// the answer.
func (r *Report) WriteText(w, notes io.Writer) {
	c := Colours(w)
	for _, p := range r.Problems {
		WriteProblem(w, c, p)
	}
	errors := 0
	for _, p := range r.Problems {
		if p.Severity == source.Error {
			errors++
		}
	}
	warnings := len(r.Problems) - errors
	summary := fmt.Sprintf("%s in %s: ", Count(len(r.Rules), "good rule"), Count(r.files, "file"))
	switch {
	case errors > 0:
		summary += c.Red(Count(errors, "error"))
	default:
		summary += c.Green("no errors")
	}
	if warnings > 0 {
		summary += ", " + c.Yellow(Count(warnings, "warning"))
	}
	fmt.Fprintln(w, summary)
	if len(r.Scopes) > 0 {
		fmt.Fprintf(w, "Scopes that the key needs: %s\n", c.Bold(strings.Join(r.Scopes, ", ")))
	}
	if len(r.Reads) > 0 {
		fmt.Fprintf(notes, "note: facts that an event does not carry, names and repeats are read with: %s\n", strings.Join(r.Reads, ", "))
	}
	if len(r.Cycles) == 0 && errors == 0 {
		fmt.Fprintln(w, "No rules start each other for ever.")
	}
}
