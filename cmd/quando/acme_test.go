package main

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/rules/programtest"
)

// freePort returns a port that nobody listens on. It is not one of those that the system gives to
// whoever asks for any: another test could be given it meanwhile.
func freePort(t *testing.T) int {
	t.Helper()
	for {
		port := 10_000 + rand.IntN(20_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
}

// names answers questions about names, over TCP: all of them lead to this machine.
func names(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				var size [2]byte
				if _, err := io.ReadFull(c, size[:]); err != nil {
					return
				}
				query := make([]byte, binary.BigEndian.Uint16(size[:]))
				if _, err := io.ReadFull(c, query); err == nil {
					answer := nameAnswer(query)
					_, _ = c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...))
				}
			}()
		}
	}()
	return l.Addr().String()
}

// nameAnswer answers one question of the domain name system.
func nameAnswer(query []byte) []byte {
	end := 12
	for query[end] != 0 {
		end += int(query[end]) + 1
	}
	end += 5 // the last label, type and class
	answer := bytes.Clone(query[:end])
	answer[2], answer[3] = 0x85, 0x80 // from somebody who knows
	answer[7], answer[11] = 0, 0      // no records
	if query[end-3] == 1 {            // an address
		answer[7] = 1
		answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1)
	}
	return answer
}

// An acmeServer is Pebble, the small ACME server of those who make Let's Encrypt.
type acmeServer struct {
	directory, roots string // its address, and the file by which one trusts it
	manage           string
	log              *clitest.Buffer
}

// newACMEServer starts a server that asks on these ports whether somebody has a name, and whose
// certificates are valid so long.
func newACMEServer(t *testing.T, httpPort, tlsPort int, valid time.Duration) *acmeServer {
	t.Helper()
	found, _ := filepath.Glob("../../bin/pebble-v*")
	if len(found) == 0 {
		programtest.Absent(t, "pebble")
	}
	folder := t.TempDir()
	cert, key := newCertificate(t, "acme")
	a := &acmeServer{roots: filepath.Join(folder, "cert.pem"), log: &clitest.Buffer{}}
	clitest.WriteFile(t, a.roots, string(cert))
	clitest.WriteFile(t, filepath.Join(folder, "key.pem"), string(key))
	listen, manage := freePort(t), freePort(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": fmt.Sprintf("127.0.0.1:%d", listen), "managementListenAddress": fmt.Sprintf("127.0.0.1:%d", manage),
		"certificate": a.roots, "privateKey": filepath.Join(folder, "key.pem"), "httpPort": httpPort, "tlsPort": tlsPort,
		"keyAlgorithm": "ecdsa", "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "the only one", "validityPeriod": int(valid.Seconds())}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, filepath.Join(folder, "config.json"), string(config))
	cmd := exec.CommandContext(t.Context(), found[len(found)-1], "-config", filepath.Join(folder, "config.json"), "-dnsserver", names(t), "-strict")
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1")
	cmd.Stdout, cmd.Stderr = a.log, a.log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Log(a.log)
		}
	})
	a.directory, a.manage = fmt.Sprintf("https://127.0.0.1:%d/dir", listen), fmt.Sprintf("https://127.0.0.1:%d", manage)
	clitest.Eventually(t, func() (bool, string) {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", listen))
		if err == nil {
			c.Close()
		}
		return err == nil, a.log.String()
	})
	return a
}

// root returns what the server's certificates can be checked with.
func (a *acmeServer) root(t *testing.T) *x509.CertPool {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	res, err := client.Get(a.manage + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		t.Fatal(string(text), err)
	}
	return roots
}

// TestACME gets a certificate from a real ACME server, which asks over TLS, and gets the next one
// before the first expires. Other names get none.
func TestACME(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	port := freePort(t)
	server := newACMEServer(t, freePort(t), port, 12*time.Second)
	o := newOffice(t)
	t.Setenv("QUANDO_LISTEN", fmt.Sprintf("127.0.0.1:%d", port))
	o.start(o.service() + fmt.Sprintf("\ntls: { acme: { hosts: [hooks.example.com], email: ops@example.com, directory: %q, roots: %q, cache: certificates } }", server.directory, server.roots))
	o.logs("a certificate is in use", map[string]any{"host": "hooks.example.com"})
	roots := server.root(t)
	first, err := shown(t, o.public, "hooks.example.com", roots)
	if err != nil {
		t.Fatalf("%v\n%s\n%s", err, server.log, o.log)
	}
	if _, err := shown(t, o.public, "other.example.com", nil); err == nil {
		t.Error("a name that is not listed has a certificate")
	}
	clitest.Eventually(t, func() (bool, string) {
		next, err := shown(t, o.public, "hooks.example.com", roots)
		return err == nil && next.NotAfter.After(first.NotAfter), fmt.Sprintf("%v\n%s\n%s", err, server.log, o.log)
	})
	folder := filepath.Join(o.folder, "certificates")
	info, err := os.Stat(folder)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info, err)
	}
	files, _ := os.ReadDir(folder)
	for _, f := range files {
		if info, err := f.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s can be read by others", f.Name())
		}
	}
	// What is kept is used after a restart: nobody is asked.
	o.stop()
	asked := strings.Count(server.log.String(), "/finalize-order")
	o.start(o.service() + fmt.Sprintf("\ntls: { acme: { hosts: [hooks.example.com], directory: %q, roots: %q, cache: certificates } }", server.directory, server.roots))
	if _, err := shown(t, o.public, "hooks.example.com", roots); err != nil || asked == 0 || strings.Count(server.log.String(), "/finalize-order") > asked {
		t.Error("after a restart another certificate was asked for", err)
	}
}

// TestACMEOverHTTP gets a certificate where the server can only ask over plain HTTP, on another
// address, which sends everybody else to the encrypted one.
func TestACMEOverHTTP(t *testing.T) {
	t.Parallel()
	port := freePort(t)
	server := newACMEServer(t, port, freePort(t), time.Hour)
	o := newOffice(t)
	o.start(o.service() + fmt.Sprintf("\ntls: { acme: { hosts: [hooks.example.com], directory: %q, roots: %q, http: \"127.0.0.1:%d\" } }", server.directory, server.roots, port))
	o.logs("a certificate is in use", map[string]any{"host": "hooks.example.com"})
	if _, err := shown(t, o.public, "hooks.example.com", server.root(t)); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(o.folder, "acme")); err != nil {
		t.Error("the certificates are not kept beside the journal")
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/webhook", port))
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if to := res.Header.Get("Location"); res.StatusCode != 302 || to != "https://127.0.0.1:443/webhook" {
		t.Errorf("%s to %s", res.Status, to)
	}
}
