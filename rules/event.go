package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/plain"
)

// LaneOf names the lane of a thing: a conversation, a card, an attendance.
func LaneOf(kind, id string) string { return kind + ":" + Key(plain.FoldUUID(id)) }

// maxKey is the longest key in bytes. Journals index them, and PostgreSQL limits the size of an
// index entry.
const maxKey = 400

// Key returns a text that identifies something in a journal: the text itself or, if that is too
// long, its beginning and a hash of all of it.
func Key(text string) string {
	if len(text) <= maxKey {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	return strings.ToValidUTF8(text[:maxKey/4], "") + "…" + hex.EncodeToString(sum[:])
}

// MaxName is how long the id and the type of an event and the name of its company may be, in bytes.
const MaxName = 200

// An Event is something that happened outside: a webhook of the service, a schedule's tick, a
// person's command.
type Event struct {
	Workspace  string
	ID         string
	Type       string
	Tenant     string // the company, as the service names it
	Rule       string // the one rule that it is for, as a schedule's tick; empty is every rule that matches
	Lane       string // what it concerns; events of one lane are handled in order
	CreatedAt  time.Time
	ReceivedAt time.Time
	Data       map[string]any

	// Text is Data as JSON, if the caller has it, to avoid encoding it again. It is not read back.
	Text string

	// Identity names a change by the object that changed. A delivered event and a found one with the
	// same identity are the same. It is not recorded. Empty means that a backfill cannot find it.
	Identity string
}

// foundID begins the ids of events that were found.
const foundID = "found:"

// FoundID returns the id of an event found by a backfill: always the same for the same change.
func FoundID(parts ...string) string { return foundID + strings.Join(parts, "/") }

// Found reports whether a backfill found the event, and no webhook delivered it.
func (e *Event) Found() bool { return strings.HasPrefix(e.ID, foundID) }

// A Finding is an event that a backfill found in the service, with what tells it from delivered
// ones.
type Finding struct {
	Event
	Lanes []string // in which a delivered event of the same change may be recorded

	// Since and Until bound the time of the change: an event created outside of them is another. The
	// zero time does not bound.
	Since, Until time.Time

	// Exact says that CreatedAt is when the service says that it happened, so that a webhook of it
	// was created at about that time.
	Exact bool

	Except   []string           // ids of recorded events of other changes
	Identify func(Event) string // returns the identity of a recorded event
}

// erasedWithin is how far apart the times of a change and of a webhook of it may be, at most.
const erasedWithin = 5 * time.Minute

// Tells reports whether a recorded event is about the same change.
func (f *Finding) Tells(e Event) bool {
	if e.Type != f.Type || slices.Contains(f.Except, e.ID) || e.CreatedAt.Before(f.Since) || !f.Until.IsZero() && e.CreatedAt.After(f.Until) {
		return false
	}
	if e.Data != nil {
		return f.Identify(e) == f.Identity
	}
	// The content is erased: it was old, or a person was forgotten. The time must tell; in doubt the
	// event counts as the same, because losing one is better than answering twice.
	return !f.Exact || e.CreatedAt.Sub(f.CreatedAt).Abs() <= erasedWithin
}
