package ruletest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
)

// An outside imitates every system but the service: it records each call of http_request and
// answers it. There is no network behind it.
type outside struct {
	now  func() time.Time
	done func() int // how many effects the service has had

	mu      sync.Mutex
	calls   []outsideCall
	keys    map[string]bool
	answers []outsideAnswer // a later one counts before those in front of it
}

// An outsideCall is a call, with how many effects the service had before it.
type outsideCall struct {
	effect Effect
	after  int
}

// An outsideAnswer is what an address answers.
type outsideAnswer struct {
	url    string
	status int
	kind   string // of the body
	body   []byte
	fails  string // how it fails to answer; empty if it answers
}

// RoundTrip answers a call. A repeat has the same key and does not count again.
func (o *outside) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		var err error
		if body, err = io.ReadAll(r.Body); err != nil {
			return nil, err
		}
		_ = r.Body.Close() // it was read
	}
	args := map[string]any{"method": r.Method, "url": r.URL.String()}
	if data := value(body); data != nil {
		args["json"] = data
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	answer := emptyAnswer()
	for _, a := range o.answers {
		if address, _, _ := strings.Cut(r.URL.String(), "?"); a.url == r.URL.String() || a.url == address {
			answer = a
		}
	}
	if answer.fails == "unreachable" {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	if key := keyOf(r.Header); !o.keys[key] {
		o.keys[key] = key != ""
		o.calls = append(o.calls, outsideCall{Effect{Verb: vocabulary.HTTPRequest, On: r.URL.Host, Args: args, At: o.now()}, o.done()})
	}
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GotConn != nil {
		trace.GotConn(httptrace.GotConnInfo{}) // from here on the call may have had its effect
	}
	if answer.fails == "timeout" {
		return nil, context.DeadlineExceeded
	}
	return &http.Response{
		StatusCode: answer.status, Status: strconv.Itoa(answer.status) + " " + http.StatusText(answer.status), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {answer.kind}}, ContentLength: int64(len(answer.body)), Body: io.NopCloser(bytes.NewReader(answer.body)),
	}, nil
}

// emptyAnswer is what every address answers unless a story says otherwise.
func emptyAnswer() outsideAnswer {
	return outsideAnswer{status: http.StatusOK, kind: "application/json", body: []byte("{}")}
}

// hasQuery reports whether the query of an address has the expected values. One that is expected to
// be null is not there, and one with several values is a list.
func hasQuery(want any, address string) bool {
	u, err := url.Parse(address)
	expected, ok := want.(map[string]any)
	if err != nil || !ok {
		return false
	}
	for name, v := range expected {
		is := u.Query()[name]
		list, several := v.([]any)
		if !several && v != nil {
			list = []any{v}
		}
		if !slices.EqualFunc(list, is, func(want any, is string) bool {
			pattern, described := want.(map[string]any)
			return described && isPattern(pattern) && matchesPattern(pattern, is) || !described && text(want) == is
		}) {
			return false
		}
	}
	return true
}

// keyOf returns the key of a call, however its header is spelt.
func keyOf(h http.Header) string {
	for name, values := range h {
		if strings.EqualFold(name, "Idempotency-Key") {
			return strings.Join(values, ",")
		}
	}
	return ""
}

// answer sets what an address answers from now on, instead of 200 with an empty object.
func (o *outside) answer(fields map[string]any) error {
	a := emptyAnswer()
	a.url, a.fails = text(fields["url"]), text(fields["fails"])
	if status, ok := fields["status"]; ok {
		var err error
		if a.status, err = strconv.Atoi(text(status)); err != nil {
			return fmt.Errorf("answer: status: %w", err)
		}
	}
	if data, ok := fields["json"]; ok {
		var err error
		if a.body, err = json.Marshal(data); err != nil {
			return fmt.Errorf("answer: json: %w", err)
		}
	}
	if body, ok := fields["text"]; ok {
		a.kind, a.body = "text/plain; charset=utf-8", []byte(text(body))
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.answers = append(o.answers, a)
	return nil
}

// takeCalls removes and returns the calls made while the service had at most so many effects.
func (o *outside) takeCalls(most int) []Effect {
	o.mu.Lock()
	defer o.mu.Unlock()
	var out []Effect
	for len(o.calls) > 0 && o.calls[0].after <= most {
		out = append(out, o.calls[0].effect)
		o.calls = o.calls[1:]
	}
	return out
}

// value reads JSON; what is none, or null, is nil.
func value(raw []byte) (v any) {
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// includes reports whether data has what is expected of it: of a mapping the members that are
// named, of a list all, and a text may be described.
func includes(want, is any) bool {
	switch want := want.(type) {
	case map[string]any:
		if s, ok := is.(string); ok {
			return isPattern(want) && matchesPattern(want, s)
		}
		object, ok := is.(map[string]any)
		for name, v := range want {
			if member, there := object[name]; !there && v != nil || !includes(v, member) {
				return false
			}
		}
		return ok
	case []any:
		list, ok := is.([]any)
		if !ok || len(list) != len(want) {
			return false
		}
		for i := range want {
			if !includes(want[i], list[i]) {
				return false
			}
		}
		return true
	}
	raw, err := json.Marshal(want)
	return err == nil && value(raw) == is
}

// isPattern reports whether a mapping describes a text.
func isPattern(m map[string]any) bool {
	for name := range m {
		if name != "contains" && name != "matches" {
			return false
		}
	}
	return len(m) > 0
}
