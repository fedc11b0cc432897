// Package alerts tells people outside of the console what needs a person: on phones of the team,
// through the messaging service, and by a webhook. Everything is told once, grouped, at a bounded
// rate, and is followed by an all clear.
package alerts

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// A Journal is the part of the journal that alerts use.
type Journal interface {
	Cursor(ctx context.Context, name string) (string, error)
	SwapCursor(ctx context.Context, name, old, value string) (swapped bool, err error)
	Who(ctx context.Context, workspace string, lanes []string) (map[string]journal.Who, error)
}

// A Channel tells people. Send may be called again with the same id, after an error or a
// crash: it must not tell twice. It reports whether this very text was told; false means that an
// earlier call with the id has told its own.
type Channel interface {
	Name() string
	Send(ctx context.Context, m Message) (same bool, err error)
}

// Options configure Alerts. Find, Journal, Ways, Process and Language are required.
type Options struct {
	Find    func(ctx context.Context, now time.Time) ([]attention.Item, error)
	Journal Journal
	Ways    []Channel
	Process string // names this process among those that share the journal

	Linger   time.Duration // what comes within it is told together; what is gone within it is not told
	Limit    duration.Rate // bounds the messages of each channel
	Language phrases.Language
	Link     string         // the address of the console; may be empty
	Location *time.Location // for the times in texts; nil is UTC

	Every  time.Duration    // between two looks; 0 is a fraction of Linger
	Now    func() time.Time // nil is time.Now
	Logger *slog.Logger     // nil means no log
}

// DefaultLinger is how long things are gathered into one message.
const DefaultLinger = time.Minute

// DefaultLimit bounds the messages of each channel.
var DefaultLimit = duration.Rate{Times: 6, Per: time.Hour}

const (
	cursor      = "alerts"         // where the journal keeps the state
	lease       = time.Minute      // how long another process does not tell after this one has last looked
	sendTimeout = 20 * time.Second // of one message
	minLook     = 50 * time.Millisecond
	maxLook     = 10 * time.Second
	firstRetry  = 5 * time.Second
	maxRetry    = time.Minute
)

// Alerts tells what needs a person.
type Alerts struct {
	options Options
	log     *slog.Logger
	now     func() time.Time
	every   time.Duration

	last    *state            // as it was last read or written
	seen    string            // the text of it that the journal had then
	unsaved bool              // last is newer, because the journal cannot be written
	logged  map[string]string // the last logged error of each channel
	mu      sync.Mutex
	tests   map[string]Result // the last test of each channel
}

// New returns Alerts. It tells nothing until Run.
func New(o Options) *Alerts {
	a := &Alerts{options: o, log: o.Logger, now: o.Now, every: o.Every, logged: map[string]string{}, tests: map[string]Result{}}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if a.now == nil {
		a.now = time.Now
	}
	if a.options.Location == nil {
		a.options.Location = time.UTC
	}
	if a.every == 0 {
		a.every = min(max(o.Linger/6, minLook), maxLook)
	}
	return a
}

// Run looks for what needs a person, and tells it, until ctx ends.
func (a *Alerts) Run(ctx context.Context) {
	for {
		if err := a.check(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("what needs a person cannot be told", "error", engine.Discreet(err))
		}
		select {
		case <-ctx.Done():
			a.giveUpLease()
			return
		case <-time.After(a.every):
		}
	}
}

// check finds what needs a person and tells what is due. Of several processes that share a journal
// one does so. A message is recorded with its id before it is sent: whoever has to repeat it does
// so with the same id. If the journal cannot be written, alerts go on without it, because that is
// one of the things to tell.
func (a *Alerts) check(ctx context.Context) error {
	now := a.now()
	old, st, err := a.load(ctx)
	if err != nil {
		return err
	}
	if st.Teller != a.options.Process && st.Until.After(now) {
		return nil
	}
	items, err := a.options.Find(ctx, now)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		a.log.Error("what needs a person cannot be found out", "error", engine.Discreet(err))
		st.add(attention.NoJournal(), now, a.options.Language)
	} else {
		st.update(items, now, a.options.Linger, a.options.Language)
	}
	st.Teller = a.options.Process
	if st.Until.Sub(now) < lease/2 {
		st.Until = now.Add(lease)
	}
	due := false
	for _, w := range a.options.Ways {
		due = st.schedule(w.Name(), now, &a.options) || due
	}
	st.prune(now, &a.options)
	old, ok := a.save(ctx, old, st)
	if !ok || !due {
		return nil
	}
	results := a.send(ctx, st, a.customers(ctx, items), now)
	for i, w := range a.options.Ways {
		if r := results[i]; r != nil {
			a.settle(st, w.Name(), r)
		}
	}
	a.save(ctx, old, st)
	return nil
}

// A sent is what became of a message.
type sent struct {
	message Message
	same    bool
	err     error
}

