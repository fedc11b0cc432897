package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/learn"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

func newCheck() *cobra.Command {
	var output, journal string
	var online bool
	cmd := &cobra.Command{
		Use:   "check [path…]",
		Short: "Report every problem of the rules, and the scopes that the key needs",
		Long: `Check reads rule files, or folders of them, as one rule set and reports everything that is wrong, each problem with
its file, line and column. Without a path it takes the rules of the configuration, each workspace by itself, else the folder rules, else this folder.

It exits with 0 when there is no error (warnings are allowed), 1 when there is one, and 2 when the files could not be read.`,
		Example: "  quando check\n  quando check rules/away.yaml\n  quando check --output json rules",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkOutput(output); err != nil {
				return err
			}
			sets, err := setsToCheck(cmd, args)
			if err != nil {
				return err
			}
			report := newReport()
			for _, one := range sets {
				set, problems := rules.Compile(one.files, rules.Options{Catalog: builtin.Catalog(), ReadFile: besideRules})
				if online {
					more, err := checkOnline(cmd, one.workspace, set)
					if err != nil {
						return err
					}
					problems = append(problems, more...)
				}
				if journal != "" {
					more, err := checkJournal(cmd, set, journal)
					if err != nil {
						return err
					}
					problems = append(problems, more...)
				}
				report.add(len(one.files), set, problems.Sort())
			}
			if output == "text" {
				report.text(cmd.OutOrStdout(), cmd.ErrOrStderr())
			} else if err := writeJSON(cmd.OutOrStdout(), report); err != nil {
				return err
			}
			if report.Problems.HasErrors() {
				return errNo
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&online, "online", false, "ask the service of the configuration for the names that the rules use, and for the key's scopes")
	cmd.Flags().StringVar(&journal, "journal", "", "compare what the rules read of event.data with the events recorded in this `file`")
	outputFlag(cmd, &output)
	return cmd
}

// A setToCheck is the files that make one rule set, of a workspace.
type setToCheck struct {
	workspace string
	files     []*rules.File
}

// setsToCheck reads what the paths name as one set. Without any, each workspace of the configuration has its own: neither ids nor calendars are shared.
func setsToCheck(cmd *cobra.Command, paths []string) (sets []setToCheck, err error) {
	c, _, err := partConfig(cmd, "rules")
	if len(paths) > 0 || err != nil || len(c.Workspaces) == 0 {
		files, err := readRules(cmd, paths)
		return []setToCheck{{defaultWorkspaceName, files}}, err
	}
	v := &view{config: c}
	for _, name := range append([]string{defaultWorkspaceName}, slices.Sorted(maps.Keys(c.Workspaces))...) {
		// Where the top level has only what is common, it has no rules either.
		if _, err := os.Stat(c.path(c.Rules)); name == defaultWorkspaceName && err != nil && c.Rules == defaultConfig().Rules {
			continue
		}
		files, err := v.workspaceFiles(cmd, name)
		if err != nil {
			return nil, err
		}
		if len(files) > 0 || name != defaultWorkspaceName {
			sets = append(sets, setToCheck{name, files})
		}
	}
	return sets, nil
}

// checkJournal finds what rules read of event.data that no recorded event has.
func checkJournal(cmd *cobra.Command, set *rules.Set, file string) (rules.Problems, error) {
	j, err := openJournal(cmd.Context(), file, true)
	if err != nil {
		return nil, err
	}
	shapes := make(learn.Shapes)
	err = eachEvent(cmd.Context(), j, journal.EventFilter{}, mostEvents, func(e *journal.Event) { shapes.Add(e.Event) })
	if closeErr := j.Close(); err == nil && closeErr != nil {
		err = fmt.Errorf("close the journal: %w", closeErr)
	}
	return learn.Check(set, shapes), err
}

// A report is what check has to say.
type report struct {
	Problems rules.Problems `json:"problems"`
	Rules    []ruleReport   `json:"rules"`
	Scopes   []string       `json:"scopes"` // of the verbs' own calls
	Reads    []string       `json:"reads"`  // of the calls that fetch facts, look up names and settle repeats
	Cycles   [][]string     `json:"cycles"`

	files int
}

type ruleReport struct {
	ID     string      `json:"id"`
	Stage  rules.Stage `json:"stage"`
	Scopes []string    `json:"scopes"`
	Reads  []string    `json:"reads"`
}

func newReport() *report {
	// Empty lists, not null: programs read this.
	return &report{Problems: rules.Problems{}, Rules: []ruleReport{}, Scopes: []string{}, Reads: []string{}, Cycles: [][]string{}}
}

// add tells of a rule set.
func (r *report) add(files int, set *rules.Set, problems rules.Problems) {
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

// text writes the report for people. What goes beyond the verbs' own scopes is a note, apart from the answer.
func (r *report) text(w, notes io.Writer) {
	c := colours(w)
	for _, p := range r.Problems {
		writeProblem(w, c, p)
	}
	errors := 0
	for _, p := range r.Problems {
		if p.Severity == source.Error {
			errors++
		}
	}
	warnings := len(r.Problems) - errors
	summary := fmt.Sprintf("%s in %s: ", count(len(r.Rules), "good rule"), count(r.files, "file"))
	switch {
	case errors > 0:
		summary += c.red(count(errors, "error"))
	default:
		summary += c.green("no errors")
	}
	if warnings > 0 {
		summary += ", " + c.yellow(count(warnings, "warning"))
	}
	fmt.Fprintln(w, summary)
	if len(r.Scopes) > 0 {
		fmt.Fprintf(w, "Scopes that the key needs: %s\n", c.bold(strings.Join(r.Scopes, ", ")))
	}
	if len(r.Reads) > 0 {
		fmt.Fprintf(notes, "note: facts that an event does not carry, names and repeats are read with: %s\n", strings.Join(r.Reads, ", "))
	}
	if len(r.Cycles) == 0 && errors == 0 {
		fmt.Fprintln(w, "No rules start each other for ever.")
	}
}

func writeProblem(w io.Writer, c palette, p rules.Problem) {
	fmt.Fprintf(w, "%s ", c.bold(fmt.Sprintf("%s:%d:%d:", p.File, p.Line, p.Column)))
	if p.Severity == source.Warning {
		fmt.Fprintf(w, "%s ", c.yellow("warning:"))
	}
	if p.Rule != "" {
		fmt.Fprintf(w, "rule %q: ", p.Rule)
	}
	fmt.Fprint(w, p.Message)
	if p.Hint != "" {
		fmt.Fprintf(w, " %s", c.cyan("("+p.Hint+")"))
	}
	fmt.Fprintln(w)
	if line, caret := p.Excerpt(); line != "" {
		number := fmt.Sprint(p.Line)
		margin := strings.Repeat(" ", len(number))
		fmt.Fprintf(w, "  %s %s\n  %s %s\n", c.dim(number+" |"), line, c.dim(margin+" |"), c.red(caret))
	}
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
