package sentence

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/expr-lang/expr/parser/operator"

	"github.com/quandohq/quando/rules/internal/template"
)

// Print returns the expression of a condition. It is empty where there is no condition.
func Print(c Condition) string { return printer{}.condition(c, loosest) }

// PrintValue returns the expression of a term.
func PrintValue(t Term) string { return printer{}.term(t, "value", loosest) }

// PrintAll returns the expressions that must all be true for a condition.
func PrintAll(c Condition) []string {
	parts := []Condition{c}
	if c.Group == All {
		parts = c.Of
	}
	var out []string
	for _, part := range parts {
		if text := Print(part); text != "" {
			out = append(out, text)
		}
	}
	return out
}

// Write returns the expression of a condition that was read from another one and perhaps changed:
// the same text where it was not.
func Write(was string, c Condition) string {
	if Read(was).Same(c) {
		return was
	}
	return Print(c)
}

// WriteAll does the same for the conditions of a rule. Those that are still there keep their texts.
func WriteAll(was []string, c Condition) []string {
	if ReadAll(was).Same(c) {
		return was
	}
	texts := map[string]string{}
	for _, x := range was {
		texts[Print(Read(x))] = x
	}
	out := PrintAll(c)
	for i, x := range out {
		if old, ok := texts[x]; ok {
			out[i] = old
		}
	}
	return out
}

// A printer writes expressions. Texts are in double quotes unless it says otherwise.
type printer struct{ single bool }

func (p printer) condition(c Condition, around int) string {
	switch {
	case c.Group != "":
		return p.group(c, around)
	case c.Hand != "" && around == loosest:
		return c.Hand
	case c.Hand != "":
		return "(" + c.Hand + ")"
	}
	form := whole().byKey[0][c.Sentence]
	if form == nil {
		return ""
	}
	if c.Not {
		form = form.contrary
	}
	return p.fill(form, c.Blanks, around)
}

func (p printer) group(c Condition, around int) string {
	joined, binds := " and ", operator.Binary["and"].Precedence
	if c.Group != All {
		joined, binds = " or ", operator.Binary["or"].Precedence
	}
	of := slices.DeleteFunc(slices.Clone(c.Of), func(part Condition) bool { return Print(part) == "" })
	if len(of) == 1 && c.Group != None {
		return p.condition(of[0], around)
	}
	var parts []string
	for _, part := range of {
		inside := binds + 1
		if len(of) == 1 {
			inside = loosest
		} else if part.Group == All || part.Group == Any {
			inside = strongest // and beside or is easily misread
		}
		parts = append(parts, p.condition(part, inside))
	}
	text := strings.Join(parts, joined)
	switch {
	case len(parts) == 0:
		return ""
	case c.Group == None:
		return enclosed("not ("+text+")", operator.Unary["not"].Precedence, around)
	}
	return enclosed(text, binds, around)
}

// enclosed puts parentheses around what binds less strongly than is needed.
func enclosed(text string, binds, around int) string {
	if binds < around {
		return "(" + text + ")"
	}
	return text
}

// fill prints a pattern with its blanks.
func (p printer) fill(form *pattern, blanks map[string]Term, around int) string {
	alone := len(form.segments) == 3 && form.segments[0].words == "" && form.segments[2].words == ""
	var b strings.Builder
	for _, s := range form.segments {
		if s.blank == "" {
			b.WriteString(s.words)
			continue
		}
		t := blanks[s.blank]
		kind := form.form.kindOf(s.blank)
		binds := s.binds
		if alone {
			binds = around
		}
		b.WriteString(p.term(t, kind, binds))
	}
	if alone {
		return b.String()
	}
	return enclosed(b.String(), form.binds, around)
}

// kindOf returns the kind of a blank.
func (f *Form) kindOf(blank string) string {
	for _, b := range f.Blanks {
		if b.Name == blank {
			return b.Kind
		}
	}
	return ""
}

// term prints what fills a blank of a kind.
func (p printer) term(t Term, kind string, around int) string {
	if n := len(t.Wraps); n > 0 {
		form := whole().byKey[1][t.Wraps[n-1]]
		if form == nil {
			return ""
		}
		inner := t
		inner.Wraps = t.Wraps[:n-1]
		return p.fill(form, map[string]Term{"x": inner}, around)
	}
	switch t.Kind {
	case Text:
		return p.quote(t.Text)
	case Duration:
		if kind == "span" {
			return p.quote(t.Text)
		}
		return "duration(" + p.quote(t.Text) + ")"
	case Date:
		return "date(" + p.quote(t.Text) + ")"
	case Number:
		if strings.HasPrefix(t.Text, "-") {
			return enclosed(t.Text, operator.Unary["-"].Precedence, around)
		}
		return enclosed(t.Text, strongest-1, around) // 1.Hours() is no expression
	case List:
		var items []string
		for _, item := range t.List {
			items = append(items, p.term(item, "value", loosest))
		}
		if kind == "words" {
			return strings.Join(items, ", ")
		}
		return "[" + strings.Join(items, ", ") + "]"
	case Value:
		if form := whole().byKey[1][t.Value]; form != nil {
			return p.fill(form, t.Blanks, around)
		}
	case Question:
		if t.Condition != nil {
			return p.condition(*t.Condition, around)
		}
	case Hand:
		if around > loosest {
			return "(" + t.Text + ")"
		}
		return t.Text
	case Name, Flag:
		return t.Text
	}
	return ""
}

// quote writes a text as an expression does.
func (p printer) quote(text string) string {
	q := strconv.Quote(text)
	if !p.single {
		return q
	}
	return "'" + strings.ReplaceAll(strings.ReplaceAll(q[1:len(q)-1], `\"`, `"`), "'", `\'`) + "'"
}

// quoted returns the offset of the quote that ends the one at an offset.
func quoted(text string, at int) int { return template.Quoted(text, at) }

// blankNames returns the names of blanks in a fixed order.
func blankNames(blanks map[string]Term) []string { return slices.Sorted(maps.Keys(blanks)) }
