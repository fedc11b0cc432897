package sandbox

import (
	"strings"
	"unicode/utf8"
)

// search is the text of a parameter q, prepared once because it is held
// against many objects.
type search struct {
	text   string // in lower case
	ascii  bool
	digits string // when it can be part of a phone
	phone  string // the phoneKey, when it can be a whole phone
	ninth  string // the same with the ninth digit, where such a form exists
}

func newSearch(q string) *search {
	s := &search{text: strings.ToLower(q), ascii: isASCII(q)}
	if strings.Trim(q, "+-() .0123456789") == "" {
		s.digits = phoneDigits(q)
		if len(s.digits) >= 10 {
			s.phone = phoneKey(q)
			s.ninth = withNinth(s.phone)
		}
	}
	return s
}

func isASCII(text string) bool {
	for i := range len(text) {
		if text[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// empty reports whether there is nothing to look for.
func (s *search) empty() bool { return s.text == "" }

// in reports whether a text has the search in it, without regard to case.
func (s *search) in(text string) bool {
	if len(text) < len(s.text) {
		return false
	}
	if !s.ascii {
		return strings.Contains(strings.ToLower(text), s.text)
	}
	first := s.text[0]
	for i := 0; i+len(s.text) <= len(text); i++ {
		if lower(text[i]) == first && sameASCII(text[i:i+len(s.text)], s.text) {
			return true
		}
	}
	return false
}

// sameASCII compares a text with one in lower case.
func sameASCII(text, want string) bool {
	for i := range len(want) {
		if lower(text[i]) != want[i] {
			return false
		}
	}
	return true
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// inPhone reports whether a phone has the search in it, in either form of a
// Brazilian mobile.
func (s *search) inPhone(phone string) bool {
	if s.digits == "" || phone == "" {
		return false
	}
	digits := phoneDigits(phone)
	switch {
	case strings.Contains(digits, s.digits):
		return true
	case s.phone == "":
		return false
	case len(digits) < 12: // written without the country
		return phoneKey(phone) == s.phone
	}
	return digits == s.phone || digits == s.ninth
}
