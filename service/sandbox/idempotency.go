package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// reserve reserves the Idempotency-Key of a call. For a key that was used before it returns the
// stored answer or the refusal. It runs before the version check, so that a completed move is
// replayed instead of refused for its version.
func (s *Sandbox) reserve(c *call) (*store.Answer, error) {
	text := c.http.Header.Get("Idempotency-Key")
	if len(text) < 8 || len(text) > 128 {
		return nil, store.Invalid("the header Idempotency-Key must have 8 to 128 characters, not %d", len(text))
	}
	s.store.ForgetReservations(s.now())
	sum := sha256.Sum256(c.body)
	r := &store.Reservation{
		Key:    store.ReservationKey{APIKey: c.key.ID, Key: text},
		Path:   c.http.URL.Path,
		Digest: hex.EncodeToString(sum[:]),
		At:     s.now(),
	}
	earlier := s.store.Reservations[r.Key]
	switch {
	case earlier == nil:
		s.store.PutReservation(r)
		c.reservation = r
		return nil, nil
	case earlier.Path != r.Path || earlier.Digest != r.Digest:
		return nil, &Error{Status: http.StatusConflict, Code: "idempotency_conflict",
			Message: "this Idempotency-Key was used for another call; use a new key"}
	case earlier.Answer == nil:
		return nil, &Error{Status: http.StatusConflict, Code: "idempotency_pending",
			Message: "the result of the first call with this Idempotency-Key is not known; look at the card before trying with a new key"}
	}
	replay := *earlier.Answer
	replay.Header = replay.Header.Clone()
	replay.Header.Set("Idempotency-Replayed", "true")
	return &replay, nil
}
