package backfill

import (
	"context"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// complete adds to a sighting what a delivery would carry too. It reports false if webhooks would
// not deliver it, because it is on a private channel.
func (p *pass) complete(ctx context.Context, s *sighting) (told bool, err error) {
	if err := p.scanCardsBetween(ctx); err != nil {
		return false, err
	}
	if p.tenant == "" {
		if me, err := p.client.Me(ctx); err == nil && len(me.TenantID) <= rules.MaxName { // a delivery would not carry a longer one
			p.tenant = me.TenantID
		} else if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	profile := p.client.Profile()
	if s.objects[service.KindConversation] == nil && s.objects[service.KindAttendance] != nil {
		data := profile.EventData(s.typ, s.objects)
		c, err := p.conversation(ctx, profile.EventID(service.KindConversation, s.typ, data))
		if err != nil {
			return false, err
		}
		if c != nil {
			s.objects[service.KindConversation] = c.Raw
		}
	}
	raw := s.objects[service.KindConversation]
	if raw == nil {
		return true, nil
	}
	c := service.DecodeConversation(raw, profile)
	private, err := p.private(ctx, c.ChannelID)
	if err != nil || private {
		return false, err
	}
	if s.objects[service.KindContact] == nil && c.ContactID != "" {
		contact, err := p.contact(ctx, c.ContactID)
		if err != nil {
			return false, err
		}
		if contact != nil {
			s.objects[service.KindContact] = contact
		}
	}
	return true, nil
}

// conversation reads a conversation, once per pass. It returns nil if it cannot be read.
func (p *pass) conversation(ctx context.Context, id string) (*service.Conversation, error) {
	if id == "" {
		return nil, nil
	}
	if c, ok := p.looked[id]; ok {
		return c, nil
	}
	c, err := p.client.GetConversation(ctx, id)
	switch {
	case service.IsNotFound(err) || service.IsRefused(err):
		p.looked[id] = nil
		return nil, nil
	case err != nil:
		return nil, err
	}
	p.looked[id] = &c
	return &c, nil
}

// contact reads a contact, once per pass. It returns nil if it cannot be read: a rule that needs it
// reads it later.
func (p *pass) contact(ctx context.Context, id string) (map[string]any, error) {
	if raw, ok := p.people[id]; ok {
		return raw, nil
	}
	c, err := p.client.GetContact(ctx, id)
	if err != nil && !service.IsNotFound(err) && !service.IsRefused(err) {
		return nil, err
	}
	p.people[id] = c.Raw
	return c.Raw, nil
}

// private reports whether webhooks do not deliver events of a channel.
func (p *pass) private(ctx context.Context, channel string) (bool, error) {
	if channel == "" {
		return false, nil
	}
	if private, ok := p.channels[channel]; ok {
		return private, nil
	}
	list, err := p.client.ListChannels(ctx)
	if err != nil && !service.IsNotFound(err) && !service.IsRefused(err) {
		return false, err
	}
	if p.channels == nil {
		p.channels = map[string]bool{}
	}
	p.channels[channel] = false
	for _, c := range list {
		p.channels[c.ID] = c.Private
	}
	return p.channels[channel], nil
}
