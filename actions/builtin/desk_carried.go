package builtin

import (
	"context"
	"fmt"
	"slices"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// maxID is how long an id may be, in bytes: it becomes part of keys, lanes and addresses.
const maxID = 200

// ownEvents is the profile of events that the engine itself makes: whatever the service calls them in its own events, here objects stand
// under their names and ids under conversation_id and the like.
func ownEvents(p service.Profile) *service.Profile {
	e := &p.Event
	e.Self = nil
	for name, paths := range map[string][2]*service.Paths{
		"conversation": {&e.Conversation, &e.ConversationID}, "contact": {&e.Contact, &e.ContactID}, "message": {&e.Message, &e.MessageID},
		"attendance": {&e.Attendance, &e.AttendanceID}, "card": {&e.Card, &e.CardID},
	} {
		*paths[0] = slices.Concat(service.Paths{name}, *paths[0])
		*paths[1] = slices.Concat(service.Paths{name + ".id", name + "_id"}, *paths[1])
	}
	return &p
}

// Carried returns the facts that an event carries and the ids of what it is about. An object counts as carried only when it is whole:
// a rule must not decide on values that nobody gave. A part of one still tells what it is about.
//
// Where kanban.card.moved does not carry its card, the card is read, because only the event knows where it came from.
func (d *Desk) Carried(ctx context.Context, e rules.Event) (map[string]any, actions.Subject, error) {
	c := &carried{desk: d.desk, profile: d.desk.Profile(), event: e, facts: make(map[string]any, 4)}
	if e.Type == "schedule" || e.Type == "manual" {
		c.profile = d.own
	}
	for _, read := range []func(context.Context) error{c.message, c.conversation, c.contact, c.attendance, c.card} {
		if err := read(ctx); err != nil {
			return nil, actions.Subject{}, failedTo(fmt.Sprintf("read the event %s", e.ID), err)
		}
	}
	if err := c.bounded(); err != nil {
		return nil, actions.Subject{}, err
	}
	return c.facts, c.about, nil
}

// carried is an event that is being read.
type carried struct {
	*desk
	profile *service.Profile
	event   rules.Event
	facts   map[string]any
	about   actions.Subject
}

// object returns what an event shows of an object, and whether that is all of it.
func (c *carried) object(kind service.Kind) (raw map[string]any, whole bool) {
	raw, ok := c.profile.EventObject(kind, c.event.Type, c.event.Data)
	return raw, ok && c.profile.IsWhole(kind, raw)
}

func (c *carried) id(kind service.Kind) string {
	return c.profile.EventID(kind, c.event.Type, c.event.Data)
}

func (c *carried) message(ctx context.Context) error {
	complete(&c.about, actions.Subject{Message: c.id(service.KindMessage), Conversation: c.id(service.KindConversation)})
	if _, whole := c.object(service.KindMessage); !whole {
		return nil
	}
	m, ok := c.profile.EventMessage(c.event.Type, c.event.Data)
	if !ok || m.Direction == "" {
		return nil
	}
	return c.take("message")(c.desk.facts.Message(ctx, m))
}

func (c *carried) conversation(ctx context.Context) error {
	raw, whole := c.object(service.KindConversation)
	if raw == nil {
		return nil
	}
	v := service.DecodeConversation(raw, c.profile)
	complete(&c.about, ofConversation(v))
	if !whole {
		return nil
	}
	return c.take("conversation")(c.desk.facts.Conversation(ctx, v))
}

func (c *carried) contact(context.Context) error {
	complete(&c.about, actions.Subject{Contact: c.id(service.KindContact)})
	if raw, whole := c.object(service.KindContact); whole {
		return c.take("contact")(c.desk.facts.Contact(service.DecodeContact(raw, c.profile)), nil)
	}
	return nil
}

func (c *carried) attendance(ctx context.Context) error {
	complete(&c.about, actions.Subject{Attendance: c.id(service.KindAttendance)})
	raw, whole := c.object(service.KindAttendance)
	if raw == nil {
		return nil
	}
	v := service.DecodeAttendance(raw, c.profile)
	complete(&c.about, ofAttendance(v))
	if !whole {
		return nil
	}
	return c.take("attendance")(c.desk.facts.Attendance(ctx, v))
}

func (c *carried) card(ctx context.Context) error {
	complete(&c.about, actions.Subject{Card: c.id(service.KindCard)})
	raw, whole := c.object(service.KindCard)
	var v service.Card
	if raw != nil {
		v = service.DecodeCard(raw, c.profile)
		complete(&c.about, ofCard(v))
	}
	if c.event.Type == "kanban.card.moved" {
		return c.movedCard(ctx, v, whole)
	}
	if !whole {
		return nil
	}
	return c.take("card")(c.desk.facts.Card(ctx, v))
}

// movedCard adds to a card where it came from and who moved it. A card that must be read, and cannot, is left to whoever
// asks for it: most rules do not.
func (c *carried) movedCard(ctx context.Context, v service.Card, whole bool) error {
	move := c.profile.EventCardMove(c.event.Data)
	if !whole {
		if c.about.Card == "" || len(c.about.Card) > maxID || c.Client == nil {
			return nil
		}
		var err error
		if v, err = c.GetCard(ctx, c.about.Card); err != nil {
			if err = classify(err); actions.IsPermanent(err) || actions.IsHeld(err) || actions.IsDenied(err) {
				return nil
			}
			return err
		}
		if move.ToStageID != "" {
			v.StageID = move.ToStageID // it may have moved on meanwhile; the event is about this move
		}
		complete(&c.about, ofCard(v))
	}
	return c.take("card")(c.desk.facts.MovedCard(ctx, v, move.FromStageID, move.By.ID))
}

// take keeps a fact under its name.
func (c *carried) take(name string) func(map[string]any, error) error {
	return func(fact map[string]any, err error) error {
		c.facts[name] = fact
		return err
	}
}

// bounded refuses an event with an id that cannot be one.
func (c *carried) bounded() error {
	a := &c.about
	for _, id := range []string{a.Conversation, a.Contact, a.Attendance, a.Card, a.Message} {
		if len(id) > maxID {
			return actions.Permanent(fmt.Errorf("read the event %s: it names something by an id of %d bytes; at most %d can be one", c.event.ID, len(id), maxID))
		}
	}
	return nil
}

// complete adds to a subject what was learnt. What is known stays.
func complete(about *actions.Subject, learnt actions.Subject) {
	for _, field := range []struct {
		known  *string
		learnt string
	}{
		{&about.Conversation, learnt.Conversation}, {&about.Contact, learnt.Contact}, {&about.Attendance, learnt.Attendance},
		{&about.Card, learnt.Card}, {&about.Message, learnt.Message},
	} {
		if *field.known == "" {
			*field.known = field.learnt
		}
	}
}

// What an object says it belongs to.

func ofMessage(m service.Message) actions.Subject {
	return actions.Subject{Message: m.ID, Conversation: m.ConversationID}
}

func ofConversation(c service.Conversation) actions.Subject {
	return actions.Subject{Conversation: c.ID, Contact: c.ContactID}
}

func ofAttendance(a service.Attendance) actions.Subject {
	return actions.Subject{Attendance: a.ID, Conversation: a.ConversationID, Contact: a.ContactID}
}

func ofCard(c service.Card) actions.Subject {
	return actions.Subject{Card: c.ID, Conversation: c.ConversationID, Contact: c.ContactID, Attendance: c.AttendanceID}
}
