package builtin

import (
	"context"
	"errors"
	"fmt"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

var openConversation = rules.Schema{
	Verb: "open_conversation", Group: "messages", Summary: "Open a conversation with a phone number or a contact",
	Args: []rules.Arg{
		{Name: "channel", Kind: rules.KindName, Refers: "channel", Required: true, Summary: "the WhatsApp number to write from"},
		{Name: "phone", Kind: rules.KindText, Summary: "a phone number"},
		{Name: "contact", Kind: rules.KindText, Summary: "a contact's id"},
		{Name: "name", Kind: rules.KindText, Summary: "the conversation's name"},
	},
	OneOf:   []string{"phone", "contact"},
	Not:     [][2]string{{"phone", "contact"}},
	Result:  rules.ConversationType,
	Scopes:  []string{"conversations:write"},
	Reads:   []string{"contacts:read", "conversations:read"},
	Emits:   opens,
	Example: "{ channel: Main, phone: \"+5511999990000\" }",
}

func planOpenConversation(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
	if r, ok := s.Receipt(callOpen); ok {
		return d.resultOpen(ctx, r)
	}
	found, next, err := d.planOpen(ctx, s, s.Args)
	if found == nil {
		return next, err
	}
	fact, err := d.facts.Conversation(ctx, *found)
	if err != nil {
		return actions.Next{}, err
	}
	return alreadyDone(fact, phrases.ConversationIsThere)
}

// callOpen is POST /conversations. It has no key: the conversation is looked up by phone and
// channel first, and again before a repeat.
const callOpen = "open"

type openCall struct{ *desk }

type openRequest struct {
	service.NewConversation
	LookUp string `json:"look_up"` // the phone for the lookup
}

// planOpen finds the direct conversation of a phone or contact in a channel, or plans to open it.
func (d *desk) planOpen(ctx context.Context, s *actions.Step, a args) (*service.Conversation, actions.Next, error) {
	request, err := d.openRequest(ctx, a)
	if err != nil {
		return nil, actions.Next{}, err
	}
	found, err := d.client.FindConversation(ctx, request.LookUp, request.ChannelID)
	if found != nil || err != nil {
		return found, actions.Next{}, err
	}
	next, err := planCall(s, callOpen, actions.Intent{
		Lane: actions.PhoneLane(request.LookUp), Elsewhere: true, Emits: opens,
	}, request, nil)
	return nil, next, err
}

// errNoConversation says that a phone, a contact or a person has no conversation in the channel.
var errNoConversation = errors.New("there is no such conversation")

// conversationOf returns the conversation that a step works on: the one that its argument names,
// otherwise the one at hand. It opens none: to have its labels changed, or to be read, a
// conversation must exist.
func (d *desk) conversationOf(ctx context.Context, s *actions.Step) (string, error) {
	a := args(s.Args)
	target, ok := a["conversation"].(map[string]any)
	if !ok {
		return a.objectID("conversation", s.Conversation)
	}
	request, err := d.openRequest(ctx, target)
	if err != nil {
		return "", err
	}
	found, err := d.client.FindConversation(ctx, request.LookUp, request.ChannelID)
	if err != nil {
		return "", err
	}
	if found == nil {
		return "", errNoConversation
	}
	return found.ID, nil
}

// withoutConversation ends a step whose conversation does not exist. A step that reads has nothing
// as its result; any other is skipped.
func withoutConversation(schema *rules.Schema) actions.Next {
	r := &actions.Result{Outcome: actions.Skipped, Why: phrases.New(phrases.NoConversation)}
	if schema.OnlyReads() {
		r.Outcome = actions.Done
		if schema.Result.Elem() != nil {
			r.Value = []any{}
		}
	}
	return actions.Next{Result: r}
}

// addressOf returns the phone and the channel in which a person of the team is reached, as
// arguments, or the arguments themselves if they name no person.
func (d *desk) addressOf(a args) (args, error) {
	if !a.has("person") {
		return a, nil
	}
	name, err := a.requiredText("person")
	if err != nil {
		return nil, err
	}
	phone, err := d.people.Find(name)
	if err != nil {
		return nil, actions.Permanent(fmt.Errorf("%w; the table people of the configuration says where persons are reached", err))
	}
	return args{"phone": phone.Number, "channel": phone.Channel}, nil
}

func (d *desk) openRequest(ctx context.Context, a args) (openRequest, error) {
	a, err := d.addressOf(a)
	if err != nil {
		return openRequest{}, err
	}
	name, err := a.requiredText("channel")
	if err != nil {
		return openRequest{}, err
	}
	channel, err := d.directory.ID(ctx, service.KindChannel, name)
	if err != nil {
		return openRequest{}, err
	}
	out := openRequest{NewConversation: service.NewConversation{ChannelID: channel, Name: a.text("name")}}
	if a.has("contact") {
		if out.ContactID, err = a.requiredText("contact"); err != nil {
			return out, err
		}
		contact, err := d.client.GetContact(ctx, out.ContactID)
		if err != nil {
			return out, err
		}
		out.LookUp = contact.Phone
	} else {
		if out.Phone, err = a.requiredText("phone"); err != nil {
			return out, err
		}
		out.LookUp = out.Phone
	}
	if len(service.PhoneCandidates(out.LookUp)) == 0 {
		return out, actions.Permanent(phrases.New(phrases.PhoneUnusable, out.LookUp))
	}
	return out, nil
}

// resultOpen ends a step with the conversation that was opened.
func (d *desk) resultOpen(ctx context.Context, r actions.Receipt) (actions.Next, error) {
	return result(ctx, r, rules.ConversationType, d.facts.nameConversation)
}

func (c openCall) do(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Receipt, error) {
	in, err := decodeRecorded[openRequest](i.Request)
	if err != nil {
		return actions.Receipt{}, err
	}
	conversation, err := c.client.CreateConversation(ctx, in.NewConversation)
	if err == nil {
		return c.opened(conversation), nil
	}
	if isConflict(err) {
		// It was opened meanwhile: that conversation serves as well.
		if found, lookErr := c.client.FindConversation(ctx, in.LookUp, in.ChannelID); lookErr == nil && found != nil {
			return c.opened(*found), nil
		}
	}
	return actions.Receipt{}, err
}

func (c openCall) settle(ctx context.Context, _ *actions.Step, i actions.Intent) (actions.Settlement, error) {
	in, err := decodeRecorded[openRequest](i.Request)
	if err != nil {
		return actions.Settlement{}, err
	}
	found, err := c.client.FindConversation(ctx, in.LookUp, in.ChannelID)
	if err != nil {
		return actions.Settlement{}, err
	}
	if found == nil {
		return repeat()
	}
	return happened(c.opened(*found))
}

// made looks the conversation up again: it did not exist when the call was planned.
func (c openCall) made(ctx context.Context, i actions.Intent, about actions.Subject) (bool, error) {
	in, err := decodeRecorded[openRequest](i.Request)
	if err != nil || about.Conversation == "" {
		return false, err
	}
	found, err := c.client.FindConversation(ctx, in.LookUp, in.ChannelID)
	return found != nil && sameID(found.ID, about.Conversation), err
}

// opened names the conversation in all events that it caused: the call is made in the lane of a
// phone, and its events come in another.
func (c openCall) opened(v service.Conversation) actions.Receipt {
	return receipt(conversationFact(v),
		actions.Caused{Event: "attendance.opened", Object: v.ID},
		actions.Caused{Event: "kanban.card.created", Object: v.ID})
}
