// Package template finds the {{ expressions }} of a text.
package template

import (
	"strings"
	"unicode"
)

// A Segment is a stretch of a text: plain, or the expression between {{ and }}.
type Segment struct {
	Text       string
	Expression bool
	Offset     int // of the text inside the whole
}

// Split finds the {{ expressions }} of a text. Quotes and braces inside an expression belong to it.
// Unclosed is the offset of a {{ without }}, with the segments before it, or -1.
func Split(s string) (segments []Segment, unclosed int) {
	for at := 0; at < len(s); {
		open := strings.Index(s[at:], "{{")
		if open < 0 {
			segments = append(segments, Segment{Text: s[at:], Offset: at})
			break
		}
		if open > 0 {
			segments = append(segments, Segment{Text: s[at : at+open], Offset: at})
		}
		start := at + open + 2
		end := closing(s, start)
		if end < 0 {
			return segments, at + open
		}
		inner := s[start:end]
		lead := len(inner) - len(strings.TrimLeftFunc(inner, unicode.IsSpace))
		segments = append(segments, Segment{Text: strings.TrimSpace(inner), Expression: true, Offset: start + lead})
		at = end + 2
	}
	return segments, -1
}

// closing returns the offset of the }} that ends an expression, or -1.
func closing(s string, at int) int {
	depth := 0
	for at < len(s) {
		switch c := s[at]; c {
		case '"', '\'', '`':
			at = Quoted(s, at)
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

// Quoted returns the offset of the quote that ends the one at an offset, or the end of the text or
// beyond.
func Quoted(s string, at int) int {
	quote := s[at]
	for at++; at < len(s) && s[at] != quote; at++ {
		if s[at] == '\\' && quote != '`' {
			at++
		}
	}
	return at
}
