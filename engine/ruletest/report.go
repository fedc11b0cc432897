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
func sketch(e rules.ExpectedEffect) string { return e.Verb + ": " + showArgs(e.Args) }

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

// Report writes what went wrong, with the expected effects beside the actual ones, and what the engine did. It is empty for a test that
// passed.
func (r *Result) Report() string {
	if r.OK {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s:%d: %s\n", r.Test.File, r.Line, r.Message)
	if r.Fault != "" {
		fmt.Fprintf(&b, "\nunder the fault: %s\n", r.Fault)
	}
	for _, crash := range r.Crashes {
		fmt.Fprintf(&b, "  the engine was stopped at %s\n", crash)
	}
	if len(r.Expected)+len(r.Actual) > 0 {
		b.WriteString("\n" + r.sideBySide())
	}
	if trace := r.Trace.String(); trace != "" {
		b.WriteString("\nwhat the engine did:\n" + trace)
	}
	return b.String()
}

// sideBySide writes the expected effects beside the actual ones.
func (r *Result) sideBySide() string {
	left := []string{"expected", ""}
	for _, e := range r.Expected {
		left = append(left, sketch(e))
	}
	right := []string{"actual", ""}
	for _, e := range r.Actual {
		right = append(right, e.At.Format("15:04:05 ")+e.String())
	}
	width := 0
	for _, s := range left {
		width = max(width, utf8.RuneCountInString(s))
	}
	width = min(width, 70)
	var b strings.Builder
	for i := range max(len(left), len(right)) {
		var l, r string
		if i < len(left) {
			l = left[i]
		}
		if i < len(right) {
			r = right[i]
		}
		fmt.Fprintln(&b, strings.TrimRight(fmt.Sprintf("  %-*s | %s", width, l, r), " "))
	}
	return b.String()
}
