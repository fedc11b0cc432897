// Package backfill finds in the service what no webhook told.
package backfill

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

// A Journal keeps what the next pass must know, and what was found.
type Journal interface {
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error
	Seen(ctx context.Context, workspace, kind string) (map[string]string, error)
	SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error
	SwapCursor(ctx context.Context, name, old, value string) (bool, error)

	// Known returns recorded events of a lane with one of these types, created at or after since,
	// oldest first.
	Known(ctx context.Context, workspace, lane string, types []string, since time.Time) ([]rules.Event, error)
	// CreatedIn returns the stage in which the engine itself created a card; empty where it did not.
	CreatedIn(ctx context.Context, workspace, card string) (string, error)
	// AcceptFound records what was found unless it is known, and reports what is new.
	AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error)
}

// Options configure a Source. Workspace, Client, Journal and Needs are required; every other zero
// value works.
type Options struct {
	Workspace string
	Client    *service.Client
	Journal   Journal

	// Needs returns the types of events that the rules in use need. Nothing else is looked for.
	Needs func() []string
	// Undelivered reports whether no webhook tells of events of a type. Nil is that webhooks tell of
	// all.
	Undelivered func(eventType string) bool

	Every   time.Duration // between two passes; 5 minutes by default
	Cards   time.Duration // between two looks at cards of which no webhook tells; 15 seconds by default
	Fresh   time.Duration // how long a webhook may be on its way: what is younger is left for the next pass; 2 minutes by default
	Overlap time.Duration // how far a pass looks back behind the one before; 10 minutes by default
	Most    time.Duration // how far a pass looks back after a long time; 7 days by default

	// Rate is how many calls a pass makes in a second; 0 is as many as the client lets through.
	Rate float64
	// Behind returns how long the work of rules has been waiting: a pass lets it go first. Nil is that
	// it never waits.
	Behind func(ctx context.Context) (time.Duration, error)

	Alone  bool                                       // no other engine shares the journal: what another one was at has ended with it
	Holder string                                     // by which engines that share a journal tell each other apart
	Count  func(eventType string)                     // is told of each event that was found; nil is nobody
	Looked func(ctx context.Context, until time.Time) // is told when a whole pass has come to its end: what happened until then is known; nil is nobody
	Now    func() time.Time                           // nil is time.Now
	Sleep  func(context.Context, time.Duration) error // nil is a real sleep
	Logger *slog.Logger                               // nil means no log
}

// State is how a source stands, for people who watch.
type State struct {
	Looking bool            // a pass is under way, here
	Part    string          // of the pass that is under way: attendances, messages or cards
	Calls   int             // that this pass, or the last one, has made
	Looked  int             // things that it has looked at
	Found   int             // events that it has found
	Began   time.Time       // when it began
	Ended   time.Time       // when the last pass ended; zero is never
	Reason  string          // of the last pass
	Problem string          // that keeps it from finding everything
	Why     *phrases.Phrase // the Problem as a phrase
}

// A Source finds events of one workspace.
type Source struct {
	options Options
	client  *service.Client
	log     *slog.Logger
	woken   chan struct{}

	mu     sync.Mutex
	reason string    // why a full pass is wanted; empty is that none is
	wanted int       // how often one was asked for
	silent time.Time // no webhook that tells of something until then is on its way
	state  State
	said   map[string]string // what was said, by what it was about, so that it is said once

	// What follows is used by one goroutine, the one that ticks.
	began    bool
	ticked   time.Time // when it was last asked
	all      time.Time // when the last pass over everything was made, here or by another engine
	cards    time.Time // when cards were last looked at
	failed   int       // passes in a row
	leased   time.Time // when the lease was last taken
	called   time.Time // when the last call was made
	boards   *boards
	noticed  map[string]notice    // cards without times that have changed
	written  map[string]time.Time // when all that was seen of a kind was last written down
	tenant   string
	channels map[string]bool // those of which nothing is told; nil is that they are not known
	orderly  bool            // the list of conversations was read to its end, and those that changed last came first
}

// New returns a source. It calls nobody.
func New(o Options) (*Source, error) {
	if o.Workspace == "" || o.Client == nil || o.Journal == nil || o.Needs == nil {
		return nil, errors.New("backfill: a source needs a workspace, a client, a journal, and to know what is needed")
	}
	for _, d := range []struct {
		to *time.Duration
		is time.Duration
	}{{&o.Every, 5 * time.Minute}, {&o.Cards, 15 * time.Second}, {&o.Fresh, 2 * time.Minute}, {&o.Overlap, 10 * time.Minute}, {&o.Most, 7 * 24 * time.Hour}} {
		if *d.to == 0 {
			*d.to = d.is
		}
	}
	if o.Undelivered == nil {
		o.Undelivered = func(string) bool { return false }
	}
	if o.Behind == nil {
		o.Behind = func(context.Context) (time.Duration, error) { return 0, nil }
	}
	if o.Count == nil {
		o.Count = func(string) {}
	}
	if o.Looked == nil {
		o.Looked = func(context.Context, time.Time) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = sleep
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Source{
		options: o, log: o.Logger.With("workspace", o.Workspace), woken: make(chan struct{}, 1), reason: "start",
		said: map[string]string{}, noticed: map[string]notice{}, written: map[string]time.Time{},
	}
	s.client = o.Client.Beside(service.Beside{Wait: s.wait, Again: s.again})
	return s, nil
}

// Wake asks for a pass over everything as soon as possible, because something may have been missed.
func (s *Source) Wake(reason string) {
	s.mu.Lock()
	if s.wanted++; s.reason == "" {
		s.reason = reason
	}
	s.mu.Unlock()
	select {
	case s.woken <- struct{}{}:
	default:
	}
}

// Missed asks for a pass over everything as Wake does, because no webhook told until now: what has
// just happened is not waited for either.
func (s *Source) Missed(reason string) {
	s.mu.Lock()
	s.silent = s.options.Now().Round(0)
	s.mu.Unlock()
	s.Wake(reason)
}

// State returns how the source stands.
func (s *Source) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// note changes the state.
func (s *Source) note(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// say writes something down that a person should know, once until it is over or another.
func (s *Source) say(about string, what *phrases.Phrase, args ...any) {
	message := what.String()
	text := message + fmt.Sprint(args...)
	s.mu.Lock()
	known := s.said[about] == text
	s.said[about] = text
	s.state.Problem, s.state.Why = message, what
	s.mu.Unlock()
	if !known {
		s.log.Warn(message, args...)
	}
}

// over notes that something that was said is so no more.
func (s *Source) over(about string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.said, about)
	if len(s.said) == 0 {
		s.state.Problem, s.state.Why = "", nil
	}
}

// needs returns those of these types that are needed.
func needs(needed []string, types ...string) []string {
	return slices.DeleteFunc(slices.Clone(types), func(typ string) bool { return !slices.Contains(needed, typ) })
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
