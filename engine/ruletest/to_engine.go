package ruletest

import (
	"bytes"
	"context"
	"io"
	"net/http"
)

// A deliveryFault changes the service's deliveries. The zero value delivers once and in order.
type deliveryFault struct {
	twice bool

	// refuse is how often a delivery is refused at first. The service repeats it after 30 seconds, and
	// again after two minutes.
	refuse int
	// every and first: one of every so many deliveries is refused, beginning with first, and arrives
	// behind those that follow it.
	every, first int
	// meanwhile delivers what was refused while the engine is about to finish something else, and then
	// once more.
	meanwhile bool
}

// A heldDelivery comes when the engine is at work.
type heldDelivery struct {
	request *http.Request
	body    []byte
}

// toEngine hands a delivery to the receiver, or refuses it.
func (n *network) toEngine(hook http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.delays(r) {
			return
		}
		if !n.refuses(r.Header.Get("X-Service-Delivery")) {
			hook.ServeHTTP(w, r)
			return
		}
		if body, err := io.ReadAll(r.Body); err == nil && n.plan.deliver.meanwhile {
			n.mu.Lock()
			n.held = append(n.held, heldDelivery{r.Clone(context.WithoutCancel(r.Context())), body})
			n.mu.Unlock()
		}
		http.Error(w, "the story has this delivery refused", http.StatusServiceUnavailable)
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

// meanwhile delivers what was held back.
func (n *network) meanwhile(hook http.Handler) {
	n.mu.Lock()
	held := n.held
	n.held = nil
	n.mu.Unlock()
	for _, d := range held {
		d.request.Body = io.NopCloser(bytes.NewReader(d.body))
		hook.ServeHTTP(&discardedAnswer{header: http.Header{}}, d.request)
	}
}
