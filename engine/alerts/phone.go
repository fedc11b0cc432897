package alerts

import (
	"context"
	"fmt"
	"sync"

	"github.com/quandohq/quando/service"
)

// A Phone tells a person of the team through the messaging service of a workspace. The service
// creates one message for an id, however often it is sent.
type Phone struct {
	Person    string
	Workspace string
	To        service.Phone
	Client    *service.Client
	Directory *service.Directory

	mu           sync.Mutex
	conversation string // the id of the chat, once it is known
}

// Name names the person.
func (p *Phone) Name() string { return p.Person }

// Send sends the message to the person's chat, which is opened if there is none yet.
func (p *Phone) Send(ctx context.Context, m Message) (same bool, err error) {
	chat, err := p.chat(ctx)
	if err != nil {
		return false, err
	}
	created, err := p.Client.SendMessage(ctx, chat, service.NewMessage{ClientID: m.ID, Text: m.Text})
	if service.IsNotFound(err) {
		p.forget() // the chat is gone; the next try looks for it again
	}
	return created.Text == "" || created.Text == m.Text, err
}

// chat returns the person's chat. A call that opens it has no key, so the chat is looked for first.
func (p *Phone) chat(ctx context.Context) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.conversation != "" {
		return p.conversation, nil
	}
	channel, err := p.Directory.ID(ctx, service.KindChannel, p.To.Channel)
	if err != nil {
		return "", fmt.Errorf("find the channel: %w", err)
	}
	found, err := p.Client.FindConversation(ctx, p.To.Number, channel)
	if err != nil {
		return "", fmt.Errorf("look for the chat: %w", err)
	}
	if found == nil {
		opened, err := p.Client.CreateConversation(ctx, service.NewConversation{ChannelID: channel, Phone: p.To.Number, Name: p.Person})
		if err != nil {
			return "", fmt.Errorf("open the chat: %w", err)
		}
		found = &opened
	}
	p.conversation = found.ID
	return found.ID, nil
}

func (p *Phone) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conversation = ""
}
