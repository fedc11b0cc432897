package main

import (
	"bytes"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

var program = flag.String("program", "", "the quando that is attacked; this one unless given")

// An apart is an office whose quando is a process of its own, so that its memory and its
// descriptors can be counted. What it asks of the service is counted too.
type apart struct {
	*office
	pid   int
	calls *callCount
}

// newApart returns an office whose quando is not started yet.
func newApart(t *testing.T) *apart {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	a := &apart{office: newOffice(t), calls: &callCount{list: map[string]int{}}}
	to, err := url.Parse(a.address.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host }}
	counting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.calls.add(r.Method + " " + r.URL.Path)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(counting.Close)
	a.address.BaseURL = counting.URL + to.Path
	return a
}

// begin starts quando with so many descriptors and what is added to the configuration, and waits
// until it listens.
func (a *apart) begin(descriptors int, extra string) {
	a.t.Helper()
	path := *program
	if path == "" {
		var err error
		if path, err = os.Executable(); err != nil {
			a.t.Fatal(err)
		}
	}
	if !strings.Contains(extra, "console:") {
		extra += "\nconsole: { listen: \"127.0.0.1:0\" }"
	}
	config := filepath.Join(a.folder, "quando.yaml")
	clitest.WriteFile(a.t, config, "listen: \"127.0.0.1:0\"\nlog: { format: json }\n"+extra+"\n")
	a.log, a.done = &clitest.Buffer{}, make(chan int, 1)
	cmd := exec.Command("bash", "-c", `ulimit -n "$2"; exec -a quando "$0" run --config "$1"`, path, config, strconv.Itoa(descriptors))
	cmd.Stderr = a.log
	cmd.Env = append(os.Environ(), "GORACE=", "GOCOVERDIR="+a.folder, "GOGC=", "GOMEMLIMIT=") // its collector is as installed, not as for the tests
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	go func() { _ = cmd.Wait(); a.done <- cmd.ProcessState.ExitCode() }()
	a.pid, a.end = cmd.Process.Pid, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }
	clitest.Eventually(a.t, func() (bool, string) {
		line := a.logged("listening")
		if line == nil {
			return false, a.log.String()
		}
		a.public, a.console = line["webhooks"].(string), line["console"].(string)
		return true, ""
	})
	a.deliverTo("/webhook")
}

// encrypt writes a certificate, and returns what the configuration says of it.
func (a *apart) encrypt() string {
	cert, key := newCertificate(a.t, "quando")
	replaceFile(a.t, filepath.Join(a.folder, "cert.pem"), cert)
	replaceFile(a.t, filepath.Join(a.folder, "key.pem"), key)
	return "\ntls: { cert: cert.pem, key: key.pem }"
}

// peak returns the most memory that the process has had resident, in MiB.
func (a *apart) peak() int { return a.status("VmHWM:") >> 10 }

// resident returns the memory that the process has resident, in MiB.
func (a *apart) resident() int { return a.status("VmRSS:") >> 10 }

func (a *apart) status(name string) (number int) {
	a.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", a.pid))
	if err != nil {
		a.t.Fatalf("%v\n%s", err, a.log)
	}
	_, rest, _ := strings.Cut(string(text), name)
	if _, err := fmt.Sscan(rest, &number); err != nil {
		a.t.Fatal(err)
	}
	return number
}

