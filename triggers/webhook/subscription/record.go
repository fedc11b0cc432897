package subscription

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/triggers/webhook"
)

// Cursors store the record of the webhook in the journal, for every engine that shares it.
type Cursors interface {
	Cursor(ctx context.Context, name string) (string, error)
	SwapCursor(ctx context.Context, name, old, value string) (swapped bool, err error)
}

// A record is the journal's record of a workspace's webhook.
type record struct {
	URL     string `json:"url,omitempty"`
	Webhook string `json:"webhook,omitempty"` // its id

	// Unsure says that the service may sign with an unknown secret: it was asked for one, and the
	// answer is not recorded.
	Unsure bool `json:"unsure,omitempty"`
	// Revoke says that the secrets here are no longer accepted, and are dropped when there is a new
	// one: a person asked for that, and the answer is not recorded.
	Revoke  bool            `json:"revoke,omitempty"`
	Doing   *pendingChange  `json:"doing,omitempty"`
	Secrets []storedSecret  `json:"secrets,omitempty"` // newest first
	Needs   map[string]need `json:"needs,omitempty"`   // by engine

	text string // as read, for the compare-and-swap
}

// A pendingChange is a change in progress. It is recorded before it begins.
type pendingChange struct {
	What  string    `json:"what"`
	By    string    `json:"by"`
	Until time.Time `json:"until"` // when its lease expires
}

// A storedSecret is one that the service has issued.
type storedSecret struct {
	Sealed  []byte    `json:"sealed"`
	Key     string    `json:"key"` // id of the key that seals it
	Webhook string    `json:"webhook"`
	Since   time.Time `json:"since"`
	Retired time.Time `json:"retired,omitzero"` // when it was replaced
	Until   time.Time `json:"until,omitzero"`   // when it is dropped; zero if it is current
}

// retired returns when a secret was replaced.
func (k *storedSecret) retired() time.Time {
	if k.Retired.IsZero() {
		return k.Until.Add(-overlap)
	}
	return k.Retired
}

// A need is what an engine's rules need delivered.
type need struct {
	Events []string  `json:"events"`
	At     time.Time `json:"at"` // when the engine last declared it
}

// current returns the secret that the service signs with, as far as known, or nil.
func (r *record) current() *storedSecret {
	if len(r.Secrets) == 0 || !r.Secrets[0].Until.IsZero() || r.Secrets[0].Webhook != r.Webhook {
		return nil
	}
	return &r.Secrets[0]
}

func (r *record) sameNewest(other *record) bool {
	if len(r.Secrets) == 0 || len(other.Secrets) == 0 {
		return len(r.Secrets) == len(other.Secrets)
	}
	return bytes.Equal(r.Secrets[0].Sealed, other.Secrets[0].Sealed)
}

// add makes a secret the newest. The others expire after keep.
func (r *record) add(k storedSecret, now time.Time, keep time.Duration) {
	for i := range r.Secrets {
		if r.Secrets[i].Until.IsZero() {
			r.Secrets[i].Retired, r.Secrets[i].Until = now, now.Add(keep)
		}
	}
	r.Webhook, r.Secrets = k.Webhook, slices.Insert(r.Secrets, 0, k)
}

// drop removes the secrets that another record has too.
func (r *record) drop(other *record) {
	r.Secrets = slices.DeleteFunc(r.Secrets, func(k storedSecret) bool {
		return slices.ContainsFunc(other.Secrets, func(o storedSecret) bool { return bytes.Equal(o.Sealed, k.Sealed) })
	})
}

// dropExpired removes expired secrets, and reports whether there were any.
func (r *record) dropExpired(now time.Time) bool {
	n := len(r.Secrets)
	r.Secrets = slices.DeleteFunc(r.Secrets, func(k storedSecret) bool { return !k.Until.IsZero() && !now.Before(k.Until) })
	return len(r.Secrets) < n
}

func (s *Subscription) cursor() string { return "webhook/" + s.options.Workspace }

// sealPurpose is the additional data that a secret is sealed with.
func (s *Subscription) sealPurpose(webhook string) string {
	return "webhook secret\x00" + s.options.Workspace + "\x00" + webhook
}

// load reads the record and opens its secrets.
func (s *Subscription) load(ctx context.Context) (*record, error) {
	s.recording.Lock()
	defer s.recording.Unlock()
	text, err := s.options.Cursors.Cursor(ctx, s.cursor())
	if err != nil {
		return nil, fmt.Errorf("read what is known of the webhook: %w", err)
	}
	r := &record{text: text}
	if text != "" {
		if err := json.Unmarshal([]byte(text), r); err != nil {
			return nil, fmt.Errorf("read what is known of the webhook: %w", err)
		}
	}
	s.unseal(r)
	return r, nil
}

