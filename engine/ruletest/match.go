package ruletest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/vocabulary"
)

// expect compares the effects since the last expectation with the expected ones, in order.
func (t *storyRun) expect(s rules.TestStep) error {
	actual := t.effects()
	if at, message := t.difference(s.Expected, actual, didWords); message != "" {
		return &failure{line: s.Line, message: message, expected: s.Expected, actual: actual, differs: at}
	}
	return nil
}

// differenceWords say how effects differ from those expected.
type differenceWords struct{ missing, order, differs, extra string }

var (
	didWords = differenceWords{
		"%s did not happen", "%s came only as number %d of what happened, not as number %d", "number %d of what happened is not as expected: %s",
		"%s happened and was not expected",
	}
	wouldWords = differenceWords{
		"no rule in shadow would have done %s", "%s came only as number %d of what rules in shadow would have done, not as number %d",
		"number %d of what rules in shadow would have done is not as expected: %s", "a rule in shadow would have done %s, which was not expected",
	}
)

// difference says where effects first differ from those expected, and how; an empty text is
// nowhere.
func (t *storyRun) difference(expected []rules.ExpectedEffect, actual []Effect, words differenceWords) (int, string) {
	for i, want := range expected {
		if i >= len(actual) {
			return i, fmt.Sprintf(words.missing, sketch(want))
		}
		if problem := t.mismatch(want, &actual[i]); problem != "" {
			if other := slices.IndexFunc(actual, func(e Effect) bool { return t.mismatch(want, &e) == "" }); other > i {
				return i, fmt.Sprintf(words.order, sketch(want), other+1, i+1)
			}
			return i, fmt.Sprintf(words.differs, i+1, problem)
		}
	}
	if extra := len(actual) - len(expected); extra > 0 {
		return len(expected), fmt.Sprintf(words.extra, actual[len(expected)])
	}
	return 0, ""
}

// mismatch says how an effect differs from an expected one; empty is not at all.
func (t *storyRun) mismatch(want rules.ExpectedEffect, got *Effect) string {
	if !got.would && strings.HasSuffix(want.Verb, "_labels") && strings.HasSuffix(got.Verb, "_labels") {
		if problem := mismatchedLabels(want, got); problem != "" {
			return problem
		}
		want.Args = only(want.Args, "conversation")
		got = &Effect{Verb: want.Verb, subject: got.subject}
	}
	if want.Verb != got.Verb {
		return fmt.Sprintf("it is %s, not %s", got.Verb, want.Verb)
	}
	for _, name := range slices.Sorted(maps.Keys(want.Args)) {
		value, is := want.Args[name], got.Args[name]
		switch {
		case name == "json":
			if !includes(value, is) {
				return fmt.Sprintf("json is %s, not %s", show(is), show(value))
			}
			continue
		case name == "query":
			if address := text(got.Args["url"]); !hasQuery(value, address) {
				return fmt.Sprintf("the query of %s is not %s", address, show(value))
			}
			continue
		case name == "url" && want.Args["query"] != nil && !strings.Contains(text(value), "?"):
			is, _, _ = strings.Cut(text(is), "?") // the query is compared by itself
		case name == "only_from":
			is = got.from
			if list, ok := value.([]any); ok && slices.ContainsFunc(list, func(v any) bool { return t.same("", v, is) }) {
				continue
			}
		case want.Verb == vocabulary.SendMessage && name == "to", name == "conversation":
			if to, ok := got.subject.(map[string]any); ok {
				if !t.wentTo(value, to) {
					return fmt.Sprintf("it went to %s, not to %s", show(got.subject), show(value))
				}
				continue
			}
		case name == "card" || want.Verb == vocabulary.UpdateContact && name == "contact":
			if t.same("", value, got.On) || t.same("", value, got.subject) {
				continue
			}
			is = got.On
		}
		if !t.matches(name, value, is) {
			return fmt.Sprintf("%s is %s, not %s", name, show(is), show(value))
		}
	}
	return ""
}

