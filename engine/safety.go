package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/vocabulary"
)

// messageSlots returns the slots that an automatic message takes from the safety bounds.
func (k *walk) messageSlots(ctx context.Context, i *actions.Intent) []journal.Slot {
	if !slices.Contains(i.Emits, vocabulary.MessageSent) || k.isInternal(ctx) {
		return nil
	}
	take := make([]journal.Slot, 0, 2)
	if b := k.workspace.Safety.PerConversation; b.Times > 0 {
		take = append(take, journal.Slot{Key: journal.MessagesTo(k.lane.Name), Times: b.Times, Per: b.Per, Rule: k.run.Rule})
	}
	if b := k.workspace.Safety.Messages; b.Times > 0 {
		take = append(take, journal.Slot{Key: journal.AllMessages, Times: b.Times, Per: b.Per, Rule: k.run.Rule})
	}
	return take
}

// isInternal reports whether the lane's conversation is a chat of the company's own. If that cannot
// be found out, its messages are counted.
func (k *walk) isInternal(ctx context.Context) bool {
	id, ok := strings.CutPrefix(k.lane.Name, actions.ConversationLane(""))
	if !ok || k.workspace.Safety.Internal == nil {
		return false
	}
	about := actions.Subject{Conversation: id}
	whose, err := k.workspace.Safety.Internal(ctx, about, func() (any, error) { return k.workspace.Desk.Fact(ctx, "contact", new(about)) })
	if err != nil {
		k.engine.log.Warn("whether a conversation is internal is not known, so its messages are counted", "workspace", k.run.Workspace, "error", Discreet(err))
	}
	return whose != ""
}

// internalChat returns whose chat an event is in, if it is one of the company's own and keeps one
// of the candidates from starting; empty otherwise. If that will never be known, it is a
// customer's. A person who starts a rule by hand means it.
func (j *judge) internalChat(ctx context.Context, e *journal.Event, f *facts, own *journal.Caused, candidates []*rules.Rule) (string, error) {
	skips := func(r *rules.Rule) bool { return !r.TakesInternal && (own == nil || r.FromAny) }
	if j.workspace.Safety.Internal == nil || e.Type == vocabulary.Manual || !slices.ContainsFunc(candidates, skips) {
		return "", nil
	}
	if err := f.load(ctx); err != nil {
		return "", err
	}
	whose, err := j.workspace.Safety.Internal(f.asking(ctx), *f.about, func() (any, error) { return f.Fact(ctx, "contact") })
	switch {
	case actions.IsDenied(err), actions.IsPermanent(err):
		j.engine.log.Warn("whether a conversation is internal is not known, so its events start rules", "workspace", e.Workspace, "error", Discreet(err))
	case err != nil:
		return "", &deskError{err}
	case whose != "":
		f.recordAnswer(journal.AnswerInternal, whose)
	}
	return whose, nil
}

// isAlert reports whether an event comes of an alert to the team: it is the alert's message, or the
// update of a chat of the company's own whose last message is one. An update may name the message
// by its id only, so that it has to be read; this is done if a rule of such chats could start.
func (j *judge) isAlert(ctx context.Context, e *journal.Event, f *facts) (bool, error) {
	is := j.workspace.Safety.Alert
	if is == nil || e.Type != vocabulary.MessageSent && e.Type != vocabulary.ConversationUpdated {
		return false, nil
	}
	if e.Type == vocabulary.MessageSent {
		id, err := f.clientID(ctx)
		return is(id), err
	}
	candidates, err := j.candidates(ctx, e, f)
	if err != nil || !slices.ContainsFunc(candidates, func(r *rules.Rule) bool { return r.TakesInternal }) {
		return false, err
	}
	told, _, err := f.carriedFact(ctx, vocabulary.Conversation)
	if err != nil {
		return false, err
	}
	conversation, _ := told.(map[string]any)
	last, _ := conversation["last_message"].(map[string]any)
	id, _ := last["id"].(string)
	if clientID, ok := last["client_id"].(string); ok || id == "" {
		return is(clientID), nil
	}
	message, err := j.workspace.Desk.Fact(f.asking(ctx), vocabulary.Message, &actions.Subject{Message: id})
	if err != nil {
		if actions.IsPermanent(err) {
			return false, nil
		}
		return false, &deskError{err}
	}
	fields, _ := message.(map[string]any)
	clientID, _ := fields["client_id"].(string)
	return is(clientID), nil
}

