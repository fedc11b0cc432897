package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/service/sandbox"
)

// TestHeadersOfTheConfiguration shows that another system gets the secret that the configuration
// has for it, that no other system gets it, and that neither the journal nor the log has it.
func TestHeadersOfTheConfiguration(t *testing.T) {
	t.Setenv("ERP_TOKEN", "Zq7-hunter2-Zq7")
	got := make(chan string, 10)
	system := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- name + " " + r.Header.Get("Authorization") }))
		t.Cleanup(s.Close)
		u, err := url.Parse(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		return u.Host
	}
	erp, other := system("erp"), system("other")
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - id: tell\n    when: message.received\n    do:\n      - http_request: http://"+erp+"/new\n      - http_request: http://"+other+"/new\n")
	o.start(o.service() + "\nhttp_request: { allow: [\"" + erp + "\", \"" + other + "\"], headers: { \"" + erp + "\": { Authorization: \"Bearer ${ERP_TOKEN}\" } } }\nconsole: { listen: \"127.0.0.1:0\" }")
	o.logs("rules loaded", map[string]any{"rules": 1})
	if _, err := o.sandbox.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Name: "Ana", Text: "oi"}); err != nil {
		t.Fatal(err)
	}
	if err := o.sandbox.Settle(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"erp Bearer Zq7-hunter2-Zq7", "other "} {
		if call := <-got; call != want {
			t.Errorf("%q, want %q", call, want)
		}
	}
	o.stop()
	files, err := filepath.Glob(filepath.Join(o.folder, "quando.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || bytes.Contains(text, []byte("hunter2")) {
			t.Errorf("%s: the secret is in it, or %v", file, err)
		}
	}
	if strings.Contains(o.log.String(), "hunter2") {
		t.Error("the secret is in the log")
	}
}
