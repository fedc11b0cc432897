package ruletest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/quandohq/quando/service/sandbox"
)

// A serviceFault is an answer that each call gets once in a burst of activity, and then its own.
type serviceFault struct {
	status        int
	reads, writes bool // which calls

	after bool          // the call has its effect, and its answer is lost
	slow  time.Duration // so long after its answer
}

// A slowCall was answered with an error before it has its effect.
type slowCall struct {
	at      time.Time
	request *http.Request
	body    []byte
}

const (
	// retryAfter is the pause in seconds that the service asks for.
	retryAfter = 3
	// slowness is how long a call may be in flight after a proxy has answered its caller. The caller
	// must not count it as failed before that: the engine waits ten seconds.
	slowness = 5 * time.Second
)

// toService hands a call to the service, or answers it falsely.
func (n *network) toService(service http.Handler) http.Handler {
	f := n.plan.service
	if f.status == 0 {
		return service
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n.notePausedCall(r)
		reads := r.Method == http.MethodGet
		if reads && !f.reads || !reads && !f.writes {
			service.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller has disconnected
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if f.status == http.StatusConflict {
			n.conflict(service, w, r)
			return
		}
		if reads && n.searched(r.URL.Path) || !n.first(r.Method+" "+r.URL.String()+"\n"+string(body)) {
			service.ServeHTTP(w, r)
			return
		}
		n.failCall(service, r, body)
		if f.status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", strconv.Itoa(retryAfter))
		}
		w.WriteHeader(f.status)
	})
}

// failCall answers a call with a fault.
func (n *network) failCall(service http.Handler, r *http.Request, body []byte) {
	f := n.plan.service
	switch {
	case f.status == http.StatusTooManyRequests:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.until = n.service.Now().Add(retryAfter * time.Second)
	case f.after && f.slow > 0:
		n.mu.Lock()
		defer n.mu.Unlock()
		n.slow = append(n.slow, slowCall{n.service.Now().Add(f.slow), r.Clone(context.WithoutCancel(r.Context())), body})
	case f.after:
		serveWithoutAnswer(service, r)
	}
}

// serveWithoutAnswer runs a call and discards the answer. A service that cuts the connection panics
// with http.ErrAbortHandler, which only a server recovers: here there is no connection to cut.
func serveWithoutAnswer(service http.Handler, r *http.Request) {
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler { //nolint:errorlint // it is the value itself that is thrown
			panic(p)
		}
	}()
	service.ServeHTTP(&discardedAnswer{header: http.Header{}}, r)
}

// searched reports whether enough searches for the same object have failed in this burst. One step
// may search in a dozen ways, and each failure doubles its pause.
func (n *network) searched(path string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	searches := 0
	for call := range n.known {
		if known, search, _ := strings.Cut(call, "?"); known == http.MethodGet+" "+path && search != "" {
			searches++
		}
	}
	return searches >= falseSearches
}

// falseSearches is how many searches for the same fail in a burst.
const falseSearches = 3

// first reports whether a call comes for the first time in this burst.
func (n *network) first(call string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	first := n.begun && !n.known[call]
	n.known[call] = true
	n.struck = n.struck || first
	return first
}

// notePausedCall notes a call during a pause that the service has asked for.
func (n *network) notePausedCall(r *http.Request) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.service.Now(); now.Before(n.until) && n.rude == "" {
		n.rude = fmt.Sprintf("%s %s was called %s before the pause was over that the service had asked for", r.Method, r.URL.Path, n.until.Sub(now))
	}
}

// calledDuringPause returns the first call during a pause, or "".
func (n *network) calledDuringPause() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.rude
}

// due returns when the next slow call has its effect, or the zero time.
func (n *network) due() (at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, c := range n.slow {
		at = earliest(at, c.at)
	}
	return earliest(at, n.lateDue())
}

// runDue runs slow calls and late deliveries that are due.
func (n *network) runDue() {
	n.mu.Lock()
	var ripe []slowCall
	for len(n.slow) > 0 && !n.slow[0].at.After(n.service.Now()) {
		ripe, n.slow = append(ripe, n.slow[0]), n.slow[1:]
	}
	n.mu.Unlock()
	for _, c := range ripe {
		c.request.Body = io.NopCloser(bytes.NewReader(c.body))
		serveWithoutAnswer(n.service.Handler(), c.request)
	}
	n.arriveLate(n.hook)
}

// conflict edits a card just before a call changes it, once per burst. A call refused for that is
// refused again with the same key; one that failed otherwise is not: it was not carried out.
func (n *network) conflict(service http.Handler, w http.ResponseWriter, r *http.Request) {
	key := keyOf(r.Header)
	n.mu.Lock()
	refusal := n.spent[key]
	n.mu.Unlock()
	if refusal != nil {
		refusal.writeTo(w)
		return
	}
	if card, ok := strings.CutPrefix(r.URL.Path, "/kanban/cards/"); ok {
		card, _, _ = strings.Cut(card, "/")
		if n.first(r.Method + " " + r.URL.Path) {
			_, _ = n.service.EditCard(sandbox.EditCard{Card: card, Description: "Somebody has called."}) // the call itself reports a missing card
		}
	}
	answer := &recordedAnswer{discardedAnswer: discardedAnswer{http.Header{}}, status: http.StatusOK}
	service.ServeHTTP(answer, r)
	if key != "" && answer.status == http.StatusConflict {
		n.mu.Lock()
		n.spent[key] = answer
		n.mu.Unlock()
	}
	answer.writeTo(w)
}