// holdForSafety keeps back a message that exceeds a safety bound. It places a hold on the rule
// whose messages fill the bound: in this conversation, or everywhere if it is the workspace's
// bound. A rule that has sent none of these messages waits until a slot is free.
func (k *walk) holdForSafety(ctx context.Context, bound *journal.BoundError) error {
	h := journal.Hold{Workspace: k.run.Workspace, Rule: k.run.Rule, Kind: journal.HoldSafety, Since: k.now()}
	code := phrases.SafetyMessages
	if bound.Slot.Key != journal.AllMessages {
		h.Lane, code = k.lane.Name, phrases.SafetyConversation
	}
	h.Why = phrases.New(code, bound.Slot.Times, duration.Format(bound.Slot.Per))
	h.Reason = h.Why.String()
	if !bound.Own {
		k.run.State, k.run.WakeAt = journal.Held, latest(bound.Free, k.now().Add(time.Second))
		k.run.Because(h.Why)
		k.touch(k.run)
		return nil
	}
	err := k.engine.placeHold(ctx, h)
	k.holdRun(k.run)
	return err
}

// mute ends a step that mutes or unmutes a conversation, and records both at once, so that the
// steps behind it find the conversation muted. It does so in the lane of the conversation: a
// message there was recorded before, or is skipped.
func (k *walk) mute(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, m *actions.Mute) (flow, error) {
	if k.run.Stage != rules.Live {
		return k.end(ctx, s, taken, rec, journal.StepWould, nil, nil)
	}
	lane := actions.ConversationLane(m.Conversation)
	if lane != k.lane.Name {
		return k.moveToLane(lane, taken)
	}
	if k.stopped() {
		return parked, nil
	}
	if k.run.ID == 0 {
		// The mute names its run, so the run needs its number first.
		if err := k.save(ctx, false); err != nil || k.refused[k.run] {
			return parked, err
		}
	}
	k.change.Mutes = append(k.change.Mutes, journal.MuteChange{
		Mute: journal.Mute{Workspace: k.run.Workspace, Lane: lane, Rule: k.run.Rule, Run: k.run.ID, Since: k.now(), Until: m.Until}, Off: m.Off,
	})
	flow, err := k.end(ctx, s, taken, rec, journal.StepDone, nil, nil)
	if err != nil || flow != onward {
		return flow, err
	}
	if err := k.save(ctx, false); err != nil || k.refused[k.run] {
		return parked, err
	}
	return onward, nil
}

// skipMuted ends a step whose message must not be sent, because its conversation is muted.
func (k *walk) skipMuted(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, m *journal.Mute) (flow, error) {
	why := phrases.New(phrases.ConversationMuted)
	switch {
	case rec.Intent != nil && !rec.Answered:
		why = phrases.New(phrases.MutedMeanwhile)
	case !m.Until.IsZero():
		why = phrases.New(phrases.ConversationMutedUntil, m.Until.In(k.now().Location()).Format("2006-01-02 15:04"))
	}
	k.endCall(k.run, taken, rec)
	rec.Intent = nil
	return k.end(ctx, s, taken, rec, journal.StepSkipped, nil, why)
}

// Muted reports whether nothing automatic is sent to the conversation.
func (f *facts) Muted(ctx context.Context) (bool, error) {
	id, err := f.conversation(ctx)
	if err != nil || id == "" {
		return false, err
	}
	m, err := f.lane.engine.journal.Muted(ctx, f.event.Workspace, actions.ConversationLane(id), f.Now())
	if err != nil {
		return false, &deskError{err}
	}
	f.recordAnswer("muted()", m != nil)
	return m != nil, nil
}
