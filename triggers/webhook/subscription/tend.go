package subscription

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// Tend checks the webhook once, and repairs it.
func (s *Subscription) Tend(ctx context.Context) error {
	s.checking.Lock()
	defer s.checking.Unlock()
	s.mu.Lock()
	known := s.known
	s.mu.Unlock()
	if !known {
		return nil // the rules are not loaded yet
	}
	seen, err := s.tend(ctx)
	if errors.Is(ctx.Err(), context.Canceled) {
		return err // a shutdown is no problem
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil && !onlyBusy(err) {
		s.status.Problem = err.Error()
		if seen == nil {
			return err // the last status is still the best known
		}
		seen.Problem = err.Error()
	}
	if seen == nil {
		return err
	}
	s.status = *seen
	s.status.Checked = s.options.Now()
	return err
}

// tend returns the webhook's status, or nil if it is unknown.
func (s *Subscription) tend(ctx context.Context) (*Status, error) {
	r, err := s.declare(ctx)
	if err != nil {
		return nil, err
	}
	hooks, err := s.options.Client.ListWebhooks(ctx)
	if err != nil {
		return nil, explain(err)
	}
	own, more := s.ownWebhook(hooks, r)
	errs := []error{more}
	if own != nil {
		// Activation comes first: later calls may take long, or make the service ask for a pause.
		own, err = s.revive(ctx, r, own)
		errs = append(errs, err)
	}
	want, missing, wantErr := s.wanted(ctx, r, own)
	errs = append(errs, wantErr)
	switch {
	case own == nil && len(want) == 0 && wantErr != nil:
		return nil, wantErr
	case own == nil && len(want) == 0:
		return &Status{Idle: true, Missing: missing}, nil
	case own == nil:
		if err = s.attempt(func() error { own, err = s.register(ctx, want); return err }); err != nil {
			return &Status{Missing: missing}, errors.Join(distinct([]error{wantErr, err})...)
		}
	}
	own, err = s.subscribe(ctx, own, want)
	errs = append(errs, err)
	if (err == nil || errors.Is(err, errUnmoved)) && s.takeRefused() > 0 {
		errs = append(errs, s.verifySecret(ctx, own))
	}
	s.mu.Lock()
	errs = append(errs, s.locked)
	s.mu.Unlock()
	st := &Status{Webhook: own.ID, Active: own.Active, Events: own.Events, Missing: missing}
	if wantErr != nil {
		st.Missing = s.Status().Missing
	}
	if r, err := s.load(ctx); err == nil && r.current() != nil {
		st.Rotated = r.current().Since
	}
	return st, errors.Join(distinct(errs)...)
}

// distinct removes repeated errors: one cause may affect several steps.
func distinct(errs []error) (list []error) {
	said := map[string]bool{}
	for _, err := range errs {
		if err != nil && !said[err.Error()] {
			said[err.Error()] = true
			list = append(list, err)
		}
	}
	return list
}

// declare reads the record and adds the events that our rules need, if other engines share it. It
// drops expired secrets.
func (s *Subscription) declare(ctx context.Context) (*record, error) {
	s.mu.Lock()
	events := s.rules
	s.mu.Unlock()
	return s.change(ctx, func(r *record) (bool, error) {
		now := s.options.Now()
		changed := r.dropExpired(now)
		if s.options.Beside {
			return changed, nil
		}
		n := len(r.Needs)
		maps.DeleteFunc(r.Needs, func(name string, one need) bool {
			return s.options.Alone || name != s.me && now.Sub(one.At) >= needed
		})
		changed = changed || len(r.Needs) != n
		mine, said := r.Needs[s.me]
		if !s.options.Alone && (!said || !slices.Equal(mine.Events, events) || now.Sub(mine.At) >= needed/3) {
			if r.Needs == nil {
				r.Needs = map[string]need{}
			}
			r.Needs[s.me], changed = need{Events: events, At: now}, true
		}
		return changed, nil
	})
}

// wanted returns the events to subscribe to, and those that are needed but not available. Engines
// that share a journal may have different rules for a while: the webhook delivers what all of them
// need. If the service does not list the available events, wanted returns an error besides, and the
// other results stay valid.
func (s *Subscription) wanted(ctx context.Context, r *record, own *service.Webhook) (want, missing []string, err error) {
	available, err := s.available(ctx)
	if len(available) == 0 {
		available = documented
		if own != nil {
			available = slices.Concat(documented, own.Events)
		}
	}
	s.mu.Lock()
	needs := slices.Clone(s.rules)
	s.mu.Unlock()
	for _, one := range r.Needs {
		if s.options.Now().Sub(one.At) < needed {
			needs = append(needs, one.Events...)
		}
	}
	for _, name := range vocabulary.EventTypes() {
		switch {
		case !slices.Contains(needs, name):
		case slices.Contains(available, name):
			want = append(want, name)
		default:
			missing = append(missing, name)
		}
	}
	if err != nil {
		return want, missing, err
	}
	s.mu.Lock()
	news := !s.told || !slices.Equal(s.missing, missing)
	s.told, s.missing = true, missing
	s.mu.Unlock()
	if news {
		if len(missing) > 0 {
			s.options.Logger.Warn("the rules need events that cannot be subscribed to", "events", missing)
		}
		s.options.Missing(slices.Clone(missing))
	}
	return want, missing, nil
}

const (
	// asking is the timeout to list the available events: a check has more to do.
	asking = 10 * time.Second

	// unanswered is the pause after the list failed: a 429 delays all calls of the workspace.
	unanswered = 5 * time.Minute
)

// available returns the events available to subscribe to; with an error, the last known ones, if
// any.
func (s *Subscription) available(ctx context.Context) ([]string, error) {
	if s.options.Now().Before(s.askAgain) {
		return s.offered, s.unsaid
	}
	call, cancel := context.WithTimeout(ctx, s.asking)
	defer cancel()
	offered, err := s.options.Client.ListEvents(call)
	if err != nil {
		s.askAgain = s.options.Now().Add(unanswered)
		s.unsaid = fmt.Errorf("the service does not say which events can be subscribed to, so those of its reference are taken: %w", explain(err))
		return s.offered, s.unsaid
	}
	s.offered = offered
	return offered, nil
}

// documented are the events that the service's reference allows in a subscription. Others, such as
// those of cards, are used only if the service lists them.
var documented = vocabulary.DocumentedEvents()

// secretUnknown reports whether the service may sign with an unknown secret.
func (s *Subscription) secretUnknown(r *record, own *service.Webhook) bool {
	current := r.current()
	return r.Unsure || (current == nil || current.Webhook != own.ID) && len(s.options.Secrets) == 0
}

// revive replaces an unknown secret and activates the webhook. The secret comes first: an active
// webhook with an unknown secret delivers what is refused.
func (s *Subscription) revive(ctx context.Context, r *record, own *service.Webhook) (*service.Webhook, error) {
	var errs []error
	if s.secretUnknown(r, own) {
		errs = append(errs, s.attempt(func() error {
			return s.rotate(ctx, own.ID, "its signing secret is not known", nil, func(r *record) bool { return s.secretUnknown(r, own) })
		}))
	}
	own, err := s.activate(ctx, own)
	return own, errors.Join(append(errs, err)...)
}

// activate activates the webhook.
func (s *Subscription) activate(ctx context.Context, own *service.Webhook) (*service.Webhook, error) {
	if own.Active {
		s.activated = ""
		return own, nil
	}
	if _, err := s.options.Client.UpdateWebhook(ctx, own.ID, service.WebhookPatch{Active: service.Set(true)}); err != nil {
		return own, explain(err)
	}
	after := *own
	after.Active = true
	shown := s.readWebhook(ctx, own.ID)
	if moved := shown != nil && shown.Active; !moved && s.activated == own.ID {
		return &after, fmt.Errorf("%w: it is shown as active false, and it was given active true; where the service calls that otherwise, set webhook.active in the profile", errUnmoved)
	} else if s.activated = own.ID; moved {
		s.activated = "" // if it is off at the next check, it was disabled again
	}
	s.repaired(Reactivated, "the webhook had been switched off; it is active again", "webhook", own.ID)
	return &after, nil
}

// readWebhook returns the webhook as shown after a change, or nil if unknown.
func (s *Subscription) readWebhook(ctx context.Context, id string) *service.Webhook {
	hooks, err := s.options.Client.ListWebhooks(ctx)
	i := slices.IndexFunc(hooks, func(h service.Webhook) bool { return h.ID == id })
	if err != nil || i < 0 {
		return nil
	}
	return &hooks[i]
}

// subscribe subscribes the webhook to what the rules need. Without wanted events it keeps those it
// has: it cannot have none.
func (s *Subscription) subscribe(ctx context.Context, own *service.Webhook, want []string) (*service.Webhook, error) {
	want = s.keepWaited(ctx, own.Events, want)
	if len(want) == 0 || sameSet(own.Events, want) {
		s.subscribed = ""
		return own, nil
	}
	if _, err := s.options.Client.UpdateWebhook(ctx, own.ID, service.WebhookPatch{Events: service.Set(want)}); err != nil {
		return own, explain(err)
	}
	after := *own
	after.Events = want
	before := fmt.Sprint(own.ID, slices.Sorted(slices.Values(own.Events)))
	shown := s.readWebhook(ctx, own.ID)
	if moved := shown != nil && sameSet(shown.Events, want); !moved && s.subscribed == before {
		return &after, fmt.Errorf("%w: it is shown with the events %v, and it was given the events %v; where the service calls these otherwise, set webhook.events in the profile", errUnmoved, own.Events, want)
	} else if s.subscribed = before; moved {
		s.subscribed = ""
	}
	s.repaired(Resubscribed, "the webhook is subscribed to what the rules need", "webhook", own.ID, "events", want, "before", own.Events)
	return &after, nil
}

// errUnmoved means that the service accepted a change and does not show it. Each check makes it
// again, but counts it once: it may have been made and not be shown.
var errUnmoved = errors.New("the webhook stays as it was after it was changed")

// keepWaited adds to the wanted events those that only runs of earlier rules still wait for.
func (s *Subscription) keepWaited(ctx context.Context, has, want []string) []string {
	spare := slices.DeleteFunc(slices.Clone(has), func(name string) bool { return slices.Contains(want, name) })
	if len(want) == 0 || len(spare) == 0 || s.options.Waits == nil {
		return want
	}
	waited, err := s.options.Waits(ctx, spare)
	if err != nil {
		s.options.Logger.Debug("what unfinished runs wait for is not known, so the webhook keeps all its events", "error", err)
		waited = spare
	}
	return append(slices.Clone(want), waited...)
}

func sameSet(a, b []string) bool {
	a, b = slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

// rotateAgain is the shortest time between two rotations because the service reports refused
// deliveries: they may have another cause.
const rotateAgain = 10 * time.Minute

// verifySecret replaces the secret if the service signs with an unknown one, as after a manual
// rotation. Anyone can send a wrong signature, so it acts only if the service itself reports that
// its latest delivery was refused.
func (s *Subscription) verifySecret(ctx context.Context, own *service.Webhook) error {
	deliveries, err := s.options.Client.ListDeliveries(ctx, own.ID)
	if err != nil {
		return explain(err)
	}
	var latest *service.Delivery
	for i, d := range deliveries {
		if d.ResponseStatus != 0 && (latest == nil || d.At.After(latest.At)) {
			latest = &deliveries[i]
		}
	}
	if latest == nil || latest.ResponseStatus != http.StatusUnauthorized {
		return nil
	}
	return s.attempt(func() error {
		return s.rotate(ctx, own.ID, "the service signs with another secret than the one that is known", nil, func(r *record) bool {
			current := r.current()
			return current == nil || s.options.Now().Sub(current.Since) >= rotateAgain
		})
	})
}
