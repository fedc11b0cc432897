package suspect

import (
	"cmp"
	"slices"
)

// less compares two values of a kind; not ok if they are not.
func less(a, b any) (order int, ok bool) {
	switch a := a.(type) {
	case float64:
		if b, ok := b.(float64); ok {
			return cmp.Compare(a, b), true
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b), true
		}
	}
	return 0, false
}

// A reach is what a subject can still be.
type reach struct {
	values   []any // the only ones; nil is any
	low      any
	high     any
	openLow  bool // low itself is not in it
	openHigh bool
	holds    string // true or false
	excluded []any
}

// narrow takes a claim into account, and reports whether anything is left.
func (r *reach) narrow(c *Claim) bool {
	switch c.is {
	case "true", "false":
		if r.holds == "" {
			r.holds = c.is
		}
		return r.holds == c.is
	case "in":
		if r.values == nil {
			r.values = append([]any{}, c.Values...)
		} else {
			r.values = slices.DeleteFunc(r.values, func(v any) bool { return !slices.Contains(c.Values, v) })
		}
	case "not in":
		r.excluded = append(r.excluded, c.Values...)
	case ">", ">=":
		if order, ok := less(c.Values[0], r.low); r.low == nil || ok && order > 0 || order == 0 && ok && c.is == ">" {
			r.low, r.openLow = c.Values[0], c.is == ">"
		}
	case "<", "<=":
		if order, ok := less(c.Values[0], r.high); r.high == nil || ok && order < 0 || order == 0 && ok && c.is == "<" {
			r.high, r.openHigh = c.Values[0], c.is == "<"
		}
	}
	if r.values != nil {
		r.values = slices.DeleteFunc(r.values, func(v any) bool { return slices.Contains(r.excluded, v) || !r.between(v) })
		return len(r.values) > 0
	}
	order, ok := less(r.low, r.high)
	return !ok || order < 0 || order == 0 && !r.openLow && !r.openHigh
}

func (r *reach) between(v any) bool {
	if order, ok := less(v, r.low); ok && (order < 0 || order == 0 && r.openLow) {
		return false
	}
	order, ok := less(v, r.high)
	return !ok || order < 0 || order == 0 && !r.openHigh
}

// clash returns the contradicting claims of a way, in their order, or none. Only holds the possible
// values of subjects.
func (w Way) clash(only map[string][]any) Way {
	known := make(map[string]*reach)
	for i, c := range w {
		r := known[c.Subject]
		if r == nil {
			r = &reach{low: c.bounds[0], high: c.bounds[1], values: slices.Clone(only[c.Subject])}
			if c.Subject != "" {
				known[c.Subject] = r
			}
		}
		if r.narrow(c) {
			continue
		}
		var clash Way
		for _, other := range w[:i+1] {
			if other.Subject == c.Subject && !slices.ContainsFunc(clash, func(o *Claim) bool { return o.Text == other.Text }) {
				clash = append(clash, other)
			}
		}
		return clash
	}
	return nil
}

// Clash returns the claims that make a condition never true, of its first way; none if it may be
// true.
func Clash(ways []Way, only map[string][]any) Way {
	var first Way
	for _, w := range ways {
		found := w.clash(only)
		if found == nil {
			return nil
		}
		if first == nil {
			first = found
		}
	}
	return first
}
