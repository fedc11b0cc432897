package process

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

const (
	// unreachedEvery is how often it is logged that no webhook leads here.
	unreachedEvery = 3 * time.Minute
	// registering is how long a managed webhook may take to be registered.
	registering = 20 * time.Second
)

// notesDelivery returns count, and notes the first delivery that is accepted.
func (u *Unit) notesDelivery(count func(webhook.Outcome)) func(webhook.Outcome) {
	return func(o webhook.Outcome) {
		if o == webhook.Recorded || o == webhook.Duplicate {
			u.delivered.Store(true)
		}
		count(o)
	}
}

// tellUnreached logs, again and again, that no webhook leads here, until a delivery was accepted.
// Rules that no event starts need none.
func (u *Unit) tellUnreached(ctx context.Context, every time.Duration, set func() *rules.Set, log *slog.Logger) {
	wait := time.Duration(0)
	if u.subscription != nil {
		wait = min(registering, every)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = every
		if u.delivered.Load() {
			return
		}
		if u.listens(set()) && u.unreached(ctx) {
			log.Error("NO WEBHOOK LEADS HERE: the service tells this engine nothing, so that rules answer late or never. Set service.webhook.public_url to the https address under which the service reaches this machine, or see quando webhook --help",
				"workspace", u.Name, "public_url", u.Service.Webhook.PublicURL, "told_again_in", every.String())
		}
	}
}

// listens reports whether a rule waits for something that the service has to tell.
func (u *Unit) listens(set *rules.Set) bool {
	return set != nil && slices.ContainsFunc(set.Rules, func(r *rules.Rule) bool { return len(r.Listens()) > 0 })
}

// unreached reports whether the service has no webhook that is on and leads here. Without a public
// address, any may lead here. A service that does not tell is not said to have none.
func (u *Unit) unreached(ctx context.Context) bool {
	all, err := u.Client.Patient().ListWebhooks(ctx)
	if err != nil {
		return false
	}
	if u.Service.Webhook.PublicURL != "" {
		all = u.ownHooks(all)
	}
	return !slices.ContainsFunc(all, func(h service.Webhook) bool { return h.Active })
}
