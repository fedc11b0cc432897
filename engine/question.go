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

// A position is a point in the history of a lane, by the service's clock. Of two events of one
// instant, the one recorded later is the later one.
type position struct {
	at    time.Time
	event int64 // a sequence number; 0 means that all events of that instant are later, negative that none is
}

// isBefore reports whether the position is before an event that happened at a time and has this
// sequence number.
func (m position) isBefore(at time.Time, event int64) bool {
	return at.After(m.at) || at.Equal(m.at) && m.event >= 0 && event > m.event
}

// A question is what a wait_for waits for an answer to: the last message that the run sent or, if
// it sent none since its last wait, the end of the step before. Between that and the wait, the
// engine may have stopped, the workspace paused or a call been repeated, and the customer knows
// nothing of this.
type question struct {
	after   position  // an answer is later than this: the message, or the event that ended the last wait_for. Zero stands for the event that started the run
	ended   time.Time // the end of the step before, by our clock; zero if after alone decides
	message bool
	earlier bool  // events may have been decided since
	newest  int64 // the newest event decided at the end of a step before; 0 if unknown
}

// next returns the question after a step of a walk has ended.
func (q question) next(k *walk, s *rules.Step, taken *journal.Step, rec *record, value any, earlier bool) question {
	object, _ := value.(map[string]any)
	switch {
	case s.Verb == "wait_for" && object != nil && len(rec.Heard) > 0:
		return question{after: position{describedAt(object), rec.Heard[0]}, earlier: true}
	case !slept(taken) && k.isQuestion(s, rec, object):
		asked := position{rec.Tried, -1}
		if at, ok := object["created_at"].(time.Time); ok {
			asked.at = at
		} else if rec.Tried.IsZero() {
			asked.at = rec.Ended // in a shadow run
		}
		return question{after: asked, message: true, earlier: earlier}
	case !slept(taken) && q.message:
		q.earlier = q.earlier || earlier
		return q
	}
	return question{after: q.after, ended: rec.Ended, earlier: earlier, newest: max(q.newest, rec.Number)}
}

// isQuestion reports whether a step has sent a message to the conversation that the run's events
// come from; in a shadow run, whether it would have. The customer cannot answer a message to
// anybody else.
func (k *walk) isQuestion(s *rules.Step, rec *record, message map[string]any) bool {
	if !slices.Contains(s.Schema.Emits, vocabulary.MessageSent) || len(rec.Receipts) == 0 && rec.Intent == nil {
		return false
	}
	conversation, _ := message["conversation_id"].(string)
	return s.Args["to"] == nil && !k.facts.elsewhere || actions.ConversationLane(conversation) == k.run.Home
}

// happenedAt returns when an event happened: for a message, when it was written, if the event has
// that. The event may come long after.
func (f *facts) happenedAt(ctx context.Context) (time.Time, error) {
	if vocabulary.ObjectOf(f.event.Type) == vocabulary.Message {
		fact, _, err := f.carriedFact(ctx, "message")
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

// describedAt is happenedAt for an event as expressions see it.
func describedAt(event map[string]any) time.Time {
	message, _ := event["message"].(map[string]any)
	if at, ok := message["created_at"].(time.Time); ok {
		return at
	}
	at, _ := event["created_at"].(time.Time)
	return at
}

// answers reports whether an event that happened at a time can end a wait_for: it is later than the
// question, and not too late. An event that was received in time has happened in time, whatever the
// service's clock says.
func (r *record) answers(e *journal.Event, at time.Time) bool {
	after := position{r.After, r.Number}
	if r.After.IsZero() {
		after.at = r.At.Add(-clockSlack)
	}
	return after.isBefore(at, e.Seq) && !(at.After(r.Until) && e.ReceivedAt.After(r.Until))
}

// startPosition is the position of the event that started a run. Events that the engine itself
// makes have the time of its own clock.
func (k *walk) startPosition(ctx context.Context) (position, error) {
	e := k.facts.event
	if e.Rule != "" {
		return position{at: e.CreatedAt.Add(-clockSlack)}, nil
	}
	at, err := k.facts.happenedAt(ctx)
	return position{at, e.Seq}, err
}

// findEarlierAnswers adds to a wait_for that begins the events since its question that are already
// decided. The wait would miss them otherwise.
func (k *walk) findEarlierAnswers(ctx context.Context, rec *record) (err error) {
	q := k.last
	if q.after.at.IsZero() {
		if q.after, err = k.startPosition(ctx); err != nil {
			return err
		}
		q.earlier = q.earlier || q.ended.IsZero() // an event recorded before the one that started the run may have happened after it
		if k.facts.event.Rule != "" {
			q.newest = max(q.newest, k.run.Event) // but not after one that the engine itself made
		}
	}
	if since := q.ended.Add(-clockSlack); !q.ended.IsZero() && since.After(q.after.at) {
		q.after = position{at: since}
	}
	if rec.Again > 0 {
		q = question{} // a retry begins anew, without the events that it failed on
	}
	rec.After, rec.Number = q.after.at, q.after.event
	if !q.earlier {
		return nil // no event can have been decided in between
	}
	for e, err := range k.engine.eventsSince(ctx, k.run.Workspace, k.run.Home, rec.For, rec.After) {
		if err != nil {
			return fmt.Errorf("look for events that came before the wait: %w", err)
		}
		if here := k.loadedEvent(e.Seq); here != nil {
			e = here // this visit may have decided it
		}
		if !e.Decided || e.Seq == k.run.Event || slices.Contains(k.run.Gathered, e.Seq) || e.CreatedAt.Before(q.ended) || e.Seq <= q.newest {
			continue // undecided events reach the wait when they are decided
		}
		f := k.factsOf(e)
		at, err := f.happenedAt(ctx)
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

// hasWaitFor reports whether a rule has a wait_for.
func hasWaitFor(r *rules.Rule) bool {
	for s := range r.Steps() {
		if s.Verb == "wait_for" {
			return true
		}
	}
	return false
}
