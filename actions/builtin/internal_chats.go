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

// InternalChats returns a function that reports whether a conversation is one of these chats, which
// are phones or ids of conversations, or that of a person of the team. It looks up the phone of a
// conversation once. It returns nil if there are none.
func (d *Desk) InternalChats(list []string) func(ctx context.Context, conversation string) (bool, error) {
	list = slices.Clone(list)
	for _, phone := range d.desk.people {
		list = append(list, phone.Number)
	}
	if len(list) == 0 {
		return nil
	}
	var mu sync.Mutex
	known := make(map[string]bool)
	return func(ctx context.Context, conversation string) (bool, error) {
		if slices.ContainsFunc(list, func(chat string) bool { return sameID(chat, conversation) }) {
			return true, nil
		}
		mu.Lock()
		internal, ok := known[conversation]
		mu.Unlock()
		if ok {
			return internal, nil
		}
		contact, err := d.Fact(ctx, "contact", &actions.Subject{Conversation: conversation})
		if err != nil {
			return false, err
		}
		fact, _ := contact.(map[string]any)
		phone, _ := fact["phone"].(string)
		internal = slices.ContainsFunc(list, func(chat string) bool { return service.SamePhone(chat, phone) })
		mu.Lock()
		defer mu.Unlock()
		if len(known) >= maxKnownChats {
			clear(known)
		}
		known[conversation] = internal
		return internal, nil
	}
}