// send sends the messages that are due, each channel for itself.
func (a *Alerts) send(ctx context.Context, st *state, customers map[string]string, now time.Time) []*sent {
	results := make([]*sent, len(a.options.Ways))
	var group sync.WaitGroup
	for i, w := range a.options.Ways {
		s := st.channel(w.Name()).Sending
		if s == nil || s.Next.After(now) {
			continue
		}
		m := st.compose(s, namedChannel{w}, customers, now, &a.options)
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			same, err := w.Send(ctx, m)
			results[i] = &sent{m, same, err}
		})
	}
	group.Wait()
	return results
}

// settle takes down what became of a message.
func (a *Alerts) settle(st *state, name string, r *sent) {
	w := st.channel(name)
	if r.err != nil {
		w.Error = errorText(r.err)
		w.Sending.Tries++
		w.Sending.Next = a.now().Add(min(firstRetry<<min(w.Sending.Tries-1, 8), maxRetry))
		if a.logged[name] != w.Error {
			a.log.Warn("an alert did not get through; it is sent again", "way", name, "error", w.Error)
			a.logged[name] = w.Error
		}
		return
	}
	delete(a.logged, name)
	for _, key := range w.Sending.Keys {
		if t := st.Items[key]; t != nil {
			t.Told = append(t.Told, name)
		}
	}
	w.Open = r.message.Kind == KindAlert || !r.same
	w.Sending, w.Error, w.At = nil, "", a.now().UTC()
	w.Sent = append(w.Sent, w.At)
	a.log.Info("alert sent", "way", name, "kind", r.message.Kind, "things", len(r.message.Items)+r.message.More)
}

// load returns the state, with the text that the journal has of it. While the journal cannot be
// used the state is the last one, unless another process has recorded one since.
func (a *Alerts) load(ctx context.Context) (text string, st *state, err error) {
	text, err = a.options.Journal.Cursor(ctx, cursor)
	switch {
	case ctx.Err() != nil:
		return "", nil, ctx.Err()
	case err != nil && a.last == nil:
		return "", &state{}, nil // that the journal cannot be read has to be told
	case err != nil, a.unsaved && text == a.seen:
		return a.seen, a.last, nil
	}
	if st, err = decode(text); err != nil {
		return "", nil, err
	}
	a.last, a.seen, a.unsaved = st, text, false
	return text, st, nil
}

func decode(text string) (*state, error) {
	st := &state{}
	if text == "" {
		return st, nil
	}
	if err := json.Unmarshal([]byte(text), st); err != nil {
		return nil, fmt.Errorf("read what was told: %w", err)
	}
	return st, nil
}

// save records the state if no other process has changed it, and reports whether this one goes on.
func (a *Alerts) save(ctx context.Context, old string, st *state) (text string, ok bool) {
	encoded, err := json.Marshal(st)
	if err != nil {
		return old, false // no value of a state fails
	}
	if text = string(encoded); text == old {
		return text, true
	}
	// A stop must not lose that a message was sent.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTimeout)
	defer cancel()
	swapped, err := a.options.Journal.SwapCursor(ctx, cursor, old, text)
	if err != nil {
		if !a.unsaved {
			a.log.Error("what is told cannot be recorded; alerts go on without it", "error", engine.Discreet(err))
		}
		a.last, a.seen, a.unsaved = st, old, true
		return old, true
	}
	if swapped {
		a.last, a.seen, a.unsaved = st, text, false
	}
	return text, swapped
}

// giveUpLease lets another process tell at once.
func (a *Alerts) giveUpLease() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	old, st, err := a.load(ctx)
	if err == nil && st.Teller == a.options.Process && !a.unsaved {
		st.Teller, st.Until = "", time.Time{}
		a.save(ctx, old, st)
	}
}

// A Result is what became of a test, or of the last alert.
type Result struct {
	Way   string
	At    time.Time
	Error string // empty is that it was sent
}

// Test sends a test alert by each channel.
func (a *Alerts) Test(ctx context.Context) []Result {
	list := make([]Result, len(a.options.Ways))
	var group sync.WaitGroup
	for i, w := range a.options.Ways {
		group.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, sendTimeout)
			defer cancel()
			now := a.now()
			_, err := w.Send(ctx, testMessage(now, &a.options))
			list[i] = Result{Way: w.Name(), At: now}
			if err != nil {
				list[i].Error = errorText(err)
			}
			a.mu.Lock()
			defer a.mu.Unlock()
			a.tests[w.Name()] = list[i]
		})
	}
	group.Wait()
	return list
}

// A Status is how one channel stands.
type Status struct {
	Way   string
	Told  time.Time // when something was last told by it; zero is never
	Error string    // why the message that waits has not got through; empty if none waits
	Test  *Result   // the last test of this process; nil is none
}

// Channels returns how each channel stands.
func (a *Alerts) Channels(ctx context.Context) ([]Status, error) {
	text, err := a.options.Journal.Cursor(ctx, cursor)
	if err != nil {
		return nil, err
	}
	st, err := decode(text)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	var list []Status
	for _, w := range a.options.Ways {
		s := Status{Way: w.Name(), Told: st.channel(w.Name()).At, Error: st.channel(w.Name()).Error}
		if t, ok := a.tests[w.Name()]; ok {
			s.Test = &t
		}
		list = append(list, s)
	}
	return list, nil
}
