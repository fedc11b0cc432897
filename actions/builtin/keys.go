package builtin

import (
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/quandohq/quando/actions"
)

const (
	// maxGenerations bounds how often a call is planned anew: an object that changes at every attempt
	// is contended.
	maxGenerations = 5
	// maxRepeatAge is a day less than the time for which the service keeps the key of a card call:
	// after it a repeat would be a new call.
	maxRepeatAge = 6 * 24 * time.Hour
)

// clientIDs is the namespace of the client_ids that messages are sent with. Changing it would send
// every message in flight again.
var clientIDs = uuid.MustParse("6f1d3b0e-6c1c-5a0e-9a57-3d0a4c8f2b11")

// clientID makes a message the same on every repeat. It equals uuid.NewSHA1 of the step's key, at
// less than half of the cost.
func clientID(s *actions.Step) string {
	sum := sha1.Sum(append(append(make([]byte, 0, 256), clientIDs[:]...), s.Key...))
	id := uuid.UUID(sum[:16])
	id[6] = id[6]&0x0f | 5<<4 // the version
	id[8] = id[8]&0x3f | 0x80 // the variant
	return id.String()
}

// idempotencyKey makes a call the same on every repeat, and another one in every generation. It has
// 64 characters.
func idempotencyKey(s *actions.Step, call string, generation int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", s.Key, call, generation))
	return hex.EncodeToString(sum[:])
}

// generation returns that of the next call of this name. It counts calls that were refused, and
// calls that succeeded but whose effect did not last.
func generation(s *actions.Step, call string) int {
	n := s.Generation
	for _, r := range s.Receipts {
		if r.Call == call {
			n++
		}
	}
	return n
}

// tooOld reports whether a card call must not be repeated any more.
func tooOld(s *actions.Step, i actions.Intent) bool { return s.Now.Sub(i.At) > maxRepeatAge }
