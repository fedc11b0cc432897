package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var updateConversation = rules.Schema{
	Verb: "update_conversation", Group: "people", Summary: "Archive, pin, mute or rename the conversation",
	Args: []rules.Arg{
		{Name: "archived", Kind: rules.KindFlag, Summary: "whether it is archived"},
		{Name: "pinned", Kind: rules.KindFlag, Summary: "whether it is pinned"},
		{Name: "muted", Kind: rules.KindFlag, Summary: "whether it is muted"},
		{Name: "name", Kind: rules.KindText, Summary: "the new name"},
		anotherConversation,
	},
	OneOf: []string{"archived", "pinned", "muted", "name"},
	Needs: "conversation", Unless: []string{"conversation"},
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"conversations:read"},
	Emits:   []string{"conversation.updated"},
	Example: "{ archived: true }",
}

func planUpdateConversation(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if _, ok := s.Receipt(callPatchConversation); ok {
		return done(nil)
	}
	a := args(s.Args)
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	now, err := d.client.GetConversation(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	var patch service.ConversationPatch
	for name, field := range map[string]struct {
		set *service.Opt[bool]
		now bool
	}{"archived": {&patch.Archived, now.Archived}, "pinned": {&patch.Pinned, now.Pinned}, "muted": {&patch.Muted, now.Muted}} {
		if value, given := a.flag(name); given && value != field.now {
			*field.set = service.Set(value)
		}
	}
	if name := a.text("name"); name != "" && name != now.Name {
		patch.Name = service.Set(name)
	}
	if len(fieldsOf(patch)) == 0 {
		return alreadyDone(nil, phrases.ConversationIsSo)
	}
	return planConversationPatch(s, now, patchConversationRequest{Conversation: id, Patch: patch})
}

// callPatchConversation is PATCH /conversations/{id}. After a change of labels the conversation is
// read back, because a concurrent change writes the whole list, too.
const callPatchConversation = "patch_conversation"

type patchConversationCall struct{ *desk }

type patchConversationRequest struct {
	Conversation string                    `json:"conversation"`
	Patch        service.ConversationPatch `json:"patch"`
	Labels       *labelChange              `json:"labels,omitempty"` // the change that led to the patch's label_ids
}

// planConversationLabels plans a change of a conversation's labels, again if it did not last.
func (d *desk) planConversationLabels(ctx context.Context, s *actions.Step, change labelChange) (actions.Next, error) {
	if r, ok := s.Receipt(callPatchConversation); ok {
		answer, err := decodeRecorded[map[string]any](r.Answer)
		if err != nil {
			return actions.Next{}, err
		}
		if change.isApplied(idsOf(answer["label_ids"])) {
			return done(nil)
		}
	}
	id, err := d.conversationOf(ctx, s)
	if err != nil {
		return actions.Next{}, err
	}
	conversation, err := d.client.GetConversation(ctx, id)
	if err != nil {
		return actions.Next{}, err
	}
	if change.isApplied(conversation.LabelIDs) {
		return alreadyDone(nil, phrases.LabelsAreSo)
	}
	patch := service.ConversationPatch{LabelIDs: service.Set(change.apply(conversation.LabelIDs))}
	return planConversationPatch(s, conversation, patchConversationRequest{Conversation: id, Patch: patch, Labels: &change})
}

func planConversationPatch(s *actions.Step, now service.Conversation, request patchConversationRequest) (actions.Next, error) {
	i := actions.Intent{Lane: conversationLane(s, request.Conversation), Generation: generation(s, callPatchConversation), Emits: []string{"conversation.updated"}}
	return planCall(s, callPatchConversation, i, request, patchedFields(conversationFact(now), fieldsOf(request.Patch)))
}

func (c patchConversationCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[patchConversationRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	now, err := c.client.UpdateConversation(ctx, in.Conversation, in.Patch)
	if err != nil {
		return actions.Receipt{}, err
	}
	if in.Labels != nil {
		// If the conversation cannot be read back, the answer is used; failing that, the next plan reads
		// it.
		if read, err := c.client.GetConversation(ctx, in.Conversation); err == nil {
			now = read
		}
	}
	return in.receipt(now), nil
}

func (c patchConversationCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, before, err := decodeIntent[patchConversationRequest, map[string]any](i)
	if err != nil {
		return actions.Settlement{}, err
	}
	now, err := c.client.GetConversation(ctx, in.Conversation)
	if err != nil {
		return actions.Settlement{}, err
	}
	want := fieldsOf(in.Patch)
	switch v := settlePatch(want, before, patchedFields(conversationFact(now), want), in.Labels); v {
	case actions.Happened:
		return happened(in.receipt(now))
	case actions.Overtook:
		return settled(v, phrases.ChangedByOther)
	default:
		return settled(v, "")
	}
}

func (r patchConversationRequest) receipt(now service.Conversation) actions.Receipt {
	set := fieldsOf(r.Patch)
	return receipt(patchedFields(conversationFact(now), set), actions.Caused{Event: "conversation.updated", Object: r.Conversation, Set: encodeSet(set)})
}
