package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

var httpRequest = rules.Schema{
	Verb: "http_request", Main: "url", Summary: "Call another system that is on the allow-list", Outside: true,
	Args: []rules.Arg{
		{Name: "method", Kind: rules.KindChoice, Values: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Summary: "POST unless given"},
		{Name: "url", Kind: rules.KindText, Address: true, Required: true, Summary: "the address; what stands in {{ }} is escaped as the part of the address that it is in"},
		{Name: "query", Kind: rules.KindQuery, Summary: "names to values that are added to the address; nil is left out, a list repeats its name"},
		{Name: "headers", Kind: rules.KindHeaders, Summary: "names to values; secrets stand in the configuration instead, as `http_request.headers`"},
		{Name: "json", Kind: rules.KindData, Summary: "the body"},
		{Name: "accept", Kind: rules.KindNumbers, Min: 400, Max: 599, Summary: "statuses such as `[404]` whose answers are results, and no failures"},
		{Name: "timeout", Kind: rules.KindDuration, Summary: "how long to wait for the answer"},
		{Name: "repeatable", Kind: rules.KindFlag, Summary: "whether the call may be repeated after an unknown result; otherwise a person decides"},
	},
	Result: rules.Object(
		rules.Field{Name: "status", Type: rules.Number, Doc: "the answer's status"},
		rules.Field{Name: "ok", Type: rules.Flag, Doc: "whether the status is from 200 to 299"},
		rules.Field{Name: "json", Type: rules.Anything, Doc: "the answer's body, where it is JSON"},
		rules.Field{Name: "text", Type: rules.Text, Doc: "the answer's body"},
	),
	Example: "{ url: \"https://hooks.example.com/new\", json: { phone: \"{{ contact.phone }}\" } }",
}

func planHTTPRequest(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callHTTP); ok {
		return result(ctx, r, httpRequest.Result, nil)
	}
	a := args(s.Args)
	request := httpRecord{Method: a.text("method"), Key: idempotencyKey(s, callHTTP, 0)}
	if request.Method == "" {
		request.Method = http.MethodPost
	}
	request.Repeatable, _ = a.flag("repeatable")
	request.Timeout, _ = a["timeout"].(time.Duration)
	request.Accept = a.numbers("accept")
	var err error
	if request.URL, err = a.requiredText("url"); err != nil {
		return actions.Next{}, err
	}
	if request.URL, err = withQuery(request.URL, a["query"]); err != nil {
		return actions.Next{}, actions.Permanent(err)
	}
	if _, _, err := d.outside.find(request.URL); err != nil {
		return actions.Next{}, actions.Permanent(err)
	}
	headers, err := headersOf(a)
	if err != nil {
		return actions.Next{}, actions.Permanent(err)
	}
	request.Headers = map[string]string{}
	for name, value := range headers {
		if !actions.IsSecret(name) {
			request.Headers[name] = value
		}
	}
	if a.has("json") {
		if request.Body, err = json.Marshal(a["json"]); err != nil {
			return actions.Next{}, actions.Permanent(fmt.Errorf("json: %w", err))
		}
	}
	return planCall(s, callHTTP, actions.Intent{}, request, nil)
}

// headersOf returns the headers of a rule. They may contain text from a customer, so it refuses
// line breaks.
func headersOf(a args) (map[string]string, error) {
	given, ok := a["headers"].(map[string]any)
	if !ok && a["headers"] != nil {
		return nil, fmt.Errorf("headers must be a mapping of names to values")
	}
	headers := make(map[string]string, len(given))
	for name, v := range given {
		value := textOf(v)
		if err := checkHeader(name, value); err != nil {
			return nil, err
		}
		headers[name] = value
	}
	return headers, nil
}

// checkHeader refuses a header that cannot be sent, or that controls how the request itself is
// sent.
func checkHeader(name, value string) error {
	switch http.CanonicalHeaderKey(name) {
	case "Host", "Connection", "Content-Length", "Transfer-Encoding", "Idempotency-Key", "Trailer", "Upgrade":
		return fmt.Errorf("the header %s is not for rules to set", name)
	}
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 127 || r == ':' }) {
		return fmt.Errorf("%q is not the name of a header", name)
	}
	if strings.ContainsFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 127 }) {
		return fmt.Errorf("the header %s has a line break or another control character in it", name)
	}
	return nil
}

// callHTTP is a request to another system. It has an Idempotency-Key, but it is unknown whether
// that system honours it: after an unknown result a person decides, unless the rule says that the
// call may be repeated, or it is a GET.
const callHTTP = "http"

type httpCall struct{ *desk }

