package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"time"
)

// reservedFor is how long an Idempotency-Key stays taken.
const reservedFor = 7 * 24 * time.Hour

type reservationKey struct {
	apiKey ID
	key    string
}

// reservation remembers a Kanban POST. It is pending until the answer is
// stored; when the answer is lost on its way it stays so.
type reservation struct {
	key    reservationKey
	path   string
	digest string // of the body
	at     Instant
	answer *answer
}

// reserve takes the Idempotency-Key of a call. For a key that was used before
// it returns the stored answer or the refusal. It comes before any look at the
// version, so that a completed move is repeated, not refused for its version.
func (s *Sandbox) reserve(c *call) (*answer, error) {
	text := c.http.Header.Get("Idempotency-Key")
	if len(text) < 8 || len(text) > 128 {
		return nil, invalid("the header Idempotency-Key must have 8 to 128 characters, not %d", len(text))
	}
	s.store.forgetReservations(s.now())
	sum := sha256.Sum256(c.body)
	r := &reservation{
		key:    reservationKey{c.key.ID, text},
		path:   c.http.URL.Path,
		digest: hex.EncodeToString(sum[:]),
		at:     s.now(),
	}
	earlier := s.store.reservations[r.key]
	switch {
	case earlier == nil:
		s.store.putReservation(r)
		c.reservation = r
		return nil, nil
	case earlier.path != r.path || earlier.digest != r.digest:
		return nil, &Error{Status: http.StatusConflict, Code: "idempotency_conflict",
			Message: "this Idempotency-Key was used for another call; use a new key"}
	case earlier.answer == nil:
		return nil, &Error{Status: http.StatusConflict, Code: "idempotency_pending",
			Message: "the result of the first call with this Idempotency-Key is not known; look at the card before trying with a new key"}
	}
	replay := *earlier.answer
	replay.header = replay.header.Clone()
	replay.header.Set("Idempotency-Replayed", "true")
	return &replay, nil
}

// complete stores the answer for repeats.
func (r *reservation) complete(a answer) { r.answer = &a }

func (st *store) putReservation(r *reservation) {
	st.reservations[r.key] = r
	st.reserved = append(st.reserved, r)
}

// release gives up a reservation whose call was refused.
func (st *store) release(r *reservation) {
	delete(st.reservations, r.key)
	if last := len(st.reserved) - 1; st.reserved[last] == r {
		st.reserved = st.reserved[:last]
	}
}

// forgetReservations drops those whose time is over.
func (st *store) forgetReservations(now Instant) {
	n := 0
	for n < len(st.reserved) && now.sub(st.reserved[n].at) >= reservedFor {
		r := st.reserved[n]
		if st.reservations[r.key] == r {
			delete(st.reservations, r.key)
		}
		n++
	}
	st.reserved = st.reserved[n:]
}
