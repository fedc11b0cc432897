package rules

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/rules/source"
)

// maxText bounds a text that was put together: the service takes no request over 64 KiB.
const maxText = 64 << 10

// A Value is an argument of a step: a constant, a text with {{ }} in it, one whole {{ expression }}
// that keeps its type, or a list or mapping of values.
type Value struct {
	constant any
	whole    *Expression
	text     bool // a time or a duration that the whole expression gives is written as a text
	pieces   []piece
	list     []*Value
	fields   []Setting
}

type piece struct {
	text       string
	expression *Expression
	address    addressPart // the part of a URL that the expression's text is escaped for
}

// A Setting is a value with its name.
type Setting struct {
	Name  string
	Value *Value
}

// String returns the value as written in a rule.
func (v *Value) String() string { return v.words(redact.Everything) }

// Shown returns the value of an argument for readers who may not write rules.
func (v *Value) Shown(name string) string { return v.words(redact.Ordinary.Of(name)) }

func (v *Value) words(s redact.Secrecy) string {
	switch {
	case v.whole != nil:
		return s.Text("{{ " + v.whole.Text + " }}")
	case v.pieces != nil:
		var b strings.Builder
		for _, p := range v.pieces {
			b.WriteString(p.text)
			if p.expression != nil {
				b.WriteString("{{ " + p.expression.Text + " }}")
			}
		}
		return s.Text(b.String())
	case v.list != nil:
		parts := make([]string, len(v.list))
		for i, item := range v.list {
			parts[i] = item.words(s)
		}
		return strings.Join(parts, ", ")
	case v.fields != nil:
		parts := make([]string, len(v.fields))
		for i, f := range v.fields {
			parts[i] = f.Name + ": " + f.Value.words(s.Of(f.Name))
		}
		return strings.Join(parts, ", ")
	}
	return fmt.Sprint(s.Value(v.constant))
}

// Constant returns the value where it is written out, without any expression.
func (v *Value) Constant() (any, bool) {
	if v.whole != nil || v.pieces != nil || v.list != nil || v.fields != nil {
		return nil, false
	}
	return v.constant, true
}

// Render evaluates a value. It interpolates a text once: the result of an expression is data.
func (e *Evaluation) Render(v *Value) (any, error) {
	switch {
	case v.whole != nil:
		out, err := e.Value(v.whole)
		if err != nil {
			return nil, v.whole.failed(err)
		}
		switch out.(type) {
		case time.Time, time.Duration:
			if v.text {
				return TextOf(out), nil
			}
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
	var inPath []int // where the expressions in the path of a URL begin
	for i, p := range pieces {
		text := p.text
		if p.expression != nil {
			v, err := e.Value(p.expression)
			if err != nil {
				return "", p.expression.failed(err)
			}
			if size(v, 64) > evaluationBudget {
				return "", &ExpressionError{Message: errBudget.Error(), Err: errBudget}
			}
			text = TextOf(v)
			if d, ok := v.(time.Duration); ok && e.exact {
				text = duration.Format(d)
			}
			if p.address != notEscaped {
				text = escapeValue(text)
			}
			if p.address == inAddressPath {
				inPath = append(inPath, i, b.Len())
			}
		}
		if b.Len()+len(text) > maxText {
			return "", &ExpressionError{Message: fmt.Sprintf("the text is longer than %d KiB", maxText>>10)}
		}
		b.WriteString(text)
	}
	for at := range slices.Chunk(inPath, 2) {
		if err := checkSegment(b.String(), at[1]); err != nil {
			return "", pieces[at[0]].expression.failed(err)
		}
	}
	return b.String(), nil
}

// failed says which expression of a step could not be worked out; a text may hold several.
func (x *Expression) failed(err error) error {
	if _, ok := errors.AsType[*ExpressionError](err); !ok {
		return err // reading a fact failed
	}
	return fmt.Errorf("{{ %v }}: %w", brief(x.Text), err)
}

// neverClosed reports a {{ at an offset inside a node.
func neverClosed(n *source.Node, offset int) Problem {
	return issue{offset, say("{{ is never closed with }}"), nil}.at(n, 0)
}
