package builtin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
)

var httpRequest = rules.Schema{
	Verb: "http_request", Main: "url", Summary: "Call another system that is on the allow-list", Outside: true,
	Args: []rules.Arg{
		{Name: "method", Kind: rules.KindChoice, Values: []string{"GET", "POST", "PUT", "PATCH", "DELETE"}, Summary: "POST unless given"},
		{Name: "url", Kind: rules.KindText, Address: true, Required: true, Summary: "the address; what stands in {{ }} is escaped as the part of the address that it is in"},
		{Name: "headers", Kind: rules.KindHeaders, Summary: "names to values; secrets stand in the configuration instead, as `http_request.headers`"},
		{Name: "json", Kind: rules.KindData, Summary: "the body"},
		{Name: "timeout", Kind: rules.KindDuration, Summary: "how long to wait for the answer"},
		{Name: "repeatable", Kind: rules.KindFlag, Summary: "whether the call may be repeated after an unknown result; otherwise a person decides"},
	},
	Result: rules.Object(
		rules.Field{Name: "status", Type: rules.Number, Doc: "the answer's status"},
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
	var err error
	if request.URL, err = a.need("url"); err != nil {
		return actions.Next{}, err
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
	return intend(s, callHTTP, actions.Intent{}, request, nil)
}

// headersOf reads the headers that a rule gives. What a customer wrote may stand in them, so a line break is refused.
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

// checkHeader refuses a header that cannot be sent, or that says how the request itself is sent.
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
