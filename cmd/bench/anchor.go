package main

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-json"
)

// roleVariable makes a process of this program play another part.
const roleVariable = "QUANDO_BENCH_ROLE"

// playRole runs the role that the environment sets, and reports whether there is one.
func playRole() bool {
	if os.Getenv(roleVariable) != "anchor" {
		return false
	}
	if err := serveAnchor(); err != nil {
		fmt.Fprintln(os.Stderr, "anchor:", err)
		os.Exit(1)
	}
	return true
}

// anchorEvent is what the anchor decodes: the minimum to handle an event.
type anchorEvent struct {
	ID        string         `json:"id"`
	Type      string         `json:"type"`
	CreatedAt time.Time      `json:"created_at"`
	Tenant    string         `json:"tenant_id"`
	Data      map[string]any `json:"data"`
}

// serveAnchor is the anchor: a server that verifies the signature, decodes the event, forgets it,
// and answers.
func serveAnchor() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	s := &http.Server{Handler: http.HandlerFunc(anchorAnswer), ReadHeaderTimeout: 5 * time.Second}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the parent exits
		os.Exit(0)
	}()
	return s.Serve(l)
}

func anchorAnswer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		http.Error(w, "not read", http.StatusBadRequest)
		return
	}
	timestamp := r.Header.Get("X-Service-Timestamp")
	given, err := hex.DecodeString(strings.TrimPrefix(r.Header.Get("X-Service-Signature"), "sha256="))
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp))
	mac.Write([]byte("."))
	mac.Write(body)
	seconds, bad := strconv.ParseInt(timestamp, 10, 64)
	if err != nil || bad != nil || !hmac.Equal(given, mac.Sum(nil)) || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
		http.Error(w, "signature refused", http.StatusUnauthorized)
		return
	}
	var e anchorEvent
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" {
		http.Error(w, "not an event", http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusAccepted)
	_, _ = io.WriteString(w, `{"status":"recorded"}`+"\n") // the client may have disconnected
}

// An anchor is the process of the anchor.
type anchor struct {
	cmd   *exec.Cmd
	stdin io.Closer
	to    target
}

func startAnchor(ctx context.Context) (*anchor, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &anchor{cmd: exec.CommandContext(ctx, self)}
	a.cmd.Env = append(os.Environ(), roleVariable+"=anchor")
	a.cmd.Stderr = os.Stderr
	if a.stdin, err = a.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := a.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := a.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the anchor does not start: %w", err)
	}
	a.to = target{address: strings.TrimSpace(line), path: "/webhook"}
	return a, nil
}

func (a *anchor) stop() {
	_ = a.stdin.Close()
	_ = a.cmd.Wait() // its exit status does not matter
}
