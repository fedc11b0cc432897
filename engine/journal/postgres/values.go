package postgres

import (
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5/pgtype"
)

// odd begins a text that is kept in quotes, because the database refuses it as it is.
const odd = "\x01"

// keep is how a text is kept. The database takes neither zero bytes nor what is not UTF-8, both of
// which customers can write.
func keep(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 && !strings.HasPrefix(s, odd) {
		return s
	}
	return odd + strconv.QuoteToASCII(s)
}

// kept is a text that was kept.
func kept(s string) string {
	if quoted, ok := strings.CutPrefix(s, odd); ok {
		if s, err := strconv.Unquote(quoted); err == nil {
			return s
		}
	}
	return s
}

func keepAll(texts []string) []string {
	out := make([]string, len(texts))
	for i, s := range texts {
		out[i] = keep(s)
	}
	return out
}

// texts are the values of a column.
type texts []string

func (t *texts) add(s string) { *t = append(*t, keep(s)) }

// text reads a text that was kept into a string.
type text struct{ into *string }

// ScanText is for pgx.
func (t text) ScanText(v pgtype.Text) error {
	*t.into = kept(v.String)
	return nil
}

// numbers is how a list of numbers is kept.
func numbers(list []int64) string {
	b := []byte{'['}
	for i, n := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, n, 10)
	}
	return string(append(b, ']'))
}

var quoted = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// arrayText is a list of texts as the database writes it; an empty one is nil.
func arrayText(list []string) *string {
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	for i, s := range list {
		b.WriteString([]string{`{"`, `","`}[min(i, 1)])
		b.WriteString(quoted.Replace(keep(s)))
	}
	s := b.String() + `"}`
	return &s
}
