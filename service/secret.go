package service

import (
	"fmt"
	"io"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a value that must not be printed by accident: every way of printing it gives
// "[redacted]". A caller that needs the value converts it to a string explicitly.
type Secret string

// Format covers every verb of fmt; String alone would let %x through.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// String is "[redacted]", or empty when there is no secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// LogValue keeps the secret out of structured logs.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText keeps the secret out of JSON, as a value and as a key.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
