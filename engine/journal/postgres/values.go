package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
)

// quotedPrefix begins a text that is stored quoted, because the database refuses it unquoted.
const quotedPrefix = "\x01"

// encodeText returns the stored form of a text. The database refuses zero bytes and invalid UTF-8,
// both of which customers can send.
func encodeText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, quotedPrefix) {
		return s
	}
	return quotedPrefix + strconv.QuoteToASCII(s)
}

// decodeText decodes a stored text.
func decodeText(s string) string {
	if quoted, ok := strings.CutPrefix(s, quotedPrefix); ok {
		if s, err := strconv.Unquote(quoted); err == nil {
			return s
		}
	}
	return s
}

func encodeTexts(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = encodeText(s)
	}
	return out
}

// texts are the values of a column.
type texts []string

func (t *texts) add(s string) { *t = append(*t, encodeText(s)) }

// text scans a stored text into a string.
type text struct{ into *string }

// ScanText implements pgtype.TextScanner.
func (t text) ScanText(v pgtype.Text) error {
	*t.into = decodeText(v.String)
	return nil
}

// numbersText returns the stored form of a list of numbers.
func numbersText(list []int64) string {
	b := []byte{'['}
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

var arrayEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// arrayText returns the literal of an array of texts; nil if it is empty.
func arrayText(list []string) *string {
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	for i, s := range list {
		b.WriteString([]string{`{"`, `","`}[min(i, 1)])
		b.WriteString(arrayEscaper.Replace(encodeText(s)))
	}
	s := b.String() + `"}`
	return &s
}
