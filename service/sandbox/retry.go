package sandbox

import (
	"fmt"
	"time"
)

// retryAfter is how long after each failed attempt the next one is made.
var retryAfter = []time.Duration{30 * time.Second, 2 * time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour}

// maxFailures is how many deliveries in a row may fail for good before a
// webhook becomes inactive.
const maxFailures = 10

// record takes up the result of an attempt: it is delivered, tried again
// later, or has failed for good.
func (s *Sandbox) record(d *Delivery, status int, err error) {
	hook := d.hook
	d.ResponseStatus, d.Error = Number(status), ""
	if err == nil && status >= 200 && status <= 299 {
		d.Status, d.body = delivered, nil
		hook.failures = 0
		return
	}
	if err != nil {
		d.Error = Optional(err.Error())
	} else {
		d.Error = Optional(fmt.Sprintf("the receiver answered %d", status))
	}
	if hook.gone {
		d.Status, d.body = failed, nil
		return
	}
	if d.Attempt <= len(retryAfter) {
		d.Status = retrying
		s.retry(d, d.At.add(retryAfter[d.Attempt-1]))
		return
	}
	d.Status, d.body = failed, nil
	hook.failures++
	if hook.failures >= maxFailures && hook.Active {
		hook.Active = false
		hook.UpdatedAt = s.now()
	}
}

// retry attempts a delivery again at a time of the sandbox's clock.
func (s *Sandbox) retry(d *Delivery, due Instant) {
	d.NextAttemptAt = due
	s.agenda.add(due, func() {
		if !d.hook.gone {
			s.enqueue(d)
		}
	})
	s.wake()
}
