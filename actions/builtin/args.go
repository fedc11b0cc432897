package builtin

import (
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

// args are the rendered arguments of a step. An optional argument whose expression gave nil counts
// as not given.
type args map[string]any

// has reports whether an argument was given, null included.
func (a args) has(name string) bool { _, ok := a[name]; return ok }

// text returns an argument as text; empty if there is none.
func (a args) text(name string) string { return textOf(a[name]) }

func textOf(v any) string { return rules.TextOf(v) }

// requiredText returns a text, or an error if it is missing or empty.
func (a args) requiredText(name string) (string, error) {
	s := strings.TrimSpace(a.text(name))
	if s == "" {
		return "", actions.Permanent(fmt.Errorf("%s is empty", name))
	}
	return s, nil
}

// texts returns one or several texts.
func (a args) texts(name string) []string {
	list, ok := a[name].([]any)
	if !ok {
		list = []any{a[name]}
	}
	out := make([]string, 0, len(list))
	for _, v := range list {
		if s := strings.TrimSpace(textOf(v)); s != "" {
			out = append(out, s)
		}
	}
	return out
}

// flag returns a boolean, and whether it was given.
func (a args) flag(name string) (value, given bool) {
	value, given = a[name].(bool)
	return value, given
}

// number returns an integer; 0 if there is none.
func (a args) number(name string) (int, error) {
	switch v := a[name].(type) {
	case nil:
		return 0, nil
	case int:
		return v, nil
	case float64:
		if v == float64(int(v)) {
			return int(v), nil
		}
	}
	return 0, actions.Permanent(fmt.Errorf("%s must be a whole number, not %v", name, a[name]))
}

// numbers returns several whole numbers.
func (a args) numbers(name string) (out []int) {
	list, _ := a[name].([]any)
	for _, v := range list {
		if i, ok := v.(int); ok {
			out = append(out, i)
		}
	}
	return out
}

// dayOrTime returns a day or a time; zero if there is none. A day begins in the workspace's own
// zone.
func (a args) dayOrTime(name string, zone *time.Location) (time.Time, error) {
	if t, ok := a[name].(time.Time); ok {
		return t.In(zone), nil
	}
	s := strings.TrimSpace(a.text(name))
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return t, actions.Permanent(fmt.Errorf("%s must be a day or a time such as 2026-12-24 or 2026-12-24T18:00:00-03:00, not %q", name, s))
	}
	return t.In(zone), nil
}

// objectID returns the object that a step works on: the one that an argument names, otherwise the
// run's own. An argument that was given and is empty is a mistake, and never means the run's own
// object.
func (a args) objectID(name, atHand string) (string, error) {
	if s := strings.TrimSpace(a.text(name)); s != "" {
		return s, nil
	}
	if a.has(name) {
		return "", actions.Permanent(fmt.Errorf("%s is empty", name))
	}
	if atHand == "" {
		return "", actions.Permanent(fmt.Errorf("there is no %s at hand", name))
	}
	return atHand, nil
}
