// Package forget erases what a journal holds of one person, and proves that it is gone.
package forget

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal"
)

// A Person is the person to forget: by the contact's id in the service, by phone, or by both.
type Person struct {
	Contact   string
	Phone     string
	Workspace string // empty is all

	// A person who was forgotten before is identified by less: by all known ids, and by the lanes that
	// were theirs alone.
	Contacts, Lanes []string

	// Words are further field names for people in the service's data.
	Words Words

	// Known is what another journal has shown of the person, such as the one that a backup was made
	// of; may be nil.
	Known *Trail
}

// learned returns the person with what a journal has shown, to search another one.
func (p Person) learned() Person {
	if p.Known == nil {
		return p
	}
	p.Contacts = slices.Concat(p.Contacts, p.Known.Contacts())
	p.Lanes = slices.Concat(p.Lanes, p.Known.Lanes())
	return p
}

// anIDsLength is the length from which on an id identifies a contact wherever it occurs. A shorter
// one may be the number of something else.
const anIDsLength = 12

// identity is what identifies a person. It grows while a journal is read.
type identity struct {
	words    Words
	contacts map[string]bool
	phones   map[string]bool // their digits
	names    map[string]bool // as they are written
	written  map[string]bool // phones as they are written
}

func newIdentity(p Person) *identity {
	id := &identity{words: p.Words.withUsual(), contacts: map[string]bool{}, phones: map[string]bool{}, names: map[string]bool{}, written: map[string]bool{}}
	if p.Contact != "" {
		id.contacts[p.Contact] = true
	}
	for _, contact := range p.Contacts {
		id.contacts[contact] = true
	}
	id.phone(p.Phone)
	if p.Known != nil {
		maps.Copy(id.phones, p.Known.id.phones)
		maps.Copy(id.names, p.Known.id.names)
		maps.Copy(id.written, p.Known.id.written)
	}
	return id
}

// phone adds a phone. It ignores one with too few digits to identify a person.
func (id *identity) phone(text string) {
	if d := journal.Digits(text); len(d) >= phoneEnd {
		id.phones[d], id.written[text] = true, true
	}
}

func (id *identity) size() int { return len(id.contacts) + len(id.phones) + len(id.names) }

// mayKnow is a cheap test whether a text may be about the person.
func (id *identity) mayKnow(text string) bool {
	for contact := range id.contacts {
		if strings.Contains(text, contact) {
			return true
		}
	}
	for phone := range id.phones {
		if strings.Contains(text, phone[len(phone)-4:]) {
			return true
		}
	}
	return false
}

// owns reports whether an object describes the person: it is the customer, or has a field of the
// customer with the person's value.
func (id *identity) owns(object map[string]any, name string, received bool) bool {
	if (id.words.isPerson(name, received) || isConversation(name)) && id.contacts[word(object["id"])] {
		return true
	}
	return slices.ContainsFunc(id.words.phonesOf(object, name, received), id.hasPhone)
}

// hasPhone reports whether a phone is the person's, with or without its country and area codes.
func (id *identity) hasPhone(text string) bool {
	for phone := range id.phones {
		if id.words.same(text, phone) {
			return true
		}
	}
	return false
}

// tells reports whether a value is about the person: it names the contact, or has an object of the
// customer with the person's id or phone. Received means that the customer sent it.
func (id *identity) tells(v any, under string, received bool) bool {
	switch v := v.(type) {
	case map[string]any:
		if id.owns(v, under, received) {
			return true
		}
		for name, below := range v {
			if id.tells(below, name, received) {
				return true
			}
		}
	case []any:
		for _, below := range v {
			if id.tells(below, under, received) {
				return true
			}
		}
	default:
		text := word(v)
		return id.contacts[text] && (len(text) >= anIDsLength || under == "contact_id" || under == "customer_id" || slices.Contains(id.words.People, under))
	}
	return false
}

// learn adds what a value about the person shows of them. If a whole lane is the person's, every
// customer in it is the person.
func (id *identity) learn(v any, under string, all, received bool) {
	switch v := v.(type) {
	case map[string]any:
		person := id.words.isPerson(under, received)
		if all || person && id.owns(v, under, received) {
			if contact := word(v["id"]); contact != "" && slices.Contains(id.words.People, under) {
				id.contacts[contact] = true
			}
			for _, phone := range id.words.phonesOf(v, under, received) {
				id.phone(phone)
			}
			for _, name := range id.words.namesOf(v, under, received) {
				id.names[name] = true
			}
		}
		for name, below := range v {
			id.learn(below, name, all, received)
		}
	case []any:
		for _, below := range v {
			id.learn(below, under, all, received)
		}
	}
}

// word is an id as a text.
func word(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// decode reads JSON with its numbers as they are written. What cannot be read is nil.
func decode(v any) any {
	text, ok := v.(string)
	if !ok {
		return nil
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var out any
	if d.Decode(&out) != nil {
		return nil
	}
	return out
}

// isIn reports whether a name is part of another's: its words occur in the other. A shorter name,
// as a colleague's first name, does not count.
func isIn(name, other string) bool {
	return strings.Contains(" "+strings.Join(words(other), " ")+" ", " "+strings.Join(words(name), " ")+" ")
}

func words(s string) []string { return strings.FieldsFunc(journal.FoldText(s), notOfWord) }
