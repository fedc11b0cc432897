package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/quandohq/quando/engine"
)

// WriteJSON writes one document. Characters that steer a terminal are escaped there too, which no
// program notices.
func WriteJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(EscapeJSON(text.Bytes()))
	return err
}

// EscapeJSON escapes what encoding/json leaves as it is. Nothing below DEL can stand raw in a text
// of a valid document.
func EscapeJSON(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case r < 0x7f || !engine.Steers(r) && (r != utf8.RuneError || size > 1):
			out = append(out, text[i:i+size]...)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
		i += size
	}
	return out
}
