package sandbox

import (
	"bytes"
	"encoding/json"
	"slices"
)

// effect writes a change into the ledger.
func (s *Sandbox) effect(c *call, object ID, kind string, before, after json.RawMessage, key string) {
	e := Effect{At: s.now(), Operation: c.op.name, Object: object, Kind: kind, Before: before, After: after, Key: Optional(key)}
	if body := bytes.TrimSpace(c.body); !c.op.upload && len(body) > 0 {
		e.Request = body
	}
	s.store.Effects = append(s.store.Effects, e)
}

// CountEffects returns how many changes were made through the API.
func (s *Sandbox) CountEffects() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.store.Effects)
}

// Effects returns every change made through the API, in order.
func (s *Sandbox) Effects() []Effect {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.store.Effects)
}
