package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A mark is a point in what happens in a lane, by the service's clock. Of two events of one instant
// the one that was recorded later is the later one.
type mark struct {
	at    time.Time
	event int64 // its sequence number; 0 is that everything of that instant is later, negative that nothing is
}

// before reports whether something that happened at a time, and was recorded under a number, is
// later than the mark.
func (m mark) before(at time.Time, event int64) bool {
	return at.After(m.at) || at.Equal(m.at) && m.event >= 0 && event > m.event
}

// A question is what a wait_for waits for an answer to: the message that the run sent last, or
// where it sent none since its last wait, the end of the step before. Between the two and the wait
// there may be a stop of the engine, a pause of the workspace or a call that is repeated, and the
// customer knows nothing of these.
type question struct {
	after   mark      // an answer is later: than the message, or the event that ended the last wait_for. The zero mark is what started the run
	ended   time.Time // the end of the step before, by our clock; the zero time is that after says it all
	message bool
	earlier bool  // events may have been decided since
	newest  int64 // the newest event that was recorded at the end of the step before; 0 is not known
}

// next returns the question after a step of a run has come to its end.
func (q question) next(r *journal.Run, s *rules.Step, taken *journal.Step, rec *record, value any, earlier bool) question {
	object, _ := value.(map[string]any)
	switch {
	case s.Verb == "wait_for" && object != nil && len(rec.Heard) > 0:
		return question{after: mark{happenedAt(object), rec.Heard[0]}, earlier: q.earlier || earlier}
	case !slept(taken) && isQuestion(r, s, rec, object):
		asked := mark{rec.Tried, -1}
		if at, ok := object["created_at"].(time.Time); ok {
			asked.at = at
		} else if rec.Tried.IsZero() {
			asked.at = rec.Ended // of a shadow run
		}
		return question{after: asked, message: true, earlier: earlier}
	case !slept(taken) && q.message:
		q.earlier = q.earlier || earlier
		return q
	}
	return question{after: q.after, ended: rec.Ended, earlier: earlier, newest: rec.Number}
}

// isQuestion reports whether a step has sent a message, or of a shadow run would have, to whom the
// run's events come from. What was told to somebody else is nothing that the customer could answer.
func isQuestion(r *journal.Run, s *rules.Step, rec *record, message map[string]any) bool {
	if !slices.Contains(s.Schema.Emits, vocabulary.MessageSent) || len(rec.Receipts) == 0 && rec.Intent == nil {
		return false
	}
	conversation, _ := message["conversation_id"].(string)
	return s.Args["to"] == nil || actions.ConversationLane(conversation) == r.Home
}

// happened returns when an event happened: of a message, when it was written, where the event tells
// that. It may be told of long after.
func (f *facts) happened(ctx context.Context) (time.Time, error) {
	if vocabulary.ObjectOf(f.event.Type) == vocabulary.Message {
		fact, _, err := f.told(ctx, "message")
		if err != nil {
			return time.Time{}, err
		}
		message, _ := fact.(map[string]any)
		if at, ok := message["created_at"].(time.Time); ok {
			return at, nil
		}
	}
	return f.event.CreatedAt, nil
}

// happenedAt is happened for an event as expressions see it.
func happenedAt(event map[string]any) time.Time {
	message, _ := event["message"].(map[string]any)
	if at, ok := message["created_at"].(time.Time); ok {
		return at
	}
	at, _ := event["created_at"].(time.Time)
	return at
}

// answers reports whether an event that happened at a time can be what a wait_for waits for: it is
// later than the question, and not too late. What was received in time has happened in time,
// whatever the service's clock says.
func (r *record) answers(e *journal.Event, at time.Time) bool {
	after := mark{r.After, r.Number}
	if r.After.IsZero() {
		after.at = r.At.Add(-clockSlack)
	}
	return after.before(at, e.Seq) && !(at.After(r.Until) && e.ReceivedAt.After(r.Until))
}

// startMark is the mark of what started a run. The events that the engine itself makes have the
// time of its clock.
func (k *walk) startMark(ctx context.Context) (mark, error) {
	e := k.facts.event
	if e.Rule != "" {
		return mark{at: e.CreatedAt.Add(-clockSlack)}, nil
	}
	at, err := k.facts.happened(ctx)
	return mark{at, e.Seq}, err
}

// lookBack makes a wait_for that begins hear what came since the question: what was decided before
// the wait began would be lost to it.
func (k *walk) lookBack(ctx context.Context, rec *record) (err error) {
	q := k.last
	if q.after.at.IsZero() {
		if q.after, err = k.startMark(ctx); err != nil {
			return err
		}
		q.earlier = q.earlier || q.ended.IsZero() // what came before the event that started the run may have happened after it
		if k.facts.event.Rule != "" {
			q.newest = max(q.newest, k.run.Event) // but not after one that the engine itself made
		}
	}
	if since := q.ended.Add(-clockSlack); !q.ended.IsZero() && since.After(q.after.at) {
		q.after = mark{at: since}
	}
	if rec.Again > 0 {
		q = question{} // it begins anew, without what it failed at
	}
	rec.After, rec.Number = q.after.at, q.after.event
	if !q.earlier {
		return nil // nothing can have been decided in between
	}
	for e, err := range k.engine.happened(ctx, k.run.Workspace, k.run.Home, rec.For, rec.After) {
		if err != nil {
			return fmt.Errorf("look for events that came before the wait: %w", err)
		}
		if here := k.known(e.Seq); here != nil {
			e = here // it may have been decided in this visit
		}
		if !e.Decided || e.Seq == k.run.Event || slices.Contains(k.run.Gathered, e.Seq) || e.CreatedAt.Before(q.ended) || e.Seq <= q.newest {
			continue // what is not decided yet will be heard
		}
		f := k.factsOf(e)
		at, err := f.happened(ctx)
		if err != nil {
			return err
		}
		if !rec.answers(e, at) {
			continue
		}
		own, err := k.recognise(ctx, e, f, true)
		if err != nil {
			return err
		}
		if own == nil || own.Run != k.run.ID {
			rec.Heard = append(rec.Heard, e.Seq)
		}
	}
	return nil
}

// asks reports whether a rule has a wait_for.
func asks(r *rules.Rule) bool {
	for s := range r.Steps() {
		if s.Verb == "wait_for" {
			return true
		}
	}
	return false
}
