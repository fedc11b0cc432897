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
	begun bool // the story; before it nothing goes wrong

	// Of calls to the service, in to_service.go.
	known  map[string]bool  // calls of this burst that have been answered falsely
	struck bool             // a call has been answered falsely at this moment
	slow   []slowCall       // that have not come to their effect
	spent  map[string]*kept // the refusals of calls, by their key
	until  time.Time        // nobody may call before
	rude   string           // the first call that came before all the same

	// Of deliveries to the engine, in to_engine.go.
	order   map[string]int // by their id: which they were in the order of their coming
	refused map[string]int // how often they were refused
	held    []heldDelivery
	hook    http.Handler  // the engine's receiver
	slowBy  time.Duration // how long deliveries take, as a step says
	late    []latecomer
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
		known: map[string]bool{}, spent: map[string]*kept{}, refused: map[string]int{}, order: map[string]int{},
	}
	mux := http.NewServeMux()
	mux.Handle("/v1/", http.StripPrefix("/v1", n.toService(service.Handler())))
	mux.Handle("/hook", n.toEngine(hook))
	n.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = n.server.Serve(listener) }() // it ends with ErrServerClosed
	return n, nil
}

func (n *network) close() { _ = n.server.Close() } // nobody is waiting for an answer any more

// burst lets every call go wrong again that has gone wrong once, unless one has at this moment: it
// will be repeated, or the decision that it was made for.
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

// kept is an answer that is looked at before it is given.
type kept struct {
	lost
	status int
	body   []byte
}

func (k *kept) WriteHeader(status int) { k.status = status }

func (k *kept) Write(part []byte) (int, error) {
	k.body = append(k.body, part...)
	return len(part), nil
}

// give gives the answer.
func (k *kept) give(w http.ResponseWriter) {
	maps.Copy(w.Header(), k.header)
	w.WriteHeader(k.status)
	_, _ = w.Write(k.body) // who called may have gone
}

// lost is an answer that nobody gets.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header          { return l.header }
func (*lost) Write(part []byte) (int, error) { return len(part), nil }
func (*lost) WriteHeader(int)                {}
