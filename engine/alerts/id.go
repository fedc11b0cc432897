package alerts

import (
	"crypto/rand"
	"crypto/sha256"

	"github.com/google/uuid"
)

// newID returns an id for an alert. Its second half follows from the first, so that IsAlert
// recognises it without a look into the journal, on every machine.
func newID() string {
	var id uuid.UUID
	_, _ = rand.Read(id[:8]) // it never fails
	id[6] = id[6]&0x0f | 8<<4
	copy(id[8:], secondHalf(id[:8]))
	return id.String()
}

// IsAlert reports whether a message with this client_id is an alert.
func IsAlert(clientID string) bool {
	id, err := uuid.Parse(clientID)
	return err == nil && string(id[8:]) == string(secondHalf(id[:8]))
}

func secondHalf(first []byte) []byte {
	sum := sha256.Sum256(append([]byte("quando alert "), first...))
	sum[0] = sum[0]&0x3f | 0x80 // the variant of a UUID
	return sum[:8]
}
