package service

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/rules/plain"
)

const (
	maxRequest  = 64 << 10 // the service's limit for JSON
	maxResponse = 8 << 20  // ours: no page of 100 objects comes near it
)

// request is one call before it is sent.
type request struct {
	op      Operation
	id      string // fills the {id} of the path
	query   url.Values
	body    any    // encoded as JSON; nil means no body
	key     string // Idempotency-Key
	ifMatch string
	upload  *upload // instead of body
}

// reply is a successful answer.
type reply struct {
	header http.Header
	value  any // decoded JSON; nil when there was no body, or it was null
}

// do makes one call: it waits for the limiter, sends, and turns everything but a 2xx into an
// *Error.
func (c *Client) do(ctx context.Context, r request) (reply, error) {
	address, err := c.address(r)
	if err != nil {
		return reply{}, err
	}
	var body []byte
	if r.body != nil {
		if body, err = encode(r); err != nil {
			return reply{}, err
		}
	}
	if err := c.allowed(ctx); err != nil {
		return reply{}, err
	}
	for times := 1; ; times++ {
		if c.beside != nil {
			if err := c.beside.Wait(ctx); err != nil {
				return reply{}, err
			}
		}
		if err := c.admit(ctx, r.op); err != nil {
			return reply{}, err
		}
		out, err := c.send(ctx, r, &address, body)
		if c.patient && r.upload == nil && err != nil && err.Status == http.StatusTooManyRequests {
			continue
		}
		if c.beside != nil && err != nil && !r.op.Changes() && IsTemporary(err) && c.beside.Again(ctx, times, err) {
			continue
		}
		if err != nil {
			return reply{}, err // not the typed nil
		}
		return out, nil
	}
}

// allowed returns an error if the call must not be made.
func (c *Client) allowed(ctx context.Context) error {
	if c.allow == nil {
		return nil
	}
	return c.allow(ctx)
}

func (c *Client) address(r request) (url.URL, error) {
	u := c.base
	path := r.op.Path
	if before, after, ok := strings.Cut(path, "{id}"); ok {
		if r.id == "" || r.id == "." || r.id == ".." {
			return u, invalid(r.op, "the id %q names no object", r.id)
		}
		path = before + r.id + after
		if escaped := url.PathEscape(r.id); escaped != r.id {
			u.RawPath = u.EscapedPath() + before + escaped + after
			u.Path += path
			u.RawQuery = r.query.Encode()
			return u, nil
		}
	}
	if u.RawPath != "" {
		u.RawPath += path
	}
	u.Path += path
	u.RawQuery = r.query.Encode()
	return u, nil
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func putBuffer(b *bytes.Buffer) {
	if b.Cap() <= 1<<20 { // one huge answer must not stay in the pool
		b.Reset()
		buffers.Put(b)
	}
}

// encode copies out of the pooled buffer, because net/http may go on reading a body after it has
// returned.
func encode(r request) ([]byte, error) {
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false) // "<" would take six bytes of the 64 KiB
	if err := e.Encode(r.body); err != nil {
		return nil, invalid(r.op, "the request cannot be written as JSON: %v", err)
	}
	body := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if len(body) > maxRequest {
		return nil, &Error{Op: r.op.String(), Status: http.StatusRequestEntityTooLarge, Code: "body_too_large", Scope: r.op.Scope, Local: true,
			Message: fmt.Sprintf("the request has %d bytes and the service takes %d: shorten the text", len(body), maxRequest)}
	}
	return bytes.Clone(body), nil
}

// Over reports whether a time has passed, by either clock: the wall clock, which people set, or the
// monotonic one, which stops while a machine sleeps.
func Over(at time.Time) bool {
	now := time.Now()
	return !now.Before(at) || !now.Round(0).Before(at.Round(0))
}

// admit waits for the limiter. A call that gives up here was not sent. It checks the clock itself:
// after the process was suspended, the context may not have noticed yet that its deadline has
// passed.
func (c *Client) admit(ctx context.Context, o Operation) error {
	err := c.limiter.wait(ctx, c.maxWait)
	if end, ok := ctx.Deadline(); err == nil && ok && Over(end) {
		err = context.DeadlineExceeded
	}
	if err == nil {
		return nil
	}
	e := &Error{Op: o.String(), Scope: o.Scope, Local: true}
	if busy, ok := errors.AsType[errBusy](err); ok {
		e.Status, e.Code, e.RetryAfter = http.StatusTooManyRequests, "rate_limited", busy.left
		return e
	}
	e.Message, e.Err = "gave up waiting to be let through", err
	return e
}

