package sandbox

import (
	"fmt"
	"net/http"
	"strings"
)

// named finds the one object that is meant by a name or an id.
func named[T any](kind, text string, list []*T, id func(*T) ID, name func(*T) string) (*T, error) {
	if text == "" {
		return nil, invalid("the %s is missing: give its name or id", kind)
	}
	wanted, err := ParseID(text)
	var names []string
	var found *T
	for _, v := range list {
		if err == nil && id(v) == wanted {
			return v, nil
		}
		if strings.EqualFold(name(v), text) {
			if found != nil {
				return nil, invalid("there are several of the name %q; give the id of the %s", text, kind)
			}
			found = v
		}
		names = append(names, name(v))
	}
	if found == nil {
		return nil, missing(kind, text, names)
	}
	return found, nil
}

// missing refuses a name that nothing has, with the nearest that something
// has.
func missing(kind, text string, names []string) error {
	return &Error{Status: http.StatusNotFound, Code: "not_found",
		Message: fmt.Sprintf("there is no %s %q%s", kind, text, didYouMean(text, names))}
}

func (st *store) findChannel(text string) (*Channel, error) {
	if text == "" && len(st.channels) > 0 {
		return st.channels[0], nil
	}
	return named("channel", text, st.channels, func(v *Channel) ID { return v.ID }, func(v *Channel) string { return v.Name })
}

func (st *store) findLabel(text string) (*Label, error) {
	return named("label", text, st.labels, func(v *Label) ID { return v.ID }, func(v *Label) string { return v.Name })
}

func (st *store) findPerson(text string) (*Person, error) {
	return named("person", text, st.people, func(v *Person) ID { return v.ID }, func(v *Person) string { return v.Name })
}

func (st *store) findSector(text string) (*Sector, error) {
	return named("sector", text, st.sectors, func(v *Sector) ID { return v.ID }, func(v *Sector) string { return v.Name })
}

func (st *store) findBoard(text string) (*Board, error) {
	return named("board", text, st.boards, func(v *Board) ID { return v.ID }, func(v *Board) string { return v.Name })
}

func (b *Board) findStage(text string) (*Stage, error) {
	return named("stage", text, b.Stages, func(v *Stage) ID { return v.ID }, func(v *Stage) string { return v.Name })
}

// findContact takes an id, a phone or a name.
func (st *store) findContact(text string) (*Contact, error) {
	if id, err := ParseID(text); err == nil && st.contacts[id] != nil {
		return st.contacts[id], nil
	}
	if validPhone(text) {
		if contact := st.phones[phoneKey(text)]; contact != nil {
			return contact, nil
		}
	}
	return named("contact", text, all(&st.contactOrder), func(v *Contact) ID { return v.ID }, func(v *Contact) string { return v.Name })
}

// findConversation takes an id, the name of the conversation, or the contact's
// name or phone.
func (st *store) findConversation(text string) (*Conversation, error) {
	if id, err := ParseID(text); err == nil && st.conversations[id] != nil {
		return st.conversations[id], nil
	}
	if validPhone(text) {
		if contact := st.phones[phoneKey(text)]; contact != nil {
			for _, channel := range st.channels {
				if conv := st.direct[pair{channel.ID, contact.ID}]; conv != nil {
					return conv, nil
				}
			}
		}
	}
	return named("conversation", text, all(&st.convOrder), func(v *Conversation) ID { return v.ID }, func(v *Conversation) string { return v.Name })
}

// findCard takes an id or a title.
func (st *store) findCard(text string) (*Card, error) {
	if id, err := ParseID(text); err == nil && st.cards[id] != nil {
		return st.cards[id], nil
	}
	return named("card", text, all(&st.cardOrder), func(v *Card) ID { return v.ID }, func(v *Card) string { return v.Title })
}

func (st *store) findAttendance(text string) (*Attendance, error) {
	if id, err := ParseID(text); err == nil && st.attendances[id] != nil {
		return st.attendances[id], nil
	}
	return named("attendance", text, all(&st.attOrder), func(v *Attendance) ID { return v.ID }, func(v *Attendance) string { return v.Protocol })
}

func all[T any](set *ordered[T]) []*T {
	out := make([]*T, 0, set.len())
	for v := range set.oldest() {
		out = append(out, v)
	}
	return out
}
