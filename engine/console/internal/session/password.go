package session

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"golang.org/x/crypto/argon2"
)

// What a guess costs: the second choice of RFC 9106, for machines that do other things too.
const (
	hashTime    = 3
	hashMemory  = 64 * 1024 // KiB
	hashThreads = 4
	hashLength  = 32
	saltLength  = 16
)

// HashPassword returns what is written into the configuration for a password.
func HashPassword(password string) (string, error) {
	if len(password) < 8 || len(password) > 1000 {
		return "", errors.New("a password has 8 characters at least, and 1000 at most")
	}
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // it never fails
	h := hash{memory: hashMemory, time: hashTime, threads: hashThreads, salt: salt}
	return h.String(password), nil
}

// A hash is a password's, with what it was made with.
type hash struct {
	memory, time uint32
	threads      uint8
	salt, sum    []byte
}

var errHash = errors.New("the password must be a hash that `quando password` printed")

// parseHash reads $argon2id$v=19$m=65536,t=3,p=4$salt$sum.
func parseHash(text string) (h hash, err error) {
	parts := strings.Split(text, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return h, errHash
	}
	if _, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &h.memory, &h.time, &h.threads); err != nil {
		return h, errHash
	}
	var saltErr, sumErr error
	h.salt, saltErr = base64.RawStdEncoding.DecodeString(parts[4])
	h.sum, sumErr = base64.RawStdEncoding.DecodeString(parts[5])
	// Larger parameters would let a configuration exhaust the machine.
	if saltErr != nil || sumErr != nil || len(h.salt) < 8 || len(h.sum) != hashLength || h.time < 1 || h.time > 20 || h.threads < 1 || h.memory < 8*1024 || h.memory > 1024*1024 {
		return h, errHash
	}
	return h, nil
}

// String returns the hash of a password in the form that parseHash reads.
func (h hash) String(password string) string {
	b64 := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, h.memory, h.time, h.threads, b64(h.salt), b64(h.of(password)))
}

func (h hash) of(password string) []byte {
	return argon2.IDKey([]byte(password), h.salt, h.time, h.memory, h.threads, hashLength)
}

// unknownUserHash is the hash for unknown users, so that they take as long as known ones.
var unknownUserHash = hash{memory: hashMemory, time: hashTime, threads: hashThreads, salt: make([]byte, saltLength), sum: make([]byte, hashLength)}

// TryPassword returns the role of a user whose password is right, else Nobody, also if ctx ends
// first. It refuses after too many wrong ones.
func (g *Gate) TryPassword(ctx context.Context, from, name, password string, log *slog.Logger) (role Role, refused bool) {
	now := g.now()
	a := g.guesses.try(from, name, now)
	if a != nil && g.isPassword(ctx, a, name, password) {
		g.guesses.right(a)
		return g.Users[name].Role, false
	}
	g.guesses.logAttempt(log, from, "a password", a == nil, now)
	return Nobody, a == nil
}

func (g *Gate) isPassword(ctx context.Context, a *attempt, name, password string) bool {
	user, known := g.Users[name]
	h, err := parseHash(user.Password)
	if !known || err != nil {
		h = unknownUserHash
	}
	leave, ok := g.guesses.acquireHash(ctx, a)
	if !ok {
		return false
	}
	defer leave()
	return subtle.ConstantTimeCompare(h.of(password), h.sum) == 1 && known && err == nil
}

// CheckHash refuses what is no hash of a password, without telling what it is.
func CheckHash(text string) error {
	_, err := parseHash(text)
	return err
}
