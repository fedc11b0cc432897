package store

import (
	"strings"
	"unicode/utf8"
)

// Search is the text of a parameter q, prepared once for many comparisons.
type Search struct {
	text   string // in lower case
	ascii  bool
	digits string // when it can be part of a phone
	phone  string // the PhoneKey, when it can be a whole phone
	ninth  string // the same with the ninth digit, where such a form exists
}

// NewSearch prepares a search for the text q.
func NewSearch(q string) *Search {
	s := &Search{text: strings.ToLower(q), ascii: isASCII(q)}
	if strings.Trim(q, "+-() .0123456789") == "" {
		s.digits = phoneDigits(q)
		if len(s.digits) >= 10 {
			s.phone = PhoneKey(q)
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

// Empty reports whether the text is empty.
func (s *Search) Empty() bool { return s.text == "" }

// Contains reports whether a text has the search in it, without regard to case.
func (s *Search) Contains(text string) bool {
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

// ContainsPhone reports whether a phone has the search in it, in either form of a
// Brazilian mobile.
func (s *Search) ContainsPhone(phone string) bool {
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
		return PhoneKey(phone) == s.phone
	}
	return digits == s.phone || digits == s.ninth
}

// Matches reports whether the name, the phone or the last message has the
// text in it.
func (c *Conversation) Matches(s *Search) bool {
	return s.Contains(c.Name) || s.ContainsPhone(string(c.Phone)) || c.LastMessage != nil && s.Contains(string(c.LastMessage.Text))
}

// Matches reports whether the name or the phone has the text in it.
func (c *Contact) Matches(s *Search) bool { return s.Contains(c.Name) || s.ContainsPhone(c.Phone) }

// CardMatches looks into the title, the description, and the contact's name
// and phone.
func (st *Store) CardMatches(card *Card, s *Search) bool {
	if s.Contains(card.Title) || s.Contains(string(card.Description)) {
		return true
	}
	contact := st.Contacts[card.ContactID]
	return contact != nil && contact.Matches(s)
}
