package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/source"
)

// WriteProblem writes a problem with its place, its hint and the line that it is about.
func WriteProblem(w io.Writer, c Palette, p rules.Problem) {
	fmt.Fprintf(w, "%s ", c.Bold(fmt.Sprintf("%s:%d:%d:", p.File, p.Line, p.Column)))
	if p.Severity == source.Warning {
		fmt.Fprintf(w, "%s ", c.Yellow("warning:"))
	}
	if p.Rule != "" {
		fmt.Fprintf(w, "rule %q: ", p.Rule)
	}
	fmt.Fprint(w, p.Message)
	if p.Hint != "" {
		fmt.Fprintf(w, " %s", c.Cyan("("+p.Hint+")"))
	}
	fmt.Fprintln(w)
	if line, caret := p.Excerpt(); line != "" {
		number := fmt.Sprint(p.Line)
		margin := strings.Repeat(" ", len(number))
		fmt.Fprintf(w, "  %s %s\n  %s %s\n", c.Dim(number+" |"), line, c.Dim(margin+" |"), c.Red(caret))
	}
}

// WriteProblems writes problems, one after another.
func WriteProblems(w io.Writer, problems rules.Problems) {
	for _, p := range problems {
		WriteProblem(w, Colours(w), p)
	}
}
