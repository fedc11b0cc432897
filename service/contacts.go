package service

import (
	"context"
	"iter"
	"net/url"
	"time"
)

var (
	opListContacts  = Operation{"GET", "/contacts", "contacts:read"}
	opCreateContact = Operation{"POST", "/contacts", "contacts:write"}
	opGetContact    = Operation{"GET", "/contacts/{id}", "contacts:read"}
	opUpdateContact = Operation{"PATCH", "/contacts/{id}", "contacts:write"}
)

var contactOperations = []Operation{opListContacts, opCreateContact, opGetContact, opUpdateContact}

// Contact is a customer in the company's address book.
type Contact struct {
	ID        string
	Name      string
	Phone     string
	Company   string
	City      string
	ChannelID string
	LabelIDs  []string
	Blocked   bool
	CreatedAt time.Time
	UpdatedAt time.Time
	Raw       map[string]any
}

// DecodeContact reads a contact through the profile.
func DecodeContact(raw map[string]any, p *Profile) Contact {
	f, n := fields(raw), &p.Contact
	return Contact{
		ID: f.id(n.ID), Name: f.str(n.Name), Phone: f.str(n.Phone), Company: f.str(n.Company), City: f.str(n.City), ChannelID: f.id(n.ChannelID),
		LabelIDs: f.ids(n.LabelIDs), Blocked: f.flag(n.Blocked), CreatedAt: f.time(n.CreatedAt), UpdatedAt: f.time(n.UpdatedAt), Raw: raw,
	}
}

// ContactQuery filters contacts. Zero values do not filter.
type ContactQuery struct {
	Q       string // name or phone
	Label   string
	Channel string
	Limit   int
	Offset  int
}

// ListContacts gives one page of contacts.
func (c *Client) ListContacts(ctx context.Context, q ContactQuery) (Page[Contact], error) {
	v := query{}
	v.set("q", q.Q)
	v.set("label", q.Label)
	v.set("channel", q.Channel)
	v.num("limit", q.Limit)
	v.num("offset", q.Offset)
	return list(ctx, c, request{op: opListContacts, query: url.Values(v)}, DecodeContact)
}

// Contacts iterates over all matching contacts, from q.Offset on.
func (c *Client) Contacts(ctx context.Context, q ContactQuery) iter.Seq2[Contact, error] {
	return byOffset(opListContacts, pageSize(q.Limit), q.Offset, func(v *Contact) string { return v.ID },
		func(limit, offset int) (Page[Contact], error) {
			q.Limit, q.Offset = limit, offset
			return c.ListContacts(ctx, q)
		})
}

// NewContact is a contact to add.
type NewContact struct {
	Name      string `json:"name"`
	Phone     string `json:"phone"`
	Company   string `json:"company,omitempty"`
	City      string `json:"city,omitempty"`
	ChannelID string `json:"channel_id,omitempty"`
}

// CreateContact adds a contact. The call has no key: call FindContact first, and again before a
// repeat.
func (c *Client) CreateContact(ctx context.Context, n NewContact) (Contact, error) {
	o := opCreateContact
	if n.Name == "" || n.Phone == "" {
		return Contact{}, invalid(o, "a contact needs a name and a phone")
	}
	v, _, err := created(ctx, c, request{op: o, body: n}, "contact", c.profile.Contact.ID, DecodeContact)
	return v, err
}

// GetContact reads one contact.
func (c *Client) GetContact(ctx context.Context, id string) (Contact, error) {
	v, _, err := one(ctx, c, request{op: opGetContact, id: id}, "contact", c.profile.Contact.ID, DecodeContact)
	return v, err
}

// ContactPatch changes the fields that are set. LabelIDs replaces all labels.
type ContactPatch struct {
	Name     Opt[string]   `json:"name,omitzero"`
	Company  Opt[string]   `json:"company,omitzero"`
	City     Opt[string]   `json:"city,omitzero"`
	LabelIDs Opt[[]string] `json:"label_ids,omitzero"`
	Blocked  Opt[bool]     `json:"blocked,omitzero"`
}

// UpdateContact sets absolute values, so a repeat is harmless.
func (c *Client) UpdateContact(ctx context.Context, id string, p ContactPatch) (Contact, error) {
	v, _, err := one(ctx, c, request{op: opUpdateContact, id: id, body: p}, "contact", c.profile.Contact.ID, DecodeContact)
	return v, err
}

// ContactFields names the fields of a contact.
type ContactFields struct {
	ID        Paths `json:"id"`
	Name      Paths `json:"name"`
	Phone     Paths `json:"phone"`
	Company   Paths `json:"company"`
	City      Paths `json:"city"`
	ChannelID Paths `json:"channel_id"`
	LabelIDs  Paths `json:"label_ids"`
	Blocked   Paths `json:"blocked"`
	CreatedAt Paths `json:"created_at"`
	UpdatedAt Paths `json:"updated_at"`
}

func defaultContactFields() ContactFields {
	return ContactFields{
		ID:        Paths{"id", "contact_id", "uuid"},
		Name:      Paths{"name", "display_name", "full_name"},
		Phone:     Paths{"phone", "phone_number", "number", "wa_id", "mobile"},
		Company:   Paths{"company", "company_name", "company.name", "organization"},
		City:      Paths{"city", "city.name", "address.city"},
		ChannelID: Paths{"channel_id", "channel.id", "channel", "number_id", "number.id", "whatsapp_number_id", "whatsapp_channel_id", "inbox_id"},
		LabelIDs:  Paths{"label_ids", "labels", "tag_ids", "tags"},
		Blocked:   Paths{"blocked", "is_blocked"},
		CreatedAt: Paths{"created_at", "createdAt", "created", "inserted_at"},
		UpdatedAt: Paths{"updated_at", "updatedAt", "updated", "modified_at"},
	}
}

// whole reports whether an object has every field that rules can use.
func (n *ContactFields) whole(f fields) bool {
	return hasAll(f, asText, orNull, n.Name, n.Phone, n.Company, n.City) && hasAll(f, asEveryID, orNull, n.LabelIDs) &&
		hasAll(f, asBool, notNull, n.Blocked) && hasAll(f, asID, orNull, n.ChannelID)
}

var (
	opListLabels = Operation{"GET", "/labels", "contacts:read"}
)

var labelOperations = []Operation{opListLabels}

// Label marks contacts, conversations and cards.
type Label struct {
	ID    string
	Name  string
	Color string
	Raw   map[string]any
}

// DecodeLabel reads a label through the profile.
func DecodeLabel(raw map[string]any, p *Profile) Label {
	f, n := fields(raw), &p.Label
	return Label{ID: f.id(n.ID), Name: f.str(n.Name), Color: f.str(n.Color), Raw: raw}
}

// ListLabels lists all labels.
func (c *Client) ListLabels(ctx context.Context) ([]Label, error) {
	return all(ctx, c, request{op: opListLabels}, DecodeLabel)
}