type httpRecord struct {
	Method     string            `json:"method"`
	URL        string            `json:"url"`
	Headers    map[string]string `json:"headers,omitempty"` // without those that may be secrets
	Body       json.RawMessage   `json:"body,omitempty"`
	Timeout    time.Duration     `json:"timeout,omitempty"`
	Key        string            `json:"key"`
	Repeatable bool              `json:"repeatable,omitempty"`
	Accept     []int             `json:"accept,omitempty"` // statuses of 400 and above that are results
}

func (c httpCall) do(ctx context.Context, s *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[httpRecord](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	timeout := c.outside.timeout
	if in.Timeout > 0 {
		timeout = min(in.Timeout, maxHTTPTimeout)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var left atomic.Bool
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { left.Store(true) }})
	request, host, err := c.request(ctx, s, in)
	if err != nil {
		return actions.Receipt{}, actions.Permanent(err)
	}
	// The transport follows no redirect, and its errors do not contain the address.
	answer, err := host.transport.RoundTrip(request)
	if err != nil {
		err = fmt.Errorf("%s %s: %w", in.Method, request.URL.Host, err)
		if isAddressError(err) {
			return actions.Receipt{}, actions.Permanent(err)
		}
		if left.Load() {
			err = actions.Uncertain(err)
		}
		return actions.Receipt{}, err
	}
	defer func() { _ = answer.Body.Close() }()
	return readAnswer(in.Method+" "+request.URL.Host, answer, in.Accept)
}

func (c httpCall) request(ctx context.Context, s *actions.Step, in httpRecord) (*http.Request, *outsideHost, error) {
	u, host, err := c.outside.find(in.URL) // again: the list may have changed since the call was planned
	if err != nil {
		return nil, nil, err
	}
	given, err := headersOf(s.Args)
	if err != nil {
		return nil, nil, err
	}
	h := http.Header{"User-Agent": {"quando"}, "Accept": {"application/json, */*;q=0.5"}}
	for name, value := range in.Headers {
		h.Set(name, value)
	}
	for name, value := range given {
		if actions.IsSecret(name) {
			h.Set(name, value)
		}
	}
	for name, value := range host.Headers {
		h.Set(name, value)
	}
	// Lower case on purpose: with the usual spelling, the transport would take the header as
	// permission to repeat the request by itself.
	h["idempotency-key"] = []string{in.Key}
	r := &http.Request{Method: in.Method, URL: u, Host: u.Host, Header: h, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
	if len(in.Body) > 0 {
		if h.Get("Content-Type") == "" {
			h.Set("Content-Type", "application/json")
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(in.Body)), int64(len(in.Body))
	}
	return r.WithContext(ctx), host, nil
}

// readAnswer classifies an answer. A 429 delays this step alone, because it does not come from the
// service.
func readAnswer(what string, r *http.Response, accept []int) (actions.Receipt, error) {
	err := fmt.Errorf("%s: answered %d %s", what, r.StatusCode, strings.ToLower(http.StatusText(r.StatusCode)))
	switch status := r.StatusCode; {
	case slices.Contains(accept, status):
	case status == http.StatusTooManyRequests, status == http.StatusTooEarly:
		return actions.Receipt{}, actions.Later(retryAfter(r.Header), err)
	case status >= 500, status == http.StatusRequestTimeout:
		return actions.Receipt{}, actions.Later(retryAfter(r.Header), actions.Uncertain(err))
	case status >= 300 && status < 400:
		return actions.Receipt{}, actions.Permanent(fmt.Errorf("%w (redirects are not followed: write the final address)", err))
	case status < 200, status >= 400:
		return actions.Receipt{}, actions.Permanent(err)
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxHTTPAnswer+1))
	if err != nil {
		return actions.Receipt{}, actions.Uncertain(fmt.Errorf("%s: the answer broke off: %w", what, err))
	}
	if len(body) > maxHTTPAnswer {
		return actions.Receipt{}, actions.Permanent(fmt.Errorf("%s: done, but its answer is larger than %d KiB", what, maxHTTPAnswer>>10))
	}
	answer := map[string]any{"status": r.StatusCode, "ok": r.StatusCode < 300, "json": nil, "text": strings.ToValidUTF8(string(body), "\uFFFD")}
	if json.Valid(body) {
		answer["json"] = json.RawMessage(body)
	}
	return receipt(answer), nil
}

// retryAfter returns how many seconds the answer asks to wait, an hour at most.
func retryAfter(h http.Header) time.Duration {
	n, err := strconv.Atoi(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return time.Duration(min(max(n, 0), 3600)) * time.Second
}

func (c httpCall) settle(_ context.Context, s *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, err := decodeRecorded[httpRecord](i.Request)
	if err != nil {
		return actions.Settlement{}, err
	}
	if in.Repeatable || in.Method == http.MethodGet {
		return repeat()
	}
	if s.Failed != nil && !actions.IsUncertain(s.Failed) {
		return repeat() // the last attempt is known to have had no effect
	}
	return settled(actions.Unknown, phrases.RequestUnsure)
}
