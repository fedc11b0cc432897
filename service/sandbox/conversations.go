package sandbox

import "slices"

func (s *Sandbox) listChannels(c *call) (any, error) {
	return listOf(s.store.channels), nil
}

// conversation returns the conversation that the path names.
func (s *Sandbox) conversation(c *call) (*Conversation, error) {
	if found := s.store.conversations[c.id]; found != nil {
		return found, nil
	}
	return nil, notFound("conversation", c.id)
}

// listConversations gives the conversations that changed last first. It reads
// the shortest of the indexes that the filters allow.
func (s *Sandbox) listConversations(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, offset := q.cappedLimit(), q.offset()
	search := newSearch(q.text("q"))
	archived := q.oneOf("archived", "true", "false")
	unread := q.oneOf("unread", "true", "false") == "true"
	kind := q.oneOf("kind", kindDirect, kindGroup)
	channel, byChannel := q.id("channel")
	sector, bySector := q.id("sector")
	label, byLabel := q.id("label")
	assignee, byAssignee := q.assignee(c.key)
	if q.err != nil {
		return nil, q.err
	}
	from := &st.convOrder
	if byChannel {
		from = smallest(from, st.convChannel[channel])
	}
	if byAssignee {
		from = smallest(from, st.convAssignee[assignee])
	}
	if bySector {
		from = smallest(from, st.convSector[sector])
	}
	if byLabel {
		from = smallest(from, st.convLabel[label])
	}
	if unread {
		from = smallest(from, &st.convUnread)
	}
	var page []*Conversation
	for conv := range from.newest() {
		if byChannel && conv.ChannelID != channel || byAssignee && conv.AssigneeID != assignee ||
			bySector && conv.SectorID != sector || byLabel && !slices.Contains(conv.LabelIDs, label) ||
			unread && !conv.Unread || kind != "" && conv.Kind != kind ||
			archived != "" && conv.Archived != (archived == "true") || !search.empty() && !conv.matches(search) {
			continue
		}
		if offset > 0 {
			offset--
			continue
		}
		page = append(page, conv)
		if len(page) == limit {
			break
		}
	}
	return listOf(page), nil
}

// assignee reads a filter of none, me or a person's id. "me" is the person
// the key stands for; a key that stands for nobody has no conversations.
func (q *query) assignee(key *Key) (ID, bool) {
	switch q.text("assignee") {
	case "none":
		return ID{}, true
	case "me":
		if key.PersonID.IsZero() {
			return key.ID, true
		}
		return key.PersonID, true
	}
	return q.id("assignee")
}

// matches reports whether the name, the phone or the last message has the
// text in it.
func (c *Conversation) matches(s *search) bool {
	return s.in(c.Name) || s.inPhone(string(c.Phone)) || c.LastMessage != nil && s.in(string(c.LastMessage.Text))
}

