// Package subscription keeps a workspace's webhook registered, active and subscribed to what the
// rules need, and its secret known.
package subscription

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

const (
	// overlap is how long a replaced secret was valid, for records of an earlier version that do not
	// say when that was.
	overlap = 8 * time.Hour

	// lease is how long a change may take, and calling the timeout of its call: less, so that there is
	// time to record the result.
	lease   = 15 * time.Second
	calling = 10 * time.Second

	// every is a little less than a minute, so that a disabled webhook is active again within one.
	every = 50 * time.Second

	// looking is the timeout of one check, with pauses that the service asks for.
	looking = time.Minute

	// needed is how long the events that an engine has declared count after it last declared them.
	needed = 3 * time.Minute
)

// A Repair is something that a check has put right.
type Repair string

// The kinds of repairs.
const (
	Registered   Repair = "registered"
	Reactivated  Repair = "reactivated" // it had been disabled
	Resubscribed Repair = "events"      // it was subscribed to other events than the rules need
	Rotated      Repair = "rotated"     // the secret was replaced
)

// Repairs lists them all.
func Repairs() []Repair { return []Repair{Registered, Reactivated, Resubscribed, Rotated} }

// Options configure a Subscription. Client, Cursors, Keys and URL are required.
type Options struct {
	Workspace string
	Client    *service.Client
	Cursors   Cursors
	Keys      Keys
	URL       string // at which the service reaches the receiver
	Name      string // of the webhook; empty means quando

	// Secrets are the configured ones. They are valid besides the managed one.
	Secrets []service.Secret
	// Retired is how long a replaced secret is accepted for everything; 0 accepts only what was signed
	// before it was replaced, allowing for clock skew.
	Retired time.Duration

	// Beside says that this is a command and not the engine.
	Beside bool
	// Alone says that no other engine shares the journal.
	Alone bool

	// Every is the time between checks; 0 is a little less than a minute.
	Every time.Duration

	// Waits returns which of the events are still awaited by runs of earlier rules; nil means none.
	Waits func(ctx context.Context, events []string) ([]string, error)
	// Repaired is called after every repair; after Reactivated, events of the meantime were not
	// delivered. May be nil.
	Repaired func(Repair)
	// Missing is called with the events that the rules need and that cannot be subscribed to, when
	// they are first known and whenever they change. May be nil.
	Missing func(events []string)

	Now    func() time.Time // nil is the real clock
	Logger *slog.Logger     // nil means no log
}

// A Status is the webhook's state at the last check.
type Status struct {
	Checked time.Time // zero if never
	Problem string    // empty if there is none

	Webhook string // its id; empty if there is none
	Active  bool
	Idle    bool      // the rules need no event that can be subscribed to, so no webhook is needed
	Events  []string  // subscribed to
	Missing []string  // needed by the rules, but not available to subscribe to
	Rotated time.Time // when the managed secret was issued; zero if a configured one is used
}

// A Subscription manages one workspace's webhook.
type Subscription struct {
	options Options
	me      string
	wake    chan struct{}
	asking  time.Duration

	recording sync.Mutex // orders reads of the record with putting them to use

	checking sync.Mutex // one check at a time
	// Only the holder of checking uses the fields below.
	activated  string    // the webhook that the last check activated, if the service did not show it as active
	subscribed string    // the webhook's state when the last check changed its events, if the change did not show
	offered    []string  // the events available to subscribe to, as last read
	unsaid     error     // why they could not be read
	askAgain   time.Time // when to retry after that

	mu      sync.Mutex
	rules   []string // the events they need
	known   bool     // the rules are loaded
	status  Status
	missing []string                  // last passed to the Missing option
	told    bool                      // it was passed
	opened  map[string]service.Secret // by their sealed form
	locked  error                     // why sealed secrets cannot be opened; nil if all can
	doing   *pendingChange            // the change in progress when the record was last read
	unsure  bool                      // the secret was unknown then
	awaited string                    // the other process's change whose end a delivery has asked for
	refused int                       // signatures that matched no secret since the last check
	read    time.Time                 // when the last read for a delivery began
	reading bool                      // one is in progress
	waiting int                       // deliveries that wait for a secret

	attempts attempts

	valid atomic.Pointer[valid]
}

const engineName = "engine-"

// New returns a subscription. It makes no calls.
func New(o Options) (*Subscription, error) {
	if o.Client == nil || o.Cursors == nil || o.Keys == nil || o.URL == "" {
		return nil, errors.New("subscription: a client, cursors, keys and the public url are required")
	}
	if o.Name == "" {
		o.Name = "quando"
	}
	if o.Every == 0 {
		o.Every = every
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.Logger = o.Logger.With("workspace", o.Workspace)
	if o.Repaired == nil {
		o.Repaired = func(Repair) {}
	}
	if o.Missing == nil {
		o.Missing = func([]string) {}
	}
	name := make([]byte, 6)
	_, _ = rand.Read(name) // it never fails
	s := &Subscription{options: o, me: engineName + hex.EncodeToString(name), wake: make(chan struct{}, 1), asking: asking, opened: map[string]service.Secret{}}
	if o.Beside {
		s.me = "command-" + hex.EncodeToString(name)
	}
	s.valid.Store(&valid{current: o.Secrets})
	return s, nil
}

// SetRules replaces the rules. It wakes the check.
func (s *Subscription) SetRules(set *rules.Set) {
	s.mu.Lock()
	s.rules, s.known = set.Listens(), true
	s.mu.Unlock()
	s.Wake()
}

// Wake requests a check now.
func (s *Subscription) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // a check is pending already
	}
}

// Run checks the webhook until ctx ends.
func (s *Subscription) Run(ctx context.Context) error {
	last := ""
	for ctx.Err() == nil {
		select {
		case <-s.wake:
		default:
		}
		look, cancel := context.WithTimeout(ctx, looking)
		err := s.Tend(look)
		cancel()
		pause := s.options.Every
		if busy, ok := errors.AsType[*busyError](err); ok {
			pause = min(pause, max(busy.left, time.Second)) // then the other process's change has ended or expired
		}
		if wait := s.untilAttempt(); wait > 0 {
			pause = min(pause, wait)
		}
		said := ""
		if err != nil {
			said = err.Error()
		}
		if service.IsUncertain(err) && said != last {
			pause = min(pause, 5*time.Second)
		}
		// Logs each problem once, and its end.
		switch {
		case onlyBusy(err):
			said = last
		case ctx.Err() != nil || said == last:
		case err != nil:
			s.options.Logger.Warn("the webhook cannot be looked after", "url", s.options.URL, "error", err)
		default:
			s.options.Logger.Info("the webhook is looked after again", "url", s.options.URL)
		}
		last = said
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-time.After(pause):
		}
	}
	return nil
}

// Status returns the status of the last check.
func (s *Subscription) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Events, st.Missing = slices.Clone(st.Events), slices.Clone(st.Missing)
	return st
}

// repaired logs and reports a repair.
func (s *Subscription) repaired(what Repair, message string, args ...any) {
	s.options.Logger.Info(message, append([]any{"url", s.options.URL, "repair", string(what)}, args...)...)
	s.options.Repaired(what)
}
