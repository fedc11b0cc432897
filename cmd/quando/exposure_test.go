package main

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/service/sandbox"
)

// TestJournalOthersCanRead shows that a journal which others may read is told of, by the engine at
// its start and by doctor, with how to mend it.
func TestJournalOthersCanRead(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - { id: r, when: manual, do: [{ log: x }] }\n")
	o.start(o.service())
	o.stop()
	journal := filepath.Join(o.folder, "quando.db")
	for _, tt := range []struct {
		mode  os.FileMode
		wrong string // of doctor
	}{{0o600, ""}, {0o400 | 0o200, ""}, {0o640, "warning"}, {0o644, "failing"}, {0o606, "failing"}, {0o602, "failing"}} {
		if err := os.Chmod(journal, tt.mode); err != nil {
			t.Fatal(err)
		}
		o.start(o.service())
		_, out, _ := quando(t, "doctor", "--config", filepath.Join(o.folder, "quando.yaml"), "--output", "json")
		told := o.logged("others may read the journal") != nil
		o.stop()
		if told != (tt.wrong != "") {
			t.Errorf("%o: told is %v:\n%s", tt.mode, told, o.log)
		}
		if strings.Contains(out, "chmod") != (tt.wrong != "") {
			t.Errorf("%o: doctor says\n%s", tt.mode, out)
		}
		if got := doctorState(out, "journal"); (tt.wrong == "") != (got == "ok") {
			t.Errorf("%o: the journal is %s to doctor", tt.mode, got)
		}
	}
}

// doctorState returns what doctor's JSON says of a check first.
func doctorState(out, check string) string {
	_, rest, _ := strings.Cut(out, `"check": "`+check+`"`)
	_, rest, _ = strings.Cut(rest, `"status": "`)
	state, _, _ := strings.Cut(rest, `"`)
	return state
}

// TestCredentialsNeedEncryption shows that no key is configured for an address that everybody on
// the way can read along with, unless the configuration says so.
func TestCredentialsNeedEncryption(t *testing.T) {
	t.Parallel()
	o := newOffice(t)
	private := o.address.BaseURL
	for _, tt := range []struct{ name, config, want string }{
		{"a service", "service: { base_url: \"http://desk.example.com/v1\", api_key: hunter2 }", "service.plain_http: true"},
		{"a service in a private network", "service: { base_url: \"http://10.0.0.7:8080/v1\", api_key: hunter2 }", "service.plain_http: true"},
		{"a service whose name begins as this machine's", "service: { base_url: \"http://localhost.example.com/v1\", api_key: hunter2 }", "service.plain_http: true"},
		{"a service, in capitals", "service: { base_url: \"HTTP://desk.example.com/v1\", api_key: hunter2 }", "service.plain_http: true"},
		{"a workspace's service", o.service() + "\nworkspaces: { acme: { service: { base_url: \"http://acme.example.com/v1\", api_key: hunter2 } } }", "workspace acme: service.base_url"},
		{"this machine", "service: { base_url: \"" + private + "\", api_key: hunter2 }", ""},
		{"a service that may be", "service: { base_url: \"http://192.0.2.1/v1\", api_key: hunter2, plain_http: true }", ""},
	} {
		wait := time.Second // what is refused ends by itself
		if tt.want != "" {
			wait = time.Minute
		}
		code, errOut := o.runsFor(wait, tt.config+"\nconsole: { listen: \"127.0.0.1:0\" }")
		if refused := strings.Contains(errOut, "plain_http"); refused != (tt.want != "") || refused && (code != cli.ExitError || !strings.Contains(errOut, tt.want)) || strings.Contains(errOut, "hunter2") {
			t.Errorf("%s: %d %s", tt.name, code, errOut)
		}
	}
}

// TestPublicURLIsNotTold shows that what stands in the webhook's address for others to prove
// themselves with is neither in the log nor in the console.
func TestPublicURLIsNotTold(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - { id: r, when: message.received, do: [{ log: x }] }\n")
	for _, address := range []string{"https://ana:hunter2@hooks.example.com/webhook", "https://hooks.example.com/webhook?token=hunter2&x=1", "https://hooks.example.com/in/Hunter2hunter2Hunter2hunter2/webhook"} {
		o.start(strings.Replace(o.service(), "webhook: {", "webhook: { public_url: \""+address+"\", check: 1s,", 1))
		clitest.Eventually(t, func() (bool, string) { return o.log.Contains("hooks.example.com"), o.log.String() })
		var page string
		clitest.Eventually(t, func() (bool, string) {
			_, page = o.asks("GET", o.console+"/health", nil, "")
			return strings.Contains(page, "hooks.example.com"), page
		})
		o.stop()
		for where, text := range map[string]string{"the log": o.log.String(), "the console": page} {
			if at := strings.Index(strings.ToLower(text), "hunter2"); at >= 0 {
				t.Errorf("%s tells %s: …%s…", where, address, text[max(0, at-150):at+20])
			}
		}
	}
}