// openConversation opens a conversation with a phone or a contact. One that
// is there already is returned as it is.
func (s *Sandbox) openConversation(c *call) (any, error) {
	var in struct {
		ChannelID field[ID]     `json:"channel_id"`
		Phone     field[string] `json:"phone"`
		Name      field[string] `json:"name"`
		ContactID field[ID]     `json:"contact_id"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	if in.ChannelID.Value.IsZero() {
		return nil, invalid("channel_id is required")
	}
	channel := s.store.channel(in.ChannelID.Value)
	if channel == nil {
		return nil, notFound("channel", in.ChannelID.Value)
	}
	contact, err := s.contactFor(in.ContactID.Value, in.Phone.Value, in.Name.Value)
	if err != nil {
		return nil, err
	}
	if there := s.store.direct[pair{channel.ID, contact.ID}]; there != nil {
		return there, nil
	}
	conv := s.startConversation(channel, contact)
	if s.store.rules.Enabled {
		s.openAttendance(conv, contact)
	}
	s.effect(c, conv.ID, "conversation", nil, encode(conv), "")
	return conv, nil
}

// contactFor finds the contact by id or by phone, and makes one for a phone
// that nobody has.
func (s *Sandbox) contactFor(id ID, phone, name string) (*Contact, error) {
	switch {
	case !id.IsZero() && phone != "":
		return nil, invalid("send either phone or contact_id, not both")
	case !id.IsZero():
		if contact := s.store.contacts[id]; contact != nil {
			return contact, nil
		}
		return nil, notFound("contact", id)
	case phone == "":
		return nil, invalid("phone or contact_id is required")
	case !validPhone(phone):
		return nil, invalid("phone: %q is not a phone number", phone)
	}
	if contact := s.store.phones[phoneKey(phone)]; contact != nil {
		return contact, nil
	}
	if name == "" {
		name = phone
	}
	contact := &Contact{ID: s.ids.id(), Name: name, Phone: phone, CreatedAt: s.now(), UpdatedAt: s.now()}
	s.store.putContact(contact, nil)
	return contact, nil
}

// startConversation makes a direct conversation.
func (s *Sandbox) startConversation(channel *Channel, contact *Contact) *Conversation {
	conv := &Conversation{
		ID: s.ids.id(), Kind: kindDirect, Name: contact.Name, ChannelID: channel.ID,
		ContactID: contact.ID, Phone: Optional(contact.Phone),
		CreatedAt: s.now(), UpdatedAt: s.now(), channel: channel,
	}
	s.store.putConversation(conv, nil)
	return conv
}

func (s *Sandbox) getConversation(c *call) (any, error) { return s.conversation(c) }

func (s *Sandbox) patchConversation(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	var in struct {
		Archived field[bool]   `json:"archived"`
		Pinned   field[bool]   `json:"pinned"`
		Muted    field[bool]   `json:"muted"`
		Name     field[string] `json:"name"`
		LabelIDs field[IDs]    `json:"label_ids"`
	}
	if err := c.decode(&in); err != nil {
		return nil, err
	}
	switch {
	case in.Archived.Null || in.Pinned.Null || in.Muted.Null:
		return nil, invalid("archived, pinned and muted are true or false, not null")
	case in.Name.Set && in.Name.Value == "":
		return nil, invalid("name must not be empty")
	}
	if err := s.store.checkLabels(in.LabelIDs); err != nil {
		return nil, err
	}
	edited, changed := *conv, []string(nil)
	set(&edited.Archived, in.Archived, "archived", &changed)
	set(&edited.Pinned, in.Pinned, "pinned", &changed)
	set(&edited.Muted, in.Muted, "muted", &changed)
	set(&edited.Name, in.Name, "name", &changed)
	if in.LabelIDs.Set && !slices.Equal(edited.LabelIDs, in.LabelIDs.Value) {
		edited.LabelIDs = in.LabelIDs.Value
		changed = append(changed, "label_ids")
	}
	if len(changed) == 0 {
		return conv, nil
	}
	s.changeConversation(c, conv, changed, func() {
		conv.Archived, conv.Pinned, conv.Muted = edited.Archived, edited.Pinned, edited.Muted
		conv.Name, conv.LabelIDs = edited.Name, edited.LabelIDs
	})
	return conv, nil
}

// set takes over a member of a PATCH and notes its name when it differs.
func set[T comparable](to *T, from field[T], name string, changed *[]string) {
	if !from.Set || *to == from.Value {
		return
	}
	*to = from.Value
	*changed = append(*changed, name)
}

// checkLabels refuses labels that the company does not have.
func (st *store) checkLabels(ids field[IDs]) error {
	if ids.Null {
		return invalid("label_ids is a list of label ids, not null; [] removes them all")
	}
	for i, id := range ids.Value {
		if st.label(id) == nil {
			return invalid("label_ids: there is no label %v", id)
		}
		if slices.Contains(ids.Value[:i], id) {
			return invalid("label_ids: the label %v is there twice", id)
		}
	}
	return nil
}

// changeConversation makes a change that a call asked for, raises the event
// and writes the effect.
func (s *Sandbox) changeConversation(c *call, conv *Conversation, changed []string, edit func()) {
	was := encode(conv)
	s.store.putConversation(conv, func() {
		edit()
		conv.UpdatedAt = s.now()
	})
	s.raiseUpdated(conv, changed...)
	s.effect(c, conv.ID, "conversation", was, encode(conv), "")
}

func (s *Sandbox) readConversation(c *call) (any, error) {
	conv, err := s.conversation(c)
	if err != nil {
		return nil, err
	}
	if conv.Unread {
		s.changeConversation(c, conv, []string{"unread"}, func() { conv.UnreadCount = 0 })
	}
	return conv, nil
}
