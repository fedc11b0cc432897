package sandbox

import (
	"math"
	"net/http"
	"slices"
	"strings"
)

// Scopes are the scopes a key can have. "write" is ours: the reference does
// not show the scope of Kanban changes.
var Scopes = []string{
	"conversations:read", "conversations:write",
	"messages:read", "messages:send", "media:write",
	"contacts:read", "contacts:write",
	"attendances:read", "attendances:write",
	"team:read", "reports:read", "webhooks:manage",
	"read", "write",
}

// keyPrefix is how a key can be told from other texts.
const keyPrefix = "qsk_"

// authenticate returns the key a request carries.
func (s *Sandbox) authenticate(r *http.Request) (*Key, error) {
	unauthorized := func(message string) error {
		return &Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: message}
	}
	scheme, text, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || text == "" {
		return nil, unauthorized("send the key in the header Authorization: Bearer <API_KEY>")
	}
	key := s.store.secrets[strings.TrimSpace(text)]
	switch {
	case key == nil:
		return nil, unauthorized("the key is not valid")
	case key.Revoked:
		return nil, unauthorized("the key was revoked")
	case key.ExpiresAt != 0 && key.ExpiresAt <= s.now():
		return nil, unauthorized("the key has expired")
	}
	return key, nil
}

// allow refuses an operation whose scope the key lacks.
func (k *Key) allow(op *operation) error {
	if op.scope == "" || slices.Contains(k.Scopes, op.scope) {
		return nil
	}
	return &Error{Status: http.StatusForbidden, Code: "forbidden", Message: "the key lacks the scope " + op.scope}
}

// sees reports whether the key may see a board.
func (k *Key) sees(board ID) bool {
	return k.BoardIDs == nil || slices.Contains(*k.BoardIDs, board)
}

// bucket counts a key's requests on the sandbox's clock.
type bucket struct {
	tokens float64
	at     Instant
}

// take takes one token out of a bucket that is filled with rate tokens a
// second and holds one second's worth. When it is empty it returns the seconds
// until the next.
func (b *bucket) take(rate int, now Instant) (retryAfter int) {
	if rate <= 0 {
		return 0
	}
	if b.at == 0 || now < b.at { // first use, or the clock was set back
		b.tokens = float64(rate)
	} else {
		b.tokens = min(float64(rate), b.tokens+now.sub(b.at).Seconds()*float64(rate))
	}
	b.at = now
	if b.tokens < 1 {
		return max(1, int(math.Ceil((1-b.tokens)/float64(rate))))
	}
	b.tokens--
	return 0
}

// limit refuses a request beyond the key's rate.
func (s *Sandbox) limit(k *Key) error {
	if seconds := k.bucket.take(s.options.RateLimit, s.now()); seconds > 0 {
		return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited",
			Message: "too many requests with this key", RetryAfter: seconds}
	}
	return nil
}
