package service

import "context"

// maxSearch bounds how many hits of one search are compared: a search by phone with more hits has
// matched something else.
const maxSearch = 500

// FindContact looks a contact up by phone, in any of the phone's forms. It is nil when there is
// none.
func (c *Client) FindContact(ctx context.Context, phone string) (*Contact, error) {
	for _, q := range PhoneCandidates(phone) {
		n := 0
		for contact, err := range c.Contacts(ctx, ContactQuery{Q: q}) {
			if err != nil {
				return nil, err
			}
			if SamePhone(contact.Phone, phone) {
				return &contact, nil
			}
			if n++; n >= maxSearch {
				break
			}
		}
	}
	return nil, nil
}

// FindConversation looks up the direct conversation with a phone on a channel (any channel when it
// is empty), archived ones included. It is nil when there is none.
func (c *Client) FindConversation(ctx context.Context, phone, channel string) (*Conversation, error) {
	s := conversationSearch{Client: c, phone: phone, channel: channel}
	archived := true
	for _, q := range []ConversationQuery{{Channel: channel}, {Channel: channel, Archived: &archived}} {
		for _, q.Q = range PhoneCandidates(phone) {
			found, err := s.search(ctx, q)
			if found != nil || err != nil {
				return found, err
			}
		}
	}
	return nil, nil
}

type conversationSearch struct {
	*Client
	phone, channel string
	contact        string // the id of the phone's contact, once it was needed
	contactKnown   bool
}

func (s *conversationSearch) search(ctx context.Context, q ConversationQuery) (*Conversation, error) {
	n := 0
	for v, err := range s.Conversations(ctx, q) {
		if err != nil {
			return nil, err
		}
		same, err := s.same(ctx, &v)
		if err != nil {
			return nil, err
		}
		if same {
			return &v, nil
		}
		if n++; n >= maxSearch {
			break
		}
	}
	return nil, nil
}

func (s *conversationSearch) same(ctx context.Context, v *Conversation) (bool, error) {
	if v.Kind == "group" || s.channel != "" && v.ChannelID != "" && v.ChannelID != s.channel {
		return false, nil
	}
	if v.Phone != "" || v.ContactID == "" {
		return SamePhone(v.Phone, s.phone), nil
	}
	// A conversation that does not show its phone is known by its contact.
	if !s.contactKnown {
		contact, err := s.FindContact(ctx, s.phone)
		if err != nil {
			return false, err
		}
		if s.contactKnown = true; contact != nil {
			s.contact = contact.ID
		}
	}
	return s.contact != "" && v.ContactID == s.contact, nil
}
