package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// writeProblem writes a problem with its place, its hint and the line that it is about.
func writeProblem(w io.Writer, c Palette, l phrases.Language, p rules.Problem) {
	p = p.In(l)
	fmt.Fprintf(w, "%s ", c.Bold(fmt.Sprintf("%s:%d:%d:", p.File, p.Line, p.Column)))
	if p.Severity == source.Warning {
		fmt.Fprintf(w, "%s ", c.Yellow(phrases.Word("warning:").In(l)))
	}
	if p.Rule != "" {
		fmt.Fprintf(w, "%s ", phrases.Sprintf("rule %q:", p.Rule).In(l))
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

// WriteProblems writes problems in a language, one after another.
func WriteProblems(w io.Writer, l phrases.Language, problems rules.Problems) {
	for _, p := range problems {
		writeProblem(w, Colours(w), l, p)
	}
}
