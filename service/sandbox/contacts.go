package sandbox

import "slices"

func (s *Sandbox) listLabels(*call) (any, error) { return listOf(s.store.labels), nil }

// listContacts gives the newest contacts first.
func (s *Sandbox) listContacts(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, offset := q.cappedLimit(), q.offset()
	search := newSearch(q.text("q"))
	label, byLabel := q.id("label")
	channel, byChannel := q.id("channel")
	if q.err != nil {
		return nil, q.err
	}
	from := &st.contactOrder
	if byLabel {
		from = smallest(from, st.contactLabel[label])
	}
	if byChannel {
		from = smallest(from, st.contactChan[channel])
	}
	var page []*Contact
	for contact := range from.newest() {
		if byLabel && !slices.Contains(contact.LabelIDs, label) || byChannel && contact.ChannelID != channel ||
			!search.empty() && !contact.matches(search) {
			continue
		}
		if offset > 0 {
			offset--
			continue
		}
		page = append(page, contact)
		if len(page) == limit {
			break
		}
	}
	return listOf(page), nil
}

func (c *Contact) matches(s *search) bool { return s.in(c.Name) || s.inPhone(c.Phone) }

// createContact refuses a second contact with the same phone, in either form
// of a Brazilian mobile: it would never be reached.
func (s *Sandbox) createContact(c *call) (any, error) {
	var in struct {
		Name      field[string] `json:"name"`
		Phone     field[string] `json:"phone"`
		Company   field[string] `json:"company"`
		City      field[string] `json:"city"`
		ChannelID field[ID]     `json:"channel_id"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Name.Value == "":
		return nil, invalid("name is required")
	case in.Phone.Value == "":
		return nil, invalid("phone is required")
	case !validPhone(in.Phone.Value):
		return nil, invalid("phone: %q is not a phone number", in.Phone.Value)
	}
	if channel := in.ChannelID.Value; !channel.IsZero() && s.store.channel(channel) == nil {
		return nil, notFound("channel", channel)
	}
	if there := s.store.phones[phoneKey(in.Phone.Value)]; there != nil {
		return nil, conflict("the contact %v has this phone already", there.ID)
	}
	contact := &Contact{
		ID: s.ids.id(), Name: in.Name.Value, Phone: in.Phone.Value, Company: Optional(in.Company.Value),
		City: Optional(in.City.Value), ChannelID: in.ChannelID.Value, CreatedAt: s.now(), UpdatedAt: s.now(),
	}
	s.store.putContact(contact, nil)
	s.effect(c, contact.ID, "contact", nil, encode(contact), "")
	return contact, nil
}

func (s *Sandbox) contact(c *call) (*Contact, error) {
	if contact := s.store.contacts[c.id]; contact != nil {
		return contact, nil
	}
	return nil, notFound("contact", c.id)
}

func (s *Sandbox) getContact(c *call) (any, error) { return s.contact(c) }

func (s *Sandbox) patchContact(c *call) (any, error) {
	contact, err := s.contact(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		Name     field[string]   `json:"name"`
		Company  field[Optional] `json:"company"`
		City     field[Optional] `json:"city"`
		LabelIDs field[IDs]      `json:"label_ids"`
		Blocked  field[bool]     `json:"blocked"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Name.Set && in.Name.Value == "":
		return nil, invalid("name must not be empty")
	case in.Blocked.Null:
		return nil, invalid("blocked is true or false, not null")
	}
	if err := s.store.checkLabels(in.LabelIDs); err != nil {
		return nil, err
	}
	edited, changed := *contact, []string(nil)
	set(&edited.Name, in.Name, "name", &changed)
	set(&edited.Company, in.Company, "company", &changed)
	set(&edited.City, in.City, "city", &changed)
	set(&edited.Blocked, in.Blocked, "blocked", &changed)
	if in.LabelIDs.Set && !slices.Equal(edited.LabelIDs, in.LabelIDs.Value) {
		edited.LabelIDs = in.LabelIDs.Value
		changed = append(changed, "label_ids")
	}
	if len(changed) == 0 {
		return contact, nil
	}
	was := encode(contact)
	s.store.putContact(contact, func() {
		edited.UpdatedAt = s.now()
		*contact = edited
	})
	s.effect(c, contact.ID, "contact", was, encode(contact), "")
	return contact, nil
}
