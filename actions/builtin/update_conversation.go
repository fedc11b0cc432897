package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var updateConversation = rules.Schema{
	Verb: "update_conversation", Summary: "Archive, pin, mute or rename the conversation",
	Args: []rules.Arg{
		{Name: "archived", Kind: rules.KindFlag, Summary: "whether it is archived"},
		{Name: "pinned", Kind: rules.KindFlag, Summary: "whether it is pinned"},
		{Name: "muted", Kind: rules.KindFlag, Summary: "whether it is muted"},
		{Name: "name", Kind: rules.KindText, Summary: "the new name"},
	},
	OneOf:   []string{"archived", "pinned", "muted", "name"},
	Needs:   "conversation",
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
	id, err := a.of("conversation", s.Conversation)
	if err != nil {
		return actions.Next{}, err
	}
	now, err := d.GetConversation(ctx, id)
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
		return already(nil, phrases.ConversationIsSo)
	}
	return planConversationPatch(s, now, patchConversationRequest{Conversation: id, Patch: patch})
}
