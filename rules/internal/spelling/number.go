package spelling

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	digitGroups = regexp.MustCompile(`[0-9]+(?:[.,][0-9]+)*`)
	// minusBefore ends with the sign of a number, which may stand before a currency.
	minusBefore = regexp.MustCompile(`(?:^|[^\pL\pN])[-−](?:[A-Za-z]{0,2}[$€£] ?)?$`)
	pointBefore = regexp.MustCompile(`(?:^|[\s$€£(])[-−]?[.,]$`)
)

// maxSign is more bytes than what stands between the sign of a number and its digits.
const maxSign = 16

// FirstNumber returns the first number in a text. It skips digits that are written like no number,
// such as a date.
func FirstNumber(text string) (float64, bool) {
	for at := 0; at < len(text); {
		match := digitGroups.FindStringIndex(text[at:])
		if match == nil {
			break
		}
		begin, end := at+match[0], at+match[1]
		at = end
		plain, ok := plainNumber(text[begin:end])
		if !ok {
			continue
		}
		before := lastBytes(text[:begin], maxSign)
		if pointBefore.MatchString(before) && !strings.Contains(plain, ".") {
			plain, before = "0."+plain, before[:len(before)-1]
		}
		if minusBefore.MatchString(before) {
			plain = "-" + plain
		}
		if n, err := strconv.ParseFloat(plain, 64); err == nil {
			return n, true
		}
	}
	return 0, false
}

// lastBytes returns the end of a text, in whole characters.
func lastBytes(s string, most int) string {
	from := max(0, len(s)-most)
	for from < len(s) && !utf8.RuneStart(s[from]) {
		from++
	}
	return s[from:]
}

// plainNumber writes groups of digits as ParseFloat reads them. What stands between thousands and
// what before decimals is known by where it stands: with both, the last one is before decimals; one
// alone is before decimals, unless exactly three digits follow it, as in 1.234.
func plainNumber(s string) (string, bool) {
	last := strings.LastIndexAny(s, ".,")
	if last < 0 {
		return s, true
	}
	separator := s[last : last+1]
	whole, decimals := s[:last], s[last+1:]
	alone := !strings.ContainsAny(whole, ".,")
	switch {
	case alone && (len(decimals) != 3 || len(whole) > 3 || whole[0] == '0'):
		return whole + "." + decimals, true
	case strings.Contains(whole, separator) || alone:
		// All of them are between thousands.
		whole, decimals = s, ""
	default:
		separator = strings.Trim(".,", separator)
	}
	groups := strings.Split(whole, separator)
	for i, group := range groups {
		if strings.ContainsFunc(group, unicode.IsPunct) || i > 0 && len(group) != 3 || i == 0 && len(group) > 3 {
			return "", false
		}
	}
	whole = strings.Join(groups, "")
	if decimals != "" {
		whole += "." + decimals
	}
	return whole, true
}
