package ruletest

import (
	"encoding/json"
	"slices"
	"time"

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
	from    any // the stage that a card left
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

// The arguments of verbs, by the fields of the requests that carry them.
var (
	ofTransfer     = map[string]string{"user_id": "person", "sector_id": "sector", "reason": "reason"}
	ofSector       = map[string]string{"sector_id": "sector", "reason": "reason"}
	ofMessage      = map[string]string{"text": "text", "media_id": "media", "reply_to_external_id": "reply_to"}
	ofOpening      = map[string]string{"channel_id": "channel", "phone": "phone", "contact_id": "contact", "name": "name"}
	ofConversation = map[string]string{"archived": "archived", "pinned": "pinned", "muted": "muted", "name": "name"}
	ofClosing      = map[string]string{"reason": "reason"}
	ofContact      = map[string]string{"name": "name", "phone": "phone", "company": "company", "city": "city", "channel_id": "channel", "blocked": "blocked"}
	ofCard         = map[string]string{
		"board_id": "board", "stage_id": "stage", "title": "title", "description": "description", "priority": "priority", "label_ids": "label",
		"due_date": "due", "contact_id": "contact", "conversation_id": "conversation",
	}
)

// describe says which verb an effect is. It is false for what belongs to another effect, as an
// upload does to a message.
func (c *company) describe(e sandbox.Effect) (Effect, bool) {
	before, after, request := fields(e.Before), fields(e.After), fields(e.Request)
	out := Effect{On: text(c.name(e.Object.String())), labels: c.compare(before["label_ids"], after["label_ids"])}
	take := func(verb string, of map[string]string) (Effect, bool) {
		out.Verb, out.Args = verb, c.args(of, request)
		return out, true
	}
	switch e.Operation {
	case "POST /conversations/{id}/messages":
		out.On = text(c.name(after["conversation_id"]))
		out, _ := take("send_message", ofMessage)
		out.subject = c.to(after["conversation_id"])
		return out, true
	case "POST /conversations/{id}/transfer":
		return take("transfer", ofTransfer)
	case "PUT /conversations/{id}/sector":
		return take("set_sector", ofSector)
	case "PATCH /conversations/{id}":
		return out.patch(c.args(ofConversation, request)), true
	case "POST /conversations/{id}/read":
		return take("mark_read", nil)
	case "POST /conversations":
		return take("open_conversation", ofOpening)
	case "POST /conversations/{id}/attendance/close":
		out.On = text(c.name(after["conversation_id"]))
		return take("close_attendance", ofClosing)
	case "POST /contacts", "PATCH /contacts/{id}":
		verb := "update_contact"
		if before == nil {
			verb = "create_contact"
		}
		out, _ := take(verb, ofContact)
		out.subject = e.Object.String()
		out.putLabels()
		return out, true
	case "POST /kanban/cards":
		out, _ := take("create_card", ofCard)
		out.Args["stage"] = c.name(after["stage_id"]) // the first, unless it was given
		return out, true
	case "PATCH /kanban/cards/{id}":
		out.subject = e.Object.String()
		return take("update_card", ofCard)
	case "POST /kanban/cards/{id}/move":
		out.Verb, out.from, out.subject = "move_card", c.name(before["stage_id"]), e.Object.String()
		out.Args = map[string]any{"to": c.name(after["stage_id"]), "board": c.name(after["board_id"])}
		return out, true
	}
	return out, false
}

// args returns the arguments that a request carries.
func (c *company) args(of map[string]string, request map[string]any) map[string]any {
	args := map[string]any{}
	for field, arg := range of {
		value, ok := request[field]
		if !ok {
			continue
		}
		if list, ok := value.([]any); ok {
			args[arg] = c.named(list)
		} else if arg == field {
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
		e.Verb = "update_conversation"
		e.putLabels()
	case len(l.removed) == 0:
		e.Verb, e.Args["labels"] = "add_labels", l.added
	case len(l.added) == 0:
		e.Verb, e.Args["labels"] = "remove_labels", l.removed
	default:
		e.Verb, e.Args["labels"] = "set_labels", l.after
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
