package ruletest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quandohq/quando/rules"
)

// String writes an effect as a test would expect it, and what it was on.
func (e Effect) String() string { return fmt.Sprintf("%s: %s (%s)", e.Verb, showArgs(e.Args), e.On) }

// sketch writes an expected effect.
func sketch(e rules.ExpectedEffect) string {
	if len(e.Args) == 0 {
		return e.Verb
	}
	return e.Verb + ": " + showArgs(e.Args)
}

// showArgs writes arguments in the order of their names.
func showArgs(args map[string]any) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(args)) {
		parts = append(parts, name+": "+show(args[name]))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// show writes a value.
func show(v any) string {
	if v == nil {
		return "nothing"
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSpace(b.String())
}

// reportWidth is how many columns a report takes: a hundred, with an indent.
const reportWidth = 98

// Report describes the failure: the expected effects beside the actual ones, and what the engine
// did. It is empty for a test that passed.
func (r *Result) Report() string {
	if r.OK {
		return ""
	}
	var b strings.Builder
	write := func(indent int, format string, args ...any) {
		for _, line := range fold(fmt.Sprintf(format, args...), reportWidth, indent) {
			b.WriteString(line + "\n")
		}
	}
	write(2, "%s:%d: %s", r.Test.File, r.Line, r.Message)
	if r.Fault != "" {
		write(2, "\nunder the fault: %s", r.Fault)
	}
	shown := r.Crashes[max(0, len(r.Crashes)-maxCrashes):]
	for _, crash := range shown {
		write(4, "  the engine was stopped at %s", crash)
	}
	if before := len(r.Crashes) - len(shown); before > 0 {
		write(4, "  and %d times before", before)
	}
	if len(r.Expected)+len(r.Actual) > 0 {
		b.WriteString("\n" + r.sideBySide())
	}
	if trace := r.Trace.String(); trace != "" {
		b.WriteString("\nwhat the engine did:\n" + trace)
	}
	return b.String()
}

// maxCrashes is how many crashes a report lists. In a long story the last ones matter.
const maxCrashes = 4

// sideBySide writes the expected effects beside the actual ones, with a mark at the first
// difference.
func (r *Result) sideBySide() string {
	const margin, between = "  ", " | "
	left := len("expected")
	for _, e := range r.Expected {
		left = max(left, utf8.RuneCountInString(sketch(e)))
	}
	left = min(left, (reportWidth-len(margin)-len(between))/2)
	right := reportWidth - len(margin) - left - len(between)
	var b strings.Builder
	row := func(expected, actual, mark string) {
		l, r := fold(expected, left, 2), fold(actual, right, 2)
		for i := range max(len(l), len(r)) {
			var cells [2]string
			if i < len(l) {
				cells[0] = l[i]
			}
			if i < len(r) {
				cells[1] = r[i]
			}
			b.WriteString(strings.TrimRight(fmt.Sprintf("%s%-*s %s %s", margin, left, cells[0], mark, cells[1]), " ") + "\n")
			mark = "|"
		}
	}
	row("expected", "actual", "|")
	for i := range max(len(r.Expected), len(r.Actual)) {
		expected, actual, mark := "", "", "|"
		if i < len(r.Expected) {
			expected = sketch(r.Expected[i])
		}
		if i < len(r.Actual) {
			actual = r.Actual[i].At.Format("15:04:05 ") + r.Actual[i].String()
		}
		if i == r.Differs {
			mark = "≠"
		}
		row(expected, actual, mark)
	}
	return b.String()
}

// fold wraps a text at a width, between words if possible; it indents the lines after the first.
func fold(text string, width, indent int) []string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		rest := []rune(line)
		for len(rest) > width {
			begun := 0 // an indent is no place to break
			for begun < width && rest[begun] == ' ' {
				begun++
			}
			end := width
			for end > max(begun, width/2) && rest[end] != ' ' {
				end--
			}
			if rest[end] != ' ' {
				end = width
			}
			out = append(out, strings.TrimRight(string(rest[:end]), " "))
			rest = append([]rune(strings.Repeat(" ", indent)), []rune(strings.TrimLeft(string(rest[end:]), " "))...)
		}
		out = append(out, string(rest))
	}
	return out
}
