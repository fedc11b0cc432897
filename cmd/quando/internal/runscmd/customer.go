package runscmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/view"
	"github.com/quandohq/quando/engine/journal"
)

// customerFlags say which conversation a command is about. At most one of them is given.
type customerFlags struct{ conversation, contact, phone, protocol string }

func (f *customerFlags) add(cmd *cobra.Command, what string) {
	flags := cmd.Flags()
	flags.StringVar(&f.conversation, "conversation", "", what+" of this conversation, by the customer's `name`, phone, protocol number or its id")
	flags.StringVar(&f.contact, "contact", "", what+" of the customer with this `name`")
	flags.StringVar(&f.phone, "phone", "", what+" of the customer with this phone `number`")
	flags.StringVar(&f.protocol, "protocol", "", what+" of the attendance with this protocol `number`")
	cmd.MarkFlagsMutuallyExclusive("conversation", "contact", "phone", "protocol")
}

// given reports whether the command is about one conversation.
func (f *customerFlags) given() bool { return f.text() != "" }

func (f *customerFlags) text() string { return cmp.Or(f.conversation, f.contact, f.phone, f.protocol) }

// find returns the conversation; without a flag, one without a lane.
func (f *customerFlags) find(cmd *cobra.Command, v *view.View, workspace string) (journal.Who, error) {
	switch {
	case f.phone != "":
		return findCustomer(cmd, v, workspace, f.phone, func(w journal.Who) bool {
			return journal.Digits(f.phone) != "" && strings.Contains(journal.Digits(w.Phone), journal.Digits(f.phone))
		})
	case f.protocol != "":
		return findCustomer(cmd, v, workspace, f.protocol, func(w journal.Who) bool { return strings.EqualFold(w.Protocol, strings.TrimSpace(f.protocol)) })
	case f.contact != "":
		return findCustomer(cmd, v, workspace, f.contact, func(w journal.Who) bool { return w.Name != "" })
	case f.conversation != "":
		return findConversation(cmd, v, workspace, f.conversation)
	}
	return journal.Who{}, nil
}

// findConversation returns the one conversation that a name, a phone, a protocol number or an id
// names.
func findConversation(cmd *cobra.Command, v *view.View, workspace, text string) (journal.Who, error) {
	if strings.TrimSpace(text) == "" {
		return journal.Who{}, errors.New("say which conversation: by the customer's name, phone or the conversation's id")
	}
	lane := conversationLane(text)
	events, err := v.ListEvents(cmd.Context(), journal.EventFilter{Workspace: workspace, Lane: lane, Limit: 1})
	if err != nil {
		return journal.Who{}, fmt.Errorf("look for the conversation: %w", err)
	}
	if len(events) > 0 {
		found := events[0].Workspace
		known, err := v.Who(cmd.Context(), found, []string{lane})
		who := known[lane]
		who.Workspace, who.Lane = found, lane
		return who, err
	}
	if id := strings.TrimPrefix(lane, conversationLane("")); uuid.Validate(id) == nil {
		return journal.Who{Workspace: cmp.Or(workspace, config.DefaultWorkspaceName), Lane: lane}, nil // nothing has happened in it yet
	}
	return findCustomer(cmd, v, workspace, text, nil)
}

// maxFound bounds the conversations among which a person has to choose.
const maxFound = 10

// findCustomer returns the one conversation whose customer has a name, a phone or a protocol
// number, and fits; nil fits all.
func findCustomer(cmd *cobra.Command, v *view.View, workspace, text string, fits func(journal.Who) bool) (journal.Who, error) {
	found, err := v.FindLanes(cmd.Context(), text, 5*maxFound)
	if err != nil {
		return journal.Who{}, fmt.Errorf("look for the conversation: %w", err)
	}
	found = slices.DeleteFunc(found, func(who journal.Who) bool {
		return workspace != "" && who.Workspace != workspace || !strings.HasPrefix(who.Lane, conversationLane("")) || fits != nil && !fits(who)
	})
	if whole := slices.DeleteFunc(slices.Clone(found), func(who journal.Who) bool { return !strings.EqualFold(who.Name, strings.TrimSpace(text)) }); len(whole) > 0 {
		found = whole // Ana, and not Ana Paula
	}
	switch len(found) {
	case 0:
		return journal.Who{}, cli.No(cmd, "no conversation that the journal knows has the name, phone, protocol number or id %q", text)
	case 1:
		return found[0], nil
	}
	list := ""
	for _, who := range found[:min(len(found), maxFound)] {
		list += fmt.Sprintf("\n  %s %s", strings.TrimPrefix(who.Lane, conversationLane("")), nameOf(who))
	}
	return journal.Who{}, cli.No(cmd, "several conversations fit %q: say which with --conversation and its id%s", text, list)
}

// conversationLane returns the lane of a conversation, whose id may have been copied from a lane.
func conversationLane(id string) string {
	return actions.ConversationLane(strings.TrimPrefix(id, actions.ConversationLane("")))
}

// nameOf names a conversation.
func nameOf(who journal.Who) string {
	words := who.Name
	if words == "" {
		words = who.Phone
	} else if who.Phone != "" {
		words += " (" + who.Phone + ")"
	}
	return cmp.Or(words, who.Lane)
}

// customers are the customers of lanes, by workspace and lane.
type customers map[[2]string]journal.Who

// learn finds out who the customers of lanes of a workspace are.
func (c customers) learn(ctx context.Context, v *view.View, workspace string, lanes []string) error {
	slices.Sort(lanes)
	for part := range slices.Chunk(slices.Compact(lanes), 500) { // a database bounds the parameters of a query
		known, err := v.Who(ctx, workspace, part)
		if err != nil {
			return fmt.Errorf("look for the names of customers: %w", err)
		}
		for lane, who := range known {
			c[[2]string{workspace, lane}] = who
		}
	}
	return nil
}

// name returns what people call the customer of a lane; of an unknown one, the lane.
func (c customers) name(workspace, lane string) string {
	who := c[[2]string{workspace, lane}]
	return cmp.Or(who.Name, who.Phone, who.Protocol, lane)
}

// customersOf returns the customers of a list.
func customersOf[T any](ctx context.Context, v *view.View, list []T, where func(T) (workspace, lane string)) (customers, error) {
	lanes := map[string][]string{}
	for _, one := range list {
		workspace, lane := where(one)
		lanes[workspace] = append(lanes[workspace], lane)
	}
	found := customers{}
	for workspace, list := range lanes {
		if err := found.learn(ctx, v, workspace, list); err != nil {
			return nil, err
		}
	}
	return found, nil
}
