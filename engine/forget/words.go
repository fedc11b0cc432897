package forget

import (
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal"
)

// Words are further field names for people in the data of events. The zero value adds none.
type Words struct {
	People []string // objects that describe the customer
	Phones []string // members of theirs that are a phone
	Names  []string // members of theirs that are a name
	Said   []string // members that hold a written text

	// SamePhone reports whether two numbers reach the same phone, where the one is not the end of the
	// other; nil is that this is all there is.
	SamePhone func(a, b string) bool
}

// The common names.
var (
	people  = []string{"contact", "customer"}
	senders = []string{"sender", "author", "from"} // the customer in a received message, and the team in a sent one
	phones  = []string{"phone", "phone_number", "number", "wa_id", "mobile", "contact_phone", "customer_phone"}
	names   = []string{"name", "display_name", "full_name", "contact_name", "customer_name"}
	said    = []string{"text", "body", "caption", "content", "message"}

	// A conversation may have a number of the company.
	notOfConversations = []string{"number", "mobile"}
)

// withUsual returns the words with those that are usual.
func (w Words) withUsual() Words {
	w.People, w.Phones = slices.Concat(people, w.People), slices.Concat(phones, w.Phones)
	w.Names, w.Said = slices.Concat(names, w.Names), slices.Concat(said, w.Said)
	return w
}

// isPerson reports whether an object describes the customer, by its name.
func (w *Words) isPerson(name string, received bool) bool {
	return slices.Contains(w.People, name) || received && slices.Contains(senders, name)
}

// isConversation reports whether an object is a conversation, whose name and phone are those of the
// other side.
func isConversation(name string) bool { return name == "conversation" || name == "chat" }

// describesCustomer reports whether a member describes the customer wherever it is: contact_phone,
// customer_name, and the sender of a received message.
func describesCustomer(member string, received bool) bool {
	return strings.HasPrefix(member, "contact_") || strings.HasPrefix(member, "customer_") || received && (member == "from" || strings.HasPrefix(member, "sender_") || strings.HasPrefix(member, "author_"))
}

// phonesOf returns the customer's phones in an object. Other objects may have some too.
func (w *Words) phonesOf(object map[string]any, name string, received bool) (list []string) {
	for member, v := range object {
		_, kind, _ := strings.Cut(member, "_")
		mine := w.isPerson(name, received) || isConversation(name) && !slices.Contains(notOfConversations, member)
		told := describesCustomer(member, received) && (member == "from" || slices.Contains(w.Phones, kind))
		if phone := word(v); phone != "" && (mine && slices.Contains(w.Phones, member) || told) {
			list = append(list, phone)
		}
	}
	return list
}

// namesOf returns the names that an object has of the other side.
func (w *Words) namesOf(object map[string]any, name string, received bool) (list []string) {
	for member, v := range object {
		_, kind, _ := strings.Cut(member, "_")
		text, _ := v.(string)
		mine := (w.isPerson(name, received) || isConversation(name)) && slices.Contains(w.Names, member)
		if text = strings.TrimSpace(text); text != "" && (mine || describesCustomer(member, received) && slices.Contains(w.Names, kind)) {
			list = append(list, text)
		}
	}
	return list
}

// same reports whether two phones, of which the second is digits, are equal: with or without
// country and area codes, or by SamePhone.
func (w *Words) same(text, phone string) bool {
	d := journal.Digits(text)
	return len(d) >= phoneEnd && (strings.HasSuffix(phone, d) || strings.HasSuffix(d, phone) || w.SamePhone != nil && w.SamePhone(text, phone))
}
