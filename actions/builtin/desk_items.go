package builtin

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// Items yields what a schedule's each names, each item once. The filters are those of the rule
// language, with rendered values; it looks up names. An item's data holds the object as in the
// list, for Carried to read.
func (d *Desk) Items(ctx context.Context, each string, where map[string]any) iter.Seq2[actions.Item, error] {
	return func(yield func(actions.Item, error) bool) {
		f, err := newFilters(d.desk, each, where)
		if err != nil {
			yield(actions.Item{}, err)
			return
		}
		seen := make(map[string]bool)
		for item, err := range f.items(ctx, each) {
			switch {
			case err != nil:
				yield(actions.Item{}, failedTo("list the "+each, err))
				return
			case item.ID == "":
				yield(actions.Item{}, actions.Permanent(fmt.Errorf("list the %s: one has no id; does the profile name it?", each)))
				return
			case seen[item.ID]:
				continue // the list shifted while it was read
			}
			seen[item.ID] = true
			if !yield(item, nil) {
				return
			}
		}
	}
}

// filters are the filters of an each. The first error is kept.
type filters struct {
	*desk
	args
	err error
}

// newFilters refuses filters that are empty or unknown: with a filter less, the schedule would go
// through other items than intended.
func newFilters(d *desk, each string, where map[string]any) (*filters, error) {
	list := rules.EachItems()
	i := slices.IndexFunc(list, func(e rules.Each) bool { return e.Name == each })
	if i < 0 {
		return nil, actions.Permanent(fmt.Errorf("there is no list of %q", each))
	}
	f := &filters{desk: d, args: args(where)}
	for name := range where {
		if !slices.ContainsFunc(list[i].Filters, func(a rules.Arg) bool { return a.Name == name }) {
			return nil, actions.Permanent(fmt.Errorf("the %s have no filter %q", each, name))
		}
		if _, err := f.requiredText(name); err != nil {
			return nil, fmt.Errorf("list the %s: %w", each, err)
		}
	}
	return f, nil
}

func (f *filters) items(ctx context.Context, each string) iter.Seq2[actions.Item, error] {
	var list iter.Seq2[actions.Item, error]
	switch each {
	case "attendances":
		list = itemsOf(f.Attendances(ctx, f.attendances(ctx)), "attendance", func(a service.Attendance) (string, actions.Subject, map[string]any) {
			return a.ID, ofAttendance(a), a.Raw
		})
	case "conversations":
		list = itemsOf(f.Conversations(ctx, f.conversations(ctx)), "conversation", func(c service.Conversation) (string, actions.Subject, map[string]any) {
			return c.ID, ofConversation(c), c.Raw
		})
	case "contacts":
		list = itemsOf(f.Contacts(ctx, f.contacts(ctx)), "contact", func(c service.Contact) (string, actions.Subject, map[string]any) {
			return c.ID, actions.Subject{Contact: c.ID}, c.Raw
		})
	case "cards":
		list = itemsOf(f.Cards(ctx, f.cards(ctx)), "card", func(c service.Card) (string, actions.Subject, map[string]any) {
			return c.ID, ofCard(c), c.Raw
		})
	}
	if f.err != nil {
		return func(yield func(actions.Item, error) bool) { yield(actions.Item{}, f.err) }
	}
	return list
}

// itemsOf makes items of the objects of a list.
func itemsOf[T any](list iter.Seq2[T, error], name string, of func(T) (id string, about actions.Subject, raw map[string]any)) iter.Seq2[actions.Item, error] {
	return func(yield func(actions.Item, error) bool) {
		for v, err := range list {
			id, about, raw := of(v)
			if !yield(actions.Item{ID: id, Lane: about.Lane(), Data: map[string]any{name: raw}}, err) {
				return
			}
		}
	}
}

func (f *filters) attendances(ctx context.Context) service.AttendanceQuery {
	q := service.AttendanceQuery{
		Status: f.text("status"), Assignee: f.assignee(ctx, "none"), Sector: f.idOf(ctx, "sector", service.KindSector),
		Conversation: f.text("conversation"), Protocol: f.text("protocol"),
	}
	var err error
	if q.From, err = f.dayOrTime("from", f.location); f.err == nil {
		f.err = err
	}
	if q.To, err = f.dayOrTime("to", f.location); f.err == nil {
		f.err = err
	}
	return q
}

func (f *filters) conversations(ctx context.Context) service.ConversationQuery {
	q := service.ConversationQuery{
		Q: f.text("q"), Kind: f.text("kind"), Channel: f.idOf(ctx, "channel", service.KindChannel), Assignee: f.assignee(ctx, "none", "me"),
		Sector: f.idOf(ctx, "sector", service.KindSector), Label: f.idOf(ctx, "label", service.KindLabel),
	}
	if f.has("archived") {
		archived := f.boolean("archived")
		q.Archived = &archived
	}
	q.Unread = f.boolean("unread")
	return q
}

func (f *filters) contacts(ctx context.Context) service.ContactQuery {
	return service.ContactQuery{Q: f.text("q"), Label: f.idOf(ctx, "label", service.KindLabel), Channel: f.idOf(ctx, "channel", service.KindChannel)}
}

func (f *filters) cards(ctx context.Context) service.CardQuery {
	q := service.CardQuery{
		Board: f.idOf(ctx, "board", service.KindBoard), Q: f.text("q"), Priority: f.text("priority"), Label: f.idOf(ctx, "label", service.KindLabel),
		Due: f.text("due"), TZ: f.text("tz"), Status: f.text("status"),
	}
	if q.TZ == "" {
		q.TZ = f.zone()
	}
	return q
}

// idOf returns the id of the object that a filter names.
func (f *filters) idOf(ctx context.Context, filter string, kind service.Kind) string {
	id, err := f.id(ctx, f.args, filter, kind)
	if f.err == nil {
		f.err = err
	}
	return id
}

// boolean returns a boolean filter.
func (f *filters) boolean(filter string) bool {
	value, given := f.flag(filter)
	if f.has(filter) && !given && f.err == nil {
		f.err = actions.Permanent(fmt.Errorf("%s must be true or false, not %v", filter, f.args[filter]))
	}
	return value
}

// assignee is idOf for the assignee, who may also be one of a few words.
func (f *filters) assignee(ctx context.Context, words ...string) string {
	if word := f.text("assignee"); slices.Contains(words, word) {
		return word
	}
	return f.idOf(ctx, "assignee", service.KindPerson)
}
