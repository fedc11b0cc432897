// Package subscription looks after a workspace's webhook: that it is registered, active and
// subscribed to what the rules need, and that its secret is known.
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
	// overlap is how long a secret was valid after another had taken its place, where a record of
	// an earlier version does not say when that was.
	overlap = 8 * time.Hour

	// lease is how long somebody may be at a change, and calling is how long its call may take: less,
	// so that there is time to record what came of it.
	lease   = 15 * time.Second
	calling = 10 * time.Second

	// every is a little less than a minute, so that what was switched off is active again within one.
	every = 50 * time.Second

	// looking is how long a look may take, with pauses that the service asks for.
	looking = time.Minute

	// needed is how long what an engine needs is heeded after it last said so.
	needed = 3 * time.Minute
)

// A Repair is something that was not as it should be, and is again.
type Repair string

// The repairs.
const (
	Registered   Repair = "registered"
	Reactivated  Repair = "reactivated" // it had been switched off
	Resubscribed Repair = "events"      // it was subscribed to others than the rules need
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
	URL       string // under which the service reaches the receiver
	Name      string // of the webhook; empty is quando

	// Secrets are those that a person has configured. They are valid besides the one that is looked
	// after.
	Secrets []service.Secret
	// Retired is how long a secret goes on to count for everything after another has taken its
	// place; 0 is that it counts only for what was signed before that, give or take what clocks may
	// differ.
	Retired time.Duration

	// Beside says that this is a command, and not the engine.
	Beside bool
	// Alone says that no other engine shares the journal.
	Alone bool

	// Every is how often the webhook is looked at; 0 is a little less than a minute.
	Every time.Duration

	// Waits returns those of the events that runs still wait for which began when the rules were
	// others; nil is none.
	Waits func(ctx context.Context, events []string) ([]string, error)
	// Repaired is told of every repair, and after Reactivated that what happened meanwhile was not
	// delivered; nil is nobody.
	Repaired func(Repair)
	// Missing is told which events the rules need that cannot be subscribed to, when that is first
	// known and whenever it changes; nil is nobody.
	Missing func(events []string)

	Now    func() time.Time // nil is the real clock
	Logger *slog.Logger     // nil means no log
}

// A Status is how the webhook stands, as it was seen last.
type Status struct {
	Checked time.Time // zero is never
	Problem string    // what stands in the way; empty is nothing

	Webhook string // its id; empty is that there is none
	Active  bool
	Idle    bool      // the rules need no event that can be subscribed to, so there need not be a webhook
	Events  []string  // that it is subscribed to
	Missing []string  // that the rules need and that cannot be subscribed to
	Rotated time.Time // since when the secret is the one that we have asked for; zero is that it is a configured one
}

// A Subscription looks after one workspace's webhook.
type Subscription struct {
	options Options
	me      string
	wake    chan struct{}
	asking  time.Duration

	recording sync.Mutex // what was read of the record first is put to use first

	tending sync.Mutex // one look at a time
	// What follows is of the one that looks.
	activated  string    // the webhook that the look before switched on, where that did not show
	subscribed string    // how the webhook was shown when the look before changed its events, where that did not show
	offered    []string  // the events that can be subscribed to, as the service last said
	unsaid     error     // why it did not say
	askAgain   time.Time // until when it is not asked again after that

	mu      sync.Mutex
	rules   []string // the events that they need
	known   bool     // the rules have been loaded
	status  Status
	missing []string                  // as the Missing option was told
	told    bool                      // it was
	opened  map[string]service.Secret // by what is sealed
	locked  error                     // why sealed secrets cannot be opened; nil is that all can
	doing   *task                     // what somebody was at when the record was last read
	unsure  bool                      // nobody knew the secret then
	awaited string                    // the change of somebody else whose end a delivery has asked for
	refused int                       // signatures that fitted no secret since the last look
	read    time.Time                 // when the last reading for a delivery began
	reading bool                      // one goes on
	waiting int                       // deliveries that wait for a secret

	attempts attempts

	valid atomic.Pointer[valid]
}

const engineName = "engine-"

// New returns a subscription. It connects to nothing.
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

// SetRules says which rules are in use. The webhook follows at once.
func (s *Subscription) SetRules(set *rules.Set) {
	s.mu.Lock()
	s.rules, s.known = set.Listens(), true
	s.mu.Unlock()
	s.Wake()
}

// Wake has the webhook looked at soon, and not only when it is time.
func (s *Subscription) Wake() {
	select {
	case s.wake <- struct{}{}:
	default: // it is about to be looked at
	}
}

// Run looks after the webhook until ctx ends.
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
			pause = min(pause, max(busy.left, time.Second)) // then nobody is at it any more
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
		// The same trouble is told once, and that it is over.
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

// Status returns how the webhook stands.
func (s *Subscription) Status() Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.status
	st.Events, st.Missing = slices.Clone(st.Events), slices.Clone(st.Missing)
	return st
}

// repaired tells of a repair.
func (s *Subscription) repaired(what Repair, message string, args ...any) {
	s.options.Logger.Info(message, append([]any{"url", s.options.URL, "repair", string(what)}, args...)...)
	s.options.Repaired(what)
}
