package sandbox

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// NewKey is a key to be issued.
type NewKey struct {
	Name      string    `json:"name"`
	Scopes    []string  `json:"scopes"`
	Person    string    `json:"person"`     // the person behind "me"
	Boards    []string  `json:"boards"`     // the boards it may see; absent means all
	ExpiresAt time.Time `json:"expires_at"` // absent means never
}

// NewKey issues a key.
func (s *Sandbox) NewKey(n NewKey) (Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range n.Scopes {
		if !slices.Contains(Scopes, scope) {
			return Key{}, store.Invalid("there is no scope %q%s", scope, store.DidYouMean(scope, Scopes))
		}
	}
	key := &Key{ID: s.ids.ID(), Name: n.Name, APIKey: s.ids.Token(keyPrefix), Scopes: n.Scopes}
	if !n.ExpiresAt.IsZero() {
		key.ExpiresAt = store.InstantOf(n.ExpiresAt)
	}
	if key.Name == "" {
		key.Name = "Sandbox"
	}
	if n.Person != "" {
		p, err := s.store.FindPerson(n.Person)
		if err != nil {
			return Key{}, err
		}
		key.PersonID = p.ID
	}
	if n.Boards != nil {
		key.BoardIDs = &IDs{}
		for _, name := range n.Boards {
			board, err := s.store.FindBoard(name)
			if err != nil {
				return Key{}, err
			}
			*key.BoardIDs = append(*key.BoardIDs, board.ID)
		}
	}
	s.store.AddKey(key)
	return *key, nil
}

// RevokeKey makes a key invalid from now on.
func (s *Sandbox) RevokeKey(id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.store.Key(id)
	if key == nil {
		return store.NotFound("key", id)
	}
	key.Revoked = true
	return nil
}

// SetRateLimit sets how many requests a key may make in a second of the
// sandbox's clock; 0 is any.
func (s *Sandbox) SetRateLimit(perSecond int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.RateLimit = perSecond
	for _, key := range s.store.Keys {
		key.Bucket = store.Bucket{}
	}
}

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

// keyPrefix marks a text as a key.
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
	key := s.store.KeysByAPIKey[strings.TrimSpace(text)]
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

// checkScope refuses an operation whose scope the key lacks.
func checkScope(k *Key, op *operation) error {
	if op.scope == "" || slices.Contains(k.Scopes, op.scope) {
		return nil
	}
	return &Error{Status: http.StatusForbidden, Code: "forbidden", Message: "the key lacks the scope " + op.scope}
}

// limit refuses a request beyond the key's rate.
func (s *Sandbox) limit(k *Key) error {
	if seconds := k.Bucket.Take(s.options.RateLimit, s.now()); seconds > 0 {
		return &Error{Status: http.StatusTooManyRequests, Code: "rate_limited",
			Message: "too many requests with this key", RetryAfter: seconds}
	}
	return nil
}
