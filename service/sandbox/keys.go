package sandbox

import (
	"slices"
	"time"
)

// NewKey is a key to be issued.
type NewKey struct {
	Name      string    `json:"name"`
	Scopes    []string  `json:"scopes"`
	Person    string    `json:"person"`     // who "me" is
	Boards    []string  `json:"boards"`     // the boards it may see; absent means all
	ExpiresAt time.Time `json:"expires_at"` // absent means never
}

// NewKey issues a key.
func (s *Sandbox) NewKey(n NewKey) (Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, scope := range n.Scopes {
		if !slices.Contains(Scopes, scope) {
			return Key{}, invalid("there is no scope %q%s", scope, didYouMean(scope, Scopes))
		}
	}
	key := &Key{ID: s.ids.id(), Name: n.Name, APIKey: s.ids.token(keyPrefix), Scopes: n.Scopes}
	if !n.ExpiresAt.IsZero() {
		key.ExpiresAt = at(n.ExpiresAt)
	}
	if key.Name == "" {
		key.Name = "Sandbox"
	}
	if n.Person != "" {
		p, err := s.store.findPerson(n.Person)
		if err != nil {
			return Key{}, err
		}
		key.PersonID = p.ID
	}
	if n.Boards != nil {
		key.BoardIDs = &IDs{}
		for _, name := range n.Boards {
			board, err := s.store.findBoard(name)
			if err != nil {
				return Key{}, err
			}
			*key.BoardIDs = append(*key.BoardIDs, board.ID)
		}
	}
	s.store.addKey(key)
	return *key, nil
}

// RevokeKey makes a key invalid from now on.
func (s *Sandbox) RevokeKey(id ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := s.store.key(id)
	if key == nil {
		return notFound("key", id)
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
	for _, key := range s.store.keys {
		key.bucket = bucket{}
	}
}
