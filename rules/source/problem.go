package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/rules/phrases"
)

// A Severity says whether a Problem makes a file unusable.
type Severity string

// The severities. Only an Error makes a check fail.
const (
	Error   Severity = "error"
	Warning Severity = "warning"
)

// A Problem is something wrong at one place of a file, worded for its author.
type Problem struct {
	File     string   `json:"file"`
	Line     int      `json:"line"`
	Column   int      `json:"column"`
	Rule     string   `json:"rule"` // the id of the rule, if any
	Severity Severity `json:"severity"`
	Message  string   `json:"message"`
	Hint     string   `json:"hint"` // the remedy
	Text     string   `json:"-"`    // the line it stands in

	message, hint *phrases.Message
}

// Saying returns the problem with what is wrong, and the remedy, in English.
func (p Problem) Saying(message, hint *phrases.Message) Problem {
	p.message, p.hint = message, hint
	return p.In(phrases.English)
}

// Messages returns what is wrong and the remedy, as messages that can be told in other words.
func (p Problem) Messages() (message, hint *phrases.Message) { return p.message, p.hint }

// In returns the problem with its message and hint in a language.
func (p Problem) In(l phrases.Language) Problem {
	if p.message != nil {
		p.Message, p.Hint = p.message.In(l), p.hint.In(l)
	}
	return p
}

// Error returns the problem in one line, as file:line:column: rule "id": what is wrong (hint).
func (p Problem) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d:%d: ", p.File, p.Line, p.Column)
	if p.Severity == Warning {
		b.WriteString("warning: ")
	}
	if p.Rule != "" {
		fmt.Fprintf(&b, "rule %q: ", p.Rule)
	}
	b.WriteString(p.Message)
	if p.Hint != "" {
		fmt.Fprintf(&b, " (%s)", p.Hint)
	}
	return b.String()
}

// Equal reports whether two problems say the same of the same place.
func (p Problem) Equal(other Problem) bool {
	return p.Error() == other.Error() && p.Severity == other.Severity && p.Text == other.Text
}

// Excerpt returns the problem's line and a caret line under the column, or nothing. It cuts a long
// line around the column.
func (p Problem) Excerpt() (line, caret string) {
	if p.Text == "" {
		return "", ""
	}
	const width = 100
	// A window of a long line is enough: a file may be one line.
	first := max(0, p.Column-1-width)
	var window []rune
	i := 0
	for _, r := range p.Text {
		if i >= first {
			if r == '\t' {
				r = ' '
			}
			window = append(window, r)
		}
		if i++; len(window) >= 2*width+1 {
			break
		}
	}
	at := min(max(p.Column-1-first, 0), len(window))
	from := max(0, min(at-width/2, len(window)-width))
	to := min(len(window), from+width)
	return string(window[from:to]), strings.Repeat(" ", at-from) + "^"
}

// Problems is everything found wrong, and an error where there is at least one Error among them.
type Problems []Problem

// Error returns all problems, one to a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error, or nil when none of them is an Error.
func (ps Problems) Err() error {
	if ps.HasErrors() {
		return ps
	}
	return nil
}

// In returns the problems with their messages and hints in a language.
func (ps Problems) In(l phrases.Language) Problems {
	told := slices.Clone(ps)
	for i := range told {
		told[i] = told[i].In(l)
	}
	return told
}

// HasErrors reports whether there is an Error among the problems.
func (ps Problems) HasErrors() bool {
	return slices.ContainsFunc(ps, func(p Problem) bool { return p.Severity == Error })
}

// Sort puts the problems into the order of files, lines and columns, and drops repeats.
func (ps Problems) Sort() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
	})
	return slices.CompactFunc(ps, func(a, b Problem) bool {
		return a.File == b.File && a.Line == b.Line && a.Column == b.Column && a.Message == b.Message
	})
}

// At returns a Problem at the node.
func (n *Node) At(severity Severity, message, hint *phrases.Message) Problem {
	return n.at(n.Line, n.Column, severity, message, hint)
}

// AtOffset returns a Problem at a byte offset inside the scalar's value, where it stands in the
// file.
func (n *Node) AtOffset(offset int, severity Severity, message, hint *phrases.Message) Problem {
	line, column := n.Position(offset)
	return n.at(line, column, severity, message, hint)
}

func (n *Node) at(line, column int, severity Severity, message, hint *phrases.Message) Problem {
	return Problem{File: n.file.Name, Line: line, Column: column, Severity: severity, Text: n.file.Line(line)}.Saying(message, hint)
}
