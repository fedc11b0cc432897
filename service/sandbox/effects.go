package sandbox

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Effect is one change made through the API. Repeats that change nothing, and
// what customers and the team do, are not among them.
type Effect struct {
	At        Instant         `json:"at"`
	Operation string          `json:"operation"` // method and path of the reference
	Object    ID              `json:"object"`    // the object that changed
	Kind      string          `json:"kind"`      // what it is: message, conversation, card …
	Before    json.RawMessage `json:"before"`    // null when it was created
	After     json.RawMessage `json:"after"`     // null when it was deleted
	Key       Optional        `json:"key"`       // client_id or Idempotency-Key
	Request   json.RawMessage `json:"request"`   // the body that asked for it
}

// effect writes a change into the ledger.
func (s *Sandbox) effect(c *call, object ID, kind string, before, after json.RawMessage, key string) {
	e := Effect{At: s.now(), Operation: c.op.name, Object: object, Kind: kind, Before: before, After: after, Key: Optional(key)}
	if body := bytes.TrimSpace(c.body); !c.op.upload && len(body) > 0 {
		e.Request = body
	}
	s.store.effects = append(s.store.effects, e)
}

// Effects returns every change made through the API, in order.
func (s *Sandbox) Effects() []Effect {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.Clone(s.store.effects)
}