// wentTo reports whether a message went where it should: to a conversation or a contact, or to one
// that a mapping describes.
func (t *storyRun) wentTo(want any, to map[string]any) bool {
	described, ok := want.(map[string]any)
	if !ok {
		return t.same("", want, to["conversation"]) || t.same("", want, to["contact"])
	}
	if name := described["person"]; name != nil {
		phone, err := t.people.Find(text(name))
		return err == nil && t.same("phone", phone.Number, to["phone"])
	}
	for name, value := range described {
		if !t.same(name, value, to[name]) {
			return false
		}
	}
	return true
}

// only returns the arguments with this one name.
func only(args map[string]any, name string) map[string]any {
	if value, ok := args[name]; ok {
		return map[string]any{name: value}
	}
	return nil
}

// mismatchedLabels compares changes of labels. A label that was set already need not be added, and
// one that was not set need not be removed.
func mismatchedLabels(want rules.ExpectedEffect, got *Effect) string {
	labels, ok := want.Args["labels"].([]any)
	if label := want.Args["labels"]; !ok && label != nil {
		labels = []any{label}
	}
	within := func(list, other []any) bool {
		return !slices.ContainsFunc(list, func(v any) bool {
			return !slices.ContainsFunc(other, func(o any) bool { return strings.EqualFold(text(v), text(o)) })
		})
	}
	change, fits := got.labels, false
	switch want.Verb {
	case vocabulary.AddLabels:
		fits = len(change.removed) == 0 && within(change.added, labels) && within(labels, change.after)
	case vocabulary.RemoveLabels:
		fits = len(change.added) == 0 && within(change.removed, labels) && !slices.ContainsFunc(labels, func(v any) bool { return within([]any{v}, change.after) })
	case vocabulary.SetLabels:
		fits = within(labels, change.after) && within(change.after, labels)
	}
	if fits || want.Args["labels"] == nil && want.Verb == got.Verb {
		return ""
	}
	return fmt.Sprintf("it is %s, not %s", got, sketch(want))
}

// matches reports whether an argument is as expected.
func (t *storyRun) matches(name string, want, is any) bool {
	list, several := is.([]any)
	switch want := want.(type) {
	case map[string]any:
		return matchesPattern(want, text(is))
	case []any:
		return len(list) == len(want) && !slices.ContainsFunc(want, func(value any) bool {
			return !slices.ContainsFunc(list, func(v any) bool { return t.same(name, value, v) })
		})
	}
	if several {
		return len(list) == 1 && t.same(name, want, list[0])
	}
	return t.same(name, want, is)
}

// matchesPattern reports whether a text is as {contains: …} and {matches: …} say.
func matchesPattern(want map[string]any, is string) bool {
	if part, ok := want["contains"]; ok && !strings.Contains(is, text(part)) {
		return false
	}
	if pattern, ok := want["matches"]; ok {
		re, err := regexp.Compile(text(pattern))
		if err != nil || !re.MatchString(is) {
			return false
		}
	}
	return true
}

// same compares plain values: names without regard to capitals, phones by their digits, days and
// times as such.
func (t *storyRun) same(name string, want, is any) bool {
	a, b := text(want), text(is)
	switch name {
	case "phone":
		return samePhone(a, b)
	case "due":
		return t.day(a) == t.day(b)
	case "for":
		x, err := duration.Parse(a)
		y, err2 := duration.Parse(b)
		return err == nil && err2 == nil && x == y
	case "until":
		x, err := time.Parse(time.RFC3339, a)
		y, err2 := time.Parse(time.RFC3339, b)
		return a == b || err == nil && err2 == nil && x.Equal(y)
	case "person", "sector", "board", "stage", "label", "labels", "channel", "contact", "":
		return strings.EqualFold(a, b)
	}
	return a == b
}

// samePhone compares phones by their digits.
func samePhone(a, b string) bool {
	digits := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, s)
	}
	return digits(a) == digits(b)
}

// day returns the day of a time, and everything else as it is.
func (t *storyRun) day(s string) string {
	if at, err := time.Parse(time.RFC3339, s); err == nil {
		return at.In(t.options.Location).Format(time.DateOnly)
	}
	return s
}
