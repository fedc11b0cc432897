package subscription

import (
	"context"
	"fmt"
	"time"

	"github.com/quandohq/quando/service"
)

const (
	// rereads is how often at most the record is read because a signature fits no secret: whoever forges signatures must not keep the journal busy.
	rereads = 200 * time.Millisecond

	// patience is how long a delivery waits for a secret that is being made; the service wants an answer within 8 seconds. At most mostWaiting do.
	patience    = 4 * time.Second
	mostWaiting = 32
)

// valid is the secrets that are valid until a time.
type valid struct {
	list  []service.Secret
	until time.Time // when one of them ends; zero is never
	from  []kept    // with which they are found anew
}

// Secrets returns the signing secrets that are valid now: the configured ones, the one that the service was last asked for, and those before it for as
// long as it may repeat what it has signed with them.
func (s *Subscription) Secrets() []service.Secret {
	v := s.valid.Load()
	if !v.until.IsZero() && !s.options.Now().Before(v.until) {
		s.mu.Lock()
		defer s.mu.Unlock()
		v = s.validFrom(v.from)
		s.valid.Store(v)
	}
	return v.list
}

// validFrom returns the secrets that are valid now, of those that can be opened.
func (s *Subscription) validFrom(all []kept) *valid {
	now := s.options.Now()
	v := &valid{list: append([]service.Secret(nil), s.options.Secrets...), from: all}
	for _, k := range all {
		if !k.Until.IsZero() && !now.Before(k.Until) {
			continue
		}
		if plain := s.opened[string(k.Sealed)]; plain != "" {
			v.list = append(v.list, plain)
		}
		if !k.Until.IsZero() && (v.until.IsZero() || k.Until.Before(v.until)) {
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
	s.opened, s.doing = opened, r.Doing
	s.valid.Store(s.validFrom(r.Secrets))
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

// key returns the key to seal a secret with. Unless a person asks for it, none is made, and none takes the place of another, while the journal has a
// secret that only that other one opens: it may be the right one, with which another engine is at work.
func (s *Subscription) key(asked bool) (*Key, error) {
	s.mu.Lock()
	locked := s.locked
	s.mu.Unlock()
	if locked != nil && !asked {
		return nil, locked
	}
	return s.options.Keys(true)
}

// Load reads what the journal has, so that deliveries can be verified before the service was asked for anything.
func (s *Subscription) Load(ctx context.Context) error {
	if _, err := s.load(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.locked
}

// Renew returns the secrets that are valid now, for a signature that fits none of those that Secrets gave: another engine, or a command, may have asked for
// one. Where one is being asked for, it waits a moment for it.
func (s *Subscription) Renew(ctx context.Context) []service.Secret {
	s.mu.Lock()
	s.refused++
	full := s.waiting >= mostWaiting
	if !full {
		s.waiting++
	}
	s.mu.Unlock()
	if full {
		return s.Secrets() // what is genuine among so many is delivered again
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
		d := s.doing
		s.mu.Unlock()
		if d == nil {
			break
		}
		if !s.underway(d, s.options.Now()) {
			s.takeOver(d)
			break
		}
	}
	return s.Secrets()
}

// takeOver has the webhook looked at because somebody has not come back from a change, which is
// known by the first delivery that no secret fits. One look for each change: a delivery may be
// forged.
func (s *Subscription) takeOver(d *deed) {
	name := d.By + " " + d.Until.String()
	s.mu.Lock()
	news := s.awaited != name
	s.awaited = name
	s.mu.Unlock()
	if news {
		s.Wake()
	}
}

// reread has the record read once more after a time, together with everybody else who wants it, and not too often. It reports whether there was time for it.
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
			began := time.Now()
			_, err := s.load(ctx) // what cannot be read at the moment may be read when it is delivered again
			s.mu.Lock()
			s.read, s.reading = began, false
			s.mu.Unlock()
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
