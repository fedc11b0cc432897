package sandbox

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// Fault makes an operation fail, or delays it.
type Fault struct {
	// Operation is the method and path of the reference, "*" for any
	// operation, or "delivery" for deliveries to webhooks.
	Operation string `json:"operation"`

	// Kind is status_before or status_after (an error status before or after
	// the operation took effect), drop_before or drop_after (the connection is
	// closed without an answer), delay, or, for deliveries, duplicate, lose (it
	// counts as delivered and never arrives), drop_before or drop_after (an
	// attempt does not arrive, or its answer does not come back).
	Kind string `json:"kind"`

	Status     int      `json:"status,omitempty"`      // default 503
	RetryAfter int      `json:"retry_after,omitempty"` // seconds, for the header Retry-After
	Delay      Duration `json:"delay,omitempty"`
	Share      float64  `json:"share,omitempty"` // of the requests; default all
	Count      int      `json:"count,omitempty"` // how often; default until cleared
}

const deliveryOperation = "delivery"

const (
	before = iota
	after
)

// moments says when each kind of fault applies.
var moments = map[string]int{
	"status_before": before, "drop_before": before, "delay": before, "duplicate": before, "lose": before,
	"status_after": after, "drop_after": after,
}

// AddFault adds a fault. Faults are tried in the order they were added, and a request gets the
// first that matches.
func (s *Sandbox) AddFault(f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, &f)
	return nil
}

// ClearFaults ends all faults.
func (s *Sandbox) ClearFaults() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

// check fills in the fault's defaults and refuses invalid combinations.
func (f *Fault) check() error {
	names := []string{"*", deliveryOperation}
	for _, op := range operations() {
		names = append(names, op.name)
	}
	f.Operation = strings.TrimSpace(f.Operation)
	if !slices.Contains(names, f.Operation) {
		return store.Invalid("there is no operation %q%s", f.Operation, store.DidYouMean(f.Operation, names))
	}
	if _, ok := moments[f.Kind]; !ok {
		kinds := []string{"status_before", "status_after", "drop_before", "drop_after", "delay", "duplicate", "lose"}
		return store.Invalid("kind is one of %s, not %q%s", strings.Join(kinds, ", "), f.Kind, store.DidYouMean(f.Kind, kinds))
	}
	switch own := f.Kind == "duplicate" || f.Kind == "lose"; {
	case own && f.Operation != deliveryOperation:
		return store.Invalid(`the kind %s and the operation "delivery" go together`, f.Kind)
	case f.Operation == deliveryOperation && !own && f.Kind != "drop_before" && f.Kind != "drop_after":
		return store.Invalid(`deliveries suffer duplicate, lose, drop_before and drop_after, not %s`, f.Kind)
	}
	if f.Status == 0 {
		f.Status = http.StatusServiceUnavailable
	}
	if f.Share == 0 {
		f.Share = 1
	}
	switch {
	case f.Status < 400 || f.Status > 599:
		return store.Invalid("status is an error status, 400 to 599, not %d", f.Status)
	case f.Share < 0 || f.Share > 1:
		return store.Invalid("share is a part of 1, not %v", f.Share)
	case f.Count < 0 || f.RetryAfter < 0 || f.Delay < 0:
		return store.Invalid("count, retry_after and delay are not negative")
	case f.Kind == "delay" && f.Delay == 0:
		return store.Invalid(`a fault of kind delay needs a delay such as "2s"`)
	case f.Status == http.StatusTooManyRequests && f.RetryAfter == 0:
		f.RetryAfter = 1 // the reference promises the header
	}
	return nil
}

// pick returns a copy of the fault that applies to a request now, and uses it up by one. The caller
// holds the lock.
func (s *Sandbox) pick(operation string, moment int) *Fault {
	return s.pickOf(operation, func(kind string) bool { return moments[kind] == moment })
}

// pickOf is pick among faults of certain kinds.
func (s *Sandbox) pickOf(operation string, strikes func(kind string) bool) *Fault {
	for i, f := range s.faults {
		fits := f.Operation == operation || f.Operation == "*" && operation != deliveryOperation
		if !fits || !strikes(f.Kind) {
			continue
		}
		if f.Share < 1 && s.shares.Random.Float64() >= f.Share {
			continue
		}
		if f.Count == 1 {
			s.faults = slices.Delete(slices.Clone(s.faults), i, i+1)
		} else if f.Count > 1 {
			f.Count--
		}
		picked := *f
		return &picked
	}
	return nil
}

// faultAfter applies a fault to a request that took effect. Only such a request uses the fault up,
// so that a refused one does not waste it.
func (s *Sandbox) faultAfter(operation string) error {
	s.mu.Lock()
	f := s.pick(operation, after)
	s.mu.Unlock()
	return s.applyFault(context.Background(), f)
}

// applyFault applies a fault. A dropped connection ends the handler.
func (s *Sandbox) applyFault(ctx context.Context, f *Fault) error {
	if f == nil {
		return nil
	}
	switch f.Kind {
	case "delay":
		select {
		case <-time.After(time.Duration(f.Delay)):
		case <-ctx.Done():
		case <-s.stopped.Done():
		}
		return nil
	case "drop_before", "drop_after":
		panic(http.ErrAbortHandler) // the server closes the connection without an answer
	}
	code, ok := codes[f.Status]
	if !ok {
		code = "unavailable"
	}
	return &Error{Status: f.Status, Code: code, Message: "a fault was asked for", RetryAfter: f.RetryAfter}
}

// codes are the error codes of the statuses that a fault can have.
var codes = map[int]string{
	http.StatusBadRequest:            "invalid_request",
	http.StatusUnauthorized:          "unauthorized",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusConflict:              "conflict",
	http.StatusRequestEntityTooLarge: "body_too_large",
	http.StatusPreconditionRequired:  "version_required",
	http.StatusTooManyRequests:       "rate_limited",
	http.StatusServiceUnavailable:    "unavailable",
}
