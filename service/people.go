package service

// People are persons of the team that rules can write to, by their names: the service knows their
// names, but not their phones.
type People map[string]Phone

// A Phone is where a person is reached.
type Phone struct {
	Number  string
	Channel string // the WhatsApp number to write from, by name or id
}

// Find returns where a person is reached. Capitals and accents of the name do not matter.
func (p People) Find(name string) (Phone, error) {
	names := make([]string, 0, len(p))
	for known, phone := range p {
		if fold(known) == fold(name) {
			return phone, nil
		}
		names = append(names, known)
	}
	return Phone{}, &NameError{Kind: KindPerson, Name: name, Near: nearNames(name, names)}
}
