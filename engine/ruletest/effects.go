package ruletest

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service/sandbox"
)

// An Effect is an effect of the rules on the service, or a call to another system, as the verb that
// causes it, with names instead of ids.
type Effect struct {
	Verb string         `json:"verb"`
	On   string         `json:"on,omitempty"` // the conversation, contact or card, or the other system
	Args map[string]any `json:"args,omitempty"`
	At   time.Time      `json:"at"`

	subject any // what On names, as the arguments to of a message, contact and card would
	labels  labelChange
	from    any  // the stage that a card left
	would   bool // of a rule in shadow, which did not really do it
}

// A labelChange is the change of the labels of a conversation or a contact.
type labelChange struct{ added, removed, after []any }

// effects returns the effects since the last call, in order.
func (t *storyRun) effects() []Effect {
	all := t.service.Effects()
	var out []Effect
	var c *company
	for ; t.seen < len(all); t.seen++ {
		out = append(out, t.outside.takeCalls(t.seen)...)
		if c == nil {
			c = readCompany(t.service)
		}
		e := all[t.seen]
		if effect, ok := c.describe(e); ok {
			effect.At = e.At.Time()
			out = append(out, effect)
		}
	}
	out = append(out, t.outside.takeCalls(t.seen)...)
	for i := range out {
		out[i].At = out[i].At.In(t.options.Location)
	}
	return out
}

// argumentOf are the arguments of verbs by the fields of the requests that carry them, where their
// names differ.
var argumentOf = map[string]string{
	"user_id": "person", "sector_id": "sector", "media_id": "media", "reply_to_external_id": "reply_to", "channel_id": "channel", "contact_id": "contact",
	"board_id": "board", "stage_id": "stage", "label_ids": "label", "due_date": "due", "conversation_id": "conversation",
}

// describe says which verb an effect is. It is false for what belongs to another effect, as an
// upload does to a message.
func (c *company) describe(e sandbox.Effect) (Effect, bool) {
	before, after, request := fields(e.Before), fields(e.After), fields(e.Request)
	verb := builtin.VerbOf(e.Operation)
	if e.Operation == builtin.Operation(vocabulary.CreateContact) && before != nil {
		verb = vocabulary.UpdateContact
	}
	out := Effect{
		Verb: verb, On: text(c.name(e.Object.String())), Args: c.args(verb, request), subject: e.Object.String(),
		labels: c.compare(before["label_ids"], after["label_ids"]),
	}
	switch verb {
	case vocabulary.SendMessage:
		out.On, out.subject = text(c.name(after["conversation_id"])), c.to(after["conversation_id"])
	case vocabulary.CloseAttendance:
		out.On, out.subject = text(c.name(after["conversation_id"])), c.to(after["conversation_id"])
	case vocabulary.Transfer, vocabulary.SetSector, vocabulary.MarkRead:
		out.subject = c.to(e.Object.String())
	case vocabulary.AddLabels, vocabulary.RemoveLabels, vocabulary.SetLabels, vocabulary.UpdateConversation:
		out.subject = c.to(e.Object.String())
		return out.patch(c.args(vocabulary.UpdateConversation, request)), true
	case vocabulary.CreateContact, vocabulary.UpdateContact:
		out.putLabels()
	case vocabulary.CreateCard:
		out.Args["stage"] = c.name(after["stage_id"]) // the first, unless it was given
	case vocabulary.MoveCard:
		out.from = c.name(before["stage_id"])
		out.Args = map[string]any{"to": c.name(after["stage_id"]), "board": c.name(after["board_id"])}
	}
	return out, verb != ""
}

// args returns the arguments of a verb that a request carries.
func (c *company) args(verb string, request map[string]any) map[string]any {
	args := map[string]any{}
	schemas := builtin.Schemas()
	i := slices.IndexFunc(schemas, func(s rules.Schema) bool { return s.Verb == verb })
	for field, value := range request {
		arg, renamed := argumentOf[field]
		if !renamed {
			arg = field
		}
		if i < 0 || !slices.ContainsFunc(schemas[i].Args, func(a rules.Arg) bool { return a.Name == arg }) {
			continue
		}
		if list, ok := value.([]any); ok {
			args[arg] = c.named(list)
		} else if !renamed {
			args[arg] = value
		} else {
			args[arg] = c.name(value)
		}
	}
	return args
}

// to returns the recipient of a message.
func (c *company) to(conversation any) map[string]any {
	there := c.last("conversations", "id", conversation)
	return map[string]any{
		"conversation": conversation, "contact": c.name(there["contact_id"]), "phone": there["phone"], "channel": c.name(there["channel_id"]),
	}
}

// compare returns the change of labels, by their names.
func (c *company) compare(before, after any) labelChange {
	was, is := c.named(before), c.named(after)
	without := func(list, other []any) []any {
		return slices.DeleteFunc(slices.Clone(list), func(name any) bool { return slices.Contains(other, name) })
	}
	return labelChange{added: without(is, was), removed: without(was, is), after: is}
}

// patch says which verb a change of a conversation is.
func (e Effect) patch(args map[string]any) Effect {
	e.Args = args
	switch l := e.labels; {
	case len(args) > 0 || len(l.added)+len(l.removed) == 0:
		e.Verb = vocabulary.UpdateConversation
		e.putLabels()
	case len(l.removed) == 0:
		e.Verb, e.Args["labels"] = vocabulary.AddLabels, l.added
	case len(l.added) == 0:
		e.Verb, e.Args["labels"] = vocabulary.RemoveLabels, l.removed
	default:
		e.Verb, e.Args["labels"] = vocabulary.SetLabels, l.after
	}
	return e
}

// putLabels adds labels to the other arguments.
func (e *Effect) putLabels() {
	if len(e.labels.added) > 0 {
		e.Args["add_labels"] = e.labels.added
	}
	if len(e.labels.removed) > 0 {
		e.Args["remove_labels"] = e.labels.removed
	}
}

// fields returns the members of an object; nil is none.
func fields(raw json.RawMessage) map[string]any {
	var out map[string]any
	_ = json.Unmarshal(raw, &out) // the sandbox's own writing, or a body that it has taken
	return out
}
