package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A running is what an engine writes down of itself when it begins to serve, for those who look after it.
type running struct {
	Process string    `json:"process"`
	Version string    `json:"version"`
	Since   time.Time `json:"since"`
	Public  string    `json:"webhooks"` // addresses
	Console string    `json:"console"`

	// Encrypted is the name to ask the console's address by where that is encrypted.
	Encrypted string `json:"encrypted,omitempty"`
}

// loaded is what an engine writes down of the rules that it uses.
type loaded struct {
	Process string    `json:"process"`
	At      time.Time `json:"at"`
	Rules   int       `json:"rules"`
	Broken  int       `json:"broken"`
	Content string    `json:"content"` // what stands for the content of their files
}

const runningCursor = "engine"

func loadedCursor(workspace string) string { return "rules/" + workspace }

// thisProcess names this process.
func thisProcess() string {
	host, _ := os.Hostname() // without one, the number has to do
	return fmt.Sprintf("%s %d", host, os.Getpid())
}

// noteRunning writes down that the engine serves. That it cannot is told where something is to be recorded.
func (p *process) noteRunning(ctx context.Context, public, console string) {
	r := running{Process: thisProcess(), Version: version(), Since: p.present().UTC(), Public: public, Console: console}
	if p.certificates != nil && p.privately {
		r.Encrypted = p.certificates.name()
	}
	p.note(ctx, runningCursor, r)
}

// noteRules writes down which rules are in use.
func (p *process) noteRules(workspace string, set *rules.Set, content sum) {
	p.note(context.Background(), loadedCursor(workspace), loaded{thisProcess(), p.present().UTC(), len(set.Rules), len(set.Broken), fmt.Sprintf("%x", content[:8])})
}

func (p *process) note(ctx context.Context, cursor string, v any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = p.journal.SetCursor(ctx, cursor, string(text))
	}
	if err != nil {
		p.log.Debug("what the engine is cannot be written down", "error", err)
	}
}

// noted reads what an engine has written down; false is nothing that can be read.
func noted(ctx context.Context, j journal.Journal, cursor string, into any) bool {
	text, err := j.Cursor(ctx, cursor)
	return err == nil && text != "" && json.Unmarshal([]byte(text), into) == nil
}
