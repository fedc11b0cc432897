package journal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// A HoldKind says what placed a hold.
type HoldKind string

// The kinds of holds.
const (
	HoldPerson HoldKind = "person"
	HoldSafety HoldKind = "safety" // a safety bound was reached
	HoldRate   HoldKind = "rate"   // the service asked for a pause
	HoldKey    HoldKind = "key"    // the service refuses the key
)

// A Hold stops one rule, or with a Lane that rule in one lane. With an empty Rule it stops a whole
// workspace, and with an empty Workspace everything. Workspace, Rule, Lane and Kind identify it.
type Hold struct {
	Workspace string          `json:"workspace,omitempty"`
	Rule      string          `json:"rule,omitempty"`
	Lane      string          `json:"lane,omitempty"` // conversation:…
	Kind      HoldKind        `json:"kind"`
	Reason    string          `json:"reason,omitempty"`
	Why       *phrases.Phrase `json:"why,omitempty"` // the Reason as a phrase
	Since     time.Time       `json:"since"`
	// Until is when the hold expires, or for a refused key when the key is tried again. The zero time
	// means that the hold lasts until it is lifted.
	Until time.Time `json:"until,omitzero"`
}

// Said returns the reason of the hold.
func (h *Hold) Said() *phrases.Phrase { return phrases.Recorded(h.Reason, h.Why) }

// Compare orders holds by the fields that identify them; 0 means that both are the same hold.
func (h Hold) Compare(other Hold) int {
	return cmp.Or(strings.Compare(h.Workspace, other.Workspace), strings.Compare(h.Rule, other.Rule),
		strings.Compare(h.Lane, other.Lane), strings.Compare(string(h.Kind), string(other.Kind)))
}

// Covers reports whether the hold stops a rule of a workspace in a lane. An empty rule stands for
// the whole workspace, and an empty lane for all lanes of the rule.
func (h *Hold) Covers(workspace, rule, lane string) bool {
	return (h.Workspace == "" || h.Workspace == workspace) && (h.Rule == "" || h.Rule == rule) && (h.Lane == "" || h.Lane == lane)
}

// Slots is the key of the slots whose bound placed the hold; empty for a hold that no bound placed.
func (h *Hold) Slots() string {
	switch {
	case h.Kind != HoldSafety:
		return ""
	case h.Lane != "":
		return MessagesTo(h.Lane)
	}
	return AllMessages
}

// AllMessages is the key of the slots that every automatic message takes.
const AllMessages = "messages"

// MessagesTo returns the key of the slots that automatic messages to one lane take.
func MessagesTo(lane string) string { return AllMessages + "/" + lane }

// What names what the hold stops.
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

// Resumable returns the holds that end when a person resumes a rule, or with an empty rule a
// workspace, or with both empty everything. For a rule these include its holds in single lanes;
// with a lane only those in that lane.
func Resumable(holds []Hold, workspace, rule, lane string) (list []Hold) {
	for _, h := range holds {
		byBound := h.Kind == HoldSafety && rule != ""
		if h.Workspace == workspace && h.Rule == rule && (lane == "" || h.Lane == lane) && (h.Kind == HoldPerson || byBound) {
			list = append(list, h)
		}
	}
	return list
}

// StopsCall returns the first of these holds that prevents a run from beginning a call at a time;
// nil if the run may begin it. A pause that the service asked for expires by itself.
func StopsCall(holds []Hold, r *Run, at time.Time) *Hold {
	for i := range holds {
		if h := &holds[i]; h.Covers(r.Workspace, r.Rule, r.Lane) && (h.Kind != HoldRate || h.Until.After(at)) {
			return h
		}
	}
	return nil
}

// A HeldError says that a call must not begin because a hold covers it.
type HeldError struct{ Hold Hold }

// Error names what is stopped.
func (e *HeldError) Error() string { return e.Hold.What() + " is stopped" }
