package rules

import (
	"errors"
	"fmt"
	"strings"
)

// maxText bounds a text that was put together: the service takes no request over 64 KiB.
const maxText = 64 << 10

// A Value is an argument of a step: a constant, a text with {{ }} in it, one whole {{ expression }} that
// keeps its type, or a list or mapping of values.
type Value struct {
	constant any
	whole    *Expression
	pieces   []piece
	list     []*Value
	fields   []Setting
}

type piece struct {
	text       string
	expression *Expression
	escape     func(string) string // what the expression's text becomes; nil is what it is
}

// A Setting is a value with its name.
type Setting struct {
	Name  string
	Value *Value
}

// String writes the value as it stands in a rule, for people.
func (v *Value) String() string {
	switch {
	case v.whole != nil:
		return "{{ " + v.whole.Text + " }}"
	case v.pieces != nil:
		var b strings.Builder
		for _, p := range v.pieces {
			b.WriteString(p.text)
			if p.expression != nil {
				b.WriteString("{{ " + p.expression.Text + " }}")
			}
		}
		return b.String()
	case v.list != nil:
		parts := make([]string, len(v.list))
		for i, item := range v.list {
			parts[i] = item.String()
		}
		return strings.Join(parts, ", ")
	case v.fields != nil:
		parts := make([]string, len(v.fields))
		for i, f := range v.fields {
			parts[i] = f.Name + ": " + f.Value.String()
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(v.constant)
}

// Constant returns the value where it is written out, without any expression.
func (v *Value) Constant() (any, bool) {
	if v.whole != nil || v.pieces != nil || v.list != nil || v.fields != nil {
		return nil, false
	}
	return v.constant, true
}

// Render works out a value. A text is interpolated once: what comes out of an expression is data.
func (e *Evaluation) Render(v *Value) (any, error) {
	switch {
	case v.whole != nil:
		out, err := e.Value(v.whole)
		if err != nil {
			return nil, v.whole.failed(err)
		}
		return out, nil
	case v.pieces != nil:
		return e.text(v.pieces)
	case v.list != nil:
		out := make([]any, len(v.list))
		for i, item := range v.list {
			var err error
			if out[i], err = e.Render(item); err != nil {
				return nil, err
			}
		}
		return out, nil
	case v.fields != nil:
		out := make(map[string]any, len(v.fields))
		for _, f := range v.fields {
			var err error
			if out[f.Name], err = e.Render(f.Value); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return v.constant, nil
}

func (e *Evaluation) text(pieces []piece) (string, error) {
	var b strings.Builder
	for _, p := range pieces {
		text := p.text
		if p.expression != nil {
			v, err := e.Value(p.expression)
			if err != nil {
				return "", p.expression.failed(err)
			}
			if size(v, 64) > evaluationBudget {
				return "", &ExpressionError{Message: errBudget.Error(), Err: errBudget}
			}
			text = textOf(v)
			if p.escape != nil {
				text = p.escape(text)
			}
		}
		if b.Len()+len(text) > maxText {
			return "", &ExpressionError{Message: fmt.Sprintf("the text is longer than %d KiB", maxText>>10)}
		}
		b.WriteString(text)
	}
	return b.String(), nil
}

// failed says which expression of a step could not be worked out; a text may hold several.
func (x *Expression) failed(err error) error {
	if _, ok := errors.AsType[*ExpressionError](err); !ok {
		return err // asking for a fact failed, whoever asked
	}
	return fmt.Errorf("{{ %v }}: %w", brief(x.Text), err)
}

// A segment is a stretch of a text: plain, or the expression between {{ and }}.
type segment struct {
	text       string
	expression bool
	offset     int // of the text inside the whole
}

// splitTemplate finds the {{ expressions }} of a text, those before a mistake also when there is one. Quotes and
// braces inside an expression are its own.
func splitTemplate(s string) ([]segment, *issue) {
	var segments []segment
	for at := 0; at < len(s); {
		open := strings.Index(s[at:], "{{")
		if open < 0 {
			segments = append(segments, segment{text: s[at:], offset: at})
			break
		}
		if open > 0 {
			segments = append(segments, segment{text: s[at : at+open], offset: at})
		}
		start := at + open + 2
		end := closing(s, start)
		if end < 0 {
			return segments, &issue{at + open, "{{ is never closed with }}", ""}
		}
		inner := s[start:end]
		lead := len(inner) - len(strings.TrimLeft(inner, " \t\r\n"))
		segments = append(segments, segment{text: strings.TrimSpace(inner), expression: true, offset: start + lead})
		at = end + 2
	}
	return segments, nil
}

// closing returns the offset of the }} that ends an expression, or -1.
func closing(s string, at int) int {
	depth := 0
	for at < len(s) {
		switch c := s[at]; c {
		case '"', '\'', '`':
			at = quoted(s, at)
		case '{':
			depth++
		case '}':
			if depth == 0 {
				if strings.HasPrefix(s[at:], "}}") {
					return at
				}
				return -1
			}
			depth--
		}
		at++
	}
	return -1
}

// quoted returns the offset of the quote that ends the one at an offset, or the end of the text or beyond.
func quoted(s string, at int) int {
	quote := s[at]
	for at++; at < len(s) && s[at] != quote; at++ {
		if s[at] == '\\' && quote != '`' {
			at++
		}
	}
	return at
}
