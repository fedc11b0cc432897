package engine

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"syscall"
)

// Discreet says of an error what may be written into a log. What customers write, their names and phones belong into the journal, which forgets them, and nowhere else; and an
// error may quote any of it. So only what an error says of itself that it holds no data is told, and what the system says; the rest is in the journal.
func Discreet(err error) string {
	if err == nil {
		return ""
	}
	var brief interface{ Brief() string }
	if errors.As(err, &brief) {
		return brief.Brief()
	}
	var number syscall.Errno
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "it took too long"
	case errors.Is(err, context.Canceled):
		return "it was broken off"
	case errors.As(err, &number):
		return number.Error()
	}
	return "the journal tells: quando runs, quando events"
}

// phones are lanes that are named by a phone.
var phones = regexp.MustCompile(`phone:[0-9]+`)

// WithoutPhones returns a text of our own without the phones by which lanes are named.
func WithoutPhones(s string) string {
	if !strings.Contains(s, "phone:") {
		return s // as most are
	}
	return phones.ReplaceAllString(s, "phone:…")
}