// TestWorkspacesAreNotTold does what a stranger did who tried names: nothing tells him which
// workspaces there are.
func TestWorkspacesAreNotTold(t *testing.T) {
	o := newOffice(t)
	o.start(o.service() + fmt.Sprintf("\nworkspaces: { acme: { service: { base_url: %q, api_key: %q, webhook: { secrets: [x] } }, rules: of-acme } }", o.address.BaseURL, o.address.APIKey))
	answer := func(method, path, body string, header map[string]string) string {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, o.public+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range header {
			r.Header.Set(k, v)
		}
		res, err := http.DefaultTransport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, _ := io.ReadAll(res.Body)
		res.Header.Del("Date")
		return fmt.Sprint(res.StatusCode, res.Header, string(text))
	}
	large := strings.Repeat("x", 2<<20)
	for name, one := range map[string]struct {
		method, body string
		header       map[string]string
	}{
		"a look": {"GET", "", nil}, "nothing": {"POST", "", nil}, "a delivery without a signature": {"POST", `{"id":"1"}`, nil}, "another method": {"DELETE", "", nil},
		"a delivery with a forged signature": {"POST", `{"id":"1"}`, signed("guess", `{"id":"1"}`)}, "something large": {"POST", large, nil}, "something large that is signed": {"POST", large, signed("guess", large)},
	} {
		there, nowhere := answer(one.method, "/webhook/acme", one.body, one.header), answer(one.method, "/webhook/nobody", one.body, one.header)
		if there != nowhere {
			t.Errorf("%s is answered with\n%s where there is a workspace, and with\n%s where there is none", name, there, nowhere)
		}
	}
	o.logs("a delivery came for a workspace that is not there", map[string]any{"level": "WARN"})
	if n := strings.Count(o.log.String(), "a delivery came for a workspace"); n != 1 {
		t.Errorf("it is told %d times in a minute", n)
	}
	_, metrics := o.asks("GET", o.console+"/metrics", nil, "")
	if strings.Contains(metrics, `workspace="nobody"`) {
		t.Error("what strangers made up is in the metrics")
	}
}

// TestStrictTransport shows that browsers are told to come encrypted the next time too, where they
// do, but not of names that other programs on this machine share.
func TestStrictTransport(t *testing.T) {
	o := newOffice(t)
	cert, key := newCertificate(t, "it")
	o.write("cert.pem", string(cert))
	o.write("key.pem", string(key))
	const hosts = "hosts: [desk.example.com], token: a-token-of-some-length"
	strict := func(address, host string) bool {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), "GET", address+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Host = host
		res, err := (&http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}).RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return strings.HasPrefix(res.Header.Get("Strict-Transport-Security"), "max-age=")
	}
	o.start(o.service() + "\ntls: { cert: cert.pem, key: key.pem }\nconsole: { listen: \"127.0.0.1:0\", tls: true, " + hosts + " }")
	for _, address := range []string{o.public, o.console} {
		for host, want := range map[string]bool{"desk.example.com": true, "desk.example.com:8443": true, "localhost:8081": false, "127.0.0.1:8081": false, "[::1]:8081": false} {
			if got := strict(address, host); got != want {
				t.Errorf("%s as %s: %v", address, host, got)
			}
		}
	}
	o.stop()
	o.start(o.service() + "\nconsole: { listen: \"127.0.0.1:0\", " + hosts + " }")
	if strict(o.public, "desk.example.com") || strict(o.console, "desk.example.com") {
		t.Error("without encryption browsers are told to come encrypted")
	}
}

// TestSandboxControlIsNotForPages does what a page of another site did: it cannot play in a sandbox
// on this machine.
func TestSandboxControlIsNotForPages(t *testing.T) {
	s, err := sandbox.New(sandbox.Options{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	at, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		method, path string
		change       func(*http.Request)
		want         int
	}{
		"a program":                                  {"POST", "/clock", func(*http.Request) {}, 200},
		"a page of another site":                     {"POST", "/clock", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") }, 403},
		"an older browser":                           {"POST", "/clock", func(r *http.Request) { r.Header.Set("Origin", "https://evil.example.com") }, 403},
		"a name that was made to lead here":          {"POST", "/clock", func(r *http.Request) { r.Host = "evil.example.com:9090" }, 403},
		"a name that was made to lead here, to read": {"GET", "/state", func(r *http.Request) { r.Host = "evil.example.com:9090" }, 403},
		"this machine's own name":                    {"GET", "/overview", func(r *http.Request) { r.Host = "localhost:9090" }, 200},
		"a page of another site, with another content": {"PUT", "/state", func(r *http.Request) {
			r.Header.Set("Sec-Fetch-Site", "cross-site")
			r.Header.Set("Content-Type", "text/plain")
		}, 403},
	} {
		body := `{"advance":"1m"}`
		if tt.method == "GET" {
			body = ""
		}
		r, err := http.NewRequestWithContext(t.Context(), tt.method, at.ControlURL+tt.path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		tt.change(r)
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != tt.want {
			t.Errorf("%s: %d %s", name, res.StatusCode, text)
		}
	}
}
