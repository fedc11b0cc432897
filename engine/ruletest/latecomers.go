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

// A latecomer is a delivery that is on its way for as long as the story says.
type latecomer struct {
	at      time.Time
	request *http.Request
	body    []byte
}

// delay lets the deliveries of what happens from here on take so long; 0 is that they come at once.
func (n *network) delay(by time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.slowBy = by
}

// delays takes a delivery that is to come later, and reports whether it did. To the service it has
// arrived.
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
	n.late = append(n.late, latecomer{n.service.Now().Add(n.slowBy), r.Clone(context.WithoutCancel(r.Context())), body})
	return true
}

// lateDue returns when the next latecomer arrives; the zero time is never. The caller holds the
// lock.
func (n *network) lateDue() (at time.Time) {
	for _, l := range n.late {
		at = earliest(at, l.at)
	}
	return at
}

// arriveLate hands in the latecomers whose time has come. One that is refused, because the engine
// has been stopped, comes again.
func (n *network) arriveLate(hook http.Handler) {
	now := n.service.Now()
	n.mu.Lock()
	var ripe, left []latecomer
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
		answer := &kept{lost: lost{header: http.Header{}}, status: http.StatusOK}
		hook.ServeHTTP(answer, l.request)
		if answer.status >= http.StatusMultipleChoices {
			l.at = now.Add(again)
			n.mu.Lock()
			n.late = append(n.late, l)
			n.mu.Unlock()
		}
	}
}
