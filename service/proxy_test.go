//go:build linux

package service

import (
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// proxyChild is the variable that makes TestProxyOfTheEnvironment a process that calls the service
// at an address.
const proxyChild = "SERVICE_TEST_THROUGH_PROXY"

// Calls go through the proxy that the environment of a process names, encrypted ones as encrypted
// as they are. Elsewhere than on Linux no variable says whom a process trusts.
func TestProxyOfTheEnvironment(t *testing.T) {
	if base := os.Getenv(proxyChild); base != "" {
		if err := send(newClient(t, Options{BaseURL: base, APIKey: testKey}, nil)); err != nil {
			t.Fatal(err)
		}
		return
	}
	secure := httptest.NewTLSServer(answer(201, jsonMessage))
	t.Cleanup(secure.Close)
	trusted := filepath.Join(t.TempDir(), "trusted.pem")
	if err := os.WriteFile(trusted, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ base, variable, asked string }{
		{"http://example.com/v1", "HTTP_PROXY", "POST http://example.com/v1/conversations/" + idConv + "/messages"},
		{"https://example.com/v1", "HTTPS_PROXY", "CONNECT example.com:443"},
		{"https://example.com/v1", "https_proxy", "CONNECT example.com:443"},
	} {
		t.Run(tc.variable, func(t *testing.T) {
			p := newProxy(t, secure.Listener.Addr().String())
			child := exec.Command(os.Args[0], "-test.run=^TestProxyOfTheEnvironment$")
			child.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.Contains(strings.ToUpper(v), "_PROXY=") })
			child.Env = append(child.Env, proxyChild+"="+tc.base, tc.variable+"="+p.URL, "SSL_CERT_FILE="+trusted)
			if out, err := child.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			if got := p.asked(); !slices.Equal(got, []string{tc.asked}) {
				t.Errorf("the proxy was asked for %q, want %q", got, tc.asked)
			}
		})
	}
}

// A proxy answers what is not encrypted itself, and lets everything else through to one address.
type proxy struct {
	*httptest.Server
	mu   sync.Mutex
	list []string
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	p := &proxy{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.list = append(p.list, r.Method+" "+strings.TrimPrefix(r.URL.String(), "//"))
		p.mu.Unlock()
		if r.Method != http.MethodConnect {
			answer(201, jsonMessage)(w, r)
			return
		}
		there, err := net.Dial("tcp", to)
		if err != nil {
			t.Error(err)
			return
		}
		defer there.Close()
		here, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer here.Close()
		_, _ = io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *proxy) asked() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.list)
}
