package ruletest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// again is after how long a delivery that was refused is sent again.
const again = 30 * time.Second

// A lateDelivery is a delivery that arrives after a delay.
type lateDelivery struct {
	at      time.Time
	request *http.Request
	body    []byte
}

// delay delays the deliveries of later events; 0 delivers at once.
func (n *network) delay(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slowBy = by
}

// delays takes a delivery that is to be delayed, and reports whether it did. The service counts it
// as delivered.
func (n *network) delays(r *http.Request) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.slowBy == 0 {
		return false
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return false
	}
	n.late = append(n.late, lateDelivery{n.service.Now().Add(n.slowBy), r.Clone(context.WithoutCancel(r.Context())), body})
	return true
}

// lateDue returns when the next late delivery arrives; the zero time is never. The caller holds the
// lock.
func (n *network) lateDue() (at time.Time) {
	for _, l := range n.late {
		at = earliest(at, l.at)
	}
	return at
}

// arriveLate delivers the delayed deliveries that are due. One that is refused, because the engine
// is stopped, is retried.
func (n *network) arriveLate(hook http.Handler) {
	now := n.service.Now()
	n.mu.Lock()
	var ripe, left []lateDelivery
	for _, l := range n.late {
		if l.at.After(now) {
			left = append(left, l)
		} else {
			ripe = append(ripe, l)
		}
	}
	n.late = left
	n.mu.Unlock()
	for _, l := range ripe {
		l.request.Body = io.NopCloser(bytes.NewReader(l.body))
		answer := &recordedAnswer{discardedAnswer: discardedAnswer{header: http.Header{}}, status: http.StatusOK}
		hook.ServeHTTP(answer, l.request)
		if answer.status >= http.StatusMultipleChoices {
			l.at = now.Add(again)
			n.mu.Lock()
			n.late = append(n.late, l)
			n.mu.Unlock()
		}
	}
}
