package store

import (
	"net/http"
	"time"
)

// reservedFor is how long an Idempotency-Key stays reserved.
const reservedFor = 7 * 24 * time.Hour

// Answer is what the API answered to a call.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// ReservationKey is an Idempotency-Key and the API key that it came with.
type ReservationKey struct {
	APIKey ID
	Key    string
}

// Reservation remembers a Kanban POST. It is pending until the answer is
// stored, and stays pending if the answer is lost.
type Reservation struct {
	Key    ReservationKey
	Path   string
	Digest string // of the body
	At     Instant
	Answer *Answer
}

// Complete stores the answer for repeats.
func (r *Reservation) Complete(a Answer) { r.Answer = &a }

// PutReservation reserves an Idempotency-Key.
func (st *Store) PutReservation(r *Reservation) {
	st.Reservations[r.Key] = r
	st.Reserved = append(st.Reserved, r)
}

// ReleaseReservation deletes the reservation of a refused call.
func (st *Store) ReleaseReservation(r *Reservation) {
	delete(st.Reservations, r.Key)
	if last := len(st.Reserved) - 1; st.Reserved[last] == r {
		st.Reserved = st.Reserved[:last]
	}
}

// ForgetReservations drops expired reservations.
func (st *Store) ForgetReservations(now Instant) {
	n := 0
	for n < len(st.Reserved) && now.Sub(st.Reserved[n].At) >= reservedFor {
		r := st.Reserved[n]
		if st.Reservations[r.Key] == r {
			delete(st.Reservations, r.Key)
		}
		n++
	}
	st.Reserved = st.Reserved[n:]
}
