package service

import (
	"net/http"
	"testing"
	"time"
)

// The Date of an answer shows how far the service's clock is from ours; its rounding counts as no
// difference, and an answer without one changes nothing.
func TestAhead(t *testing.T) {
	now := time.Date(2026, 11, 13, 20, 50, 0, 500_000_000, time.UTC)
	for date, want := range map[time.Duration]time.Duration{
		0: 0, -time.Second: -500 * time.Millisecond, time.Minute: time.Minute - 500*time.Millisecond, -time.Hour: -time.Hour + 500*time.Millisecond,
	} {
		served := now.Add(date).Format(http.TimeFormat)
		h := newHost(t, listen(t), func(n int, c *caller) {
			for first := true; c.hear(); first = false {
				head := "HTTP/1.1 201 Created\r\n"
				if first {
					head += "Date: " + served + "\r\n"
				}
				c.say(withLength(head, jsonMessage))
			}
		})
		c := h.client(t, func(o *Options) { o.Now = func() time.Time { return now } })
		for range 2 {
			if err := send(c); err != nil || c.Ahead() != want {
				t.Errorf("a Date of %s at %s: %v, %v; want %v", served, now, c.Ahead(), err, want)
			}
		}
	}
}
