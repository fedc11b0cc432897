package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"github.com/quandohq/quando/engine/journal"
	"time"
)

// An Inquiry says on whose behalf a desk is asked, or an action planned. The service's own desk
// does not care; one that answers from what was recorded does.
type Inquiry struct {
	Event   *journal.Event // that the facts are about
	Trigger *journal.Event // of the run; the event itself where there is no run yet
	Rule    string         // that decides alone, on what it has gathered; empty while all rules decide, and in a run
	Run     *journal.Run   // nil while it is decided whether there is one
	Step    string         // of the run, by its path; empty before the first
	Passed  Passed         // the waits that the run has behind it
	Now     time.Time

	// Which says that only what a run is about is to be found out: no expression looks at the
	// answer.
	Which bool
}

// Passed stands for the waits that a run has behind it: it is the same where the waits were, and
// what ended them. Empty is none.
type Passed string

// with returns what stands for one more wait, as its rule has it, and the id of what ended a
// wait_for; an empty one is that its time was over.
func (p Passed) with(wait, event string) Passed {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %q %q", p, wait, event))
	return Passed(hex.EncodeToString(sum[:16]))
}

type inquiryKey struct{}

// asking tells a desk who asks.
func (f *facts) asking(ctx context.Context) context.Context {
	return context.WithValue(ctx, inquiryKey{}, f)
}

// InquiryOf returns on whose behalf something is asked. It is not ok outside of an engine.
func InquiryOf(ctx context.Context) (q Inquiry, ok bool) {
	f, ok := ctx.Value(inquiryKey{}).(*facts)
	if !ok {
		return q, false
	}
	q = Inquiry{Event: f.event, Trigger: f.trigger, Rule: f.rule, Run: f.run, Step: f.step, Passed: f.passed, Now: f.Now(), Which: f.which}
	if q.Trigger == nil {
		q.Trigger = f.event
	}
	return q, true
}
