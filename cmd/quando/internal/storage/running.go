package storage

import (
	"context"
	"encoding/json"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// A Running is what an engine records of itself when it begins to serve, for operators.
type Running struct {
	Process string    `json:"process"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Public  string    `json:"webhooks"` // addresses
	Console string    `json:"console"`

	// Encrypted is the host name for the console's address if that is encrypted.
	Encrypted string `json:"encrypted,omitempty"`
}

// Loaded is what an engine writes down of the rules that it uses.
type Loaded struct {
	Process string    `json:"process"`
	At      time.Time `json:"at"`
	Rules   int       `json:"rules"`
	Broken  int       `json:"broken"`
	Content string    `json:"content"` // what stands for the content of their files
}

// RunningCursor is where the journal keeps the Running of its engine.
const RunningCursor = "engine"

// LoadedCursor is where the journal keeps the Loaded of a workspace.
func LoadedCursor(workspace string) string { return "rules/" + workspace }

// ReadNote reads what an engine has recorded; false if there is nothing readable.
func ReadNote(ctx context.Context, j journal.Journal, cursor string, into any) bool {
	text, err := j.Cursor(ctx, cursor)
	return err == nil && text != "" && json.Unmarshal([]byte(text), into) == nil
}
