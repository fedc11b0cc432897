package builtin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/service"
)

// A Desk answers what rules ask about the service: what events carry, what they do not carry, and
// the lists of schedules. Its errors are marked like those of the verbs.
type Desk struct {
	desk *desk
	own  *service.Profile // for the engine's own events
}

// NewDesk returns a desk. It uses the Client, the Directory, the Location and Own of the options,
// and connects to nothing.
func NewDesk(o Options) (*Desk, error) {
	d, err := newDesk(o)
	if err != nil {
		return nil, err
	}
	return &Desk{desk: d, own: ownEvents(*d.Profile())}, nil
}

// Probe returns nil if the service accepts the key.
func (d *Desk) Probe(ctx context.Context) error {
	_, err := d.desk.client.Me(ctx)
	return failedTo("ask who the key is", err)
}

// HasLabel reports whether a conversation, a contact or a card has a label, given by name or id. A
// missing object has no labels.
func (d *Desk) HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error) {
	labels, _ := fact["label_ids"].([]any)
	label = strings.TrimSpace(label)
	if slices.Contains(labels, any(label)) {
		return true, nil
	}
	id, err := d.desk.directory.ID(ctx, service.KindLabel, label)
	if err != nil {
		return false, classify(err)
	}
	return slices.Contains(labels, any(id)), nil
}

// LabelNames returns the names of the labels of a conversation or a contact. It leaves out those
// whose names are unknown.
func (d *Desk) LabelNames(ctx context.Context, fact map[string]any) ([]any, error) {
	ids, _ := fact["label_ids"].([]any)
	names := make([]any, 0, len(ids))
	for _, id := range ids {
		text, _ := id.(string)
		name, err := d.desk.directory.Name(ctx, service.KindLabel, text)
		if err != nil {
			return nil, failedTo("read the names of labels", err)
		}
		if name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// failedTo wraps an error with what was being done, and marks it.
func failedTo(do string, err error) error {
	if err == nil {
		return nil
	}
	return classify(fmt.Errorf("%s: %w", do, err))
}

// failedToRead is failedTo for an object by its id. If the object does not exist a person has to
// act, so the error says so.
func failedToRead(kind service.Kind, id string, err error) error {
	if service.IsNotFound(err) {
		return actions.Permanent(fmt.Errorf("the %s %s is not there any more, or the key may not see it: %w", kind, id, err))
	}
	return failedTo(fmt.Sprintf("read the %s %s", kind, id), err)
}
