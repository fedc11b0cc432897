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
		for l, err := range d.desk.list(ctx, each, where) {
			if err != nil {
				yield(actions.Item{}, err)
				return
			}
			if !yield(actions.Item{ID: l.id, Lane: l.about.Lane(), Data: map[string]any{l.name: l.raw}}, nil) {
				return
			}
		}
	}
}

// A listed is an object of a list.
type listed struct {
	id    string
	about actions.Subject
	name  string                                            // of the fact that it is
	raw   map[string]any                                    // as in the list
	fact  func(ctx context.Context) (map[string]any, error) // looks up names
}

// list yields the objects of a list, each once. An error ends it.
func (d *desk) list(ctx context.Context, each string, where map[string]any) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		f, err := newFilters(d, each, where)
		if err != nil {
			yield(listed{}, err)
			return
		}
		seen := make(map[string]bool)
		for l, err := range f.list(ctx, each) {
			switch {
			case err != nil:
				yield(listed{}, failedTo("list the "+each, err))
				return
			case l.id == "":
				yield(listed{}, actions.Permanent(fmt.Errorf("list the %s: one has no id; does the profile name it?", each)))
				return
			case seen[l.id]:
				continue // the list shifted while it was read
			}
			seen[l.id] = true
			if !yield(l, nil) {
				return
			}
		}
	}
}

// filters are the filters of a list. The first error is kept.
type filters struct {
	*desk
	args
	err error
}

// newFilters refuses filters that are empty or unknown: with a filter less, a rule would go
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

func (f *filters) list(ctx context.Context, each string) iter.Seq2[listed, error] {
	var list iter.Seq2[listed, error]
	switch each {
	case "attendances":
		list = listOfObjects(f.client.Attendances(ctx, f.attendances(ctx)), func(a service.Attendance) listed {
			return listed{a.ID, ofAttendance(a), "attendance", a.Raw, func(ctx context.Context) (map[string]any, error) { return f.facts.Attendance(ctx, a) }}
		})
	case "conversations":
		list = listOfObjects(f.client.Conversations(ctx, f.conversations(ctx)), func(c service.Conversation) listed {
			return listed{c.ID, ofConversation(c), "conversation", c.Raw, func(ctx context.Context) (map[string]any, error) { return f.facts.Conversation(ctx, c) }}
		})
	case "contacts":
		list = listOfObjects(f.client.Contacts(ctx, f.contacts(ctx)), func(c service.Contact) listed {
			return listed{c.ID, actions.Subject{Contact: c.ID}, "contact", c.Raw, func(context.Context) (map[string]any, error) { return f.facts.Contact(c), nil }}
		})
	case "cards":
		list = listOfObjects(f.client.Cards(ctx, f.cards(ctx)), func(c service.Card) listed {
			return listed{c.ID, ofCard(c), "card", c.Raw, func(ctx context.Context) (map[string]any, error) { return f.facts.Card(ctx, c) }}
		})
	}
	if f.err != nil {
		return func(yield func(listed, error) bool) { yield(listed{}, f.err) }
	}
	return list
}

// listOfObjects converts the objects of a list.
func listOfObjects[T any](list iter.Seq2[T, error], of func(T) listed) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for v, err := range list {
			if !yield(of(v), err) {
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
