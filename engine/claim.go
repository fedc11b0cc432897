package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
)

// A claim says whose answer an event is: a wait_for of the run took it. A claimed event, and what
// it caused, starts no other rule.
//
// Events come in any order. If the attendance that an answer opened is known before the answer
// itself, the engine looks for the message in the journal, then in the service, and asks the waits
// of the lane whether they will take it.
type claim struct {
	Run  int64  `json:"run"`
	Rule string `json:"rule"`
}

// claimOf returns the claim on an event; nil if there is none. claimed is what a wait_for of the
// lane has taken the event for. No message caused what a rule did.
func (v *visit) claimOf(ctx context.Context, e *journal.Event, f *facts, own *journal.Caused, claimed *claim) (c *claim, err error) {
	c = claimed
	if c == nil && own == nil && e.Rule == "" {
		var may bool
		if may, err = v.mayBeClaimed(ctx, e); may {
			c, err = v.claimOfCause(ctx, e, f)
		}
	}
	if c == nil || err != nil {
		return nil, err
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	f.keepAnswer(journal.AnswerClaimed, raw)
	return c, nil
}

// recordedClaim returns the claim that was recorded when an event was decided.
func recordedClaim(e *journal.Event) (*claim, error) {
	raw := e.Answers[journal.AnswerClaimed]
	if raw == nil {
		return nil, nil
	}
	c := &claim{}
	return c, json.Unmarshal(raw, c)
}

// mayBeClaimed reports whether a customer's message can cause the event, a rule can start on it,
// and one can claim messages, or has claimed one of these before it was changed.
func (v *visit) mayBeClaimed(ctx context.Context, e *journal.Event) (bool, error) {
	switch e.Type {
	case vocabulary.AttendanceOpened, vocabulary.CardCreated, vocabulary.ConversationUpdated:
	default:
		return false, nil
	}
	set := v.workspace.rules.Load()
	if !set.Starts(e.Type) {
		return false, nil
	}
	if set.Claims() || slices.ContainsFunc(v.lane.Runs, isWaitingForEvent) {
		return true, nil
	}
	near, err := v.engine.journal.Happened(ctx, e.Workspace, e.Lane, []string{vocabulary.MessageReceived}, e.CreatedAt.Add(-2*clockSlack), maxCauses)
	if err != nil {
		return false, fmt.Errorf("look for claimed messages: %w", err)
	}
	return slices.ContainsFunc(near, func(m *journal.Event) bool { return m.Answers[journal.AnswerClaimed] != nil }), nil
}

// isWaitingForEvent reports whether a run is at a wait_for.
func isWaitingForEvent(r *journal.Run) bool {
	s := r.Current()
	return s != nil && s.Verb == "wait_for" && s.State == journal.StepWaiting && !r.State.Finished()
}

// claimOfCause returns the claim on the message that caused an event.
func (v *visit) claimOfCause(ctx context.Context, e *journal.Event, f *facts) (*claim, error) {
	at, conversation, err := f.causedAt(ctx)
	if err != nil || conversation == "" {
		return nil, err
	}
	message, err := v.causeOf(ctx, e, f, at, conversation)
	if err != nil || message == nil {
		return nil, err
	}
	if here := v.loadedEvent(message.Seq); message.Seq != 0 && here != nil {
		message = here // this visit may have decided it
	}
	if message.Decided {
		return recordedClaim(message)
	}
	for _, r := range v.lane.Runs {
		if !isWaitingForEvent(r) || r.Home != v.lane.Name {
			continue
		}
		of := v.factsOf(message)
		end, err := v.endingOf(ctx, r, message, of)
		if err != nil {
			return nil, err
		}
		step, err := v.waitingStep(ctx, r, message, of)
		if err != nil {
			return nil, err
		}
		if step == nil || end.state != "" {
			continue
		}
		taken, err := v.wouldTake(ctx, r, message)
		if err != nil {
			return nil, err
		}
		if taken.met && taken.claims {
			return &claim{Run: r.ID, Rule: r.Rule}, nil
		}
	}
	return nil, nil
}

// causedAt returns when the message came that may have caused the event, and its conversation;
// empty if no message can have. What opened an attendance also caused the card that came with it: a
// card belongs to the attendance that it names or, if it names none, to the open one.
func (f *facts) causedAt(ctx context.Context) (at time.Time, conversation string, err error) {
	if err := f.load(ctx); err != nil {
		return at, "", err
	}
	at, conversation = f.event.CreatedAt, f.about.Conversation
	if f.event.Type == vocabulary.ConversationUpdated || conversation == "" && f.about.Attendance == "" {
		return at, conversation, nil
	}
	told, err := f.Fact(ctx, "attendance")
	if err := deskFailure(err); err != nil && !actions.IsDenied(err) {
		return at, "", err
	}
	attendance, _ := told.(map[string]any)
	opened, known := attendance["opened_at"].(time.Time)
	if f.event.Type == vocabulary.CardCreated && (!known || at.Sub(opened).Abs() > clockSlack) {
		return at, "", nil
	}
	if known {
		at = opened
	}
	if id, _ := attendance["conversation_id"].(string); conversation == "" {
		conversation = id
	}
	return at, conversation, nil
}

// maxCauses is how many messages around an event are looked at.
const maxCauses = 50

// causeOf returns the customer's message that caused an event: the one that came closest to it,
// within the slack of clocks. A message that is not recorded yet has no sequence number.
func (v *visit) causeOf(ctx context.Context, e *journal.Event, f *facts, at time.Time, conversation string) (*journal.Event, error) {
	lane := actions.ConversationLane(conversation)
	since := earlier(at, e.CreatedAt).Add(-clockSlack)
	near, err := v.engine.journal.Happened(ctx, e.Workspace, lane, []string{vocabulary.MessageReceived}, since, maxCauses)
	if err != nil {
		return nil, fmt.Errorf("look for what caused the event: %w", err)
	}
	cause, err := v.nearest(ctx, near, e, f, at)
	if cause != nil || err != nil || lane != v.lane.Name || !slices.ContainsFunc(v.lane.Runs, isWaitingForEvent) {
		return cause, err
	}
	if v.fresh != nil {
		return nil, errRecordFirst
	}
	written, err := v.workspace.Desk.Received(f.asking(ctx), conversation, since)
	if actions.IsDenied(err) || actions.IsPermanent(err) {
		return nil, nil // without the messages, only those that are recorded count
	}
	if err != nil {
		return nil, &deskError{err}
	}
	near = near[:0]
	for _, m := range written {
		m.Workspace, m.Lane, m.ReceivedAt = e.Workspace, lane, e.ReceivedAt
		near = append(near, &journal.Event{Event: m})
	}
	return v.nearest(ctx, near, e, f, at)
}

// nearest returns which of the messages caused an event that happened at a time. Of those that came
// equally close, it is the first: the attendance was open by the time of the others.
func (v *visit) nearest(ctx context.Context, messages []*journal.Event, e *journal.Event, f *facts, at time.Time) (*journal.Event, error) {
	last, err := f.lastMessage(ctx)
	if err != nil {
		return nil, err
	}
	var cause *journal.Event
	for _, m := range messages {
		if min(at.Sub(m.CreatedAt).Abs(), e.CreatedAt.Sub(m.CreatedAt).Abs()) > clockSlack {
			continue
		}
		if last != "" {
			of := v.factsOf(m)
			if err := of.load(ctx); err != nil {
				return nil, err
			}
			if ObjectKey(of.about.Message) != ObjectKey(last) {
				continue
			}
		}
		if cause == nil || at.Sub(m.CreatedAt).Abs() < at.Sub(cause.CreatedAt).Abs() {
			cause = m
		}
	}
	return cause, nil
}

// lastMessage returns the id of the newest message that an update of a conversation shows; empty if
// it shows none.
func (f *facts) lastMessage(ctx context.Context) (string, error) {
	if f.event.Type != vocabulary.ConversationUpdated {
		return "", nil
	}
	told, _, err := f.carriedFact(ctx, "conversation")
	if err != nil {
		return "", err
	}
	conversation, _ := told.(map[string]any)
	return idOf(conversation["last_message"]), nil
}

// A taking is whether a wait_for takes an event.
type taking struct {
	event  *journal.Event
	met    bool // its condition is true
	claims bool // the event starts no other rule then
	err    error
}

// wouldTake evaluates the condition of the wait_for that a run is at for an event. It restores the
// results of the run's steps, which the condition may use, and changes nothing else.
func (v *visit) wouldTake(ctx context.Context, r *journal.Run, e *journal.Event) (*taking, error) {
	rule, err := v.ruleOf(ctx, r)
	if err != nil || rule == nil {
		return &taking{}, err // the walk reports a rule that cannot be read
	}
	f, err := v.factsOfRun(ctx, r)
	if f == nil || err != nil {
		return &taking{}, err
	}
	k := v.newWalk(ctx, r, rule, f)
	defer k.close()
	k.taking = &taking{event: e}
	if _, err := k.takeSteps(ctx, rule.Do); err != nil {
		return nil, err
	}
	t := k.taking
	t.claims = t.claims && r.Stage == rules.Live
	if err := deskFailure(t.err); err != nil && !actions.IsDenied(err) {
		return nil, err
	}
	return t, nil
}

// take evaluates the condition of a wait_for for the event that the walk was made for.
func (k *walk) take(ctx context.Context, s *rules.Step, rec *record) {
	f := k.factsOfArriving(k.taking.event)
	k.taking.claims = s.Claims
	k.taking.met, k.taking.err = k.matches(ctx, s, f)
	if k.taking.event.Seq != 0 {
		k.recordAnswers(rec)
	}
}
