package rules

import (
	"fmt"
	"strings"
)

// escapeAddress has the values of expressions in an address escaped: what a customer wrote is a
// part of one segment of the path, or of one value of the query, and ends neither. An expression at
// the beginning is the address itself.
func escapeAddress(pieces []piece) {
	for i := range pieces {
		if i > 0 && pieces[i].expression != nil {
			pieces[i].escape = escapeValue
		}
	}
}

// escapeValue escapes everything that is no letter or digit of ASCII, nor one of -_.~, for the path
// and the query alike.
func escapeValue(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("-_.~", c) >= 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}
