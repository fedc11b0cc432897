package subscription

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook"
)

const (
	// rereads is the shortest time between two reads of the record because a signature matches no
	// secret: forged signatures must not keep the journal busy.
	rereads = 200 * time.Millisecond

	// believed is how long a read record is used while deliveries arrive: after that, a revoked secret
	// is no longer accepted.
	believed = time.Second

	// secretWait is how long a delivery waits for a secret that is being created; the service wants an
	// answer within 8 seconds. At most maxWaiting deliveries wait.
	secretWait = 4 * time.Second
	maxWaiting = 32
)

// valid is a set of secrets and when it changes.
type valid struct {
	current []service.Secret
	retired []retiredSecret
	until   time.Time // when the first of them expires; zero is never
	from    *record   // to compute the next set from
}

// A retiredSecret verifies what was signed until a time.
type retiredSecret struct {
	service.Secret
	signed time.Time // zero means that any time is accepted
}

// Secrets returns the secrets that verify what was signed at a time: the configured ones, the one
// last issued by the service, and its predecessors.
func (s *Subscription) Secrets(signed time.Time) []service.Secret {
	s.keepUp()
	v := s.valid.Load()
	if !v.until.IsZero() && !s.options.Now().Before(v.until) {
		s.mu.Lock()
		v = s.validFrom(v.from)
		s.valid.Store(v)
		s.mu.Unlock()
	}
	if len(v.retired) == 0 {
		return v.current
	}
	list := slices.Clone(v.current)
	for _, one := range v.retired {
		if one.signed.IsZero() || !signed.After(one.signed) {
			list = append(list, one.Secret)
		}
	}
	return list
}

// keepUp reads the record in the background if the last read is too old. Deliveries use the known
// secrets meanwhile.
func (s *Subscription) keepUp() {
	s.mu.Lock()
	mine := !s.reading && time.Since(s.read) >= believed
	s.reading = s.reading || mine
	s.mu.Unlock()
	if mine {
		ctx, cancel := context.WithTimeout(context.Background(), believed)
		defer cancel()
		_ = s.readOnce(ctx) // the next delivery retries
	}
}

// readOnce reads the record once for all concurrent callers.
func (s *Subscription) readOnce(ctx context.Context) error {
	began := time.Now()
	_, err := s.load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read, s.reading = began, false
	return err
}

// validFrom returns the secrets of a record that are valid now and can be opened. While a
// revocation is pending, none of the record's are.
func (s *Subscription) validFrom(r *record) *valid {
	now := s.options.Now()
	v := &valid{current: slices.Clone(s.options.Secrets), from: r}
	if r == nil || r.Revoke {
		return v
	}
	for _, k := range r.Secrets {
		if !k.Until.IsZero() && !now.Before(k.Until) {
			continue
		}
		if plain := s.opened[string(k.Sealed)]; plain == "" {
			continue
		} else if k.Until.IsZero() {
			v.current = append(v.current, plain)
			continue
		} else if s.options.Retired > 0 {
			v.retired = append(v.retired, retiredSecret{Secret: plain})
		} else {
			v.retired = append(v.retired, retiredSecret{plain, k.retired().Add(webhook.MaxAge)})
		}
		if v.until.IsZero() || k.Until.Before(v.until) {
			v.until = k.Until
		}
	}
	return v
}

// unseal opens the secrets of a record and puts them to use.
func (s *Subscription) unseal(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opened := make(map[string]service.Secret, len(r.Secrets))
	s.locked = nil
	for i, k := range r.Secrets {
		plain, err := s.opened[string(k.Sealed)], error(nil)
		if plain == "" {
			plain, err = s.unsealOne(k)
		}
		if err != nil && i == 0 {
			s.locked = err // older ones expire anyway
		}
		if err == nil {
			opened[string(k.Sealed)] = plain
		}
	}
	s.opened, s.doing, s.unsure = opened, r.Doing, r.Unsure
	if !r.Unsure {
		s.awaited = ""
	}
	s.valid.Store(s.validFrom(r))
}

func (s *Subscription) unsealOne(k storedSecret) (service.Secret, error) {
	key, err := s.options.Keys(false)
	if err != nil {
		return "", lockedError{err}
	}
	if key.id != k.Key {
		return "", lockedError{fmt.Errorf("it is the key %s that it was sealed with, and this is %s", k.Key, key.id)}
	}
	plain, err := key.open(k.Sealed, s.sealPurpose(k.Webhook))
	if err != nil {
		return "", lockedError{err}
	}
	return plain, nil
}

// lockedError means that the journal has a secret that the key does not open.
type lockedError struct{ cause error }

func (e lockedError) Error() string {
	return fmt.Sprintf("the webhook's secret in the journal cannot be opened: %v; start with the key of before (QUANDO_SECRET_KEY, or the key file), or, if it is lost, quando webhook rotate gets another secret", e.cause)
}

func (e lockedError) Unwrap() error { return e.cause }

// key returns the key to seal a secret with. While the journal has a secret that only another key
// opens, it creates and uses no new key unless a person asks for that: the other key may be the
// right one, in use by another engine.
func (s *Subscription) key(asked bool) (*Key, error) {
	s.mu.Lock()
	locked := s.locked
	s.mu.Unlock()
	if locked != nil && !asked {
		return nil, locked
	}
	return s.options.Keys(true)
}

// Load reads the record, so that deliveries can be verified before the first call to the service.
func (s *Subscription) Load(ctx context.Context) error {
	if _, err := s.load(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked
}

// Renew returns the secrets that verify what was signed at a time, for a signature that matches
// none of Secrets: another engine or a command may have rotated the secret. If a rotation is in
// progress, it waits a moment for it.
func (s *Subscription) Renew(ctx context.Context, signed time.Time) []service.Secret {
	s.mu.Lock()
	s.refused++
	full := s.waiting >= maxWaiting
	if !full {
		s.waiting++
	}
	s.mu.Unlock()
	if full {
		return s.Secrets(signed) // the service retries the genuine ones
	}
	defer func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, secretWait)
	defer cancel()
	for s.reread(ctx, time.Now()) {
		s.mu.Lock()
		d, unsure := s.doing, s.unsure
		s.mu.Unlock()
		if d == nil || !s.underway(d, s.options.Now()) {
			if unsure {
				s.takeOver(d)
			}
			break
		}
	}
	return s.Secrets(signed)
}

// takeOver wakes the subscription because another process left the webhook with an unknown secret,
// or did not finish a change; the first delivery that matches no secret shows that. Each change
// wakes it once: a delivery may be forged.
func (s *Subscription) takeOver(d *pendingChange) {
	name := "given up"
	if d != nil {
		name = d.By + " " + d.Until.String()
	}
	s.mu.Lock()
	news := s.awaited != name
	s.awaited = name
	s.mu.Unlock()
	if news {
		s.Wake()
	}
}

// reread reads the record again if the last read began before a time, shared with other callers and
// rate-limited. It reports whether ctx left time for it.
func (s *Subscription) reread(ctx context.Context, after time.Time) bool {
	for {
		s.mu.Lock()
		since := time.Since(s.read)
		done := s.read.After(after)
		mine := !done && !s.reading && since >= rereads
		s.reading = s.reading || mine
		s.mu.Unlock()
		switch {
		case done:
			return ctx.Err() == nil
		case mine:
			err := s.readOnce(ctx) // the service retries the delivery
			return err == nil && ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(max(rereads-since, 10*time.Millisecond)):
		}
	}
}

// takeRefused returns how many signatures have matched no secret since the last call.
func (s *Subscription) takeRefused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.refused
	s.refused = 0
	return n
}
