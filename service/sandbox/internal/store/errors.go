package store

import (
	"fmt"
	"net/http"
)

// Error is a refusal by the service.
type Error struct {
	Status     int    `json:"-"`
	Code       string `json:"code"`
	Message    string `json:"message"`
	RetryAfter int    `json:"-"` // seconds
}

func (e *Error) Error() string { return e.Message }

// Invalid refuses a call whose request is wrong.
func Invalid(format string, args ...any) *Error {
	return &Error{Status: http.StatusBadRequest, Code: "invalid_request", Message: fmt.Sprintf(format, args...)}
}

// NotFound refuses a call that names an object which is not there.
func NotFound(what string, id any) *Error {
	return &Error{Status: http.StatusNotFound, Code: "not_found", Message: fmt.Sprintf("there is no %s %v", what, id)}
}

// Conflict refuses a call that the state of an object does not allow.
func Conflict(format string, args ...any) *Error {
	return &Error{Status: http.StatusConflict, Code: "conflict", Message: fmt.Sprintf(format, args...)}
}
