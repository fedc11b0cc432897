package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/service"
)

const (
	// firstPause is the backoff after a failed attempt to get a secret. It doubles with each further
	// failure, up to maxPause.
	firstPause = 5 * time.Second
	maxPause   = 10 * time.Minute
)

// attempts tracks the automatic attempts to get a secret. No input from outside makes the next one
// come earlier: each may leave the service with an unknown secret, and anyone can send wrong
// signatures.
type attempts struct {
	failed int
	again  time.Time // when the next is allowed
	why    error     // the error of the last one
}

// due returns why an attempt is not allowed yet, or nil.
func (a *attempts) due(now time.Time) error {
	if now.Before(a.again) {
		return a.why
	}
	return nil
}

// recordResult records the result of an attempt.
func (a *attempts) recordResult(now time.Time, err error) {
	if err == nil {
		*a = attempts{}
		return
	}
	pause := min(firstPause<<min(a.failed, 10), maxPause)
	*a = attempts{failed: a.failed + 1, again: now.Add(pause), why: err}
}

// attempt calls f to get a secret, unless the backoff has not passed.
func (s *Subscription) attempt(f func() error) error {
	s.mu.Lock()
	err := s.attempts.due(s.options.Now())
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err = f(); onlyBusy(err) {
		return err // not attempted
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts.recordResult(s.options.Now(), err)
	return err
}

// untilAttempt returns how long until a postponed attempt is allowed; 0 if none is.
func (s *Subscription) untilAttempt() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts.failed == 0 {
		return 0
	}
	return max(s.attempts.again.Sub(s.options.Now()), time.Second)
}

// register registers the webhook. It records the intent before the call and the answer after it: in
// between the secret is unknown.
func (s *Subscription) register(ctx context.Context, events []string) (*service.Webhook, error) {
	key, err := s.options.Keys(true) // a new webhook replaces no secret that an old key opens
	if err != nil {
		return nil, err
	}
	before := record{}
	begun, _, err := s.beginChange(ctx, "register", func(r *record) bool {
		before = *r
		return true
	})
	if err != nil {
		return nil, err
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), calling) // a shutdown waits for the answer, which would be lost
	defer cancel()
	// Another process may have registered it before the intent was recorded; from here on none can.
	hooks, err := s.options.Client.ListWebhooks(call)
	if err != nil {
		return nil, s.abandon(ctx, before, false, explain(err))
	}
	if own, _ := s.ownWebhook(hooks, &record{}); own != nil {
		return own, s.abandon(ctx, before, false, nil)
	}
	w, err := s.options.Client.RegisterWebhook(call, service.NewWebhook{Name: s.options.Name, URL: s.options.URL, Events: events})
	if err != nil {
		return nil, s.abandon(ctx, before, service.IsUncertain(err), s.refusedAddress(err, len(hooks)))
	}
	w.URL, w.Events, w.Active = s.options.URL, events, true // an answer need not repeat them
	s.repaired(Registered, "the webhook is registered", "webhook", w.ID, "events", events)
	if w.Secret == "" {
		return &w, s.abandon(ctx, before, true, errors.New("the webhook is registered, but the answer carries its secret under no name that the profile knows (webhook.secret)"))
	}
	return &w, s.store(ctx, begun, key, w)
}

// asked is a person's request to rotate. It is carried out in any case.
type asked struct {
	revoke bool // stop accepting the earlier secrets
}

// rotate replaces the secret of a webhook, if wanted still says so once no other process can do it.
// Asked is nil for an automatic rotation.
func (s *Subscription) rotate(ctx context.Context, webhook, why string, asked *asked, wanted func(*record) bool) error {
	key, err := s.key(asked != nil)
	if err != nil {
		return err
	}
	before := record{}
	begun, ok, err := s.beginChange(ctx, "rotate", func(r *record) bool {
		before = *r
		if asked != nil && asked.revoke {
			r.Revoke = true
		}
		return asked != nil || wanted(r)
	})
	if !ok {
		return err
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), calling) // a shutdown waits for the answer, which would be lost
	defer cancel()
	w, err := s.options.Client.RotateSecret(call, webhook)
	if err != nil {
		return s.abandon(ctx, before, service.IsUncertain(err), explain(err))
	}
	if err := s.store(ctx, begun, key, w); err != nil {
		return err
	}
	s.repaired(Rotated, "the webhook's secret was replaced", "webhook", webhook, "because", why)
	return nil
}

// storing is the timeout to record the service's answer, also during shutdown.
const storing = 10 * time.Second

// store records a secret that the service has issued.
func (s *Subscription) store(ctx context.Context, begun *record, key *Key, w service.Webhook) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	return s.finishChange(ctx, begun, storedSecret{Sealed: key.seal(w.Secret, s.sealPurpose(w.ID)), Key: key.id, Webhook: w.ID, Since: s.options.Now()})
}

// abandon cancels a change and returns why. Unless the service may have made it, it restores the
// record.
func (s *Subscription) abandon(ctx context.Context, before record, unsure bool, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	if err := s.cancelChange(ctx, before, unsure); err != nil && why == nil {
		return err
	}
	return why
}

// Rotate replaces the webhook's secret on a person's request. It returns until when the old one is
// accepted for what was signed with it; with revoke that is now, even if the answer of the service
// is lost.
func (s *Subscription) Rotate(ctx context.Context, revoke bool) (until time.Time, err error) {
	s.checking.Lock()
	defer s.checking.Unlock()
	own, _, err := s.Find(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if own == nil {
		return time.Time{}, s.noWebhook()
	}
	if err := s.rotate(ctx, own.ID, "requested by hand", &asked{revoke}, nil); err != nil {
		if service.IsUncertain(err) {
			err = fmt.Errorf("it is not known whether the secret was replaced, so it is replaced once more: an engine that runs does that by itself, or quando webhook rotate again: %w", err)
		}
		return time.Time{}, err
	}
	s.mu.Lock()
	s.attempts.recordResult(s.options.Now(), nil)
	s.mu.Unlock()
	if revoke {
		return s.options.Now(), nil
	}
	return s.options.Now().Add(s.keepRetired()), nil
}
