package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service/sandbox"
)

// discreetRules let what a marked person is known by come into everything that could be told:
// errors of every kind, reasons, names that nobody has, hosts that are not there, safety bounds.
const discreetRules = `
rules:
  - id: reasons
    when: message.received
    do: [{ stop: "{{ contact.name }} ({{ contact.phone }}) wrote {{ message.text }}" }]
  - id: logs
    when: message.received
    do: [{ log: "{{ contact.name }} ({{ contact.phone }}) wrote {{ message.text }}" }]
  - id: names
    when: message.received
    do: [{ transfer: { person: "{{ contact.name }}", reason: "{{ message.text }}" } }]
  - id: labels
    when: message.received
    do: [{ add_labels: ["{{ message.text }}"] }]
  - id: evaluation
    when: message.received
    if: int(message.text) > 3
    do: [{ log: x }]
  - id: refused
    when: message.received
    do: [{ open_conversation: { channel: Main, phone: "{{ message.text }}" } }]
  - id: outside
    when: message.received
    do: [{ http_request: { url: "http://127.0.0.1:1/{{ contact.phone }}?q=x", json: { name: "{{ contact.name }}" } }, retry: { times: 1 } }]
  - id: travels
    when: message.received
    mode: parallel
    do:
      - send_message: { text: "{{ message.text }}", to: { phone: "{{ contact.phone }}", channel: Main } }
`

// TestLogIsDiscreet tells a story with a marked name, phone and text, in which everything goes
// wrong that can, at the level debug: none of the marks is in the log.
func TestLogIsDiscreet(t *testing.T) {
	// A service that quotes what it is sent in what it says of an error.
	var target *url.URL
	quoting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/transfer"), strings.HasSuffix(r.URL.Path, "/messages") && r.Method == http.MethodPost:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"code":"invalid_request","message":"%s of %s wrote %s"}`, markedName, markedPhone, markedText)
		default:
			httputil.NewSingleHostReverseProxy(target).ServeHTTP(w, r)
		}
	}))
	defer quoting.Close()
	o := newOffice(t)
	o.write("rules/r.yaml", discreetRules)
	base, err := url.Parse(o.address.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	target = &url.URL{Scheme: base.Scheme, Host: base.Host}
	o.start(fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { secrets: [%q] } }\nsafety: { messages_per_conversation: 1 per 10m }\nhttp_request: { allow: [\"127.0.0.1:1\"] }\nconsole: { listen: \"127.0.0.1:0\" }",
		quoting.URL+base.Path, o.address.APIKey, string(o.secret)))
	o.logs("rules loaded", map[string]any{"rules": 8})
	for range 3 {
		if _, err := o.sandbox.CustomerMessage(sandbox.CustomerMessage{Phone: markedPhone, Name: markedName, Text: markedText}); err != nil {
			t.Fatal(err)
		}
	}
	if err := o.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, func() (bool, string) {
		for _, line := range []string{`"msg":"run failed"`, `"msg":"run finished"`, `"msg":"call failed"`, `"rule":"names"`, `"rule":"travels"`, `"rule":"outside"`, `"rule":"refused"`} {
			if !o.log.Contains(line) {
				return false, "no " + line + " in\n" + o.log.String()
			}
		}
		return true, ""
	})
	time.Sleep(300 * time.Millisecond) // for what comes last
	o.stop()
	for _, mark := range []string{"77712345", "Zuleika", "Marcador", "ZK-99871", "cancel my order"} {
		for line := range strings.Lines(o.log.String() + o.out.String()) {
			if strings.Contains(line, mark) {
				t.Errorf("%q is in the log: %s", mark, line)
			}
		}
	}
}
