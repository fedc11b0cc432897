package service

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// TestCallsTellAnOutage shows that a client knows since when an operation is not answered: a 5xx
// counts, a refusal is an answer, and so is a 429; a call that its caller gave up says nothing.
func TestCallsTellAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{statuses: []int{404, 503, 502, 503}}
		c := d.client(t)
		ask := func() {
			_, _ = c.Patient().GetConversation(t.Context(), "c1")
			time.Sleep(time.Minute)
		}
		began := time.Now()
		ask()
		if got := c.Calls(); len(got) != 1 || got[0].Failures != 0 || !got[0].Answered.Equal(began) {
			t.Errorf("after a refusal: %+v", got)
		}
		for range 3 {
			ask()
		}
		got := c.Calls()[0]
		if got.Operation.Changes() || got.Failures != 3 || !got.Failing.Equal(began.Add(time.Minute)) || !got.Failed.Equal(began.Add(3*time.Minute)) || got.Status != 503 {
			t.Errorf("in an outage: %+v", got)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = c.GetConversation(gone, "c1")
		if c.Calls()[0].Failures != 3 {
			t.Error("a call that was given up counts")
		}
		ask()
		if got := c.Calls()[0]; got.Failures != 0 || !got.Failing.IsZero() {
			t.Errorf("after it: %+v", got)
		}
	})
}
