package rulescmd

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// A testWriter writes what comes of tests.
type testWriter interface {
	problems(list rules.Problems) error // of the rules: no test was run
	outcome(o *outcome)
	end(all []*outcome, notRun int, took time.Duration) error
}

func newTestWriter(output string, l phrases.Language, w io.Writer) (testWriter, error) {
	switch output {
	case "text":
		return &textTests{w: w, c: cli.Colours(w), language: l}, nil
	case "json":
		return jsonTests{w}, nil
	case "junit":
		return junitTests{w}, nil
	}
	return nil, fmt.Errorf("--output is text, json or junit, not %q", output)
}

// tally counts what passed and what failed.
func tally(all []*outcome) (passed, failed int) {
	for _, o := range all {
		if o.OK {
			passed++
		} else {
			failed++
		}
	}
	return passed, failed
}

// textTests writes for people.
type textTests struct {
	w         io.Writer
	c         cli.Palette
	language  phrases.Language
	workspace string // of the outcome before
}

func (t *textTests) problems(list rules.Problems) error {
	cli.WriteProblems(t.w, t.language, list)
	_, err := fmt.Fprintln(t.w, phrases.Word("No test was run, because the rules have problems.").In(t.language))
	return err
}

func (t *textTests) outcome(o *outcome) {
	if o.workspace != t.workspace {
		fmt.Fprintf(t.w, "workspace %s\n", cli.Harmless(o.workspace))
		t.workspace = o.workspace
	}
	word := t.c.Green("ok  ")
	if !o.OK {
		word = t.c.Red("FAIL")
	}
	fmt.Fprintf(t.w, "%s %6.2fs  %-12s  %s\n", word, o.took.Seconds(), cli.Count(o.Tellings, "telling"), cli.Harmless(fmt.Sprintf("%s:%d: %s", o.Test.File, o.Test.Line, o.Test.Name)))
	if o.OK {
		return
	}
	fmt.Fprintln(t.w)
	for _, line := range reportLines(&o.Result) {
		fmt.Fprintln(t.w, strings.TrimRight("  "+line, " "))
	}
	fmt.Fprintln(t.w)
}

// reportLines returns the lines of a test's report, made harmless.
func reportLines(r *ruletest.Result) []string {
	lines := strings.Split(strings.TrimRight(r.Report(), "\n"), "\n")
	for i := range lines {
		lines[i] = cli.Harmless(lines[i])
	}
	return lines
}

func (t *textTests) end(all []*outcome, notRun int, took time.Duration) error {
	if len(all) == 0 {
		return nil
	}
	passed, failed := tally(all)
	summary := t.c.Green("all passed")
	if failed > 0 {
		summary = fmt.Sprintf("%d passed, %s", passed, t.c.Red(fmt.Sprintf("%d failed", failed)))
	}
	if notRun > 0 {
		summary += fmt.Sprintf(", %d not run", notRun)
	}
	_, err := fmt.Fprintf(t.w, "%s in %.1fs: %s\n", cli.Count(len(all)+notRun, "test"), took.Seconds(), summary)
	return err
}

// jsonTests writes one document for programs.
type jsonTests struct{ w io.Writer }

type testDocument struct {
	Tests    []testReport   `json:"tests"`
	Passed   int            `json:"passed"`
	Failed   int            `json:"failed"`
	NotRun   int            `json:"not_run,omitempty"`
	Problems rules.Problems `json:"problems,omitempty"` // of the rules
}

type testReport struct {
	Workspace string            `json:"workspace,omitempty"` // if there are several
	File      string            `json:"file"`
	Line      int               `json:"line"`
	Name      string            `json:"name"`
	OK        bool              `json:"ok"`
	Fault     string            `json:"fault"`
	Message   string            `json:"message"`
	FailedAt  int               `json:"failed_at,omitempty"` // the line of the step
	Crashes   []string          `json:"crashes,omitempty"`
	Expected  []expectedReport  `json:"expected,omitempty"`
	Actual    []ruletest.Effect `json:"actual,omitempty"`
	Tellings  int               `json:"tellings"`
	Seconds   float64           `json:"seconds"`
}

type expectedReport struct {
	Verb string         `json:"verb"`
	Args map[string]any `json:"args,omitempty"`
}

func (j jsonTests) problems(list rules.Problems) error {
	return cli.WriteJSON(j.w, testDocument{Tests: []testReport{}, Problems: list})
}

func (jsonTests) outcome(*outcome) {}

func (j jsonTests) end(all []*outcome, notRun int, _ time.Duration) error {
	doc := testDocument{Tests: []testReport{}, NotRun: notRun}
	doc.Passed, doc.Failed = tally(all)
	for _, o := range all {
		r := testReport{
			Workspace: o.workspace, File: o.Test.File, Line: o.Test.Line, Name: o.Test.Name, OK: o.OK, Fault: o.Fault, Message: o.Message, FailedAt: o.Line, Crashes: o.Crashes,
			Actual: o.Actual, Tellings: o.Tellings, Seconds: float64(o.took.Milliseconds()) / 1000,
		}
		for _, e := range o.Expected {
			r.Expected = append(r.Expected, expectedReport{e.Verb, e.Args})
		}
		doc.Tests = append(doc.Tests, r)
	}
	return cli.WriteJSON(j.w, doc)
}
