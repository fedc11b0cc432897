package subscription

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quandohq/quando/service"
)

const (
	// firstPause is how long nothing is tried after an attempt to get a secret has failed. It
	// doubles with each that follows, up to mostPause.
	firstPause = 5 * time.Second
	mostPause  = 10 * time.Minute
)

// attempts are those to get a secret that were made by themselves and failed. Nothing that comes
// from outside makes the next one come earlier: each may leave the service with a secret that
// nobody knows, and strangers can send as many wrong signatures as they like.
type attempts struct {
	failed int
	again  time.Time // when the next may be made
	why    error     // that the last one failed
}

// due returns why an attempt must not be made yet; nil is that it may.
func (a *attempts) due(now time.Time) error {
	if now.Before(a.again) {
		return a.why
	}
	return nil
}

// end notes what came of an attempt.
func (a *attempts) end(now time.Time, err error) {
	if err == nil {
		*a = attempts{}
		return
	}
	pause := min(firstPause<<min(a.failed, 10), mostPause)
	*a = attempts{failed: a.failed + 1, again: now.Add(pause), why: err}
}

// attempt lets f get a secret, unless it is too early for that.
func (s *Subscription) attempt(f func() error) error {
	s.mu.Lock()
	err := s.attempts.due(s.options.Now())
	s.mu.Unlock()
	if err != nil {
		return err
	}
	if err = f(); onlyBusy(err) {
		return err // it was not made
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts.end(s.options.Now(), err)
	return err
}

// untilAttempt returns how long it is until an attempt may be made that was put off; 0 is that none
// was.
func (s *Subscription) untilAttempt() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.attempts.failed == 0 {
		return 0
	}
	return max(s.attempts.again.Sub(s.options.Now()), time.Second)
}

// register registers the webhook. It is written down before, and what the service answered after
// it: in between nobody knows its secret.
func (s *Subscription) register(ctx context.Context, events []string) (*service.Webhook, error) {
	key, err := s.options.Keys(true) // another webhook takes no secret from anybody
	if err != nil {
		return nil, err
	}
	before := record{}
	begun, _, err := s.begin(ctx, "register", func(r *record) bool {
		before = *r
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
		return nil, s.abandon(ctx, before, false, explain(err))
	}
	if own, _ := s.own(hooks, &record{}); own != nil {
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

// asked is how a person asks for a rotation. It is wanted in any case.
type asked struct {
	revoke bool // from now on the secrets before it do not count
}

// rotate replaces the secret of a webhook, unless that is not wanted any more when nobody else can
// do it meanwhile. Asked is nil where it is done by itself.
func (s *Subscription) rotate(ctx context.Context, webhook, why string, asked *asked, wanted func(*record) bool) error {
	key, err := s.key(asked != nil)
	if err != nil {
		return err
	}
	before := record{}
	begun, ok, err := s.begin(ctx, "rotate", func(r *record) bool {
		before = *r
		if asked != nil && asked.revoke {
			r.Revoke = true
		}
		return asked != nil || wanted(r)
	})
	if !ok {
		return err
	}
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), calling) // whoever stops waits for an answer that would be lost
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

// storing is how long it may take to record what the service answered, also when everything is
// being stopped.
const storing = 10 * time.Second

// store records a secret that the service gave us.
func (s *Subscription) store(ctx context.Context, begun *record, key *Key, w service.Webhook) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	return s.finish(ctx, begun, kept{Sealed: key.seal(w.Secret, s.purpose(w.ID)), Key: key.id, Webhook: w.ID, Since: s.options.Now()})
}

// abandon gives up a change and returns why. Unless the service may have made it, the record is as
// it was before.
func (s *Subscription) abandon(ctx context.Context, before record, unsure bool, why error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storing)
	defer cancel()
	if err := s.end(ctx, before, unsure); err != nil && why == nil {
		return err
	}
	return why
}

// Rotate replaces the webhook's secret because a person asks for it. It returns until when the one
// before it counts for what was signed with it; with revoke that is now, also where the answer of
// the service is lost.
func (s *Subscription) Rotate(ctx context.Context, revoke bool) (until time.Time, err error) {
	s.tending.Lock()
	defer s.tending.Unlock()
	own, _, err := s.Find(ctx)
	if err != nil {
		return time.Time{}, err
	}
	if own == nil {
		return time.Time{}, s.noWebhook()
	}
	if err := s.rotate(ctx, own.ID, "somebody asked for it", &asked{revoke}, nil); err != nil {
		if service.IsUncertain(err) {
			err = fmt.Errorf("nobody knows whether the secret was replaced, so it has to be once more: an engine that runs does that by itself, or quando webhook rotate again: %w", err)
		}
		return time.Time{}, err
	}
	s.mu.Lock()
	s.attempts.end(s.options.Now(), nil)
	s.mu.Unlock()
	if revoke {
		return s.options.Now(), nil
	}
	return s.options.Now().Add(s.keepRetired()), nil
}
