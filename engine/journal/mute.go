package journal

import "time"

// A Mute keeps the engine from sending messages to a conversation. Workspace and Lane identify it.
type Mute struct {
	Workspace string    `json:"workspace,omitempty"`
	Lane      string    `json:"lane"`           // conversation:…
	Rule      string    `json:"rule,omitempty"` // the rule that muted it; empty if a person did
	Run       int64     `json:"run,omitempty"`
	Since     time.Time `json:"since"`
	Until     time.Time `json:"until,omitzero"` // the zero time means until somebody unmutes it
}

// Covers reports whether the conversation is muted at a time.
func (m *Mute) Covers(at time.Time) bool { return m.Until.IsZero() || m.Until.After(at) }

// A MuteChange mutes a conversation, or with Off unmutes it. A mute replaces the one before.
type MuteChange struct {
	Mute
	Off bool
}

// A MutedError says that a message must not be sent because its conversation is muted.
type MutedError struct{ Mute Mute }

// Error names the conversation.
func (e *MutedError) Error() string { return e.Mute.Lane + " is muted" }
