package console

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

func comesFrom(address string) func(*http.Request) {
	return func(r *http.Request) { r.RemoteAddr = address }
}

// TestGuessedTokens repeats an attack with 5,933 tokens in three seconds: after ten in a minute no
// other one from that address is checked, and the log has two lines about it. No other client, and
// no session, is affected.
func TestGuessedTokens(t *testing.T) {
	var log bytes.Buffer
	d := newDesk(t, guarded, func(o *Options) {
		o.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	session, _ := d.enters("olga", "correct horse")
	program := func(r *http.Request) { r.Header.Set("Accept", "*/*") }
	metrics := func(token, from string, change ...func(*http.Request)) int {
		return d.ask("GET", "/metrics", nil, append(change, program, bearer(token), comesFrom(from))...).Code
	}
	const stranger = "203.0.113.7:1000"
	answers := map[int]int{}
	for i := range 6000 {
		answers[metrics(fmt.Sprint("guess-", i), fmt.Sprintf("203.0.113.7:%d", 1000+i))]++
	}
	if answers[http.StatusUnauthorized] != maxGuesses || answers[http.StatusTooManyRequests] != 6000-maxGuesses {
		t.Errorf("6000 guesses were answered with %v", answers)
	}
	if got := metrics("open-sesame-of-ali", stranger); got != http.StatusTooManyRequests {
		t.Errorf("a guess too many was tried: %d", got)
	}
	if w := d.ask("GET", "/login", nil, bearer("open-sesame-of-ali"), comesFrom(stranger)); w.Code != http.StatusOK {
		t.Errorf("the page of the login tells which token is right: %d", w.Code)
	}
	w := d.ask("GET", "/metrics", nil, program, bearer("x"), comesFrom(stranger))
	if after := w.Header().Get("Retry-After"); after == "" || after == "0" {
		t.Errorf("he is not told when to come again: %v", w.Header())
	}
	if lines := strings.Count(log.String(), "203.0.113.7"); lines != 2 {
		t.Errorf("%d lines of the log tell of him:\n%s", lines, &log)
	}
	for _, secret := range []string{"guess-", "sesame"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("what was tried is in the log:\n%s", &log)
		}
	}
	// Sessions stay valid, whatever other requests come from the same address.
	if got := metrics("wrong", stranger, session); got != http.StatusOK {
		t.Errorf("somebody with a session is kept out: %d", got)
	}
	if got := metrics("open-sesame-of-ali", "203.0.113.8:1"); got != http.StatusOK {
		t.Errorf("another address is kept out: %d", got)
	}
	d.mu.Lock()
	d.now = d.now.Add(time.Minute)
	d.mu.Unlock()
	if got := metrics("open-sesame-of-ali", stranger); got != http.StatusOK {
		t.Errorf("a minute later: %d", got)
	}
}

// TestGuessesByNetwork shows that all addresses which one customer of a provider has count as one,
// and no others.
func TestGuessesByNetwork(t *testing.T) {
	d := newDesk(t, guarded)
	login := func(password, from string) int {
		return d.ask("POST", "/login", url.Values{"password": {password}}, comesFrom(from)).Code
	}
	for i := range maxGuesses {
		if got := login("wrong", fmt.Sprintf("[2001:db8:1:2:%x::%x]:443", i, i+1)); got != http.StatusUnauthorized {
			t.Fatalf("guess %d: %d", i, got)
		}
		login("wrong", fmt.Sprintf("[::ffff:198.51.100.7]:%d", i+1))
	}
	for from, want := range map[string]int{
		"[2001:db8:1:2:ffff::1]:443": http.StatusTooManyRequests, "[2001:db8:1:3::1]:443": http.StatusSeeOther,
		"198.51.100.7:9": http.StatusTooManyRequests, "198.51.100.8:9": http.StatusSeeOther, "[::ffff:198.51.100.7]:9": http.StatusTooManyRequests,
	} {
		if got := login("open-sesame-of-ali", from); got != want {
			t.Errorf("from %s: %d, not %d", from, got, want)
		}
	}
}

// TestNobodyLocksOutOthers repeats an attack with 60 wrong logins from seven addresses: users at
// other addresses still log in, and sessions stay valid.
func TestNobodyLocksOutOthers(t *testing.T) {
	var log bytes.Buffer
	d := newDesk(t, guarded, func(o *Options) { o.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
	session, _ := d.enters("olga", "correct horse")
	for i := range 500 {
		name := []string{"vera", "edu", "olga", ""}[i%4]
		d.ask("POST", "/login", url.Values{"name": {name}, "password": {"open"}}, comesFrom(fmt.Sprintf("198.51.100.%d:1", i%7)))
	}
	if w := d.ask("POST", "/login", url.Values{"name": {"vera"}, "password": {"correct horse"}}, comesFrom("203.0.113.9:1")); w.Code != http.StatusSeeOther {
		t.Errorf("vera cannot log in: %d", w.Code)
	}
	if w := d.ask("GET", "/", nil, session, comesFrom("198.51.100.3:1")); w.Code != http.StatusOK {
		t.Errorf("olga is out: %d", w.Code)
	}
	// Guesses from many addresses cost the log no more than a bound.
	for i := range 1_000 {
		d.ask("POST", "/login", url.Values{"password": {"open"}}, comesFrom(fmt.Sprintf("[2001:db8:%x:%x::1]:1", i>>8, i&255)))
	}
	if lines := strings.Count(log.String(), "\n"); lines > 20 {
		t.Errorf("%d lines were logged in a minute:\n%.2000s", lines, &log)
	}
	if !strings.Contains(log.String(), "more are not logged") {
		t.Errorf("the log does not say that there is more:\n%s", &log)
	}
	if w := d.ask("GET", "/", nil, session); w.Code != http.StatusOK {
		t.Errorf("olga is out: %d", w.Code)
	}
}

// TestSessionsOfOthersLast repeats an attack by a viewer: repeated logins end only sessions of the
// same user.
func TestSessionsOfOthersLast(t *testing.T) {
	d := newDesk(t, guarded)
	olga, _ := d.enters("olga", "correct horse")
	first, _ := d.enters("", "open-sesame-of-ali")
	d.mu.Lock()
	d.now = d.now.Add(time.Second)
	d.mu.Unlock()
	var last func(*http.Request)
	for range 1500 {
		last, _ = d.enters("", "open-sesame-of-ali")
	}
	for name, tt := range map[string]struct {
		session func(*http.Request)
		want    int
	}{"of somebody else": {olga, 200}, "the last": {last, 200}, "the first of 1500": {first, 303}} {
		if w := d.ask("GET", "/", nil, tt.session); w.Code != tt.want {
			t.Errorf("the session %s: %d", name, w.Code)
		}
	}
}
