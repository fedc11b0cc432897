package builtin

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// Fact reads a fact anew and completes about with the ids that it found on the way. It returns nil
// if there is none: a card that is not named anywhere, the attendance of a conversation that has
// none now.
func (d *Desk) Fact(ctx context.Context, name string, about *actions.Subject) (any, error) {
	l := &lookup{desk: d.desk, about: about}
	fact, err := l.fact(ctx, name)
	if err != nil {
		return nil, classify(err)
	}
	if fact == nil {
		return nil, nil // not a typed nil
	}
	return fact, nil
}

// A lookup finds a fact by the ids that are known.
type lookup struct {
	*desk
	about *actions.Subject
}

func (l *lookup) fact(ctx context.Context, name string) (map[string]any, error) {
	switch name {
	case "message":
		if l.about.Message == "" {
			return nil, nil
		}
		m, err := l.message(ctx)
		if err != nil {
			return nil, err
		}
		return l.facts.Message(ctx, m)
	case "conversation":
		if err := l.findConversation(ctx); err != nil || l.about.Conversation == "" {
			return nil, err
		}
		c, err := l.conversation(ctx)
		if err != nil {
			return nil, err
		}
		return l.facts.Conversation(ctx, c)
	case "contact":
		if err := l.findContact(ctx); err != nil || l.about.Contact == "" {
			return nil, err
		}
		c, err := l.client.GetContact(ctx, l.about.Contact)
		if err := checkRead(service.KindContact, l.about.Contact, c.ID, err); err != nil {
			return nil, err
		}
		return l.facts.Contact(c), nil
	case "attendance":
		a, err := l.attendance(ctx)
		if err != nil || a == nil {
			return nil, err
		}
		return l.facts.Attendance(ctx, *a)
	case "card":
		if l.about.Card == "" {
			return nil, nil
		}
		c, err := l.card(ctx)
		if err != nil {
			return nil, err
		}
		return l.facts.Card(ctx, c)
	}
	return nil, actions.Permanent(fmt.Errorf("the service has no fact %q", name))
}

func (l *lookup) message(ctx context.Context) (service.Message, error) {
	m, err := l.client.GetMessage(ctx, l.about.Message)
	err = checkRead(service.KindMessage, l.about.Message, m.ID, err)
	fillMissing(l.about, ofMessage(m))
	return m, err
}

func (l *lookup) conversation(ctx context.Context) (service.Conversation, error) {
	c, err := l.client.GetConversation(ctx, l.about.Conversation)
	err = checkRead(service.KindConversation, l.about.Conversation, c.ID, err)
	fillMissing(l.about, ofConversation(c))
	return c, err
}

func (l *lookup) card(ctx context.Context) (service.Card, error) {
	c, err := l.client.GetCard(ctx, l.about.Card)
	err = checkRead(service.KindCard, l.about.Card, c.ID, err)
	fillMissing(l.about, ofCard(c))
	return c, err
}

// attendance returns the named one, or else the conversation's present one, whose id it keeps:
// after a wait the run is still about that one.
func (l *lookup) attendance(ctx context.Context) (*service.Attendance, error) {
	if l.about.Attendance == "" {
		if err := l.findConversation(ctx); err != nil {
			return nil, err
		}
	}
	switch {
	case l.about.Attendance != "": // a card may have named it
		a, err := l.client.GetAttendance(ctx, l.about.Attendance)
		if err := checkRead(service.KindAttendance, l.about.Attendance, a.ID, err); err != nil {
			return nil, err
		}
		fillMissing(l.about, ofAttendance(a))
		return &a, nil
	case l.about.Conversation == "":
		return nil, nil
	}
	current, err := l.client.CurrentAttendance(ctx, l.about.Conversation)
	if err != nil {
		return nil, failedToRead(service.KindConversation, l.about.Conversation, err)
	}
	if current != nil {
		fillMissing(l.about, ofAttendance(*current))
	}
	return current, nil
}

// findConversation finds the conversation's id by what belongs to it.
func (l *lookup) findConversation(ctx context.Context) error {
	if l.about.Conversation == "" && l.about.Message != "" {
		if _, err := l.message(ctx); err != nil {
			return err
		}
	}
	if l.about.Conversation == "" && l.about.Attendance != "" {
		if _, err := l.attendance(ctx); err != nil {
			return err
		}
	}
	if l.about.Conversation == "" && l.about.Card != "" {
		if _, err := l.card(ctx); err != nil {
			return err
		}
	}
	return nil
}

// findContact finds the contact's id. Cards and attendances name their contact, like conversations.
func (l *lookup) findContact(ctx context.Context) error {
	if l.about.Contact == "" {
		if err := l.findConversation(ctx); err != nil {
			return err
		}
	}
	if l.about.Contact == "" && l.about.Conversation != "" {
		if _, err := l.conversation(ctx); err != nil {
			return err
		}
	}
	return nil
}

// checkRead returns an error if an object could not be read. An answer without the object, perhaps
// because of a wrong profile, is an error, too.
func checkRead(kind service.Kind, id, got string, err error) error {
	switch {
	case err != nil:
		return failedToRead(kind, id, err)
	case got == "":
		return actions.Permanent(fmt.Errorf("the service answers without the %s %s: does the profile name its id (%s.id)?", kind, id, kind))
	}
	return nil
}
