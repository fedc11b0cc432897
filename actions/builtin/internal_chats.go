package builtin

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// maxKnownChats bounds how many conversations are remembered.
const maxKnownChats = 10_000

// InternalChats returns a function that says whose chat something is in, if it is one of these,
// which are phones or ids of conversations, or that of a person of the team: the person's name,
// otherwise the phone or id. It asks for the contact once. It returns nil if there are no such
// chats.
func (d *Desk) InternalChats(list []string) func(ctx context.Context, about actions.Subject, contact func() (any, error)) (whose string, err error) {
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
	find := func(is func(chat string) bool) string {
		if i := slices.IndexFunc(chats, func(c internalChat) bool { return is(c.chat) }); i >= 0 {
			return chats[i].whose
		}
		return ""
	}
	var mu sync.Mutex
	known := make(map[string]string) // by the id of the contact or, if that is not known, of the conversation
	return func(_ context.Context, about actions.Subject, contact func() (any, error)) (string, error) {
		key := cmp.Or(about.Contact, about.Conversation)
		if key == "" {
			return "", nil
		}
		if whose := find(func(chat string) bool { return sameID(chat, about.Conversation) }); whose != "" {
			return whose, nil
		}
		mu.Lock()
		whose, ok := known[key]
		mu.Unlock()
		if ok {
			return whose, nil
		}
		fact, err := contact()
		if err != nil {
			return "", err
		}
		fields, _ := fact.(map[string]any)
		phone, _ := fields["phone"].(string)
		whose = find(func(chat string) bool { return service.SamePhone(chat, phone) })
		mu.Lock()
		defer mu.Unlock()
		if len(known) >= maxKnownChats {
			clear(known)
		}
		known[key] = whose
		return whose, nil
	}
}

// An internalChat is the phone or conversation of a chat of the company's own.
type internalChat struct{ chat, whose string }
