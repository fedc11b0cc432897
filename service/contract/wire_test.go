package contract_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

var description = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../../docs/service.openapi.yaml")
	if err != nil {
		return nil, err
	}
	openapi3.DefineStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC4122))
	doc.Servers = nil
	// A member that is not described is an error too, where a schema is not a part of others.
	for name, schema := range doc.Components.Schemas {
		if s := schema.Value; len(s.Properties) > 0 && len(s.AllOf) == 0 && !slices.Contains([]string{"Webhook", "Attendance", "EventData"}, name) {
			s.AdditionalProperties = openapi3.AdditionalProperties{Has: new(bool)}
		}
	}
	return doc, doc.Validate(context.Background(), openapi3.DisableExamplesValidation())
})

var router = sync.OnceValues(func() (routers.Router, error) {
	doc, err := description()
	if err != nil {
		return nil, err
	}
	return legacy.NewRouter(doc)
})

// exchange is a request that left the client and what came of it.
type exchange struct {
	op     string // method and path, as the description writes them
	status int    // 0: no answer
	query  url.Values
	header http.Header // of the request
}

// wire carries requests, keeps a list of them, and holds each request and each answer to the
// description.
type wire struct {
	t     *testing.T
	mount string // the path that the API is mounted under
	next  *http.Transport

	mu   sync.Mutex
	seen []exchange
}

// RoundTrip implements http.RoundTripper.
func (w *wire) RoundTrip(r *http.Request) (*http.Response, error) {
	input, err := w.check(r)
	if err != nil {
		w.t.Errorf("%s %s is not as described: %v", r.Method, r.URL, err)
	}
	ex := exchange{op: r.Method + " " + r.URL.Path, query: r.URL.Query(), header: canonical(r.Header)}
	if input != nil {
		ex.op = input.Route.Method + " " + input.Route.Path
	}
	res, err := w.next.RoundTrip(r)
	if err != nil {
		w.note(ex)
		return nil, err
	}
	ex.status = res.StatusCode
	w.note(ex)
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil {
		return nil, err
	}
	if input != nil {
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: res.StatusCode, Header: res.Header,
			Options: &openapi3filter.Options{IncludeResponseStatus: true}} // a status that is not described is an error
		out.SetBodyBytes(body)
		if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
			w.t.Errorf("the answer %d to %s is not as described: %v", res.StatusCode, ex.op, err)
		}
	}
	res.Body = io.NopCloser(bytes.NewReader(body))
	return res, nil
}

// CloseIdleConnections lets a client close the connections it keeps.
func (w *wire) CloseIdleConnections() { w.next.CloseIdleConnections() }

// check holds a request to the description, as it will look when it arrives. An operation that is
// not described is an error.
func (w *wire) check(r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	ways, err := router()
	if err != nil {
		return nil, err
	}
	path, ok := strings.CutPrefix(r.URL.Path, w.mount)
	if !ok {
		return nil, errors.New("it leads elsewhere")
	}
	route, params, err := ways.FindRoute(&http.Request{Method: r.Method, URL: &url.URL{Path: path}})
	if err != nil {
		return nil, err
	}
	copied := r.Clone(r.Context())
	copied.Header = canonical(r.Header)
	size := 0
	if r.Body != nil && r.Body != http.NoBody {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		size = len(body)
		r.Body, copied.Body = io.NopCloser(bytes.NewReader(body)), io.NopCloser(bytes.NewReader(body))
	}
	input := &openapi3filter.RequestValidationInput{Request: copied, PathParams: params, Route: route, Options: &openapi3filter.Options{
		MultiError:         true,
		ExcludeRequestBody: size > 1<<20, // a large file takes longer to look through than all the rest
		AuthenticationFunc: func(_ context.Context, in *openapi3filter.AuthenticationInput) error {
			if !strings.HasPrefix(copied.Header.Get("Authorization"), "Bearer ") {
				return in.NewError(errors.New("there is no key"))
			}
			return nil
		},
	}}
	err = openapi3filter.ValidateRequest(r.Context(), input)
	for name := range copied.URL.Query() {
		if route.Operation.Parameters.GetByInAndName(openapi3.ParameterInQuery, name) == nil {
			err = errors.Join(err, errors.New("the query has "+name+", which is not described"))
		}
	}
	return input, err
}

// canonical spells header names as they arrive: the client writes one of them in lower case.
func canonical(h http.Header) http.Header {
	out := http.Header{}
	for name, values := range h {
		out[http.CanonicalHeaderKey(name)] = values
	}
	return out
}

func (w *wire) note(ex exchange) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen = append(w.seen, ex)
}

// exchanges lists what was sent so far.
func (w *wire) exchanges() []exchange {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]exchange(nil), w.seen...)
}

// last is the latest exchange.
func (w *wire) last() exchange {
	all := w.exchanges()
	if len(all) == 0 {
		return exchange{}
	}
	return all[len(all)-1]
}