func (c *Client) send(ctx context.Context, r request, address *url.URL, content []byte) (reply, *Error) {
	timeout := c.timeout
	if r.upload != nil {
		timeout = c.upload
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := c.now()
	b := buffers.Get().(*bytes.Buffer)
	defer putBuffer(b)
	a, left, err := c.roundTrip(c.httpRequest(ctx, r, address, content), r.op.Changes(), b)
	if err != nil {
		e := c.broken(r.op, err, timeout)
		e.Uncertain = r.op.Changes() && left
		c.logCall(ctx, r.op, start, e)
		c.learned.calls.record(r.op, c.now(), e)
		return reply{}, e
	}
	c.compareClocks(start, a.header.Get("Date"))
	out, e := c.read(r, a, b.Bytes(), timeout)
	c.logCall(ctx, r.op, start, e)
	c.learned.calls.record(r.op, c.now(), e)
	return out, e
}

// httpRequest builds the HTTP request.
func (c *Client) httpRequest(ctx context.Context, r request, address *url.URL, content []byte) *http.Request {
	h := http.Header{"Authorization": {c.authorization}, "Accept": {jsonType}, "User-Agent": {c.userAgent}}
	req := &http.Request{Method: r.op.Method, URL: address, Host: address.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	switch {
	case r.upload != nil:
		h["Content-Type"] = []string{r.upload.contentType}
		req.Body, req.ContentLength = io.NopCloser(r.upload.body), r.upload.length
	case r.body != nil:
		h["Content-Type"] = []string{jsonType}
		// GetBody lets the transport repeat a request of which nothing was written, on a stale
		// connection.
		req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }
		req.Body, _ = req.GetBody()
		req.ContentLength = int64(len(content))
	case r.op.Changes():
		req.Body = http.NoBody
	}
	if r.key != "" {
		// Lower case on purpose: with the canonical spelling net/http considers the request safe to
		// repeat after a lost connection, and the caller would get a 409 for a call that succeeded.
		h["idempotency-key"] = []string{r.key}
	}
	if r.ifMatch != "" {
		h["If-Match"] = []string{r.ifMatch}
	}
	return req.WithContext(ctx)
}

const jsonType = "application/json"

// read turns an answer into a reply or an error.
func (c *Client) read(r request, a response, body []byte, timeout time.Duration) (reply, *Error) {
	ok := a.status >= 200 && a.status < 300
	var value any
	err := a.cut
	if err == nil && len(bytes.TrimSpace(body)) > 0 {
		if value, err = plain.Decode(body); err != nil {
			err = fmt.Errorf("the answer is not JSON: %w", err)
		}
	}
	if !ok {
		return reply{}, c.refusal(r, a, value) // an unreadable body does not matter: the status decides
	}
	if err != nil {
		e := c.broken(r.op, err, timeout)
		e.Status, e.Uncertain = a.status, r.op.Changes()
		return reply{}, e
	}
	return reply{header: a.header, value: value}, nil
}

// refusal is the error for an answer that is not a 2xx.
func (c *Client) refusal(r request, a response, value any) *Error {
	e := &Error{Op: r.op.String(), Status: a.status, Scope: r.op.Scope}
	if m, ok := value.(map[string]any); ok {
		e.Code = c.clean(fields(m).str(c.profile.Error.Code))
		e.Message = c.clean(fields(m).str(c.profile.Error.Message))
		if e.Message == e.Code {
			e.Message = ""
		}
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		e.RetryAfter = max(time.Second, retryAfter(a.header, c.now()))
		c.limiter.Pause(c.now().Add(e.RetryAfter))
	case e.Status == http.StatusConflict && r.key != "":
		e.Pending = c.profile.Error.pending(e.Code)
	case e.Status >= 500:
		e.RetryAfter = retryAfter(a.header, c.now())
		e.Uncertain = r.op.Changes()
	case e.Status >= 300 && e.Status < 400:
		e.Code, e.Message = "redirected", "the service redirects to "+c.clean(target(a.header))
	}
	return e
}

// target is the location of a redirect, without its query, which may hold secrets.
func target(h http.Header) string {
	u, err := url.Parse(h.Get("Location"))
	if err != nil || u.String() == "" {
		return "an unnamed address"
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}

// maxRetryAfter keeps a wrong header from pausing a workspace for years.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads seconds or, as HTTP allows, a date. 0 means that there is none: for a 429 the
// client then pauses for one second, its minimum.
func retryAfter(h http.Header, now time.Time) time.Duration {
	s := h.Get("Retry-After")
	if n, ok := asNumber(s); ok {
		if n >= maxRetryAfter.Seconds() {
			return maxRetryAfter
		}
		return time.Duration(max(0, n) * float64(time.Second))
	}
	if t, err := http.ParseTime(s); err == nil {
		return min(max(0, t.Sub(now)), maxRetryAfter)
	}
	return 0
}

// clean makes a message of the service safe for a log: bounded, on one line, and without the key if
// it is quoted.
func (c *Client) clean(s string) string {
	s = strings.ReplaceAll(s, string(c.key), redacted)
	s = strings.Join(strings.Fields(s), " ")
	const most = 300
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// maxError bounds the error of an answer that is not HTTP: it quotes a line of it, which may be
// long.
const maxError = 2000

// broken is the error of a call without a usable answer.
func (c *Client) broken(o Operation, err error, timeout time.Duration) *Error {
	e := &Error{Op: o.String(), Scope: o.Scope, Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Message = fmt.Sprintf("no answer within %v", timeout)
	} else if s := err.Error(); len(s) > maxError || strings.Contains(s, string(c.key)) {
		e.Err = errors.New(c.clean(s))
	}
	return e
}

// logCall names the operation by its template: ids and queries are customer data.
func (c *Client) logCall(ctx context.Context, o Operation, start time.Time, e *Error) {
	level, status := slog.LevelDebug, 200
	if e != nil {
		status = e.Status
	}
	if !c.log.Enabled(ctx, level) {
		return
	}
	c.log.LogAttrs(ctx, level, "service call", slog.String("op", o.String()), slog.Int("status", status), slog.Duration("took", c.now().Sub(start)))
}
