package session

import (
	"context"
	"crypto/sha256"
	"log/slog"
	"net/netip"
	"sync"
	"time"
)

// Bounds of wrong passwords and tokens per minute. There is no global bound: it would let a few
// attackers lock out all users.
const (
	maxGuesses  = 10 // for one name, or the token, from one network
	guessesFrom = 30 // from one network
	guessLines  = 20 // in the log

	networksMost   = 10_000 // counted one by one; further ones are counted by larger networks
	networksUtmost = 20_000 // counted in all; attempts from further ones are refused
)

// guesses limits the rate of wrong passwords and tokens by network.
type guesses struct {
	one chan struct{} // held during a hash, which takes much memory

	mu     sync.Mutex
	minute int64
	from   map[netip.Prefix]*guesser // networks with attempts in this minute
	lines  int                       // logged in this minute
}

// A guesser counts the attempts of one network in one minute.
type guesser struct {
	one                chan struct{} // queues its attempts before they queue with those of others
	wrong              map[[sha256.Size]byte]int
	all                int
	toldWrong, toldOff bool // logged
}

// An attempt is one password being tried.
type attempt struct {
	guesser *guesser
	name    [sha256.Size]byte
}

func newGuesses() *guesses { return &guesses{one: make(chan struct{}, 1)} }

// network returns the network by which an address is counted. A provider's customer usually has a
// whole /64 of IPv6.
func network(from string, coarse bool) netip.Prefix {
	a, err := netip.ParseAddr(from)
	if err != nil {
		return netip.Prefix{}
	}
	a = a.WithZone("").Unmap()
	bits := 64
	switch {
	case a.Is4() && coarse:
		bits = 16
	case a.Is4():
		bits = 32
	case coarse:
		bits = 32
	}
	p, _ := a.Prefix(bits) // the address has that many
	return p
}

// guesser returns the counters of an address's network, or nil when there are too many networks.
func (g *guesses) guesser(from string, now time.Time) *guesser {
	if m := now.Unix() / 60; m != g.minute || g.from == nil {
		g.minute, g.from, g.lines = m, map[netip.Prefix]*guesser{}, 0
	}
	n := network(from, false)
	if g.from[n] == nil && len(g.from) >= networksMost {
		n = network(from, true)
	}
	if g.from[n] == nil && len(g.from) < networksUtmost {
		g.from[n] = &guesser{one: make(chan struct{}, 1), wrong: map[[sha256.Size]byte]int{}}
	}
	return g.from[n]
}

// try begins an attempt at a user's password, or returns nil when there were too many. An attempt
// counts as wrong until it is found to be right, so that parallel attempts are bounded too.
func (g *guesses) try(from, name string, now time.Time) *attempt {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count(from, "user "+name, now)
}

// token counts a token that was right or wrong. It is refused in either case when there were too
// many wrong ones before.
func (g *guesses) token(from string, right bool, now time.Time) (accepted, refused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a := g.count(from, "token", now)
	if a != nil && right {
		a.forget()
	}
	return a != nil && right, a == nil
}

func (g *guesses) count(from, name string, now time.Time) *attempt {
	a := &attempt{g.guesser(from, now), sha256.Sum256([]byte(name))}
	if a.guesser == nil || a.guesser.wrong[a.name] >= maxGuesses || a.guesser.all >= guessesFrom {
		return nil
	}
	a.guesser.wrong[a.name]++
	a.guesser.all++
	return a
}

// right takes back what was counted of an attempt that was right.
func (g *guesses) right(a *attempt) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a.forget()
}

func (a *attempt) forget() {
	a.guesser.all--
	if a.guesser.wrong[a.name]--; a.guesser.wrong[a.name] == 0 {
		delete(a.guesser.wrong, a.name)
	}
}

// acquireHash waits until a hash may be computed. It returns false when ctx ends first.
func (g *guesses) acquireHash(ctx context.Context, a *attempt) (leave func(), ok bool) {
	select {
	case a.guesser.one <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	select {
	case g.one <- struct{}{}:
		return func() { <-g.one; <-a.guesser.one }, true
	case <-ctx.Done():
		<-a.guesser.one
		return nil, false
	}
}

// logAttempt logs a wrong or a refused attempt: each once a minute per network, within a bound in
// all.
func (g *guesses) logAttempt(log *slog.Logger, from, what string, refused bool, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	who := g.guesser(from, now)
	if who == nil || g.lines >= guessLines || refused && who.toldOff || !refused && who.toldWrong {
		return
	}
	g.lines++
	message := "login to the console failed"
	if refused {
		who.toldOff, message = true, "too many wrong passwords or tokens: what else comes from there is refused for the rest of the minute"
	} else {
		who.toldWrong = true
	}
	if g.lines == guessLines {
		message += "; more are not logged in this minute"
	}
	log.Warn(message, "from", from, "gave", what)
}
