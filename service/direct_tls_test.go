package service

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
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
	d := c.carrier.(*direct)
	d.tls.RootCAs = x509.NewCertPool()
	d.tls.RootCAs.AddCert(certificate)
	d.rest.(*transport).RoundTripper.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: d.tls.RootCAs}
	return c
}

func TestEncryptedCalls(t *testing.T) {
	resumed := []bool{}
	addresses := map[string]bool{}
	_, c := secure(t, &tls.Config{}, func(w http.ResponseWriter, r *http.Request) {
		if !addresses[r.RemoteAddr] {
			addresses[r.RemoteAddr] = true
			resumed = append(resumed, r.TLS.DidResume)
		}
		if r.ProtoMajor != 1 || r.TLS.NegotiatedProtocol != "http/1.1" {
			t.Errorf("spoken is %s, agreed on is %q", r.Proto, r.TLS.NegotiatedProtocol)
		}
		answer(201, jsonMessage)(w, r)
	})
	for range 3 {
		if err := send(c); err != nil {
			t.Fatal(err)
		}
	}
	c.CloseIdleConnections()
	if err := send(c); err != nil {
		t.Fatal(err)
	}
	if len(resumed) != 2 || resumed[0] || !resumed[1] {
		t.Errorf("sessions resumed: %v; want two connections, of which the second is", resumed)
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

// A host that speaks only HTTP/2 is left to net/http, at once and from then on.
func TestHostThatSpeaksOnlyHTTP2(t *testing.T) {
	var protocols []string
	var greetings atomic.Int32
	config := &tls.Config{NextProtos: []string{"h2"}, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if greetings.Add(1); !slices.Contains(hello.SupportedProtos, "h2") {
			return nil, errors.New("it speaks no HTTP/2")
		}
		return nil, nil
	}}
	_, c := secure(t, config, func(w http.ResponseWriter, r *http.Request) {
		protocols = append(protocols, r.Proto)
		answer(201, jsonMessage)(w, r)
	})
	for range 3 {
		if err := send(c); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(protocols, " ") != "HTTP/2.0 HTTP/2.0 HTTP/2.0" || greetings.Load() != 2 {
		t.Errorf("spoken is %v after %d greetings; want HTTP/2 after 2", protocols, greetings.Load())
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

// What is known of a kept connection before it is used is known of an encrypted one too.
func TestEncryptedConnectionThatIsNotQuiet(t *testing.T) {
	signed := httptest.NewUnstartedServer(nil)
	signed.StartTLS()
	defer signed.Close()
	for name, disturb := range map[string]func(*caller){
		"closed":          func(c *caller) { _ = c.Close() },
		"cut off":         func(c *caller) { _ = c.Conn.(*tls.Conn).NetConn().Close() },
		"half":            func(c *caller) { _ = c.Conn.(*tls.Conn).CloseWrite() },
		"an answer":       func(c *caller) { c.say("HTTP/1.1 418 Not Yours\r\nContent-Length: 0\r\n\r\n") },
		"half an answer":  func(c *caller) { c.say("HTTP/1.1 418 Not") },
		"less than a bit": func(c *caller) { _, _ = c.Conn.(*tls.Conn).NetConn().Write([]byte{23, 3}) },
	} {
		t.Run(name, func(t *testing.T) {
			disturbed := make(chan struct{})
			l := tls.NewListener(listen(t), &tls.Config{Certificates: signed.TLS.Certificates})
			h := newHost(t, l, func(_ int, c *caller) {
				c.hear()
				c.say(created201)
				<-disturbed
				disturb(c)
				disturbed <- struct{}{}
				c.wait()
			})
			c := trusting(t, "https://"+h.Addr().String(), signed.Certificate())
			for n := range int32(3) {
				if err := send(c); err != nil || h.requests.Load() != n+1 || h.connections.Load() != n+1 {
					t.Fatalf("%v, %d requests over %d connections", err, h.requests.Load(), h.connections.Load())
				}
				disturbed <- struct{}{}
				<-disturbed
			}
		})
	}
}
