package sandbox

import (
	"net/http"
	"slices"

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

func conversationOperations() []*operation {
	return []*operation{
		read("GET /channels", "conversations:read", (*Sandbox).listChannels),
		read("GET /conversations", "conversations:read", (*Sandbox).listConversations),
		change("POST /conversations", "conversations:write", http.StatusCreated, (*Sandbox).openConversation),
		read("GET /conversations/{id}", "conversations:read", (*Sandbox).getConversation),
		change("PATCH /conversations/{id}", "conversations:write", http.StatusOK, (*Sandbox).patchConversation),
		change("POST /conversations/{id}/read", "conversations:write", http.StatusOK, (*Sandbox).readConversation),
	}
}

func (s *Sandbox) listChannels(c *call) (any, error) {
	return listOf(s.store.Channels), nil
}

// conversation returns the conversation that the path names.
func (s *Sandbox) conversation(c *call) (*Conversation, error) {
	if found := s.store.Conversations[c.id]; found != nil {
		return found, nil
	}
	return nil, store.NotFound("conversation", c.id)
}

// listConversations returns the conversations by last change, newest first. It reads the shortest
// of the indexes that the filters allow.
func (s *Sandbox) listConversations(c *call) (any, error) {
	q := c.query()
	st := s.store
	limit, offset := q.cappedLimit(), q.offset()
	search := store.NewSearch(q.text("q"))
	archived := q.oneOf("archived", "true", "false")
	unread := q.oneOf("unread", "true", "false") == "true"
	kind := q.oneOf("kind", store.KindDirect, store.KindGroup)
	channel, byChannel := q.id("channel")
	sector, bySector := q.id("sector")
	label, byLabel := q.id("label")
	assignee, byAssignee := q.assignee(c.key)
	if q.err != nil {
		return nil, q.err
	}
	from := &st.ConversationOrder
	if byChannel {
		from = store.Smallest(from, st.ConversationsByChannel[channel])
	}
	if byAssignee {
		from = store.Smallest(from, st.ConversationsByAssignee[assignee])
	}
	if bySector {
		from = store.Smallest(from, st.ConversationsBySector[sector])
	}
	if byLabel {
		from = store.Smallest(from, st.ConversationsByLabel[label])
	}
	if unread {
		from = store.Smallest(from, &st.UnreadConversations)
	}
	var page []*Conversation
	for conv := range from.Newest() {
		if byChannel && conv.ChannelID != channel || byAssignee && conv.AssigneeID != assignee ||
			bySector && conv.SectorID != sector || byLabel && !slices.Contains(conv.LabelIDs, label) ||
			unread && !conv.Unread || kind != "" && conv.Kind != kind ||
			archived != "" && conv.Archived != (archived == "true") || !search.Empty() && !conv.Matches(search) {
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

// assignee reads a filter of none, me or a person's id. "me" is the person of the key; a key
// without a person has no conversations.
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

// openConversation opens a conversation with a phone or a contact. It returns an existing one
// unchanged.
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
		return nil, store.Invalid("channel_id is required")
	}
	channel := s.store.Channel(in.ChannelID.Value)
	if channel == nil {
		return nil, store.NotFound("channel", in.ChannelID.Value)
	}
	contact, err := s.contactFor(in.ContactID.Value, in.Phone.Value, in.Name.Value)
	if err != nil {
		return nil, err
	}
	if there := s.store.Direct[store.DirectKey{Channel: channel.ID, Contact: contact.ID}]; there != nil {
		return there, nil
	}
	conv := s.startConversation(channel, contact)
	if s.store.Rules.Enabled {
		s.openAttendance(conv, contact)
	}
	s.effect(c, conv.ID, "conversation", nil, encode(conv), "")
	return conv, nil
}

// contactFor finds the contact by id or by phone, and creates one for an unknown phone.
func (s *Sandbox) contactFor(id ID, phone, name string) (*Contact, error) {
	switch {
	case !id.IsZero() && phone != "":
		return nil, store.Invalid("send either phone or contact_id, not both")
	case !id.IsZero():
		if contact := s.store.Contacts[id]; contact != nil {
			return contact, nil
		}
		return nil, store.NotFound("contact", id)
	case phone == "":
		return nil, store.Invalid("phone or contact_id is required")
	case !store.ValidPhone(phone):
		return nil, store.Invalid("phone: %q is not a phone number", phone)
	}
	if contact := s.store.ContactsByPhone[store.PhoneKey(phone)]; contact != nil {
		return contact, nil
	}
	if name == "" {
		name = phone
	}
	contact := &Contact{ID: s.ids.ID(), Name: name, Phone: phone, CreatedAt: s.now(), UpdatedAt: s.now()}
	s.store.PutContact(contact, nil)
	return contact, nil
}

// startConversation makes a direct conversation.
func (s *Sandbox) startConversation(channel *Channel, contact *Contact) *Conversation {
	conv := &Conversation{
		ID: s.ids.ID(), Kind: store.KindDirect, Name: contact.Name, ChannelID: channel.ID,
		ContactID: contact.ID, Phone: Optional(contact.Phone),
		CreatedAt: s.now(), UpdatedAt: s.now(), Channel: channel,
	}
	s.store.PutConversation(conv, nil)
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
		return nil, store.Invalid("archived, pinned and muted are true or false, not null")
	case in.Name.Set && in.Name.Value == "":
		return nil, store.Invalid("name must not be empty")
	}
	if err := checkLabels(s.store, in.LabelIDs); err != nil {
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

// checkLabels refuses unknown labels.
func checkLabels(st *store.Store, ids field[IDs]) error {
	if ids.Null {
		return store.Invalid("label_ids is a list of label ids, not null; [] removes them all")
	}
	for i, id := range ids.Value {
		if st.Label(id) == nil {
			return store.Invalid("label_ids: there is no label %v", id)
		}
		if slices.Contains(ids.Value[:i], id) {
			return store.Invalid("label_ids: the label %v is there twice", id)
		}
	}
	return nil
}

// changeConversation makes a change for a call, raises the event and records the effect.
func (s *Sandbox) changeConversation(c *call, conv *Conversation, changed []string, edit func()) {
	was := encode(conv)
	s.store.PutConversation(conv, func() {
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
