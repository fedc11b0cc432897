package builtin

import (
	"context"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// OfflineOptions say what an Offline works with. Every zero value works.
type OfflineOptions struct {
	Profile  *service.Profile // nil is the usual one
	Snapshot service.Snapshot // of the names that were known
	// Own reports whether the engine itself sent a message, so that its facts say so. Nil is never.
	Own func(context.Context, service.Message) (bool, error)
}

// An Offline reads recorded events as a Desk does, without a service: it has no client, so there is
// nothing that it could ask.
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

// Carried is Desk.Carried. A moved card of which the event shows a part only is not there, and what
// has no name in the snapshot has none.
func (o *Offline) Carried(ctx context.Context, e rules.Event) (map[string]any, actions.Subject, error) {
	return o.desk.Carried(ctx, e)
}

// HasLabel is Desk.HasLabel. A label that the snapshot does not know is an error that no repeat
// mends.
func (o *Offline) HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error) {
	return o.desk.HasLabel(ctx, fact, label)
}
