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

// maxKey is how long a key may be, in bytes. Journals have them in indexes, and PostgreSQL has
// nothing in one that is much longer.
const maxKey = 400

// Key returns a text by which things are told apart in a journal: the text itself, or where that is
// too long its beginning and a hash of all of it.
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
	Rule       string // the one rule that it is for, as a schedule's tick is; empty is every rule that wants it
	Lane       string // what it concerns; events of one lane are handled in order
	CreatedAt  time.Time
	ReceivedAt time.Time
	Data       map[string]any

	// Text is Data as JSON, where somebody has that at hand: it need not be written again to be
	// recorded. It is not read back.
	Text string

	// Identity names what happened by the object that it happened to. An event that was told and one
	// that was found are the same where it is. It is not recorded. Empty is one that nobody finds.
	Identity string
}

// foundID begins the ids of events that were found.
const foundID = "found:"

// FoundID returns the id of an event that was found: the same, whoever finds it and however often.
func FoundID(parts ...string) string { return foundID + strings.Join(parts, "/") }

// Found reports whether nobody told of the event: it was found in the service.
func (e *Event) Found() bool { return strings.HasPrefix(e.ID, foundID) }

// A Finding is an event that was found in the service, with what tells it from one that somebody
// told.
type Finding struct {
	Event
	Lanes []string // in which an event that tells of the same may have been recorded

	// Since and Until bound when it happened: an event that was created before or after that tells of
	// something else. The zero time does not bound.
	Since, Until time.Time

	Except   []string           // ids of recorded events that tell of something else
	Identify func(Event) string // returns the identity of a recorded event
}

// Tells reports whether a recorded event tells of what was found.
func (f *Finding) Tells(e Event) bool {
	if e.Type != f.Type || slices.Contains(f.Except, e.ID) || e.CreatedAt.Before(f.Since) || !f.Until.IsZero() && e.CreatedAt.After(f.Until) {
		return false
	}
	// Of an event whose content is gone, as when a person was forgotten, nobody can tell. It is better
	// not heard of again than answered twice.
	return e.Data == nil || f.Identify(e) == f.Identity
}
