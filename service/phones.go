package service

import (
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"
)

// SamePhone reports whether two numbers, however they are written, reach the same phone. Brazilian
// mobile numbers appear with and without the ninth digit, and with and without the country code.
func SamePhone(a, b string) bool {
	a, b = canonicalPhone(a), canonicalPhone(b)
	return a != "" && a == b
}

// IsPhoneOrID reports whether a text can name a conversation: by a phone number, which has digits
// and what people write between them, or by an id.
func IsPhoneOrID(s string) bool {
	return uuid.Validate(s) == nil || IsPhone(s)
}

// IsPhone reports whether a text can be a phone number.
func IsPhone(s string) bool { return len(digits(s)) >= 8 && !strings.ContainsFunc(s, unicode.IsLetter) }

// PhoneCandidates are the ways to search for a number: as given, its digits, the same with or
// without the ninth digit, and the digits that all its forms share. What is found must still be
// compared with SamePhone.
func PhoneCandidates(phone string) []string {
	d := digits(phone)
	if d == "" {
		return nil
	}
	candidates := []string{strings.TrimSpace(phone), d}
	if area, number, ok := brazilian(phone); ok {
		candidates = append(candidates, "55"+area+number)
		switch {
		case hasNinth(number):
			candidates = append(candidates, "55"+area+number[1:])
		case len(number) == 8 && number[0] >= '6':
			candidates = append(candidates, "55"+area+"9"+number)
		}
		candidates = append(candidates, number[len(number)-8:])
	}
	return unique(candidates)
}

func canonicalPhone(s string) string {
	area, number, ok := brazilian(s)
	if !ok {
		return strings.TrimPrefix(digits(s), "00")
	}
	if hasNinth(number) {
		number = number[1:]
	}
	return "55" + area + number
}

// hasNinth reports whether the first digit of a mobile number is the one added in 2012 to 2016.
// Numbers given out since then, whose second digit is below 6, never had a form without it.
func hasNinth(number string) bool { return len(number) == 9 && number[0] == '9' && number[1] >= '6' }

// brazilian splits a Brazilian number into its area and the rest.
func brazilian(s string) (area, number string, ok bool) {
	d := strings.TrimPrefix(digits(s), "00")
	national := strings.TrimPrefix(d, "0")
	switch {
	case (len(d) == 12 || len(d) == 13) && strings.HasPrefix(d, "55"):
		national = d[2:]
	case strings.HasPrefix(strings.TrimSpace(s), "+"):
		return "", "", false
	}
	if len(national) != 10 && len(national) != 11 {
		return "", "", false
	}
	area, number = national[:2], national[2:]
	// No area has a zero, and nine digits are a mobile number: this tells local numbers from those of
	// other countries.
	if strings.Contains(area, "0") || number[0] < '2' || len(number) == 9 && number[0] != '9' {
		return "", "", false
	}
	return area, number, true
}

func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, s)
}

func unique(list []string) []string {
	var out []string
	for _, s := range list {
		if s != "" && !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}
