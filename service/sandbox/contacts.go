package sandbox

import (
	"net/http"
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func contactOperations() []*operation {
	return []*operation{
		read("GET /contacts", "contacts:read", (*Sandbox).listContacts),
		change("POST /contacts", "contacts:write", http.StatusCreated, (*Sandbox).createContact),
		read("GET /contacts/{id}", "contacts:read", (*Sandbox).getContact),
		change("PATCH /contacts/{id}", "contacts:write", http.StatusOK, (*Sandbox).patchContact),
		read("GET /labels", "contacts:read", (*Sandbox).listLabels),
	}
}

func (s *Sandbox) listLabels(*call) (any, error) { return listOf(s.store.Labels), nil }

// listContacts gives the newest contacts first.
func (s *Sandbox) listContacts(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, offset := q.cappedLimit(), q.offset()
	search := store.NewSearch(q.text("q"))
	label, byLabel := q.id("label")
	channel, byChannel := q.id("channel")
	if q.err != nil {
		return nil, q.err
	}
	from := &st.ContactOrder
	if byLabel {
		from = store.Smallest(from, st.ContactsByLabel[label])
	}
	if byChannel {
		from = store.Smallest(from, st.ContactsByChannel[channel])
	}
	var page []*Contact
	for contact := range from.Newest() {
		if byLabel && !slices.Contains(contact.LabelIDs, label) || byChannel && contact.ChannelID != channel ||
			!search.Empty() && !contact.Matches(search) {
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

// createContact refuses a second contact with the same phone, in either form of a Brazilian mobile:
// no message would reach it.
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
		return nil, store.Invalid("name is required")
	case in.Phone.Value == "":
		return nil, store.Invalid("phone is required")
	case !store.ValidPhone(in.Phone.Value):
		return nil, store.Invalid("phone: %q is not a phone number", in.Phone.Value)
	}
	if channel := in.ChannelID.Value; !channel.IsZero() && s.store.Channel(channel) == nil {
		return nil, store.NotFound("channel", channel)
	}
	if there := s.store.ContactsByPhone[store.PhoneKey(in.Phone.Value)]; there != nil {
		return nil, store.Conflict("the contact %v has this phone already", there.ID)
	}
	contact := &Contact{
		ID: s.ids.ID(), Name: in.Name.Value, Phone: in.Phone.Value, Company: Optional(in.Company.Value),
		City: Optional(in.City.Value), ChannelID: in.ChannelID.Value, CreatedAt: s.now(), UpdatedAt: s.now(),
	}
	s.store.PutContact(contact, nil)
	s.effect(c, contact.ID, "contact", nil, encode(contact), "")
	return contact, nil
}

func (s *Sandbox) contact(c *call) (*Contact, error) {
	if contact := s.store.Contacts[c.id]; contact != nil {
		return contact, nil
	}
	return nil, store.NotFound("contact", c.id)
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
		return nil, store.Invalid("name must not be empty")
	case in.Blocked.Null:
		return nil, store.Invalid("blocked is true or false, not null")
	}
	if err := checkLabels(s.store, in.LabelIDs); err != nil {
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
	s.store.PutContact(contact, func() {
		edited.UpdatedAt = s.now()
		*contact = edited
	})
	s.effect(c, contact.ID, "contact", was, encode(contact), "")
	return contact, nil
}
