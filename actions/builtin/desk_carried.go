package builtin

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// maxID is the maximum length of an id in bytes: ids become parts of keys, lanes and addresses.
const maxID = 200

// ownEvents returns the profile of events that the engine itself makes: whatever names the service
// uses in its events, here objects have their own names, and ids are conversation_id and the like.
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

// Read returns what an event carries and the ids of what it is about. An object counts as carried
// only if it is complete: a rule must not decide on values that the event does not have. An
// incomplete object still shows what the event is about.
//
// If kanban.card.moved does not carry its card, Read reads the card, because only the event has the
// stage that the card left.
func (d *Desk) Read(ctx context.Context, e rules.Event) (actions.Carried, actions.Subject, error) {
	c, err := d.read(ctx, e)
	if err != nil {
		return nil, actions.Subject{}, err
	}
	return c, c.about, nil
}

// Carried returns all the facts that an event carries and the ids of what it is about.
func (d *Desk) Carried(ctx context.Context, e rules.Event) (map[string]any, actions.Subject, error) {
	c, err := d.read(ctx, e)
	if err != nil {
		return nil, actions.Subject{}, err
	}
	facts := make(map[string]any, len(c.made))
	for _, kind := range [...]service.Kind{service.KindMessage, service.KindConversation, service.KindContact, service.KindAttendance, service.KindCard} {
		fact, ok, err := c.Fact(ctx, string(kind))
		if err != nil {
			return nil, actions.Subject{}, err
		}
		if ok {
			facts[string(kind)] = fact
		}
	}
	return facts, c.about, nil
}

func (d *Desk) read(ctx context.Context, e rules.Event) (*carried, error) {
	c := &carried{desk: d.desk, profile: d.desk.Profile(), id: e.ID, typ: e.Type, data: e.Data}
	if e.Type == "schedule" || e.Type == "manual" {
		c.profile = d.own
	}
	c.event = c.profile.ReadEvent(e.Type, e.Data)
	c.readSubject()
	if c.typ == movedCard {
		if err := c.readCard(ctx); err != nil {
			return nil, c.failed(err)
		}
	}
	return c, c.checkIDs()
}

// movedCard is the event that has the stage that a card left.
const movedCard = vocabulary.CardMoved

// carried is an event that is being read. A fact is made when it is first asked for.
type carried struct {
	*desk
	profile *service.Profile
	id, typ string
	data    map[string]any
	event   service.EventReader
	about   actions.Subject
	card    *service.Card // the moved card, if it had to be read

	made  [5]carriedFact
	count int // of the facts made so far
}

type carriedFact struct {
	name string
	fact map[string]any
}

// readSubject finds out what the event is about. The event's own ids come before those in its
// objects.
func (c *carried) readSubject() {
	e, about := &c.event, &c.about
	about.Message, about.Conversation = e.ID(service.KindMessage), e.ID(service.KindConversation)
	c.fillFrom(&about.Contact, service.KindConversation, service.KindContact)
	if about.Contact == "" {
		about.Contact = e.ID(service.KindContact)
	}
	about.Attendance = e.ID(service.KindAttendance)
	c.fillFrom(&about.Conversation, service.KindAttendance, service.KindConversation)
	c.fillFrom(&about.Contact, service.KindAttendance, service.KindContact)
	about.Card = e.ID(service.KindCard)
	c.fillFrom(&about.Conversation, service.KindCard, service.KindConversation)
	c.fillFrom(&about.Contact, service.KindCard, service.KindContact)
	c.fillFrom(&about.Attendance, service.KindCard, service.KindAttendance)
}

// fillFrom sets an unknown id from an object that names it.
func (c *carried) fillFrom(known *string, from, to service.Kind) {
	if *known == "" {
		*known = c.event.Link(from, to)
	}
}

