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

// Cursors are where the journal keeps what is known of the webhook, for every engine that shares
// it.
type Cursors interface {
	Cursor(ctx context.Context, name string) (string, error)
	SwapCursor(ctx context.Context, name, old, value string) (swapped bool, err error)
}

// A record is what the journal keeps of a workspace's webhook.
type record struct {
	URL     string `json:"url,omitempty"`
	Webhook string `json:"webhook,omitempty"` // its id

	// Unsure says that the service may sign with a secret that nobody here knows: it was asked for
	// one, and the answer is not recorded.
	Unsure bool `json:"unsure,omitempty"`
	// Revoke says that the secrets here do not count any more, and are dropped when there is
	// another: a person has asked for that, and the answer is not recorded.
	Revoke  bool            `json:"revoke,omitempty"`
	Doing   *task           `json:"doing,omitempty"`
	Secrets []kept          `json:"secrets,omitempty"` // the newest first
	Needs   map[string]need `json:"needs,omitempty"`   // of each engine that shares the journal

	text string // as it was read
}

// A task is a change that somebody is at. It is written down before it begins.
type task struct {
	What  string    `json:"what"`
	By    string    `json:"by"`
	Until time.Time `json:"until"` // nobody is at it any more
}

// A kept secret is one that the service gave us.
type kept struct {
	Sealed  []byte    `json:"sealed"`
	Key     string    `json:"key"` // that it is sealed with
	Webhook string    `json:"webhook"`
	Since   time.Time `json:"since"`
	Retired time.Time `json:"retired,omitzero"` // when another took its place
	Until   time.Time `json:"until,omitzero"`   // when it is dropped; zero is that it is in use
}

// retired returns when another took the place of a secret that is not in use any more.
func (k *kept) retired() time.Time {
	if k.Retired.IsZero() {
		return k.Until.Add(-overlap)
	}
	return k.Retired
}

// A need is what the rules of an engine must hear of.
type need struct {
	Events []string  `json:"events"`
	At     time.Time `json:"at"` // when the engine last said so
}

// current returns the secret that the service signs with, as far as is known; nil is none.
func (r *record) current() *kept {
	if len(r.Secrets) == 0 || !r.Secrets[0].Until.IsZero() || r.Secrets[0].Webhook != r.Webhook {
		return nil
	}
	return &r.Secrets[0]
}

// sameNewest reports whether the newest secret of two records is the same one.
func (r *record) sameNewest(other *record) bool {
	if len(r.Secrets) == 0 || len(other.Secrets) == 0 {
		return len(r.Secrets) == len(other.Secrets)
	}
	return bytes.Equal(r.Secrets[0].Sealed, other.Secrets[0].Sealed)
}

// add makes a secret the newest. The others are kept for a time.
func (r *record) add(k kept, now time.Time, keep time.Duration) {
	for i := range r.Secrets {
		if r.Secrets[i].Until.IsZero() {
			r.Secrets[i].Retired, r.Secrets[i].Until = now, now.Add(keep)
		}
	}
	r.Webhook, r.Secrets = k.Webhook, slices.Insert(r.Secrets, 0, k)
}

// drop drops the secrets that another record has too.
func (r *record) drop(other *record) {
	r.Secrets = slices.DeleteFunc(r.Secrets, func(k kept) bool {
		return slices.ContainsFunc(other.Secrets, func(o kept) bool { return bytes.Equal(o.Sealed, k.Sealed) })
	})
}

// forget drops secrets whose time is over, and reports whether there were any.
func (r *record) forget(now time.Time) bool {
	n := len(r.Secrets)
	r.Secrets = slices.DeleteFunc(r.Secrets, func(k kept) bool { return !k.Until.IsZero() && !now.Before(k.Until) })
	return len(r.Secrets) < n
}

func (s *Subscription) cursor() string { return "webhook/" + s.options.Workspace }

// purpose is what a secret is sealed for.
func (s *Subscription) purpose(webhook string) string {
	return "webhook secret\x00" + s.options.Workspace + "\x00" + webhook
}

// load reads the record, and what secrets there are.
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

// change reads the record, lets f change it and writes it, again and again until nobody came in
// between. F reports whether there is anything to write.
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

// swap writes the record, unless somebody has come in between.
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

// busyError says that somebody else is at a change.
type busyError struct {
	task task
	left time.Duration
}

func (e *busyError) Error() string {
	return fmt.Sprintf("somebody else is at it (%s, %s); try again in %s", e.task.What, e.task.By, e.left.Round(time.Second))
}

// onlyBusy reports whether nothing else is in the way than that somebody is at it, which is no
// trouble.
func onlyBusy(err error) bool {
	busy, ok := errors.AsType[*busyError](err)
	return ok && err.Error() == busy.Error()
}

// underway reports whether somebody is still at a task. A file has one engine at a time: what
// another one was at has ended with it.
func (s *Subscription) underway(d *task, now time.Time) bool {
	dead := s.options.Alone && !s.options.Beside && d.By != s.me && strings.HasPrefix(d.By, engineName)
	return now.Before(d.Until) && !dead
}

// busy returns who else is at a change; nil is nobody.
func (s *Subscription) busy(r *record, now time.Time) *busyError {
	if d := r.Doing; d != nil && d.By != s.me && s.underway(d, now) {
		return &busyError{task: *d, left: d.Until.Sub(now)}
	}
	return nil
}

// begin writes down that we are at a change whose result would be a secret, so that nobody else is,
// and so that a stop before the result is recorded is known. Wanted looks once more, when nobody
// else can come in between: where it says no, nothing is begun.
func (s *Subscription) begin(ctx context.Context, what string, wanted func(*record) bool) (r *record, ok bool, err error) {
	r, err = s.change(ctx, func(r *record) (bool, error) {
		now := s.options.Now()
		if busy := s.busy(r, now); busy != nil {
			return false, busy
		}
		if ok = wanted(r); !ok {
			return false, nil
		}
		r.URL, r.Unsure, r.Doing = s.options.URL, true, &task{What: what, By: s.me, Until: now.Add(lease)}
		return true, nil
	})
	return r, ok && err == nil, err
}

// finish writes down the secret that the service gave us after we began with the record as it was
// then.
func (s *Subscription) finish(ctx context.Context, begun *record, k kept) error {
	_, err := s.change(ctx, func(r *record) (bool, error) {
		ours := r.Doing != nil && r.Doing.By == s.me
		// Whoever came in between, after we had been stopped for a while, may have asked for a secret
		// before or after us: nobody knows which one counts.
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

// keepRetired is how long a secret is kept after another has taken its place: a signature from
// before that may be MaxAge ahead of our clock, and is accepted until it is MaxAge old.
func (s *Subscription) keepRetired() time.Duration { return max(s.options.Retired, 2*webhook.MaxAge) }

// end gives up a change. Where nobody knows what came of it, that stays written down; else the
// record says what it said before.
func (s *Subscription) end(ctx context.Context, before record, unsure bool) error {
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
