package engine

import (
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// Options configure an Engine. Journal is required; every other zero value works.
type Options struct {
	Journal  journal.Journal
	Workers  int           // lanes that are worked on at once by Run; 256 by default, because most of the time they wait for the service or the disk
	Keep     time.Duration // how long events and finished runs are kept; 0 is for ever
	Drain    time.Duration // how long Run lets the work under way come to an end when it is stopped; 25 seconds by default
	Logger   *slog.Logger  // nil means no log
	Observer Observer      // nil is nobody
	Tracer   Tracer        // nil is nobody
}

// An Observer is told what happens, for metrics and for people who watch. It is called by many
// goroutines at once and must not block.
type Observer interface {
	// Decided is told of an event with its verdicts, when they are recorded.
	Decided(e *journal.Event)
	// Began is told of a run that began at an event, Changed of one that came to another state or took
	// a step, with its steps so far.
	Began(r *journal.Run, e *journal.Event)
	Changed(r *journal.Run)
	// Called is told of a call of a step: how long it took and what came of it.
	Called(workspace, verb string, took time.Duration, err error)
	// Held and Lifted are told when something is stopped and when it goes on.
	Held(h journal.Hold)
	Lifted(h journal.Hold)
}

// An Engine decides on events and carries out what rules call for.
type Engine struct {
	options    Options
	journal    journal.Journal
	log        *slog.Logger
	workspaces map[string]*workspace

	versions versions
	holding  sync.Mutex
	holds    atomic.Pointer[holds]
	news     chan struct{} // that there may be something to do
	unsaved  unsaved

	workers   workers
	shares    shares
	strangers sync.Map // workspaces that were met in the journal and are not configured here

	refreshed time.Time     // when Run last learnt what is stopped
	attends   chan struct{} // is closed when Run has found out when no engine was there
	attending sync.Once
}

// workspace is a Workspace with the rules that it has now.
type workspace struct {
	Workspace
	rules    atomic.Pointer[rules.Set]
	absences absences
}

// New returns an engine for these workspaces. It reads and starts nothing.
func New(o Options, list ...Workspace) (*Engine, error) {
	if o.Journal == nil {
		return nil, errors.New("engine: a journal is required")
	}
	if o.Workers == 0 {
		o.Workers = 256
	}
	if o.Drain == 0 {
		o.Drain = 25 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Observer == nil {
		o.Observer = nobody{}
	}
	e := &Engine{options: o, journal: o.Journal, log: o.Logger, workspaces: make(map[string]*workspace, len(list)), news: make(chan struct{}, 1)}
	e.attends = make(chan struct{})
	e.workers.Weighted = semaphore.NewWeighted(int64(o.Workers))
	for _, w := range list {
		if w.Name == "" || w.Actions == nil || w.Desk == nil || e.workspaces[w.Name] != nil {
			return nil, fmt.Errorf("engine: the workspace %q needs a name of its own, actions and a desk", w.Name)
		}
		if w.Timeout == 0 {
			w.Timeout = 10 * time.Second
		}
		if w.Location == nil {
			w.Location = time.UTC
		}
		e.workspaces[w.Name] = &workspace{Workspace: w}
	}
	if len(list) > 1 {
		e.shares.of = make(map[string]*share, len(list))
		for _, w := range list {
			e.shares.of[w.Name] = &share{}
		}
	}
	return e, nil
}

// SetRules gives a workspace its rules. Runs that have begun keep the version they began with.
func (e *Engine) SetRules(workspace string, set *rules.Set) error {
	w := e.workspaces[workspace]
	if w == nil {
		return fmt.Errorf("there is no workspace %q", workspace)
	}
	w.rules.Store(set)
	e.wake()
	return nil
}

// wake lets Run look for work.
func (e *Engine) wake() {
	select {
	case e.news <- struct{}{}:
	default:
	}
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Decided(*journal.Event)                      {}
func (nobody) Began(*journal.Run, *journal.Event)          {}
func (nobody) Changed(*journal.Run)                        {}
func (nobody) Called(string, string, time.Duration, error) {}
func (nobody) Held(journal.Hold)                           {}
func (nobody) Lifted(journal.Hold)                         {}
