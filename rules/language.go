package rules

import "fmt"

// A Language is one that people are told things in. The zero value is English.
type Language int

// The languages.
const (
	English Language = iota
	Portuguese
)

// Phrases are texts by their keys, in English and in Brazilian Portuguese.
type Phrases map[string][2]string

// Say returns a text with its arguments. A key that there is none for is told as it stands, so that it is noticed.
func (p Phrases) Say(l Language, key string, args ...any) string {
	text, ok := p[key]
	if !ok {
		return "⟦" + key + "⟧"
	}
	if len(args) == 0 {
		return text[l]
	}
	return fmt.Sprintf(text[l], args...)
}
