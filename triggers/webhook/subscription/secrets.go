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
	// rereads is how often at most the record is read because a signature fits no secret: whoever
	// forges signatures must not keep the journal busy.
	rereads = 200 * time.Millisecond

	// believed is how long the record is believed to be as it was read, while deliveries come:
	// after that a secret that was revoked does not count any more.
	believed = time.Second

	// patience is how long a delivery waits for a secret that is being made; the service wants an
	// answer within 8 seconds. At most mostWaiting do.
	patience    = 4 * time.Second
	mostWaiting = 32
)

// valid is the secrets that are valid until a time.
type valid struct {
	current []service.Secret
	retired []retiredSecret
	until   time.Time // when one of them ends; zero is never
	from    *record   // with which they are found anew
}

// A retiredSecret counts for what was signed until a time.
type retiredSecret struct {
	service.Secret
	signed time.Time // zero is any
}

// Secrets returns the secrets that count for what was signed at a time: the configured ones, the
// one that the service was last asked for, and those before it.
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

// keepUp reads the record where nobody has for a while. Meanwhile others go by what is known.
func (s *Subscription) keepUp() {
	s.mu.Lock()
	mine := !s.reading && time.Since(s.read) >= believed
	s.reading = s.reading || mine
	s.mu.Unlock()
	if mine {
		ctx, cancel := context.WithTimeout(context.Background(), believed)
		defer cancel()
		_ = s.readOnce(ctx) // what cannot be read now is read by the next delivery
	}
}

// readOnce reads the record for all who wait for it.
func (s *Subscription) readOnce(ctx context.Context) error {
	began := time.Now()
	_, err := s.load(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read, s.reading = began, false
	return err
}

// validFrom returns the secrets that are valid now, of those that can be opened. While a secret is
// to be revoked none of the record's counts.
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

// unseal puts the secrets of a record to use.
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
			s.locked = err // of older ones there is nothing to say: they come to their end by themselves
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

func (s *Subscription) unsealOne(k kept) (service.Secret, error) {
	key, err := s.options.Keys(false)
	if err != nil {
		return "", lockedError{err}
	}
	if key.id != k.Key {
		return "", lockedError{fmt.Errorf("it is the key %s that it was sealed with, and this is %s", k.Key, key.id)}
	}
	plain, err := key.open(k.Sealed, s.purpose(k.Webhook))
	if err != nil {
		return "", lockedError{err}
	}
	return plain, nil
}

// lockedError says that the journal has a secret that cannot be opened.
type lockedError struct{ cause error }

func (e lockedError) Error() string {
	return fmt.Sprintf("the webhook's secret in the journal cannot be opened: %v; start with the key of before (QUANDO_SECRET_KEY, or the key file), or, if it is lost, quando webhook rotate gets another secret", e.cause)
}

func (e lockedError) Unwrap() error { return e.cause }

// key returns the key to seal a secret with. Unless a person asks for it, none is made, and none
// takes the place of another, while the journal has a secret that only that other one opens: it may
// be the right one, with which another engine is at work.
func (s *Subscription) key(asked bool) (*Key, error) {
	s.mu.Lock()
	locked := s.locked
	s.mu.Unlock()
	if locked != nil && !asked {
		return nil, locked
	}
	return s.options.Keys(true)
}

// Load reads what the journal has, so that deliveries can be verified before the service was asked
// for anything.
func (s *Subscription) Load(ctx context.Context) error {
	if _, err := s.load(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked
}

// Renew returns the secrets that count for what was signed at a time, for a signature that fits
// none of those that Secrets gave: another engine, or a command, may have asked for one. Where one
// is being asked for, it waits a moment for it.
func (s *Subscription) Renew(ctx context.Context, signed time.Time) []service.Secret {
	s.mu.Lock()
	s.refused++
	full := s.waiting >= mostWaiting
	if !full {
		s.waiting++
	}
	s.mu.Unlock()
	if full {
		return s.Secrets(signed) // what is genuine among so many is delivered again
	}
	defer func() {
		s.mu.Lock()
		s.waiting--
		s.mu.Unlock()
	}()
	ctx, cancel := context.WithTimeout(ctx, patience)
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

// takeOver has the webhook looked at because somebody else has left it with a secret that nobody
// knows, or has not come back from a change, as the first delivery shows that no secret fits. There
// is one look for each change: a delivery may be forged.
func (s *Subscription) takeOver(d *task) {
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

// reread has the record read once more after a time, together with everybody else who wants it, and
// not too often. It reports whether there was time for it.
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
			err := s.readOnce(ctx) // what cannot be read at the moment may be read when it is delivered again
			return err == nil && ctx.Err() == nil
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(max(rereads-since, 10*time.Millisecond)):
		}
	}
}

// takeRefused returns how many signatures fitted no secret since it was last asked.
func (s *Subscription) takeRefused() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := s.refused
	s.refused = 0
	return n
}
