// Package phrases has every text for people that exists in more than one language: what conditions
// found, why something was or was not done, what a verb did, explanations, the console's pages.
package phrases

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// A Language is one that people are told things in. The zero value is English.
type Language int

// The languages.
const (
	English Language = iota
	Portuguese
	languages
)

// A Code names a text of the catalogue. Codes of reasons are recorded in journals: they keep their
// meaning and the order of their arguments.
type Code string

// A Phrase is a text of the catalogue with its arguments: texts, whole numbers and other phrases.
// Without a code it is a text that others wrote, such as a rule or the service, and is the same in
// every language. The nil phrase says nothing. A phrase can be an error, which says it in English.
type Phrase struct {
	Code Code  `json:"code"`
	Args []any `json:"args,omitempty"`
}

// New returns the phrase of a code. An argument that is an error is a phrase where the error is
// one.
func New(code Code, args ...any) *Phrase {
	p := &Phrase{Code: code}
	for _, a := range args {
		p.Args = append(p.Args, argument(a))
	}
	return p
}

// Text returns a text that others wrote; nil where it is empty.
func Text(s string) *Phrase {
	if s == "" {
		return nil
	}
	return &Phrase{Args: []any{s}}
}

// Of returns what an error says. A phrase that other words were put before stays a phrase.
func Of(err error) *Phrase {
	p, ok := errors.AsType[*Phrase](err)
	if has, is := errors.AsType[phrased](err); is && !ok {
		p, ok = has.Phrase(), true
	}
	if !ok {
		return Text(err.Error())
	}
	switch before, found := strings.CutSuffix(err.Error(), p.In(English)); {
	case !found:
		return Text(err.Error())
	case before == "":
		return p
	default:
		return New(Within, before, p)
	}
}

// phrased is an error that can be said as a phrase.
type phrased interface {
	error
	Phrase() *Phrase
}

// argument returns an argument in the form that JSON gives it back in.
func argument(v any) any {
	switch v := v.(type) {
	case string, int64:
		return v
	case int:
		return int64(v)
	case *Phrase:
		if v.Coded() == nil {
			return v.In(English)
		}
		return v
	case error:
		return argument(Of(v))
	}
	return fmt.Sprint(v)
}

// Coded returns the phrase where it has a code, to be recorded beside its English text, else nil.
func (p *Phrase) Coded() *Phrase {
	if p == nil || p.Code == "" {
		return nil
	}
	return p
}

// In returns the phrase in a language; nothing where the catalogue does not have its code.
func (p *Phrase) In(l Language) string {
	switch {
	case p == nil:
		return ""
	case p.Code == "":
		return fmt.Sprint(p.Args...)
	}
	format, ok := lookUp(p.Code)
	if !ok || l < 0 || l >= languages {
		return ""
	}
	args := make([]any, len(p.Args))
	for i, a := range p.Args {
		args[i] = a
		if inner, ok := a.(*Phrase); ok {
			args[i] = inner.In(l)
		}
	}
	return format.with(l, args)
}

// String returns the phrase in English, as it is recorded.
func (p *Phrase) String() string { return p.In(English) }

func (p *Phrase) Error() string { return p.In(English) }

// UnmarshalJSON reads a phrase whose arguments are texts, numbers and phrases.
func (p *Phrase) UnmarshalJSON(data []byte) error {
	var raw struct {
		Code Code
		Args []json.RawMessage
	}
	if err := json.Unmarshal(data, &raw); err != nil {
		return err
	}
	*p = Phrase{Code: raw.Code}
	for _, a := range raw.Args {
		v, err := readArgument(a)
		if err != nil {
			return err
		}
		p.Args = append(p.Args, v)
	}
	return nil
}

func readArgument(raw json.RawMessage) (any, error) {
	if strings.HasPrefix(string(raw), "{") {
		inner := &Phrase{}
		return inner, json.Unmarshal(raw, inner)
	}
	var n int64
	if json.Unmarshal(raw, &n) == nil {
		return n, nil
	}
	var v any
	err := json.Unmarshal(raw, &v)
	return argument(v), err
}

// Recorded returns a recorded text as the phrase that was recorded beside it. A text without one,
// or with one that says something else, is one that others wrote: an engine of another version, or
// the forgetting of a person, may have changed the text alone.
func Recorded(text string, why *Phrase) *Phrase {
	if why != nil && why.In(English) == text {
		return why
	}
	return Text(text)
}

// Told puts a recorded text into a language by the phrase that was recorded beside it.
func Told(l Language, text string, why *Phrase) string {
	if l == English {
		return text
	}
	return Recorded(text, why).In(l)
}

// Say returns a text of the catalogue. A code that it does not have is told as it stands, so that
// it is noticed.
func Say(l Language, code Code, args ...any) string {
	format, ok := lookUp(code)
	if !ok {
		return "⟦" + string(code) + "⟧"
	}
	return format.with(l, args)
}

// Knows reports whether the catalogue has a code.
func Knows(code Code) bool { _, ok := lookUp(code); return ok }
