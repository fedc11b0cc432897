package builtin

import (
	"context"
	"slices"
	"sync"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// maxKnownChats bounds how many conversations are remembered.
const maxKnownChats = 10_000

// InternalChats returns a function that says whose chat a conversation is, or without one the chat
// with a contact, if it is one of these, which are phones or ids of conversations, or that of a
// person of the team: the person's name, otherwise the phone or id. It looks up the phone of a
// conversation once. It returns nil if there are no such chats.
func (d *Desk) InternalChats(list []string) func(ctx context.Context, about actions.Subject) (whose string, err error) {
	var chats []internalChat
	for _, name := range d.desk.people.Names() {
		chats = append(chats, internalChat{d.desk.people[name].Number, name})
	}
	for _, chat := range list {
		chats = append(chats, internalChat{chat, chat})
	}
	if len(chats) == 0 {
		return nil
	}
	var mu sync.Mutex
	known := make(map[actions.Subject]string)
	return func(ctx context.Context, about actions.Subject) (string, error) {
		if about.Conversation != "" {
			about = actions.Subject{Conversation: about.Conversation} // in a group, the contact may be whoever wrote
		} else if about = (actions.Subject{Contact: about.Contact}); about.Contact == "" {
			return "", nil
		}
		if i := slices.IndexFunc(chats, func(c internalChat) bool { return sameID(c.chat, about.Conversation) }); i >= 0 {
			return chats[i].whose, nil
		}
		mu.Lock()
		whose, ok := known[about]
		mu.Unlock()
		if ok {
			return whose, nil
		}
		contact, err := d.Fact(ctx, "contact", new(about))
		if err != nil {
			return "", err
		}
		fact, _ := contact.(map[string]any)
		phone, _ := fact["phone"].(string)
		if i := slices.IndexFunc(chats, func(c internalChat) bool { return service.SamePhone(c.chat, phone) }); i >= 0 {
			whose = chats[i].whose
		}
		mu.Lock()
		defer mu.Unlock()
		if len(known) >= maxKnownChats {
			clear(known)
		}
		known[about] = whose
		return whose, nil
	}
}

// An internalChat is the phone or conversation of a chat of the company's own.
type internalChat struct{ chat, whose string }
