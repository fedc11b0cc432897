package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// TestRunsHideSecrets shows that no header of a rule, and no key in its address, is written out of
// the journal.
func TestRunsHideSecrets(t *testing.T) {
	called := make(chan string, 10)
	erp := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		called <- r.URL.Path + " " + r.Header.Get("X-Customer")
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"order": 7, "session": {"access_token": "SwordFish-answer"}}`))
	}))
	defer erp.Close()
	host := strings.TrimPrefix(erp.URL, "http://")
	o := newOffice(t)
	o.write("rules/r.yaml", `rules:
  - id: tell
    when: message.received
    do:
      - http_request:
          url: http://`+host+`/in/SwordFish0123456789abcd/orders
          headers: { X-Customer: SwordFish-header, Authorization: SwordFish-authorization }
          json: { n: 12, tokens: [SwordFish-list, { deep: SwordFish-deep }], text: "{{ message.text }}" }
`)
	o.start(o.service() + "\nhttp_request: { allow: [\"" + host + "\"] }")
	o.writes("+5511988887777", "the text is shown")
	if got := <-called; got != "/in/SwordFish0123456789abcd/orders SwordFish-header" {
		t.Fatalf("the call was %s", got)
	}
	clitest.Eventually(t, func() (bool, string) {
		_, out, _ := quando(t, "runs", "--config", o.folder+"/quando.yaml")
		return strings.Contains(out, "done"), out
	})
	o.stop()
	config := o.folder + "/quando.yaml"
	for _, args := range [][]string{{"journal", "export"}, {"runs", "show", "1"}, {"runs", "show", "1", "--output", "json"}} {
		code, out, errOut := quando(t, append(args, "--config", config)...)
		if code != 0 || !strings.Contains(out, "the text is shown") || !strings.Contains(out, "X-Customer") || !strings.Contains(out, host+"/in/") {
			t.Fatalf("%v: %d %s%s", args, code, out, errOut)
		}
		if at := strings.Index(out, "SwordFish"); at >= 0 {
			t.Errorf("%v shows a secret: …%s…", args, out[max(0, at-100):min(len(out), at+60)])
		}
	}
}
