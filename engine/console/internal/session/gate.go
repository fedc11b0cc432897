// Package session authenticates the console's users: roles, passwords and tokens, sessions, and
// limits on guessing.
package session

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A Role is a set of permissions. Each includes those before it.
type Role int

// The roles.
const (
	Nobody   Role = iota
	Viewer        // reads
	Editor        // writes rules
	Operator      // places and lifts holds, retries, cancels and resolves runs
)

var roleNames = [...]string{"nobody", "viewer", "editor", "operator"}

// String names the role as the configuration does.
func (r Role) String() string { return roleNames[r] }

// ParseRole reads a role's name.
func ParseRole(name string) (Role, error) {
	for i, n := range roleNames[1:] {
		if n == name {
			return Role(i + 1), nil
		}
	}
	return Nobody, fmt.Errorf("%q is no role: a user is a viewer, an editor or an operator", name)
}

// Access says who may use the console. On a loopback address no login is required unless there is a
// token or a user; on any other address there must be one.
type Access struct {
	Listen string // the address that the console is served on
	Token  string // grants the role of an operator; empty is none
	Users  map[string]User
	Hosts  []string // accepted host names, beside this machine's own on a loopback address; none, on another address, is any
	// ForwardedFor is the header in which a proxy passes the client's address, such as
	// X-Forwarded-For; empty without a proxy. A client that can bypass the proxy can forge it.
	ForwardedFor string

	Assistants map[string]AssistantToken // by their names; none is that no assistant comes in
}

// A User is a user of the console.
type User struct {
	Password string // as HashPassword writes it
	Role     Role
}

const (
	sessionLength = 12 * time.Hour
	sessionsEach  = 100 // of one user, or of the token; a further one ends the oldest
	tokenLeast    = 16  // characters of a token that other machines may try to guess
)

// A Gate authenticates requests.
type Gate struct {
	Access
	loopback bool
	now      func() time.Time
	guesses  *guesses

	mu       sync.Mutex
	sessions map[[sha256.Size]byte]*Identity // by the hash of what the cookie holds
}

// An Identity is the user of a request.
type Identity struct {
	Name  string
	Role  Role
	until time.Time // zero is without end
	key   [sha256.Size]byte
}

// New returns the gate of a console, or what is wrong with its settings.
func New(a Access, now func() time.Time) (*Gate, error) {
	if a.Token != "" && strings.TrimSpace(a.Token) == "" {
		return nil, errors.New("console.token is empty")
	}
	a.Token = strings.TrimSpace(a.Token) // headers lose such space, and files end with a line break
	g := &Gate{Access: a, loopback: IsLoopback(a.Listen), now: now, guesses: newGuesses(), sessions: map[[sha256.Size]byte]*Identity{}}
	if !g.loopback && !g.Asks() {
		return nil, fmt.Errorf("console.listen %s can be reached from other machines: set console.token or console.users, or listen on 127.0.0.1:8081", a.Listen)
	}
	if near := g.loopback && len(a.Hosts) == 0 && a.ForwardedFor == ""; !near && a.Token != "" && utf8.RuneCountInString(a.Token) < tokenLeast {
		return nil, fmt.Errorf("console.token has less than %d characters, and others than this machine may try some: take one that `openssl rand -hex 32` prints", tokenLeast)
	}
	if err := a.checkAssistants(); err != nil {
		return nil, err
	}
	for name, u := range a.Users {
		if _, err := parseHash(u.Password); err != nil {
			return nil, fmt.Errorf("console.users.%s: %w", name, err)
		}
		if u.Role < Viewer || u.Role > Operator {
			return nil, fmt.Errorf("console.users.%s: a role is needed", name)
		}
	}
	return g, nil
}

// AsksFor says in words what a visitor needs to come in.
func (a Access) AsksFor() string {
	users := ""
	if n := len(a.Users); n == 1 {
		users = "the password of 1 user"
	} else if n > 1 {
		users = fmt.Sprintf("the password of one of %d users", n)
	}
	switch {
	case a.Token == "" && users == "":
		return "nothing: everybody who reaches it is an operator"
	case a.Token == "":
		return users
	case users == "":
		return "a token"
	}
	return "a token, or " + users
}

// From is the client address of a request, without its port. Of those in the proxy's header the
// last counts: it is the one that the proxy itself saw.
func (g *Gate) From(r *http.Request) string {
	address := r.RemoteAddr
	if given := r.Header.Values(g.ForwardedFor); g.ForwardedFor != "" && len(given) > 0 {
		last := given[len(given)-1]
		last = strings.TrimSpace(last[strings.LastIndex(last, ",")+1:])
		if net.ParseIP(hostName(last)) != nil {
			address = last
		}
	}
	return hostName(address)
}

