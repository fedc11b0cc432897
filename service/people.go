package service

import (
	"maps"
	"slices"
)

// People are persons of the team that rules can write to, by their names: the service knows their
// names, but not their phones.
type People map[string]Phone

// A Phone is where a person is reached.
type Phone struct {
	Number  string
	Channel string // the WhatsApp number to write from, by name or id
}

// Names returns the names in order. It is never nil.
func (p People) Names() []string {
	names := slices.AppendSeq(make([]string, 0, len(p)), maps.Keys(p))
	slices.Sort(names)
	return names
}

// Find returns where a person is reached. Capitals and accents of the name do not matter.
func (p People) Find(name string) (Phone, error) {
	for known, phone := range p {
		if fold(known) == fold(name) {
			return phone, nil
		}
	}
	return Phone{}, &NameError{Kind: KindPerson, Name: name, Near: nearNames(name, p.Names())}
}
