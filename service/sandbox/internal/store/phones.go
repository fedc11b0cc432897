package store

import "strings"

// phoneDigits returns the digits of a phone number.
func phoneDigits(phone string) string {
	if plain := strings.TrimPrefix(phone, "+"); onlyDigits(plain) {
		return plain // the usual form, without a copy
	}
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return r
		}
		return -1
	}, phone)
}

func onlyDigits(text string) bool {
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// ValidPhone reports whether the text can be a phone number: 8 to 15 digits
// with the usual punctuation.
func ValidPhone(phone string) bool {
	if n := len(phoneDigits(phone)); n < 8 || n > 15 {
		return false
	}
	return strings.Trim(phone, "+-() .0123456789") == "" && strings.LastIndexByte(phone, '+') <= 0
}

// PhoneKey returns a comparison key: equal for two forms of the same number. It is never shown: a
// number stays as it was written.
//
// Brazilian mobile numbers gained a ninth digit, a leading 9, and appear with and without it. Only
// numbers that had eight digits before, which begin with 6 to 9, exist in both forms; dropping the
// 9 from others would turn them into landline numbers.
func PhoneKey(phone string) string {
	d := phoneDigits(phone)
	if !strings.HasPrefix(strings.TrimSpace(phone), "+") && (len(d) == 10 || len(d) == 11) {
		d = "55" + d // written without the country
	}
	if len(d) == 13 && strings.HasPrefix(d, "55") && d[4] == '9' && d[5] >= '6' {
		d = d[:4] + d[5:]
	}
	return d
}

// withNinth returns the longer form of a PhoneKey that has two, or "".
func withNinth(key string) string {
	if len(key) == 12 && strings.HasPrefix(key, "55") && key[4] >= '6' {
		return key[:4] + "9" + key[4:]
	}
	return ""
}
