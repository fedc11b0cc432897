package journal

import (
	"time"

	"github.com/quandohq/quando/rules/phrases"
)

// An Ask is a request to a run that comes from outside of its lane.
type Ask struct {
	What   AskKind         `json:"what"`
	Reason string          `json:"reason,omitempty"`
	Why    *phrases.Phrase `json:"why,omitempty"` // the Reason as a phrase
	At     time.Time       `json:"at"`
}

// Equal reports whether both are the same request, made at the same time.
func (a Ask) Equal(b Ask) bool {
	return a.What == b.What && a.Reason == b.Reason && a.At.Equal(b.At)
}

// Replaced is the reason of a run that a newer run has replaced.
var Replaced = phrases.New(phrases.Replaced)

// Because returns a request of this kind with its reason.
func (k AskKind) Because(why *phrases.Phrase, at time.Time) Ask {
	return Ask{What: k, Reason: why.String(), Why: why.Coded(), At: at}
}

// Said returns the reason of the request.
func (a Ask) Said() *phrases.Phrase { return phrases.Recorded(a.Reason, a.Why) }

// A RunAsk is a request to one run.
type RunAsk struct {
	Run int64
	Ask Ask
}

// An AskKind is the kind of a request to a run.
type AskKind string

// The kinds of requests to a run.
const (
	AskCancel AskKind = "cancel"
	AskRetry  AskKind = "retry"  // to a failed run: repeat the step that failed
	AskDone   AskKind = "done"   // to an uncertain run: the call had its effect
	AskDealt  AskKind = "dealt"  // to a failed run: a person has dealt with it
	AskRepeat AskKind = "repeat" // to an uncertain run: the call had no effect, repeat it
)

// Allows reports whether a run in this state accepts such a request.
func (s State) Allows(what AskKind) bool {
	switch what {
	case AskCancel:
		return !s.Finished()
	case AskRetry:
		return s == FailedRun || s == Dealt
	case AskDealt:
		return s == FailedRun
	case AskDone, AskRepeat:
		return s == Uncertain
	}
	return false
}
