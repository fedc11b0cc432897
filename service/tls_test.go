package service

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// secure starts an encrypted server and gives a client that trusts it.
func secure(t *testing.T, config *tls.Config, h http.HandlerFunc) (*httptest.Server, *Client) {
	t.Helper()
	srv := httptest.NewUnstartedServer(h)
	srv.TLS = config
	srv.EnableHTTP2 = len(config.NextProtos) > 0
	srv.Config.ErrorLog = log.New(io.Discard, "", 0) // of those that are turned away
	srv.StartTLS()
	t.Cleanup(srv.Close)
	return srv, trusting(t, srv.URL, srv.Certificate())
}

func trusting(t *testing.T, address string, certificate *x509.Certificate) *Client {
	t.Helper()
	c, err := New(Options{BaseURL: address, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.CloseIdleConnections)
	roots := x509.NewCertPool()
	roots.AddCert(certificate)
	c.transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: roots}
	return c
}

// A host is spoken to over HTTP/2 where it can, over one connection, else over HTTP/1.1.
func TestEncryptedCalls(t *testing.T) {
	for want, config := range map[string]*tls.Config{"HTTP/1.1": {}, "HTTP/2.0": {NextProtos: []string{"h2", "http/1.1"}}} {
		var spoken []string
		addresses := map[string]bool{}
		_, c := secure(t, config, func(w http.ResponseWriter, r *http.Request) {
			spoken, addresses[r.RemoteAddr] = append(spoken, r.Proto), true
			answer(201, jsonMessage)(w, r)
		})
		for range 3 {
			if err := send(c); err != nil {
				t.Fatal(err)
			}
		}
		if len(addresses) != 1 || !slices.Equal(spoken, []string{want, want, want}) {
			t.Errorf("spoken is %v over %d connections, want %s over 1", spoken, len(addresses), want)
		}
	}
}

func TestCertificatesAreVerified(t *testing.T) {
	var calls atomic.Int32
	srv, _ := secure(t, &tls.Config{}, func(http.ResponseWriter, *http.Request) { calls.Add(1) })
	unknown, err := New(Options{BaseURL: srv.URL, APIKey: testKey})
	if err != nil {
		t.Fatal(err)
	}
	// The certificate of httptest is for example.com and 127.0.0.1.
	other := trusting(t, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1), srv.Certificate())
	for name, c := range map[string]*Client{"signed by nobody": unknown, "for another host": other} {
		if err := send(c); err == nil || IsUncertain(err) || !strings.Contains(err.Error(), "certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if calls.Load() != 0 {
		t.Errorf("%d calls came through", calls.Load())
	}
}

func TestHostThatIsNotEncrypted(t *testing.T) {
	h := newHost(t, listen(t), func(_ int, c *caller) {
		c.say("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
		c.wait()
	})
	c := h.client(t, func(o *Options) { o.BaseURL = "https://" + h.Addr().String() })
	if err := send(c); err == nil || IsUncertain(err) || !strings.Contains(err.Error(), "does not look like a TLS handshake") {
		t.Errorf("got %v", err)
	}
}
