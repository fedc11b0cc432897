package session

import (
	"fmt"
	"log/slog"
	"testing"
	"time"
)

var quiet = slog.New(slog.DiscardHandler)

// TestGuessesAtOnce shows that passwords which are sent all at once are bounded as those that are
// sent one after the other, and that right ones do not count.
func TestGuessesAtOnce(t *testing.T) {
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	g := newGate(t, &now)
	for i := range 2*guessesFrom + 1 {
		if role, refused := g.TryToken("198.51.100.1", "open-sesame-of-ali", quiet); role != Operator || refused {
			t.Fatalf("login %d: %v, refused %v", i, role, refused)
		}
	}
	g.guesses.one <- struct{}{} // so that none is found to be wrong yet
	answers := make(chan bool)
	for range 2 * maxGuesses {
		go func() {
			_, refused := g.TryPassword(t.Context(), "198.51.100.1", "vera", "wrong horse", quiet)
			answers <- refused
		}()
	}
	late := time.After(30 * time.Second)
	for i := range 2 * maxGuesses {
		if i == maxGuesses {
			<-g.guesses.one
		}
		select {
		case refused := <-answers:
			if refused != (i < maxGuesses) {
				t.Errorf("answer %d: refused %v", i, refused)
			}
		case <-late:
			t.Fatalf("more than %d are being tried", maxGuesses)
		}
	}
}

// TestGuessesWaitForTheirOwn shows that many passwords from one client queue behind each other, and
// not before those of others.
func TestGuessesWaitForTheirOwn(t *testing.T) {
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	g := newGate(t, &now)
	g.guesses.one <- struct{}{} // so that none is found to be wrong yet
	answers := make(chan string, 100)
	for range maxGuesses {
		go func() {
			g.TryPassword(t.Context(), "198.51.100.1", "vera", "wrong horse", quiet)
			answers <- "stranger"
		}()
	}
	waits := func(from string, n int) { // until so many from there have begun, and one waits for the hash
		t.Helper()
		for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
			g.guesses.mu.Lock()
			of := g.guesses.guesser(from, now)
			begun := of.all >= n && len(of.one) > 0
			g.guesses.mu.Unlock()
			if begun {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("nobody from %s tries a password", from)
			}
		}
		time.Sleep(50 * time.Millisecond)
	}
	waits("198.51.100.1", maxGuesses)
	go func() {
		g.TryPassword(t.Context(), "203.0.113.9", "olga", "correct horse", quiet)
		answers <- "olga"
	}()
	waits("203.0.113.9", 1)
	<-g.guesses.one
	for i := range maxGuesses + 1 {
		if <-answers == "olga" {
			if i > 4 {
				t.Errorf("olga waited for %d guesses of a stranger", i)
			}
			return
		}
	}
}

// TestGuessersAreBounded shows that as many addresses as a provider has cost no more memory than a
// bound.
func TestGuessersAreBounded(t *testing.T) {
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	g := newGate(t, &now)
	for i := range 40_000 {
		g.TryToken(fmt.Sprintf("2001:%x:%x:1::1", i>>8, i&255), "open", quiet)
	}
	if most := len(g.guesses.from); most > networksUtmost {
		t.Errorf("%d addresses are remembered", most)
	}
}
