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
	Workers  int           // lanes that Run works on at once; 256 by default, because most of them wait for the service or the disk
	Keep     time.Duration // how long events and finished runs are kept; 0 means for ever
	Drain    time.Duration // how long Run waits for visits in progress when it is stopped; 25 seconds by default
	Logger   *slog.Logger  // nil means no log
	Observer Observer      // nil means none
	Tracer   Tracer        // nil means none
}

// An Observer is told what happens, for metrics and live views. Many goroutines call it at once,
// and it must not block. What it is told of a lane can arrive out of order: a visit releases the
// lane before it tells.
type Observer interface {
	// Decided is called with an event and its verdicts, once they are recorded.
	Decided(e *journal.Event)
	// Began is called with a run and the event that started it, Changed with a run that changed its
	// state or took a step, with its steps so far.
	Began(r *journal.Run, e *journal.Event)
	Changed(r *journal.Run)
	// Called is called after a call of a step, with its duration and its outcome.
	Called(workspace, verb string, took time.Duration, err error)
	// Held and Lifted are called when a hold is placed and when it is lifted.
	Held(h journal.Hold)
	Lifted(h journal.Hold)
}

// An Engine decides events and carries out the runs that rules start.
type Engine struct {
	options    Options
	journal    journal.Journal
	log        *slog.Logger
	workspaces map[string]*workspace

	versions versions
	holdsMu  sync.Mutex
	holds    atomic.Pointer[holds]
	wakeups  chan struct{} // signals that something may be due
	unsaved  unsaved

	workers      workers
	shares       shares
	unconfigured sync.Map // workspaces that the journal has and this engine is not configured for

	holdsReadAt   time.Time     // when Run last read the holds
	presenceKnown chan struct{} // closed when Run knows when no engine was running
	presenceOnce  sync.Once
}

// workspace is a Workspace with its present rules.
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
		o.Observer = noObserver{}
	}
	e := &Engine{options: o, journal: o.Journal, log: o.Logger, workspaces: make(map[string]*workspace, len(list)), wakeups: make(chan struct{}, 1)}
	e.presenceKnown = make(chan struct{})
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
		e.shares.byWorkspace = make(map[string]*share, len(list))
		for _, w := range list {
			e.shares.byWorkspace[w.Name] = &share{}
		}
	}
	return e, nil
}

// SetRules replaces the rules of a workspace. Runs that have begun keep the version they began
// with.
func (e *Engine) SetRules(workspace string, set *rules.Set) error {
	w := e.workspaces[workspace]
	if w == nil {
		return fmt.Errorf("there is no workspace %q", workspace)
	}
	w.rules.Store(set)
	e.wake()
	return nil
}

// wake makes Run look for work.
func (e *Engine) wake() {
	select {
	case e.wakeups <- struct{}{}:
	default:
	}
}

// noObserver ignores everything.
type noObserver struct{}

func (noObserver) Decided(*journal.Event)                      {}
func (noObserver) Began(*journal.Run, *journal.Event)          {}
func (noObserver) Changed(*journal.Run)                        {}
func (noObserver) Called(string, string, time.Duration, error) {}
func (noObserver) Held(journal.Hold)                           {}
func (noObserver) Lifted(journal.Hold)                         {}
