package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/engine"
)

// outputFlag adds --output to a command.
func outputFlag(cmd *cobra.Command, to *string) {
	cmd.Flags().StringVar(to, "output", "text", "text or json")
}

func checkOutput(output string) error {
	if output != "text" && output != "json" {
		return fmt.Errorf("--output is text or json, not %q", output)
	}
	return nil
}

// writeJSON writes one document. Characters that steer a terminal are escaped there too, which no program notices.
func writeJSON(w io.Writer, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return err
	}
	_, err := w.Write(harmlessJSON(text.Bytes()))
	return err
}

// harmlessJSON escapes what encoding/json leaves as it is. Nothing below DEL can stand raw in a text of a valid document.
func harmlessJSON(text []byte) []byte {
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

// no ends a command whose answer is no, and says why.
func no(cmd *cobra.Command, format string, args ...any) error {
	fmt.Fprintf(cmd.ErrOrStderr(), "quando: %s\n", harmless(fmt.Sprintf(format, args...)))
	return errNo
}