// Asks reports whether a login is required.
func (g *Gate) Asks() bool { return g.Token != "" || len(g.Users) > 0 }

// Identify returns the user of a request, or nil. A valid session is enough; otherwise a wrong
// bearer token counts as a guess, and is refused unchecked after too many of them.
func (g *Gate) Identify(r *http.Request, log *slog.Logger) (who *Identity, refused bool) {
	if !g.Asks() {
		return &Identity{Name: "local", Role: Operator}, false
	}
	if who := g.session(r); who != nil {
		return who, false
	}
	scheme, given, ok := strings.Cut(r.Header.Get("Authorization"), " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || g.Token == "" {
		return nil, false
	}
	role, refused := g.TryToken(g.From(r), given, log)
	if role == Nobody {
		return nil, refused
	}
	return &Identity{Name: "token", Role: role}, false
}

// TryToken returns Operator for the right token, else Nobody. It refuses after too many wrong ones.
func (g *Gate) TryToken(from, given string, log *slog.Logger) (role Role, refused bool) {
	now := g.now()
	accepted, refused := g.guesses.token(from, g.isToken(given), now)
	if accepted {
		return Operator, false
	}
	g.guesses.logAttempt(log, from, "a token", refused, now)
	return Nobody, refused
}

// session returns the identity of a request's session, or nil.
func (g *Gate) session(r *http.Request) *Identity {
	cookie, err := r.Cookie(g.cookieName(r))
	if err != nil {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	who := g.sessions[sha256.Sum256([]byte(cookie.Value))]
	if who == nil || g.now().After(who.until) {
		return nil
	}
	return who
}

// Lasts reports whether an identity is still valid.
func (g *Gate) Lasts(who *Identity) bool {
	if who == nil || who.until.IsZero() {
		return who != nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.sessions[who.key] == who && !g.now().After(who.until)
}

// isToken compares in constant time, which hides even the token's length.
func (g *Gate) isToken(given string) bool {
	got, want := sha256.Sum256([]byte(strings.TrimSpace(given))), sha256.Sum256([]byte(g.Token))
	return g.Token != "" && subtle.ConstantTimeCompare(got[:], want[:]) == 1
}

// Enter begins a session and sets its cookie.
func (g *Gate) Enter(w http.ResponseWriter, r *http.Request, name string, role Role) {
	value := rand.Text()
	who := &Identity{Name: name, Role: role, until: g.now().Add(sessionLength), key: sha256.Sum256([]byte(value))}
	g.mu.Lock()
	var oldest *Identity
	own := 0
	for key, s := range g.sessions {
		if g.now().After(s.until) {
			delete(g.sessions, key)
		} else if s.Name == name && s.Role == role {
			own++
			if oldest == nil || s.until.Before(oldest.until) {
				oldest = s
			}
		}
	}
	if own >= sessionsEach {
		delete(g.sessions, oldest.key)
	}
	g.sessions[who.key] = who
	g.mu.Unlock()
	http.SetCookie(w, &http.Cookie{
		Name: g.cookieName(r), Value: value, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.Secure(r), MaxAge: int(sessionLength.Seconds()),
	})
}

// Leave ends the session of a request.
func (g *Gate) Leave(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(g.cookieName(r)); err == nil {
		g.mu.Lock()
		delete(g.sessions, sha256.Sum256([]byte(cookie.Value)))
		g.mu.Unlock()
	}
	http.SetCookie(w, &http.Cookie{Name: g.cookieName(r), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode, Secure: g.Secure(r), MaxAge: -1})
}

// Secure reports whether cookies may only travel encrypted. A browser on this machine talks to a
// loopback address without encryption.
func (g *Gate) Secure(r *http.Request) bool {
	return !g.loopback || r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https"
}

// cookieName has the __Host- prefix, which keeps other hosts from setting the cookie, if the
// browser allows it.
func (g *Gate) cookieName(r *http.Request) string {
	if g.Secure(r) {
		return "__Host-quando"
	}
	return "quando"
}

// HostAllowed refuses host names that another site could have pointed at this machine.
func (g *Gate) HostAllowed(host string) bool {
	name := hostName(host)
	if slices.ContainsFunc(g.Hosts, func(allowed string) bool { return strings.EqualFold(allowed, name) }) {
		return true
	}
	if g.loopback {
		return isLoopbackName(name)
	}
	return len(g.Hosts) == 0
}

// IsLoopback reports whether an address to listen on can only be reached from this machine.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && isLoopbackName(host)
}

// hostName returns what a Host header names, without the port.
func hostName(host string) string {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		return strings.Trim(host, "[]")
	}
	return name
}

func isLoopbackName(name string) bool {
	ip := net.ParseIP(name)
	return strings.EqualFold(name, "localhost") || (ip != nil && ip.IsLoopback())
}
