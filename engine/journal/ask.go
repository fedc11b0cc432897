package journal

import (
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// An Ask is something that is asked of a run from outside of its lane.
type Ask struct {
	What   AskKind         `json:"what"`
	Reason string          `json:"reason,omitempty"`
	Why    *phrases.Phrase `json:"why,omitempty"` // the Reason as a phrase
	At     time.Time       `json:"at"`
}

// Equal reports whether both ask the same at the same time.
func (a Ask) Equal(b Ask) bool {
	return a.What == b.What && a.Reason == b.Reason && a.At.Equal(b.At)
}

// Replaced is the reason of a run that a newer one took the place of.
var Replaced = phrases.New(phrases.Replaced)

// Because returns what is asked of a run, and why.
func (k AskKind) Because(why *phrases.Phrase, at time.Time) Ask {
	return Ask{What: k, Reason: why.String(), Why: why.Coded(), At: at}
}

// Said returns why it is asked.
func (a Ask) Said() *phrases.Phrase { return phrases.Recorded(a.Reason, a.Why) }

// A RunAsk asks something of a run.
type RunAsk struct {
	Run int64
	Ask Ask
}

// An AskKind is what can be asked of a run.
type AskKind string

// What can be asked of a run.
const (
	AskCancel AskKind = "cancel"
	AskRetry  AskKind = "retry"  // of a failed one: take the step that failed once more
	AskDone   AskKind = "done"   // of an uncertain one: the call had its effect
	AskRepeat AskKind = "repeat" // of an uncertain one: the call had none, make it again
)

// Allows reports whether something can be asked of a run in its state.
func (s State) Allows(what AskKind) bool {
	switch what {
	case AskCancel:
		return !s.Finished()
	case AskRetry:
		return s == FailedRun
	case AskDone, AskRepeat:
		return s == Uncertain
	}
	return false
}
