package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"time"
)

// An Inquiry says for which run or decision a desk is asked, or an action is planned. The service's
// own desk ignores it; a desk that answers from the journal needs it.
type Inquiry struct {
	Event   *journal.Event // the event that the facts are about
	Trigger *journal.Event // the event that started the run; Event if there is no run yet
	Rule    string         // the rule that decides alone, on what it gathered; empty while all rules decide, and in a run
	Run     *journal.Run   // nil while it is decided whether there is one
	Step    string         // the path of the run's step; empty before the first
	Passed  Passed         // the waits that the run has passed
	Now     time.Time

	// Elsewhere is the conversation that a step took up in place of the event's own; empty if none
	// did.
	Elsewhere string

	// Which says that the question only serves to find out what the run is about: no expression sees
	// the answer.
	Which bool
}

// Question returns the question under which an answer about the conversation at hand is recorded.
func (q *Inquiry) Question(question string) string {
	if q.Elsewhere == "" {
		return question
	}
	return journal.Elsewhere(q.Elsewhere, question)
}

// Passed is a digest of the waits that a run has passed: equal digests mean the same waits, ended
// by the same events. Empty means none.
type Passed string

// with returns the digest after one more wait. wait is its text in the rule; event is the id of the
// event that ended a wait_for, empty if its time ran out.
func (p Passed) with(wait, event string) Passed {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %q", p, wait, event))
	return Passed(hex.EncodeToString(sum[:16]))
}

type inquiryKey struct{}

// asking adds the inquiry of these facts to a context, for the desk.
func (f *facts) asking(ctx context.Context) context.Context {
	return context.WithValue(ctx, inquiryKey{}, f)
}

// InquiryOf returns the inquiry of a context. It is not ok outside of an engine.
func InquiryOf(ctx context.Context) (q Inquiry, ok bool) {
	f, ok := ctx.Value(inquiryKey{}).(*facts)
	if !ok {
		return q, false
	}
	q = Inquiry{Event: f.event, Trigger: f.trigger, Rule: f.rule, Run: f.run, Step: f.step, Passed: f.passed, Now: f.Now(), Which: f.lookingUp}
	if f.elsewhere {
		q.Elsewhere = f.about.Conversation
	}
	if q.Trigger == nil {
		q.Trigger = f.event
	}
	return q, true
}
