package engine

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
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
	internal, err := k.workspace.Safety.Internal(ctx, id)
	if err != nil {
		k.engine.log.Warn("whether a conversation is internal is not known, so its messages are counted", "workspace", k.run.Workspace, "error", Discreet(err))
	}
	return internal
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