// change reads the record, lets f change it and writes it; it retries until the compare-and-swap
// succeeds. F reports whether there is anything to write.
func (s *Subscription) change(ctx context.Context, f func(*record) (bool, error)) (*record, error) {
	for {
		r, err := s.load(ctx)
		if err != nil {
			return nil, err
		}
		if ok, err := f(r); !ok || err != nil {
			return r, err
		}
		if swapped, err := s.swap(ctx, r); swapped || err != nil {
			return r, err
		}
	}
}

// swap writes the record, unless another process has changed it.
func (s *Subscription) swap(ctx context.Context, r *record) (bool, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	s.recording.Lock()
	defer s.recording.Unlock()
	swapped, err := s.options.Cursors.SwapCursor(ctx, s.cursor(), r.text, string(text))
	if err != nil {
		return false, fmt.Errorf("write down what is known of the webhook: %w", err)
	}
	if swapped {
		r.text = string(text)
		s.unseal(r)
	}
	return swapped, nil
}

// busyError means that another process has a change in progress.
type busyError struct {
	change pendingChange
	left   time.Duration
}

func (e *busyError) Error() string {
	return fmt.Sprintf("another process is changing the webhook (%s, by %s): try again in %s", e.change.What, e.change.By, e.left.Round(time.Second))
}

// onlyBusy reports whether err is only busy errors, which are no problem.
func onlyBusy(err error) bool {
	busy, ok := errors.AsType[*busyError](err)
	return ok && err.Error() == busy.Error()
}

// underway reports whether a change is still in progress. A file has one engine at a time: the
// changes of an earlier process have ended with it.
func (s *Subscription) underway(d *pendingChange, now time.Time) bool {
	dead := s.options.Alone && !s.options.Beside && d.By != s.me && strings.HasPrefix(d.By, engineName)
	return now.Before(d.Until) && !dead
}

// busy returns another process's change in progress, or nil.
func (s *Subscription) busy(r *record, now time.Time) *busyError {
	if d := r.Doing; d != nil && d.By != s.me && s.underway(d, now) {
		return &busyError{change: *d, left: d.Until.Sub(now)}
	}
	return nil
}

// beginChange records a change that would issue a secret. That excludes other processes, and makes
// a crash before the result is recorded visible. Wanted checks once more under that exclusion: if
// it returns false, nothing is begun.
func (s *Subscription) beginChange(ctx context.Context, what string, wanted func(*record) bool) (r *record, ok bool, err error) {
	r, err = s.change(ctx, func(r *record) (bool, error) {
		now := s.options.Now()
		if busy := s.busy(r, now); busy != nil {
			return false, busy
		}
		if ok = wanted(r); !ok {
			return false, nil
		}
		r.URL, r.Unsure, r.Doing = s.options.URL, true, &pendingChange{What: what, By: s.me, Until: now.Add(lease)}
		return true, nil
	})
	return r, ok && err == nil, err
}

// finishChange records the secret that the service has issued for the change begun with this
// record.
func (s *Subscription) finishChange(ctx context.Context, begun *record, k storedSecret) error {
	_, err := s.change(ctx, func(r *record) (bool, error) {
		ours := r.Doing != nil && r.Doing.By == s.me
		// A process that made a change meanwhile, after we were suspended for a while, may have requested
		// a secret before or after us: it is unknown which one counts.
		r.Unsure = !ours || !r.sameNewest(begun)
		if r.Revoke {
			r.drop(begun)
			r.Revoke = false
		}
		r.add(k, s.options.Now(), s.keepRetired())
		if ours {
			r.Doing = nil
		}
		return true, nil
	})
	return err
}

// keepRetired is how long a replaced secret is kept: a signature from before may be MaxAge ahead of
// our clock, and is accepted until it is MaxAge old.
func (s *Subscription) keepRetired() time.Duration { return max(s.options.Retired, 2*webhook.MaxAge) }

// cancelChange cancels a change. If its outcome is unknown, the record says so; else the record is
// restored.
func (s *Subscription) cancelChange(ctx context.Context, before record, unsure bool) error {
	_, err := s.change(ctx, func(r *record) (bool, error) {
		if r.Doing == nil || r.Doing.By != s.me {
			return false, nil
		}
		if r.Doing = nil; !unsure {
			r.Unsure, r.Revoke = before.Unsure, before.Revoke
		}
		return true, nil
	})
	return err
}
