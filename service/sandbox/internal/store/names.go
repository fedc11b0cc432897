package store

import (
	"fmt"
	"net/http"
	"strings"
)

// named finds the one object that is meant by a name or an id.
func named[T any](kind, text string, list []*T, id func(*T) ID, name func(*T) string) (*T, error) {
	if text == "" {
		return nil, Invalid("the %s is missing: give its name or id", kind)
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
				return nil, Invalid("there are several of the name %q; give the id of the %s", text, kind)
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

// missing is the error for an unknown name, with the nearest known one.
func missing(kind, text string, names []string) error {
	return &Error{Status: http.StatusNotFound, Code: "not_found",
		Message: fmt.Sprintf("there is no %s %q%s", kind, text, DidYouMean(text, names))}
}

// FindChannel takes an id or a name; none is the first channel.
func (st *Store) FindChannel(text string) (*Channel, error) {
	if text == "" && len(st.Channels) > 0 {
		return st.Channels[0], nil
	}
	return named("channel", text, st.Channels, func(v *Channel) ID { return v.ID }, func(v *Channel) string { return v.Name })
}

// FindLabel takes an id or a name.
func (st *Store) FindLabel(text string) (*Label, error) {
	return named("label", text, st.Labels, func(v *Label) ID { return v.ID }, func(v *Label) string { return v.Name })
}

// FindPerson takes an id or a name.
func (st *Store) FindPerson(text string) (*Person, error) {
	return named("person", text, st.People, func(v *Person) ID { return v.ID }, func(v *Person) string { return v.Name })
}

// FindSector takes an id or a name.
func (st *Store) FindSector(text string) (*Sector, error) {
	return named("sector", text, st.Sectors, func(v *Sector) ID { return v.ID }, func(v *Sector) string { return v.Name })
}

// FindBoard takes an id or a name.
func (st *Store) FindBoard(text string) (*Board, error) {
	return named("board", text, st.Boards, func(v *Board) ID { return v.ID }, func(v *Board) string { return v.Name })
}

// FindStage takes an id or a name.
func (b *Board) FindStage(text string) (*Stage, error) {
	return named("stage", text, b.Stages, func(v *Stage) ID { return v.ID }, func(v *Stage) string { return v.Name })
}

// FindContact takes an id, a phone or a name.
func (st *Store) FindContact(text string) (*Contact, error) {
	if id, err := ParseID(text); err == nil && st.Contacts[id] != nil {
		return st.Contacts[id], nil
	}
	if ValidPhone(text) {
		if contact := st.ContactsByPhone[PhoneKey(text)]; contact != nil {
			return contact, nil
		}
	}
	return named("contact", text, all(&st.ContactOrder), func(v *Contact) ID { return v.ID }, func(v *Contact) string { return v.Name })
}

// FindConversation takes an id, the name of the conversation, or the contact's
// name or phone.
func (st *Store) FindConversation(text string) (*Conversation, error) {
	if id, err := ParseID(text); err == nil && st.Conversations[id] != nil {
		return st.Conversations[id], nil
	}
	if ValidPhone(text) {
		if contact := st.ContactsByPhone[PhoneKey(text)]; contact != nil {
			for _, channel := range st.Channels {
				if conv := st.Direct[DirectKey{channel.ID, contact.ID}]; conv != nil {
					return conv, nil
				}
			}
		}
	}
	return named("conversation", text, all(&st.ConversationOrder), func(v *Conversation) ID { return v.ID }, func(v *Conversation) string { return v.Name })
}

// FindCard takes an id or a title.
func (st *Store) FindCard(text string) (*Card, error) {
	if id, err := ParseID(text); err == nil && st.Cards[id] != nil {
		return st.Cards[id], nil
	}
	return named("card", text, all(&st.CardOrder), func(v *Card) ID { return v.ID }, func(v *Card) string { return v.Title })
}

// FindAttendance takes an id or a protocol number.
func (st *Store) FindAttendance(text string) (*Attendance, error) {
	if id, err := ParseID(text); err == nil && st.Attendances[id] != nil {
		return st.Attendances[id], nil
	}
	return named("attendance", text, all(&st.AttendanceOrder), func(v *Attendance) ID { return v.ID }, func(v *Attendance) string { return v.Protocol })
}

func all[T any](set *Ordered[T]) []*T {
	out := make([]*T, 0, set.Len())
	for v := range set.Oldest() {
		out = append(out, v)
	}
	return out
}
