package journal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// A HoldKind says who stopped something.
type HoldKind string

// The kinds of holds.
const (
	HoldPerson HoldKind = "person"
	HoldSafety HoldKind = "safety" // at a bound
	HoldRate   HoldKind = "rate"   // the service asked for a pause
	HoldKey    HoldKind = "key"    // the service refuses the key
)

// A Hold stops one rule, or with a Lane that rule in one lane; with an empty Rule a whole
// workspace; with an empty Workspace, everything. Workspace, Rule, Lane and Kind name it.
type Hold struct {
	Workspace string          `json:"workspace,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	Lane      string          `json:"lane,omitempty"` // conversation:…
	Kind      HoldKind        `json:"kind"`
	Reason    string          `json:"reason,omitempty"`
	Why       *phrases.Phrase `json:"why,omitempty"` // the Reason as a phrase
	Since     time.Time       `json:"since"`
	// Until is when it ends by itself, or of a refused key when it is tried again. The zero time is
	// until it is lifted.
	Until time.Time `json:"until,omitzero"`
}

// Said returns why it is there.
func (h *Hold) Said() *phrases.Phrase { return phrases.Recorded(h.Reason, h.Why) }

// Compare orders holds by what names them; 0 is that they are the same.
func (h Hold) Compare(other Hold) int {
	return cmp.Or(strings.Compare(h.Workspace, other.Workspace), strings.Compare(h.Rule, other.Rule),
		strings.Compare(h.Lane, other.Lane), strings.Compare(string(h.Kind), string(other.Kind)))
}

// Covers reports whether a rule of a workspace is stopped in a lane; with an empty rule, the whole
// workspace, and with an empty lane, the rule everywhere.
func (h *Hold) Covers(workspace, rule, lane string) bool {
	return (h.Workspace == "" || h.Workspace == workspace) && (h.Rule == "" || h.Rule == rule) && (h.Lane == "" || h.Lane == lane)
}

// Slots is the key of the slots that filled the bound which stopped it; empty where none did.
func (h *Hold) Slots() string {
	switch {
	case h.Kind != HoldSafety:
		return ""
	case h.Lane != "":
		return MessagesTo(h.Lane)
	}
	return AllMessages
}

// AllMessages is the key of the slots that all automatic messages take.
const AllMessages = "messages"

// MessagesTo returns the key of the slots that those to one lane take.
func MessagesTo(lane string) string { return AllMessages + "/" + lane }

// What names what is stopped.
func (h *Hold) What() string {
	switch {
	case h.Lane != "":
		return fmt.Sprintf("the rule %s in %s", h.Rule, h.Lane)
	case h.Rule != "":
		return fmt.Sprintf("the rule %s", h.Rule)
	case h.Workspace != "":
		return fmt.Sprintf("the workspace %s", h.Workspace)
	}
	return "everything"
}

// Resumable returns which of these holds a person ends who lets a rule go on, or with an empty rule
// a workspace, or with both empty everything. Of a rule these are also those in single lanes; with
// a lane only that one.
func Resumable(holds []Hold, workspace, rule, lane string) (list []Hold) {
	for _, h := range holds {
		byBound := h.Kind == HoldSafety && rule != ""
		if h.Workspace == workspace && h.Rule == rule && (lane == "" || h.Lane == lane) && (h.Kind == HoldPerson || byBound) {
			list = append(list, h)
		}
	}
	return list
}

// StopsCall returns the first of these holds that keeps a run from beginning a call at a time; nil
// is that it may. A pause that the service asked for is over by itself.
func StopsCall(holds []Hold, r *Run, at time.Time) *Hold {
	for i := range holds {
		if h := &holds[i]; h.Covers(r.Workspace, r.Rule, r.Lane) && (h.Kind != HoldRate || h.Until.After(at)) {
			return h
		}
	}
	return nil
}

// A HeldError says that a call must not begin because something is stopped.
type HeldError struct{ Hold Hold }

// Error names what is stopped.
func (e *HeldError) Error() string { return e.Hold.What() + " is stopped" }
