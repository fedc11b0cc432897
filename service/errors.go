package service

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CodeVersionConflict is the one error code that the reference names.
const CodeVersionConflict = "version_conflict"

// Error is a call that did not succeed. Every error of a Client's call is one, found with
// errors.As.
type Error struct {
	Op         string        // "POST /conversations/{id}/messages"
	Status     int           // 0 when there was no answer
	Code       string        // the service's word for it, such as version_conflict
	Message    string        // the service's sentence, or ours when the error is local
	RetryAfter time.Duration // how long the service asks to wait; set with every 429
	Scope      string        // the scope the operation needs

	// Uncertain says that the call may have had its effect. A refused connection or a 4xx is certain:
	// nothing happened. A timeout, a connection that broke after the request was sent, and any 5xx are
	// uncertain. A read has no effect, so it is never uncertain.
	Uncertain bool

	// Pending says of a 409 that an earlier call with the same Idempotency-Key may still hold its
	// reservation: read the card before anything else, and use a new key only if it is not in the
	// intended state.
	Pending bool

	// Local says that the request was refused here and never sent.
	Local bool

	Err error // the cause, when there was no usable answer
}

func (e *Error) Error() string {
	what := e.Code
	if what == "" && e.Status != 0 {
		what = strings.ToLower(http.StatusText(e.Status))
	}
	if e.Status != 0 && !e.Local {
		what = strings.TrimSpace(strconv.Itoa(e.Status) + " " + what)
	}
	parts := []string{e.Op}
	for _, part := range []string{what, e.Message} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	s := strings.Join(parts, ": ")
	if h := e.Hint(); h != "" {
		s += " (" + h + ")"
	}
	return s
}

// Brief describes the error without any text of the service or of the call: operation, status,
// code. It may be logged.
func (e *Error) Brief() string {
	what := e.Code
	if what == "" && e.Status != 0 {
		what = strings.ToLower(http.StatusText(e.Status))
	}
	if e.Status == 0 {
		if what = "no answer"; errors.Is(e.Err, context.DeadlineExceeded) {
			what = "no answer in time"
		}
	} else if !e.Local {
		what = strconv.Itoa(e.Status) + " " + what
	}
	return e.Op + ": " + what
}

// Unwrap is the cause: a context's error, a network error, a decoding error.
func (e *Error) Unwrap() error { return e.Err }

// Hint says what to do next, if known.
func (e *Error) Hint() string {
	switch {
	case e.Local && e.Status != http.StatusTooManyRequests:
		return ""
	case e.Status == http.StatusUnauthorized:
		return "the service calls the API key invalid, expired or revoked: check api_key"
	case e.Status == http.StatusForbidden && e.Scope != "":
		return "the API key needs the scope " + e.Scope
	case e.Status == http.StatusPreconditionRequired:
		return "read the card and send its version"
	case e.Status == http.StatusTooManyRequests:
		return "wait " + e.RetryAfter.String()
	case e.Status >= 300 && e.Status < 400:
		return "redirects are not followed: set base_url to the final address"
	case e.Uncertain:
		return "it may have taken effect: look before repeating a call without a key"
	}
	return ""
}

// IsNotFound reports whether the service says that the object is not there (404).
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsRefused reports whether the service refuses the key (401) or its permissions (403): no retry
// helps until a person acts.
func IsRefused(err error) bool {
	return hasStatus(err, http.StatusUnauthorized) || hasStatus(err, http.StatusForbidden)
}

// IsVersionConflict reports whether a card was changed since its version was read.
func IsVersionConflict(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusConflict && e.Code == CodeVersionConflict
}

// IsUncertain reports whether the failed call may have had its effect.
func IsUncertain(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Uncertain
}

// IsTemporary reports whether the same call may succeed later: 429, 5xx, timeouts, broken
// connections, answers that could not be read. A context ended by the caller is not temporary.
func IsTemporary(err error) bool {
	e, ok := errors.AsType[*Error](err)
	if !ok || errors.Is(err, context.Canceled) {
		return false
	}
	if e.Local {
		return e.Status == http.StatusTooManyRequests
	}
	return e.Status == http.StatusTooManyRequests || e.Status >= 500 || (e.Err != nil && e.Status < 300)
}

func hasStatus(err error, status int) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == status && !e.Local
}

// invalid is the error for a request that the service would refuse with 400, refused here with an
// explanation.
func invalid(o Operation, format string, args ...any) *Error {
	return &Error{Op: o.String(), Status: http.StatusBadRequest, Code: "invalid_request", Message: fmt.Sprintf(format, args...), Scope: o.Scope, Local: true}
}
