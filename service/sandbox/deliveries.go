package sandbox

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// keptFor is how long deliveries are kept.
const keptFor = 14 * 24 * time.Hour

var errDropped = errors.New("a fault was asked for: the connection was closed")

const (
	pending   = "pending"
	delivered = "delivered"
	retrying  = "retrying"
	failed    = "failed"
)

// deliver starts an event on its way to a webhook, once more when a fault asks
// for duplicates, and not at all when one asks for it to be lost.
func (s *Sandbox) deliver(hook *Webhook, event ID, name string, body []byte) *Delivery {
	d := Delivery{ID: s.ids.id(), EventID: event, EventType: name, Status: pending,
		At: s.now(), hook: hook, body: body, created: s.now()}
	hook.forget(s.now())
	hook.history = append(hook.history, &d)
	fault := s.pickOf(deliveryOperation, func(kind string) bool { return kind == "duplicate" || kind == "lose" })
	if fault != nil && fault.Kind == "lose" {
		d.Status, d.Attempt, d.ResponseStatus, d.body = delivered, 1, http.StatusOK, nil
		return &d
	}
	s.enqueue(&d)
	if fault != nil {
		again := d
		again.ID = s.ids.id()
		hook.history = append(hook.history, &again)
		s.enqueue(&again)
	}
	return &d
}

// forget drops deliveries whose time is over.
func (h *Webhook) forget(now Instant) {
	n := 0
	for n < len(h.history) && now.sub(h.history[n].created) >= keptFor {
		n++
	}
	h.history = h.history[n:]
}

// enqueue has a delivery attempted after those that are due already. One
// goroutine for each webhook keeps them in order and ends when it has no more
// to do.
func (s *Sandbox) enqueue(d *Delivery) {
	if s.closed {
		return
	}
	if s.sends == 0 {
		s.idle = make(chan struct{})
	}
	s.sends++
	hook := d.hook
	hook.queue = append(hook.queue, d)
	if !hook.sending {
		hook.sending = true
		s.running.Go(func() { s.work(hook) })
	}
}

// sent counts deliveries that are no longer queued or under way.
func (s *Sandbox) sent(n int) {
	s.sends -= n
	if s.sends == 0 && n > 0 {
		close(s.idle)
	}
}

// abandon ends whatever is still on its way to a webhook that is gone.
func (s *Sandbox) abandon(hook *Webhook) {
	hook.gone = true
	s.sent(len(hook.queue))
	hook.queue = nil
}

// Settle waits until no delivery is due or under way. Repeats that are due
// later are not waited for; Advance leads to them.
func (s *Sandbox) Settle(ctx context.Context) error {
	for {
		s.mu.RLock()
		quiet, idle := s.sends == 0, s.idle
		s.mu.RUnlock()
		if quiet {
			return nil
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return fmt.Errorf("wait for deliveries: %w", ctx.Err())
		case <-s.stopped.Done():
			return ErrClosed
		}
	}
}

// work attempts a webhook's deliveries one after the other.
func (s *Sandbox) work(hook *Webhook) {
	for {
		s.mu.Lock()
		if s.closed || len(hook.queue) == 0 {
			hook.sending = false
			s.mu.Unlock()
			return
		}
		d := hook.queue[0]
		hook.queue = hook.queue[1:]
		request := s.attempt(d)
		var fault *Fault
		if request != nil {
			fault = s.pickOf(deliveryOperation, func(kind string) bool { return kind == "drop_before" || kind == "drop_after" })
		}
		s.mu.Unlock()

		var status int
		err := errDropped
		if request != nil && (fault == nil || fault.Kind == "drop_after") {
			status, err = s.send(request)
		}
		if fault != nil {
			status, err = 0, errDropped
		}

		s.mu.Lock()
		if request != nil && !s.closed {
			s.record(d, status, err)
		}
		s.sent(1)
		s.mu.Unlock()
	}
}

// attempt writes the signed request of the next attempt, or ends a delivery
// to a webhook that has become inactive.
func (s *Sandbox) attempt(d *Delivery) *http.Request {
	hook := d.hook
	if !hook.Active {
		d.Status, d.Error, d.NextAttemptAt, d.body = failed, "the webhook is inactive", 0, nil
		return nil
	}
	request, err := http.NewRequestWithContext(s.stopped, http.MethodPost, hook.URL, bytes.NewReader(d.body))
	if err != nil {
		d.Status, d.Error, d.body = failed, Optional(err.Error()), nil
		return nil
	}
	d.Attempt++
	d.At, d.NextAttemptAt = s.now(), 0
	// Receivers compare the timestamp with their own clock, so it is real time
	// wherever the sandbox's clock stands.
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	prefix := s.options.HeaderPrefix
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(prefix+"-Event", d.EventType)
	request.Header.Set(prefix+"-Event-Id", d.EventID.String())
	request.Header.Set(prefix+"-Delivery", d.ID.String())
	request.Header.Set(prefix+"-Timestamp", timestamp)
	request.Header.Set(prefix+"-Signature", sign(hook.secret, timestamp, d.body))
	return request
}

// sign returns the signature of a delivery, over "<timestamp>.<raw body>".
func sign(secret, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return "sha256=" + hex.EncodeToString(mac.Sum(nil))
}

// send posts a delivery and returns the status of the answer.
func (s *Sandbox) send(request *http.Request) (int, error) {
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	// Reading a little lets the connection be used again.
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	return response.StatusCode, nil
}
