package service

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
)

const testKey = "qsk_test_0123456789"

// The objects of the tests.
const (
	idTenant  = "00000000-0000-4000-8000-000000000001"
	idChannel = "10000000-0000-4000-8000-000000000001"
	idConv    = "20000000-0000-4000-8000-000000000001"
	idMsg     = "30000000-0000-4000-8000-000000000001"
	idClient  = "30000000-0000-4000-8000-0000000000c1"
	idMedia   = "40000000-0000-4000-8000-000000000001"
	idContact = "50000000-0000-4000-8000-000000000001"
	idLabel   = "60000000-0000-4000-8000-000000000001"
	idAtt     = "70000000-0000-4000-8000-000000000001"
	idPerson  = "80000000-0000-4000-8000-000000000001"
	idPerson2 = "80000000-0000-4000-8000-000000000002"
	idSector  = "90000000-0000-4000-8000-000000000001"
	idHook    = "a0000000-0000-4000-8000-000000000001"
	idBoard   = "b0000000-0000-4000-8000-000000000001"
	idStage   = "c0000000-0000-4000-8000-000000000001"
	idStage2  = "c0000000-0000-4000-8000-000000000002"
	idCard    = "d0000000-0000-4000-8000-000000000001"
	idOther   = "e0000000-0000-4000-8000-000000000001"
)

// setup starts a server and gives a client for it. The server lives under a sub-path, as a
// self-hosted service does.
func setup(t *testing.T, h http.HandlerFunc, options ...func(*Options)) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return newClient(t, Options{BaseURL: srv.URL + "/self/hosted/v1/", APIKey: testKey}, options)
}

// newClient makes a client, with changed options if given.
func newClient(t *testing.T, o Options, options []func(*Options)) *Client {
	t.Helper()
	for _, set := range options {
		set(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	return c
}

// answer is a handler with a constant answer.
func answer(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

var description = sync.OnceValues(func() (*openapi3.T, error) {
	doc, err := openapi3.NewLoader().LoadFromFile("../docs/service.openapi.yaml")
	if err != nil {
		return nil, err
	}
	openapi3.DefineStringFormatValidator("uuid", openapi3.NewRegexpFormatValidator(openapi3.FormatOfStringForUUIDOfRFC4122))
	doc.Servers = nil
	return doc, doc.Validate(context.Background(), openapi3.DisableExamplesValidation())
})

// described is a handler that holds what passes through it to the description of the service: the
// client's requests, and the answers that the tests make up.
func described(t *testing.T, next http.HandlerFunc) http.HandlerFunc {
	t.Helper()
	doc, err := description()
	if err != nil {
		t.Fatalf("the description of the service: %v", err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path = strings.TrimPrefix(r.URL.Path, "/self/hosted/v1")
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("%s %s: read the request: %v", r.Method, r.URL.Path, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		input, err := checkRequest(router, r)
		if err != nil {
			t.Errorf("%s %s is not as described: %v", r.Method, r.URL.Path, err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		rec := httptest.NewRecorder()
		next(rec, r)
		if input != nil {
			out := &openapi3filter.ResponseValidationInput{RequestValidationInput: input, Status: rec.Code, Header: rec.Header(),
				Options: &openapi3filter.Options{IncludeResponseStatus: true}} // a status that is not described is an error
			out.SetBodyBytes(rec.Body.Bytes())
			if err := openapi3filter.ValidateResponse(r.Context(), out); err != nil {
				t.Errorf("the answer %d to %s %s is not as described: %v", rec.Code, r.Method, r.URL.Path, err)
			}
		}
		for name, values := range rec.Header() {
			w.Header()[name] = values
		}
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
	}
}

func checkRequest(router routers.Router, r *http.Request) (*openapi3filter.RequestValidationInput, error) {
	find := *r
	find.URL = &url.URL{Path: r.URL.Path}
	find.Host = ""
	route, params, err := router.FindRoute(&find)
	if err != nil {
		return nil, err
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route,
		Options: &openapi3filter.Options{
			MultiError: true,
			AuthenticationFunc: func(_ context.Context, in *openapi3filter.AuthenticationInput) error {
				if got := in.RequestValidationInput.Request.Header.Get("Authorization"); got != "Bearer "+testKey {
					return in.NewError(errNoKey)
				}
				return nil
			},
		},
	}
	return input, openapi3filter.ValidateRequest(r.Context(), input)
}

// object decodes JSON as the client does.
func object(t *testing.T, s string) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		t.Fatalf("%v in %s", err, s)
	}
	return m
}
