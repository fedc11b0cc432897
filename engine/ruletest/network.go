package ruletest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// A serviceFault is an answer that each call gets once in a burst of activity, and then its own.
type serviceFault struct {
	status        int
	reads, writes bool // which calls
	after         bool // the call has its effect, and its answer is lost
}

// A deliveryFault says what becomes of the service's deliveries. The zero value is that they come once and in order.
type deliveryFault struct {
	twice bool

	// refuse is how often a delivery is refused at first. The service repeats it after 30 seconds, and again after two minutes.
	refuse int
	// Of every so many deliveries only one is refused, the first or a later one: it comes behind those that follow it.
	every, first int
}

// A network is what lies between the engine and the service: the addresses of both, and what goes wrong on the way.
type network struct {
	plan   plan
	server *http.Server
	base   string

	mu      sync.Mutex
	begun   bool            // the story; before it nothing goes wrong
	known   map[string]bool // calls of this burst that have been answered falsely
	order   map[string]int  // of deliveries, by their id: which they were in the order of their coming
	refused map[string]int  // and how often they were refused
}

// open listens on this machine: the service under /v1, the engine's receiver under /hook.
func open(ctx context.Context, p plan, service, hook http.Handler) (*network, error) {
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	n := &network{plan: p, base: "http://" + listener.Addr().String(), known: map[string]bool{}, refused: map[string]int{}, order: map[string]int{}}
	mux := http.NewServeMux()
	mux.Handle("/v1/", http.StripPrefix("/v1", n.toService(service)))
	mux.Handle("/hook", n.toEngine(hook))
	n.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = n.server.Serve(listener) }() // it ends with ErrServerClosed
	return n, nil
}

func (n *network) close() { _ = n.server.Close() } // nobody is waiting for an answer any more

// burst lets everything go wrong again that has gone wrong once.
func (n *network) burst() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.begun = true
	clear(n.known)
}

// toService hands a call to the service, or answers it falsely.
func (n *network) toService(service http.Handler) http.Handler {
	f := n.plan.service
	if f.status == 0 {
		return service
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		reads := r.Method == http.MethodGet
		if reads && !f.reads || !reads && !f.writes {
			service.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever called has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if !n.first(r.Method + " " + r.URL.String() + "\n" + string(body)) {
			service.ServeHTTP(w, r)
			return
		}
		if f.after {
			service.ServeHTTP(&lost{header: http.Header{}}, r)
		}
		if f.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		}
		w.WriteHeader(f.status)
	})
}

// retryAfter is the pause in seconds that the service asks for.
const retryAfter = 3

// first reports whether a call comes for the first time in this burst.
func (n *network) first(call string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	known := n.known[call]
	n.known[call] = true
	return n.begun && !known
}

// toEngine hands a delivery to the receiver, or refuses it.
func (n *network) toEngine(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.refuses(r.Header.Get("X-Service-Delivery")) {
			http.Error(w, "not now", http.StatusServiceUnavailable)
			return
		}
		hook.ServeHTTP(w, r)
	})
}

func (n *network) refuses(delivery string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, known := n.order[delivery]; !known {
		n.order[delivery] = len(n.order)
	}
	f := n.plan.deliver
	if n.refused[delivery] >= f.refuse || f.every > 0 && n.order[delivery]%f.every != f.first {
		return false
	}
	n.refused[delivery]++
	return true
}

// lost is an answer that nobody gets.
type lost struct{ header http.Header }

func (l *lost) Header() http.Header          { return l.header }
func (*lost) Write(part []byte) (int, error) { return len(part), nil }
func (*lost) WriteHeader(int)                {}
