package engine

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"syscall"
)

// Discreet returns what a log may say of an error. Messages, names and phones of customers belong
// in the journal, which can erase them, and an error may quote any of these. So the log gets the
// text of an error only if the error declares that it holds no customer data, or if it comes from
// the operating system. Of any other error it gets the type, and the commands that show the text.
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

// phones matches the names of lanes that contain a phone.
var phones = regexp.MustCompile(`phone:[0-9]+`)

// WithoutPhones returns a text without the phones in the names of lanes.
func WithoutPhones(s string) string {
	if !strings.Contains(s, "phone:") {
		return s // the usual case
	}
	return phones.ReplaceAllString(s, "phone:…")
}
