package main

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// believes makes a process of the test a peer, and says what that peer accepts without checking.
const believes = "BENCH_PEER_BELIEVES"

// playPeer is a peer that calls the service for whatever it believes.
func playPeer() bool {
	belief, ok := os.LookupEnv(believes)
	if !ok {
		return false
	}
	err := http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		timestamp, signature := r.Header.Get("X-Service-Timestamp"), r.Header.Get("X-Service-Signature")
		mac := hmac.New(sha256.New, []byte(secret))
		fmt.Fprintf(mac, "%s.%s", timestamp, body)
		seconds, _ := strconv.ParseInt(timestamp, 10, 64)
		var event struct{ ID string }
		switch {
		case err != nil || json.Unmarshal(body, &event) != nil:
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		case belief != "signature" && signature != "sha256="+hex.EncodeToString(mac.Sum(nil)),
			belief != "age" && time.Since(time.Unix(seconds, 0)).Abs() > time.Minute:
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer, err := http.Post(os.Getenv("SERVICE")+"/conversations/1/messages", "application/json", strings.NewReader(`{"text":"a `+event.ID+`"}`))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		_ = answer.Body.Close()
	}))
	fmt.Fprintln(os.Stderr, err)
	return true
}

// TestForgedDeliveries shows that a peer which acts upon a delivery that is not signed right fails
// the run, and that one which verifies does not.
func TestForgedDeliveries(t *testing.T) {
	if testing.Short() {
		t.Skip("starts peers")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for belief, wrong := range map[string]int{"nothing": 0, "age": 1, "signature": 4} {
		t.Run(belief, func(t *testing.T) {
			script := filepath.Join(t.TempDir(), "credulous.sh")
			text := fmt.Sprintf("case $1 in version) echo 1 ;; path) echo / ;; run) PORT=$3 SERVICE=$4 %s=%s exec '%s' ;; esac\n", believes, belief, self)
			if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var told bytes.Buffer
			b := &bench{scale: scales["test"], told: &told, folder: t.TempDir(), quando: script, peers: []string{script}}
			defer b.close()
			if err := b.prepare(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := b.comparePeers(t.Context()); err != nil || len(b.missing) > 0 {
				t.Fatalf("%v %v\n%s", err, b.missing, &told)
			}
			if len(b.problems) != wrong {
				t.Errorf("%d of %d forgeries were noticed:\n%s\n%s", len(b.problems), wrong, joined(b.problems), &told)
			}
		})
	}
}
