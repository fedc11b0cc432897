package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
)

// Discreet returns what a log may say of an error. What customers write, their names and phones
// belong into the journal, which can forget them, and an error may quote any of it. So the log has
// only what an error says of itself that it holds no data, and what the system says; of any other
// error it has the type, and the commands that show the text.
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
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	return fmt.Sprintf("withheld (%T): quando runs and quando events show it", cause)
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
