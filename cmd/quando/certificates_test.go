package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

// newCertificate returns a certificate that signs itself, and its key, as files have them.
func newCertificate(t *testing.T, name string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

// shown asks an address for its health over TLS, on a connection of its own, and returns the
// certificate that it showed.
func shown(t *testing.T, address, host string, roots *x509.CertPool) (*x509.Certificate, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{ServerName: host, RootCAs: roots, InsecureSkipVerify: roots == nil}}}
	res, err := client.Get(address + "/healthz")
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if text, _ := io.ReadAll(res.Body); res.StatusCode != 200 || string(text) != "alive\n" || res.ProtoMajor != 2 {
		t.Errorf("%s: %s %q", res.Proto, res.Status, text)
	}
	return res.TLS.PeerCertificates[0], nil
}

func replaceFile(t *testing.T, name string, text []byte) {
	t.Helper()
	if err := os.WriteFile(name+".next", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name+".next", name); err != nil {
		t.Fatal(err)
	}
}

// TestEncrypted shows that deliveries come over TLS, that a renewed certificate is in use without a
// restart, and that one whose files do not belong together never is.
func TestEncrypted(t *testing.T) {
	o := newOffice(t)
	certFile, keyFile := filepath.Join(o.folder, "cert.pem"), filepath.Join(o.folder, "key.pem")
	cert, key := newCertificate(t, "first")
	replaceFile(t, certFile, cert)
	replaceFile(t, keyFile, key)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(cert)
	o.start(o.service() + "\ntls: { cert: cert.pem, key: key.pem }")
	if !strings.HasPrefix(o.public, "https://") || !strings.HasPrefix(o.console, "http://") {
		t.Fatal(o.public, o.console)
	}
	if c, err := shown(t, o.public, "", roots); err != nil || c.Subject.CommonName != "first" {
		t.Error(c, err)
	}
	if status, _ := o.asks("GET", strings.Replace(o.public, "https:", "http:", 1)+"/healthz", nil, ""); status != 400 {
		t.Errorf("without encryption: %d", status)
	}
	o.isWell("alive\n", "health")
	old, err := tls.DialWithDialer(&net.Dialer{Timeout: 5 * time.Second}, "tcp", strings.TrimPrefix(o.public, "https://"), &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11})
	if err == nil {
		old.Close()
		t.Error("a version of TLS that is not safe")
	}

	cert, key = newCertificate(t, "second")
	replaceFile(t, certFile, cert)
	clitest.Eventually(t, func() (bool, string) {
		c, err := shown(t, o.public, "", nil)
		if err != nil || c.Subject.CommonName != "first" {
			t.Fatal("a certificate without its key is in use, or none", err)
		}
		return o.logged("the certificate on disk cannot be used; the one before stays in use") != nil, o.log.String()
	})
	replaceFile(t, keyFile, key)
	clitest.Eventually(t, func() (bool, string) {
		c, err := shown(t, o.public, "", nil)
		return err == nil && c.Subject.CommonName == "second", "the first is still in use"
	})
	o.logs("the certificate was renewed", nil)
	o.shows("quando_runs{state=\"held\"} 0")
	if log := o.log.String(); strings.Contains(log, "PRIVATE KEY") || strings.Count(log, "stays in use") != 1 {
		t.Error(log)
	}
}

// TestEncryptedConsole shows when the console is encrypted too, and what TLS is not started with.
func TestEncryptedConsole(t *testing.T) {
	o := newOffice(t)
	cert, key := newCertificate(t, "it")
	o.write("cert.pem", string(cert))
	o.write("key.pem", string(key))
	o.start(o.service() + "\ntls: { cert: cert.pem, key: key.pem }\nconsole: { listen: \"127.0.0.1:0\", tls: true }")
	if c, err := shown(t, o.console, "", nil); err != nil || c.Subject.CommonName != "it" {
		t.Error(c, err)
	}
	o.stop()
	o.write("other.pem", "")
	for _, tt := range []struct{ tls, want string }{
		{"{ cert: cert.pem }", "both cert and key"}, {"{ cert: none.pem, key: key.pem }", "none.pem"}, {"{ cert: other.pem, key: key.pem }", "other.pem"},
		{"{ cert: cert.pem, key: key.pem, acme: { hosts: [a.example.com] } }", "take one of them away"}, {"{ acme: { email: a@example.com } }", "tls.acme.hosts is missing"},
		{"{ acme: { hosts: [a.example.com], roots: other.pem } }", "there is no certificate"}, {"{ acme: { hosts: [] } }", "there is no host"},
		{`{ acme: { hosts: ["https://a.example.com"] } }`, "is not the name of one host"}, {`{ acme: { hosts: ["*.example.com"] } }`, "is not the name"}, {"{ acme: { hosts: [127.0.0.1] } }", "is not the name"},
	} {
		if code, _, errOut := quando(t, "run", "--config", o.config(o.service()+"\nconsole: { listen: \"127.0.0.1:0\" }\ntls: "+tt.tls)); code != cli.ExitError || !strings.Contains(errOut, tt.want) {
			t.Errorf("%s: %d %s", tt.tls, code, errOut)
		}
	}
}
