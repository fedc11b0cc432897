package ruletest

import (
	"context"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// A network is what lies between the engine and the service: the addresses of both, and what goes
// wrong on the way.
type network struct {
	plan    plan
	service *sandbox.Sandbox
	server  *http.Server
	base    string

	mu    sync.Mutex
	begun bool // the story has begun; no faults before that

	// Of calls to the service, in to_service.go.
	known  map[string]bool            // calls of this burst that have failed
	struck bool                       // a call has been answered falsely at this moment
	slow   []slowCall                 // not carried out yet
	spent  map[string]*recordedAnswer // the refusals of calls, by their key
	until  time.Time                  // end of the pause
	rude   string                     // the first call during it

	// Of deliveries to the engine, in to_engine.go.
	order   map[string]int // by their id: which they were in the order of their coming
	refused map[string]int // how often they were refused
	held    []heldDelivery
	hook    http.Handler  // the engine's receiver
	slowBy  time.Duration // how long deliveries take, as a step says
	late    []lateDelivery
}

// open listens on this machine: the service under /v1, the engine's receiver under /hook.
func open(ctx context.Context, p plan, service *sandbox.Sandbox, hook http.Handler) (*network, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &network{
		plan: p, service: service, hook: hook, base: "http://" + listener.Addr().String(),
		known: map[string]bool{}, spent: map[string]*recordedAnswer{}, refused: map[string]int{}, order: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", http.StripPrefix("/v1", n.toService(service.Handler())))
	mux.Handle("/hook", n.toEngine(hook))
	n.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = n.server.Serve(listener) }() // it ends with ErrServerClosed
	return n, nil
}

func (n *network) close() { _ = n.server.Close() } // no client is waiting for an answer any more

// burst makes every call fail once again, unless one has failed right now: that call, or the
// decision it was made for, is retried.
func (n *network) burst() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun = true
	if !n.struck {
		clear(n.known)
	}
}

// moved notes that time has moved.
func (n *network) moved() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.struck = false
}

// recordedAnswer is a recorded answer, inspected before it is sent.
type recordedAnswer struct {
	discardedAnswer
	status int
	body   []byte
}

func (k *recordedAnswer) WriteHeader(status int) { k.status = status }

func (k *recordedAnswer) Write(part []byte) (int, error) {
	k.body = append(k.body, part...)
	return len(part), nil
}

// writeTo gives the answer.
func (k *recordedAnswer) writeTo(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body) // the caller may have disconnected
}

// discardedAnswer is an answer that is discarded.
type discardedAnswer struct{ header http.Header }

func (l *discardedAnswer) Header() http.Header          { return l.header }
func (*discardedAnswer) Write(part []byte) (int, error) { return len(part), nil }
func (*discardedAnswer) WriteHeader(int)                {}
