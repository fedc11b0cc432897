// Package sandbox imitates the whole messaging service over HTTP, with a clock that can be moved
// and faults that can be injected.
//
// Everything is in memory. The package is written from the service's reference alone and shares no
// code with the client, so that each tests the other. What the reference leaves open is decided
// here and listed under "Assumptions" in docs/reference.md.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	_ "time/tzdata" // reports and due dates need zones on machines without them

	"github.com/quandohq/quando/service/sandbox/internal/store"
)

// Version is the version of the API that is imitated.
const Version = "1.1.0"

// Options configure a sandbox. The zero value is a small company on a clock that follows real time.
type Options struct {
	// Frozen, if set, stops the clock at this time until it is moved. Otherwise the clock follows real
	// time plus an offset.
	Frozen time.Time

	// Seed, if not zero, makes ids, keys, secrets and random faults reproducible.
	Seed uint64

	// State is a document as Sandbox.State returns it, or a part of one; see SetState.
	State io.Reader

	// Empty starts without the default company.
	Empty bool

	// AllowLoopback lets webhooks be plain http addresses on this machine.
	AllowLoopback bool

	// KanbanEvents lets webhooks subscribe to kanban.* events. The reference
	// lists five events that can be chosen, and these are not among them.
	KanbanEvents bool

	// RateLimit is how many requests a key may make in a second; 0 is any.
	RateLimit int

	// HeaderPrefix begins the names of a delivery's headers. Default X-Service.
	HeaderPrefix string

	// Transport sends deliveries. The default refuses addresses that are not public; a custom one has
	// to do that itself.
	Transport http.RoundTripper

	// DeliveryTimeout is how long a receiver may take. Default 8 seconds.
	DeliveryTimeout time.Duration
}

// Sandbox is an imitation of the service. Its methods may be called from many
// goroutines. Names and ids are both accepted wherever an object is named.
type Sandbox struct {
	options Options
	client  *http.Client // for deliveries
	api     http.Handler
	control http.Handler

	moving  sync.Mutex // held while the clock is being moved
	running sync.WaitGroup
	stop    context.CancelFunc
	stopped context.Context

	mu     sync.RWMutex // guards what follows
	closed bool
	ids    *store.IDSource
	clock  clock
	agenda agenda
	timer  *time.Timer // wakes the agenda while the clock runs by itself
	store  *store.Store
	faults []*Fault
	sends  int             // deliveries queued or under way
	idle   chan struct{}   // closed when sends falls to 0
	shares *store.IDSource // decides faults with a share, apart from ids
	link   []byte          // signs download links
}

// New returns a sandbox. It does not listen until its handlers are served or Start is called; Close
// stops what it started.
func New(o Options) (*Sandbox, error) {
	if o.HeaderPrefix == "" {
		o.HeaderPrefix = "X-Service"
	}
	if o.DeliveryTimeout == 0 {
		o.DeliveryTimeout = 8 * time.Second
	}
	s := &Sandbox{options: o, ids: store.NewIDSource(o.Seed), clock: newClock(o.Frozen)}
	s.stopped, s.stop = context.WithCancel(context.Background())
	s.client = newDeliveryClient(o)
	s.shares = store.NewIDSource(s.ids.Random.Uint64() | 1)
	s.link = []byte(s.ids.Token(""))
	s.api = s.newAPI()
	s.control = s.newControl()

	document := []byte("{}")
	if o.State != nil {
		var err error
		if document, err = io.ReadAll(o.State); err != nil {
			return nil, fmt.Errorf("read the sandbox's state: %w", err)
		}
	}
	if err := s.load(document, !o.Empty); err != nil {
		return nil, err
	}
	// Options take precedence over the state.
	if !o.Frozen.IsZero() {
		s.clock.set(o.Frozen)
	}
	if o.RateLimit > 0 {
		s.options.RateLimit = o.RateLimit
	}
	s.options.KanbanEvents = s.options.KanbanEvents || o.KanbanEvents
	return s, nil
}

// Handler serves the service's API. Paths begin at the root: mount it under the version's segment
// with http.StripPrefix("/v1", …), or use Start. A fault that drops a connection panics with
// http.ErrAbortHandler, on which net/http closes the connection.
func (s *Sandbox) Handler() http.Handler { return s.api }

// Control serves the control interface, from the root.
func (s *Sandbox) Control() http.Handler { return s.control }

// APIKey returns the text of the first key, which a fresh sandbox has with
// every scope.
func (s *Sandbox) APIKey() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.firstKey()
}

func (s *Sandbox) firstKey() string {
	for _, k := range s.store.Keys {
		if !k.Revoked {
			return k.APIKey
		}
	}
	return ""
}

// Close stops the deliveries and the servers that Start began, and waits for them. It may be called
// more than once.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	s.closed = true
	if s.timer != nil && s.timer.Stop() {
		s.running.Done()
	}
	s.timer = nil
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
	s.client.CloseIdleConnections()
	return nil
}

// ErrClosed is returned by calls on a sandbox that has been closed.
var ErrClosed = errors.New("the sandbox is closed")