// processorOf returns the processor time that a process has had.
func processorOf(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	var ticks time.Duration
	for _, field := range fields[11:13] { // in user mode, in the kernel
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// descriptors returns how many the process has open.
func (a *apart) descriptors() int {
	a.t.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", a.pid))
	if err != nil {
		a.t.Fatal(err)
	}
	return len(list)
}

// A callCount counts what the service is asked.
type callCount struct {
	mu   sync.Mutex
	list map[string]int
}

func (c *callCount) add(call string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list[call]++
}

// of returns how many calls have something in their method and path.
func (c *callCount) of(part string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for call, count := range c.list {
		if strings.Contains(call, part) {
			n += count
		}
	}
	return n
}

// trusting is a client for servers whose certificate nobody has signed.
func trusting(keepAlive bool) *http.Client {
	return &http.Client{Timeout: time.Minute, Transport: &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true, DisableKeepAlives: !keepAlive, MaxIdleConnsPerHost: 16,
	}}
}

// deliver delivers a right signed event by its id, and returns how that was answered.
func (a *apart) deliver(client *http.Client, id string) (status int, took time.Duration, err error) {
	return a.deliverBody(client, strings.Replace(delivery, "e1", id, 1))
}

func (a *apart) deliverBody(client *http.Client, body string) (status int, took time.Duration, err error) {
	r, err := http.NewRequest(http.MethodPost, a.public+"/webhook", strings.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	for k, v := range signed(string(a.secret), body) {
		r.Header.Set(k, v)
	}
	began := time.Now()
	res, err := client.Do(r)
	if err != nil {
		return 0, time.Since(began), err
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode, time.Since(began), nil
}

// forgery returns the head of a delivery that looks right, over HTTP/1.1, with a body of so many
// bytes.
func forgery(length int) string {
	h := signed("guess", "")
	return fmt.Sprintf("POST /webhook HTTP/1.1\r\nHost: here\r\nX-Service-Timestamp: %s\r\nX-Service-Signature: %s\r\nContent-Length: %d\r\n\r\n",
		h["X-Service-Timestamp"], h["X-Service-Signature"], length)
}

// dial connects to an address.
func dial(address string) (net.Conn, error) {
	scheme, host, _ := strings.Cut(address, "://")
	c, err := (&net.Dialer{Timeout: 30 * time.Second}).Dial("tcp", host)
	if err == nil && scheme == "https" {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	}
	return c, err
}

// A stalled body is one that stops before its end.
type stalled struct {
	left int
	gone <-chan struct{}
}

func (s *stalled) Read(p []byte) (int, error) {
	if s.left == 0 {
		<-s.gone
		return 0, errors.New("the attacker went away")
	}
	n := min(s.left, len(p))
	s.left -= n
	copy(p, bytes.Repeat([]byte("x"), n))
	return n, nil
}

// mostOthers is the share of the machine that others may have. Where it is more, nobody can tell
// whether an attack or they keep a delivery waiting.
const mostOthers = 0.25

// A machineLoad is the processor time that everybody has had, and that we and the process under
// attack have had, in ticks.
type machineLoad struct{ all, busy, ours float64 }

// machine reads how the machine stands.
func (a *apart) machine() (m machineLoad) {
	a.t.Helper()
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		a.t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	for i, field := range strings.Fields(first)[1:9] {
		n, err := strconv.ParseFloat(field, 64)
		if err != nil {
			a.t.Fatal(err)
		}
		if m.all += n; i != 3 && i != 4 { // idle, and waiting for a disk
			m.busy += n
		}
	}
	m.ours = float64(processorOf(a.t, a.pid)+processorOf(a.t, os.Getpid())) / float64(10*time.Millisecond)
	return m
}

// others returns the share of the machine that others have had since.
func (m machineLoad) others(before machineLoad) float64 {
	return max(0, m.busy-before.busy-(m.ours-before.ours)) / max(1, m.all-before.all)
}

// delivers delivers so many right signed events, which must be recorded.
func (a *apart) delivers(n int) {
	a.t.Helper()
	before := a.machine()
	var bad []string
	for i := range n {
		if status, took, err := a.deliver(trusting(i%2 == 0), fmt.Sprint("during ", i)); status != http.StatusAccepted {
			bad = append(bad, fmt.Sprintf("%d after %v %v", status, took, err))
		}
		time.Sleep(30 * time.Millisecond)
	}
	others := a.machine().others(before)
	switch {
	case len(bad) == 0:
	case others > mostOthers && len(bad) < n/2:
		a.t.Logf("others have %.0f %% of this machine, so it is not judged that signed deliveries are answered with %v", 100*others, bad)
	default:
		a.t.Errorf("signed deliveries are answered with %v", bad)
	}
}
