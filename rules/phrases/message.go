package phrases

import (
	"errors"
	"fmt"
	"strings"
)

// A Message is a text that is told at once and never recorded, such as what is wrong with a rule.
// It stands in the program in English, as a format of package fmt; the tables of problems have the
// format in Portuguese. The nil message says nothing. A message can be an error.
type Message struct {
	format  string
	args    []any
	english string
}

// Sprintf returns the message of an English format. Arguments that can be told in another language
// are, such as words, lists, other messages and errors that are messages.
func Sprintf(format string, args ...any) *Message {
	return &Message{format, args, fmt.Sprintf(format, args...)}
}

// In returns the message in a language.
func (m *Message) In(l Language) string {
	if m == nil {
		return ""
	}
	if l == English {
		return m.english
	}
	format, known := problem(m.format)
	if !known {
		format = m.format // nothing but arguments
	}
	args := make([]any, len(m.args))
	for i, a := range m.args {
		args[i] = argumentIn(l, a)
	}
	return fmt.Sprintf(format, args...)
}

// String returns the message in English.
func (m *Message) String() string { return m.In(English) }

func (m *Message) Error() string { return m.In(English) }

// told is what can be told in each language.
type told interface{ In(l Language) string }

func argumentIn(l Language, a any) any {
	if t, ok := a.(told); ok {
		return t.In(l)
	}
	err, _ := a.(error)
	if m, ok := errors.AsType[*Message](err); ok && m.Error() == err.Error() {
		return m.In(l)
	}
	return a
}

// A Word is a fixed text inside of messages. One that the tables of problems do not have, such as a
// key of the language, is the same in every language.
type Word string

// In returns the word in a language.
func (w Word) In(l Language) string {
	if text, known := problem(string(w)); known && l == Portuguese {
		return text
	}
	return string(w)
}

// Message returns the word as a message; nil where it is empty.
func (w Word) Message() *Message {
	if w == "" {
		return nil
	}
	return Sprintf("%s", w)
}

// A List is names that are told as a, b and c.
type List struct {
	names []string
	last  Word // what stands before the last of them
}

// And returns a list of all of the names.
func And(names []string) List { return List{names, "and"} }

// Or returns a list of which one is meant.
func Or(names []string) List { return List{names, "or"} }

// In returns the list in a language.
func (list List) In(l Language) string {
	n := len(list.names)
	switch n {
	case 0:
		return Word("nothing").In(l)
	case 1:
		return list.names[0]
	}
	return strings.Join(list.names[:n-1], ", ") + " " + list.last.In(l) + " " + list.names[n-1]
}

// String returns the list in English.
func (list List) String() string { return list.In(English) }

// problem returns the Portuguese of a text of problems.
func problem(english string) (portuguese string, known bool) {
	for _, part := range problems {
		if portuguese, known = part[english]; known {
			break
		}
	}
	return portuguese, known
}
