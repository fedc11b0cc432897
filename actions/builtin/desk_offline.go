package builtin

import (
	"context"
	"errors"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// OfflineOptions say what an Offline works with. Every zero value works.
type OfflineOptions struct {
	Profile  *service.Profile // nil means the default one
	Snapshot service.Snapshot // of the known names
	// Own reports whether the engine itself sent a message, so that its facts say so. Nil means never.
	Own func(context.Context, service.Message) (bool, error)
}

// An Offline reads recorded events like a Desk, without a service: it has no client that could call
// one.
type Offline struct{ desk *Desk }

// NewOffline returns an Offline.
func NewOffline(o OfflineOptions) *Offline {
	profile := o.Profile
	if profile == nil {
		usual := service.DefaultProfile()
		profile = &usual
	}
	directory := service.NewOfflineDirectory(o.Snapshot)
	return &Offline{&Desk{desk: &desk{profile: profile, directory: directory, facts: NewFacts(directory, o.Own)}, own: ownEvents(*profile)}}
}

// Carried is Desk.Carried. A moved card that the event carries incompletely is missing, and so are
// names that are not in the snapshot.
func (o *Offline) Carried(ctx context.Context, e rules.Event) (map[string]any, actions.Subject, error) {
	return o.desk.Carried(ctx, e)
}

// HasLabel is Desk.HasLabel. A label that is not in the snapshot is a permanent error.
func (o *Offline) HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error) {
	return o.desk.HasLabel(ctx, fact, label)
}

// LabelNames is Desk.LabelNames. A label that is not in the snapshot is a permanent error.
func (o *Offline) LabelNames(ctx context.Context, fact map[string]any) ([]any, error) {
	names, err := o.desk.LabelNames(ctx, fact)
	if ids, _ := fact["label_ids"].([]any); err == nil && len(names) < len(ids) {
		return nil, actions.Permanent(errors.New("the names of some labels are not known"))
	}
	return names, err
}
