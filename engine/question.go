package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
)

// A question is what a wait_for waits for an answer to: the message that the run sent last, or where it sent none since its last wait, the end of the step
// before. Between the two and the wait there may be a stop of the engine, a pause of the workspace or a call that is repeated, and the customer knows
// nothing of these.
type question struct {
	at      time.Time // from when on an answer can come; of a message the service's own time
	message bool
	earlier bool    // the step was reached before this walk, so that events may have been decided since
	heard   []int64 // by the wait_for before it: whatever the clocks say, they are no answer to this one
}

// next returns the question after a step has come to its end.
func (q question) next(s *rules.Step, rec *record, value any, earlier bool) question {
	switch {
	case s.Verb == "wait" || s.Verb == "wait_for":
		return question{at: rec.Ended, earlier: earlier, heard: rec.Heard}
	case slices.Contains(s.Schema.Emits, "message.sent"):
		at := rec.Ended
		if message, _ := value.(map[string]any); message != nil {
			if created, ok := message["created_at"].(time.Time); ok {
				at = created
			}
		}
		return question{at: at, message: true, earlier: earlier, heard: q.heard}
	case q.message:
		q.earlier = q.earlier || earlier
		return q
	}
	return question{at: rec.Ended, earlier: earlier, heard: q.heard}
}

// after is from when on an event counts that a wait_for waits for.
func (r *record) after() time.Time {
	begun := r.At.Add(-clockSlack)
	if r.After.IsZero() {
		return begun
	}
	return earlier(r.After, begun)
}

// lookBack makes a wait_for that begins hear what came since the question: what was decided before the wait began would be lost to it. What
// happened before the event that started the run is no answer, whatever the clocks say.
func (k *walk) lookBack(ctx context.Context, rec *record) error {
	trigger := k.facts.event.CreatedAt
	if rec.After = k.last.at; rec.After.Before(trigger) {
		rec.After = trigger
	}
	if rec.Again > 0 {
		rec.After = time.Time{} // it begins anew, without what it failed at
	}
	if rec.Again > 0 || !k.last.earlier {
		return nil // nothing can have been decided in between
	}
	for e, err := range k.engine.happened(ctx, k.run.Workspace, k.run.Home, rec.For, rec.After) {
		if err != nil {
			return fmt.Errorf("look for events that came before the wait: %w", err)
		}
		if here := k.known(e.Seq); here != nil {
			e = here // it may have been decided in this visit
		}
		if !e.Decided || e.Seq == k.run.Event || slices.Contains(k.run.Gathered, e.Seq) || slices.Contains(k.last.heard, e.Seq) {
			continue // what is not decided yet will be heard
		}
		own, err := k.recognise(ctx, e, k.factsOf(e), true)
		if err != nil {
			return err
		}
		if own == nil || own.Run != k.run.ID {
			rec.Heard = append(rec.Heard, e.Seq)
		}
	}
	return nil
}
