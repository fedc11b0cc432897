package sentence

import (
	"maps"
	"strings"
)

// At returns the term that a piece's blank names.
func (c Condition) At(blank string) (Term, bool) {
	if blank == handBlank {
		return Term{Kind: Hand, Text: c.Hand}, c.Hand != ""
	}
	name, rest, more := strings.Cut(blank, ".")
	t, ok := c.Blanks[name]
	if !ok || !more {
		return t, ok
	}
	return t.at(rest)
}

func (t Term) at(blank string) (Term, bool) {
	name, rest, more := strings.Cut(blank, ".")
	if t.Kind == Question && name == string(Question) && more {
		return t.Condition.At(rest)
	}
	inner, ok := t.Blanks[name]
	if !ok || !more {
		return inner, ok
	}
	return inner.at(rest)
}

// With returns the condition with another term in a blank that a piece names. A name that it does
// not have changes nothing.
func (c Condition) With(blank string, t Term) Condition {
	if _, ok := c.At(blank); !ok {
		return c
	}
	if blank == handBlank {
		c.Hand = t.Text
		return c
	}
	name, rest, more := strings.Cut(blank, ".")
	c.Blanks = maps.Clone(c.Blanks)
	if more {
		t = c.Blanks[name].with(rest, t)
	}
	c.Blanks[name] = t
	return c
}

func (t Term) with(blank string, other Term) Term {
	name, rest, more := strings.Cut(blank, ".")
	if t.Kind == Question && name == string(Question) && more {
		c := t.Condition.With(rest, other)
		t.Condition = &c
		return t
	}
	t.Blanks = maps.Clone(t.Blanks)
	if more {
		other = t.Blanks[name].with(rest, other)
	}
	t.Blanks[name] = other
	return t
}

// handBlank is the blank of a condition by hand.
const handBlank = "hand"
