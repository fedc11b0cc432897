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

var errDropped = errors.New("a fault was asked for: the connection was closed")

const (
	pending   = "pending"
	delivered = "delivered"
	retrying  = "retrying"
	failed    = "failed"
)

// deliver queues an event for a webhook: twice if a fault duplicates it, and not at all if one
// loses it.
func (s *Sandbox) deliver(hook *Webhook, event ID, name string, body []byte) *Delivery {
	d := Delivery{ID: s.ids.ID(), EventID: event, EventType: name, Status: pending,
		At: s.now(), Webhook: hook, Body: body, Created: s.now()}
	hook.ForgetDeliveries(s.now())
	hook.Deliveries = append(hook.Deliveries, &d)
	fault := s.pickOf(deliveryOperation, func(kind string) bool { return kind == "duplicate" || kind == "lose" })
	if fault != nil && fault.Kind == "lose" {
		d.Status, d.Attempt, d.ResponseStatus, d.Body = delivered, 1, http.StatusOK, nil
		return &d
	}
	s.enqueue(&d)
	if fault != nil {
		again := d
		again.ID = s.ids.ID()
		hook.Deliveries = append(hook.Deliveries, &again)
		s.enqueue(&again)
	}
	return &d
}

// enqueue queues a delivery. One goroutine per webhook sends in order, and ends when the queue is
// empty.
func (s *Sandbox) enqueue(d *Delivery) {
	if s.closed {
		return
	}
	if s.sends == 0 {
		s.idle = make(chan struct{})
	}
	s.sends++
	hook := d.Webhook
	hook.Queue = append(hook.Queue, d)
	if !hook.Sending {
		hook.Sending = true
		s.running.Go(func() { s.work(hook) })
	}
}

// sent counts down the deliveries that are queued or in flight.
func (s *Sandbox) sent(n int) {
	s.sends -= n
	if s.sends == 0 && n > 0 {
		close(s.idle)
	}
}

// abandon cancels the deliveries to a deleted webhook.
func (s *Sandbox) abandon(hook *Webhook) {
	hook.Gone = true
	s.sent(len(hook.Queue))
	hook.Queue = nil
}

// Settle waits until no delivery is due or in flight. It does not wait for later retries; Advance
// reaches them.
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

// work sends a webhook's deliveries one after the other.
func (s *Sandbox) work(hook *Webhook) {
	for {
		s.mu.Lock()
		if s.closed || len(hook.Queue) == 0 {
			hook.Sending = false
			s.mu.Unlock()
			return
		}
		d := hook.Queue[0]
		hook.Queue = hook.Queue[1:]
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

// attempt builds the signed request of the next attempt, or ends a delivery to an inactive webhook.
func (s *Sandbox) attempt(d *Delivery) *http.Request {
	hook := d.Webhook
	if !hook.Active {
		d.Status, d.Error, d.NextAttemptAt, d.Body = failed, "the webhook is inactive", 0, nil
		return nil
	}
	request, err := http.NewRequestWithContext(s.stopped, http.MethodPost, hook.URL, bytes.NewReader(d.Body))
	if err != nil {
		d.Status, d.Error, d.Body = failed, Optional(err.Error()), nil
		return nil
	}
	d.Attempt++
	d.At, d.NextAttemptAt = s.now(), 0
	// Receivers compare the timestamp with their own clock, so it is real time whatever the sandbox's
	// clock shows.
	timestamp := strconv.FormatInt(time.Now().Unix(), 10)
	prefix := s.options.HeaderPrefix
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set(prefix+"-Event", d.EventType)
	request.Header.Set(prefix+"-Event-Id", d.EventID.String())
	request.Header.Set(prefix+"-Delivery", d.ID.String())
	request.Header.Set(prefix+"-Timestamp", timestamp)
	request.Header.Set(prefix+"-Signature", sign(hook.Secret, timestamp, d.Body))
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
	// Draining a little lets the connection be reused.
	_, _ = io.CopyN(io.Discard, response.Body, 4<<10)
	return response.StatusCode, nil
}

// retryAfter is the delay after each failed attempt.
var retryAfter = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// maxFailures is how many deliveries in a row may fail for good before a
// webhook becomes inactive.
const maxFailures = 10

// record stores the result of an attempt: delivered, to be retried, or failed for good.
func (s *Sandbox) record(d *Delivery, status int, err error) {
	hook := d.Webhook
	d.ResponseStatus, d.Error = Number(status), ""
	if err == nil && status >= 200 && status <= 299 {
		d.Status, d.Body = delivered, nil
		hook.Failures = 0
		return
	}
	if err != nil {
		d.Error = Optional(err.Error())
	} else {
		d.Error = Optional(fmt.Sprintf("the receiver answered %d", status))
	}
	if hook.Gone {
		d.Status, d.Body = failed, nil
		return
	}
	if d.Attempt <= len(retryAfter) {
		d.Status = retrying
		s.retry(d, d.At.Add(retryAfter[d.Attempt-1]))
		return
	}
	d.Status, d.Body = failed, nil
	hook.Failures++
	if hook.Failures >= maxFailures && hook.Active {
		hook.Active = false
		hook.UpdatedAt = s.now()
	}
}

// retry schedules the next attempt on the sandbox's clock.
func (s *Sandbox) retry(d *Delivery, due Instant) {
	d.NextAttemptAt = due
	s.agenda.add(due, func() {
		if !d.Webhook.Gone {
			s.enqueue(d)
		}
	})
	s.wake()
}
