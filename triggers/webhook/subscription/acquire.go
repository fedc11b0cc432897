package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/service"
)

// register registers the webhook. It is written down before, and what the service answered after it: in between nobody knows its secret.
func (s *Subscription) register(ctx context.Context, events []string) (*service.Webhook, error) {
	key, err := s.options.Keys(true) // another webhook takes no secret from anybody
	if err != nil {
		return nil, err
	}
	unsure := false
	begun, _, err := s.begin(ctx, "register", func(r *record) bool {
		unsure = r.Unsure
		return true
	})
	if err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), calling) // whoever stops waits for an answer that would be lost
	defer cancel()
	// Somebody else may have registered it before we began; from here on nobody else can.
	hooks, err := s.options.Client.ListWebhooks(call)
	if err != nil {
		return nil, s.abandon(ctx, unsure, explain(err))
	}
	if own, _ := s.own(hooks, &record{}); own != nil {
		return own, s.abandon(ctx, unsure, nil)
	}
	w, err := s.options.Client.RegisterWebhook(call, service.NewWebhook{Name: s.options.Name, URL: s.options.URL, Events: events})
	if err != nil {
		return nil, s.abandon(ctx, unsure || service.IsUncertain(err), s.refusedAddress(err, len(hooks)))
	}
	w.URL, w.Events, w.Active = s.options.URL, events, true // an answer need not repeat them
	s.repaired(Registered, "the webhook is registered", "webhook", w.ID, "events", events)
	if w.Secret == "" {
		return &w, s.abandon(ctx, true, errors.New("the webhook is registered, but the answer carries its secret under no name that the profile knows (webhook.secret)"))
	}
	return &w, s.store(ctx, begun, key, w)
}

// rotate replaces the secret of a webhook, unless that is not wanted any more when nobody else can do it meanwhile.
func (s *Subscription) rotate(ctx context.Context, webhook, why string, wanted func(*record) bool) error {
	key, err := s.key(wanted == nil)
	if err != nil {
		return err
	}
	unsure := false
	begun, ok, err := s.begin(ctx, "rotate", func(r *record) bool {
		unsure = r.Unsure
		return wanted == nil || wanted(r)
	})
	if !ok {
		return err
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), calling) // whoever stops waits for an answer that would be lost
	defer cancel()
	w, err := s.options.Client.RotateSecret(call, webhook)
	if err != nil {
		return s.abandon(ctx, unsure || service.IsUncertain(err), explain(err))
	}
	if err := s.store(ctx, begun, key, w); err != nil {
		return err
	}
	s.repaired(Rotated, "the webhook's secret was replaced", "webhook", webhook, "because", why)
	return nil
}

// storing is how long it may take to record what the service answered, also when everything is being stopped.
const storing = 10 * time.Second

// store records a secret that the service gave us.
func (s *Subscription) store(ctx context.Context, begun *record, key *Key, w service.Webhook) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	return s.finish(ctx, begun, kept{Sealed: key.seal(w.Secret, s.purpose(w.ID)), Key: key.id, Webhook: w.ID, Since: s.options.Now()})
}

// abandon gives up a change and returns why.
func (s *Subscription) abandon(ctx context.Context, unsure bool, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	if err := s.end(ctx, unsure); err != nil && why == nil {
		return err
	}
	return why
}

// Rotate replaces the webhook's secret because a person asks for it. It returns until when the one before it is valid.
func (s *Subscription) Rotate(ctx context.Context) (until time.Time, err error) {
	s.tending.Lock()
	defer s.tending.Unlock()
	own, _, err := s.Find(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if own == nil {
		return time.Time{}, s.noWebhook()
	}
	if err := s.rotate(ctx, own.ID, "somebody asked for it", nil); err != nil {
		if service.IsUncertain(err) {
			err = fmt.Errorf("nobody knows whether the secret was replaced, so it has to be once more: an engine that runs does that by itself, or quando webhook rotate again: %w", err)
		}
		return time.Time{}, err
	}
	return s.options.Now().Add(overlap), nil
}
