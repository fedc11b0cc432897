package rules

import (
	"net/url"
	"strings"
)

// escapeAddress has the values of expressions in an address escaped: what a customer wrote is a part of
// one segment of the path, or of one value of the query, and ends neither. An expression at the beginning
// is the address itself.
func escapeAddress(pieces []piece) {
	for i := range pieces {
		if i > 0 && pieces[i].expression != nil {
			pieces[i].escape = escapeValue
		}
	}
}

// escapeValue escapes everything that is no letter, digit, or one of -_.~, for the path and the query alike.
func escapeValue(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
