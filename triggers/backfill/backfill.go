// Package backfill finds events that no webhook delivered, by reading the service.
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

// A Journal stores the positions of passes and the events found.
type Journal interface {
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error
	Seen(ctx context.Context, workspace, kind string) (map[string]string, error)
	SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error
	SwapCursor(ctx context.Context, name, old, value string) (bool, error)

	// Known returns recorded events of a lane with one of these types, created at or after since,
	// oldest first.
	Known(ctx context.Context, workspace, lane string, types []string, since time.Time) ([]rules.Event, error)
	// CreatedIn returns the stage in which the engine itself created a card, or "" if it did not.
	CreatedIn(ctx context.Context, workspace, card string) (string, error)
	// AcceptFound records the findings that are not recorded yet, and reports which are new.
	AcceptFound(ctx context.Context, found ...rules.Finding) ([]bool, error)
}

// Options configure a Source. Workspace, Client, Journal and Needs are required; every other zero
// value works.
type Options struct {
	Workspace string
	Client    *service.Client
	Journal   Journal

	// Needs returns the event types that the loaded rules need. A pass looks for no others.
	Needs func() []string
	// Undelivered reports whether webhooks do not deliver an event type. Nil means that they deliver
	// all.
	Undelivered func(eventType string) bool

	Every   time.Duration // between two passes; 5 minutes by default
	Cards   time.Duration // between two scans of cards if webhooks do not deliver card events; 15 seconds by default
	Fresh   time.Duration // how long a webhook may be in flight: a pass leaves younger changes to the next one; 2 minutes by default
	Overlap time.Duration // how far a pass reaches back before the end of the last one; 10 minutes by default
	Most    time.Duration // how far a pass reaches back at most; 7 days by default

	// Rate limits the calls of a pass per second; 0 leaves the limit to the client.
	Rate float64
	// Behind returns how long rule runs have been waiting; a pass yields to them. Nil means that they
	// never wait.
	Behind func(ctx context.Context) (time.Duration, error)

	Alone  bool                                       // no other engine shares the journal, so the leases of others are void
	Holder string                                     // names this engine among those that share a journal
	Count  func(eventType string)                     // called for each event found; may be nil
	Looked func(ctx context.Context, until time.Time) // called after a complete pass: everything up to that time is recorded; may be nil
	Now    func() time.Time                           // nil is time.Now
	Sleep  func(context.Context, time.Duration) error // nil is a real sleep
	Logger *slog.Logger                               // nil means no log
}

// State is the progress of a source, for the status page.
type State struct {
	Looking bool            // this process is making a pass
	Part    string          // the current part of the pass: attendances, messages or cards
	Calls   int             // made by this pass, or the last one
	Looked  int             // objects read
	Found   int             // events found
	Began   time.Time       // when it began
	Ended   time.Time       // when the last pass ended; zero is never
	Reason  string          // of the last pass
	Problem string          // why it does not find everything
	Why     *phrases.Phrase // the Problem as a phrase
}

// A Source finds events of one workspace.
type Source struct {
	options Options
	client  *service.Client
	log     *slog.Logger
	woken   chan struct{}

	mu     sync.Mutex
	reason string    // why a full pass was requested; empty if none was
	wanted int       // counts the requests
	silent time.Time // webhooks for anything up to then are no longer in flight
	state  State
	said   map[string]string // the last log message per subject, to log each once

	// Only the goroutine that calls Tick uses the fields below.
	began    bool
	ticked   time.Time // when Tick last ran
	all      time.Time // the last full pass, by any engine
	cards    time.Time // the last scan of cards
	failed   int       // failed passes in a row
	leased   time.Time // when the lease was last acquired or renewed
	called   time.Time // when the last call was made
	boards   *boards
	noticed  map[string]notice    // cards that have changed without showing a time
	written  map[string]time.Time // per kind, when all stored state was last rewritten
	tenant   string
	channels map[string]bool // the private ones; nil if not read yet
	orderly  bool            // the conversation list was read to its end and was sorted by last change
}

// New returns a source. It makes no calls.
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
	s.client = o.Client.Beside(service.Beside{Wait: s.wait, Again: s.mayRetry})
	return s, nil
}

// Wake requests a full pass as soon as possible, because events may have been missed.
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

// Missed requests a full pass as Wake does, because no webhook has been delivered until now: the
// pass does not wait for webhooks in flight.
func (s *Source) Missed(reason string) {
	s.mu.Lock()
	s.silent = s.options.Now().Round(0)
	s.mu.Unlock()
	s.Wake(reason)
}

// State returns the progress of the source.
func (s *Source) State() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// updateState updates the state under its lock.
func (s *Source) updateState(change func(*State)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.state)
}

// logOnce logs a problem once, until it changes or over clears it.
func (s *Source) logOnce(about string, what *phrases.Phrase, args ...any) {
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

// clearProblem clears a problem that say has logged.
func (s *Source) clearProblem(about string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.said, about)
	if len(s.said) == 0 {
		s.state.Problem, s.state.Why = "", nil
	}
}

// needs returns the types that are among the needed ones.
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
