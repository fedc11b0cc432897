package plain

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Encode writes a value as encoding/json does: members sorted by name, HTML escaped.
func Encode(v any) ([]byte, error) { return Append(nil, v) }

// Append appends the JSON of a value.
func Append(b []byte, v any) ([]byte, error) { return appendValue(b, v, 0) }

func appendValue(b []byte, v any, depth int) (_ []byte, err error) {
	if depth > Deepest {
		return nil, fmt.Errorf("more than %d lists and objects inside of each other", Deepest)
	}
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case string:
		return appendText(b, v), nil
	case float64:
		return appendNumber(b, v)
	case time.Time:
		return AppendTime(b, v)
	case map[string]any:
		return appendObject(b, v, depth)
	case []any:
		if v == nil {
			return append(b, "null"...), nil
		}
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = appendValue(b, x, depth+1); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	other, err := json.Marshal(v)
	return append(b, other...), err
}

func appendObject(b []byte, object map[string]any, depth int) (_ []byte, err error) {
	if object == nil {
		return append(b, "null"...), nil
	}
	var few [16]string
	names := few[:0]
	for name := range object {
		names = append(names, name)
	}
	slices.Sort(names)
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		if b, err = appendValue(b, object[name], depth+1); err != nil {
			return nil, err
		}
	}
	return append(b, '}'), nil
}

// AppendTime writes a time as encoding/json does.
func AppendTime(b []byte, t time.Time) ([]byte, error) {
	b, err := t.AppendText(append(b, '"'))
	return append(b, '"'), err
}

// appendNumber writes a number as encoding/json does: with an exponent only where it is very small
// or very large.
func appendNumber(b []byte, f float64) ([]byte, error) {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("JSON has no number %v", f)
	}
	if i := int64(f); float64(i) == f && i > -1e15 && i < 1e15 && (i != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(b, i, 10), nil
	}
	if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		other, err := json.Marshal(f)
		return append(b, other...), err
	}
	return strconv.AppendFloat(b, f, 'f', -1, 64), nil
}

const hexDigits = "0123456789abcdef"

// appendText writes a string. Most need no escape.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&' {
				i++
				continue
			}
			b = appendEscape(append(b, s[from:i]...), c)
			i++
			from = i
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			b = append(append(b, s[from:i]...), `\ufffd`...)
			from = i + n
		} else if r == '\u2028' || r == '\u2029' { // ends of lines for JavaScript
			b = append(append(b, s[from:i]...), `\u202`...)
			b = append(b, hexDigits[r&0xf])
			from = i + n
		}
		i += n
	}
	return append(append(b, s[from:]...), '"')
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}
