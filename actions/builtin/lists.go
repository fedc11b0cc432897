package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/plain"
	"github.com/quandohq/quando/rules/vocabulary"
)

// The verbs that list objects, with the filters of a schedule's each.
var (
	listAttendances   = listSchema("attendances", vocabulary.Attendance, rules.AttendanceType, "{ status: open, sector: Support, max: 200 }")
	listConversations = listSchema("conversations", vocabulary.Conversation, rules.ConversationType, "{ unread: true, assignee: none }")
	listContacts      = listSchema("contacts", vocabulary.Contact, rules.ContactType, "{ label: vip }")
	listCards         = listSchema("cards", vocabulary.Card, rules.CardType, "{ board: Sales, due: overdue }")
)

const (
	defaultListed = 500
	maxListed     = 10_000  // items that a result has
	maxCounted    = 20_000  // items that are counted: 200 calls
	maxListedSize = 8 << 20 // bytes of a result, which is recorded with its step
)

func listSchema(each string, fact vocabulary.Fact, item *rules.Type, example string) rules.Schema {
	list := rules.EachItems()
	filters := list[slices.IndexFunc(list, func(e rules.Each) bool { return e.Name == each })].Filters
	limit := rules.Arg{Name: "max", Kind: rules.KindNumber, Min: 1, Max: maxListed, Summary: fmt.Sprintf("how many items to keep, 1 to %d; %d unless given", maxListed, defaultListed)}
	return rules.Schema{
		Verb: "list_" + each, Group: "lists", Summary: "List " + each + " and count them",
		Args: append(slices.Clone(filters), limit),
		Result: rules.Object(
			rules.Field{Name: "items", Type: rules.ListOf(item), Doc: "the first of them, each with the fields of `" + fact + "`"},
			rules.Field{Name: "total", Type: rules.Number, Doc: "how many there are, also beyond `max`"},
		),
		Scopes:  []string{vocabulary.FactOf(fact).Scope},
		Example: example,
	}
}

// planList returns the plan of a verb that lists objects.
func planList(each string) planner {
	return func(ctx context.Context, d *desk, s *actions.Step) (actions.Next, error) {
		where := maps.Clone(s.Args)
		delete(where, "max")
		keep, err := args(s.Args).number("max")
		switch {
		case err != nil:
			return actions.Next{}, err
		case s.Args["max"] == nil:
			keep = defaultListed
		case keep < 1 || keep > maxListed:
			return actions.Next{}, actions.Permanent(fmt.Errorf("max must be from 1 to %d, not %d", maxListed, keep))
		}
		items, total, size := []any{}, 0, 0
		var scratch []byte
		for l, err := range d.list(ctx, each, where) {
			if err != nil {
				return actions.Next{}, err
			}
			if total++; total > maxCounted {
				return actions.Next{}, actions.Permanent(fmt.Errorf("there are more than %d %s: list fewer with its filters", maxCounted, each))
			}
			if total > keep {
				continue
			}
			fact, err := l.fact(ctx)
			if err != nil {
				return actions.Next{}, err
			}
			if scratch, err = plain.Append(scratch[:0], fact); err != nil {
				return actions.Next{}, actions.Permanent(err)
			}
			if size += len(scratch); size > maxListedSize {
				return actions.Next{}, actions.Permanent(fmt.Errorf("the first %d %s are larger than %d MiB: give a smaller max", len(items)+1, each, maxListedSize>>20))
			}
			items = append(items, fact)
		}
		return done(map[string]any{"items": items, "total": float64(total)})
	}
}