// Fact returns a fact by its name. It is not ok if the event does not carry it.
func (c *carried) Fact(ctx context.Context, name string) (any, bool, error) {
	made := slices.IndexFunc(c.made[:c.count], func(m carriedFact) bool { return m.name == name })
	if made < 0 {
		fact, err := c.fact(ctx, service.Kind(name))
		if err != nil {
			return nil, false, c.failed(err)
		}
		if fact == nil {
			return nil, false, nil
		}
		made = c.count
		c.made[made] = carriedFact{name, fact}
		c.count++
	}
	return c.made[made].fact, true, nil
}

// fact makes a fact of the object that the event carries, if it is complete.
func (c *carried) fact(ctx context.Context, kind service.Kind) (map[string]any, error) {
	if c.card != nil && kind == service.KindCard {
		return c.movedFact(ctx, *c.card)
	}
	raw := c.event.Object(kind)
	if raw == nil || !c.profile.IsWhole(kind, raw) {
		return nil, nil
	}
	switch kind {
	case service.KindMessage:
		if m, ok := c.event.Message(); ok && m.Direction != "" {
			return c.facts.Message(ctx, m)
		}
	case service.KindConversation:
		return c.facts.Conversation(ctx, service.DecodeConversation(raw, c.profile))
	case service.KindContact:
		return c.facts.Contact(service.DecodeContact(raw, c.profile)), nil
	case service.KindAttendance:
		return c.facts.Attendance(ctx, service.DecodeAttendance(raw, c.profile))
	case service.KindCard:
		card := service.DecodeCard(raw, c.profile)
		if c.typ == movedCard {
			return c.movedFact(ctx, card)
		}
		return c.facts.Card(ctx, card)
	}
	return nil, nil
}

// movedFact returns the fact of a card with the stage that it left and who moved it.
func (c *carried) movedFact(ctx context.Context, card service.Card) (map[string]any, error) {
	move := c.profile.EventCardMove(c.data)
	return c.facts.MovedCard(ctx, card, move.FromStageID, move.By.ID)
}

// readCard reads the moved card if the event does not carry all of it. If it cannot be read, only
// the rules that ask for the card fail: most do not.
func (c *carried) readCard(ctx context.Context) error {
	if raw := c.event.Object(service.KindCard); raw != nil && c.profile.IsWhole(service.KindCard, raw) {
		return nil
	}
	if c.about.Card == "" || len(c.about.Card) > maxID || c.client == nil {
		return nil
	}
	card, err := c.client.GetCard(ctx, c.about.Card)
	if err != nil {
		if err = classify(err); actions.IsPermanent(err) || actions.IsHeld(err) || actions.IsDenied(err) {
			return nil
		}
		return err
	}
	if to := c.profile.EventCardMove(c.data).ToStageID; to != "" {
		card.StageID = to // it may have moved on meanwhile; the event is about this move
	}
	fillMissing(&c.about, ofCard(card))
	c.card = &card
	return nil
}

func (c *carried) failed(err error) error {
	return failedTo(fmt.Sprintf("read the event %s", c.id), err)
}

// checkIDs refuses an event with an id that is too long.
func (c *carried) checkIDs() error {
	a := &c.about
	for _, id := range []string{a.Conversation, a.Contact, a.Attendance, a.Card, a.Message} {
		if len(id) > maxID {
			return actions.Permanent(fmt.Errorf("read the event %s: it names something by an id of %d bytes; at most %d can be one", c.id, len(id), maxID))
		}
	}
	return nil
}

// fillMissing copies into a subject the ids that it lacks.
func fillMissing(about *actions.Subject, learnt actions.Subject) {
	about.Conversation = cmp.Or(about.Conversation, learnt.Conversation)
	about.Contact = cmp.Or(about.Contact, learnt.Contact)
	about.Attendance = cmp.Or(about.Attendance, learnt.Attendance)
	about.Card = cmp.Or(about.Card, learnt.Card)
	about.Message = cmp.Or(about.Message, learnt.Message)
}

// Links between objects.

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
