package sandbox_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/service/sandbox"
)

func TestRetries(t *testing.T) {
	start := friday
	schedule := []time.Duration{0, 30 * time.Second, 2*time.Minute + 30*time.Second, 12*time.Minute + 30*time.Second,
		time.Hour + 12*time.Minute + 30*time.Second, 7*time.Hour + 12*time.Minute + 30*time.Second}
	t.Run("after 30 s, 2 min, 10 min, 1 h and 6 h", func(t *testing.T) {
		d := open(t)
		hook := d.receive(500)
		id, secret := d.subscribe(hook, "message.received")
		d.ana()
		d.advance(30 * 24 * time.Hour / 10) // far beyond the last, in one step
		var got []time.Duration
		for _, a := range hook.deliveries() {
			got = append(got, a.at.Sub(start))
			if !verify(a, secret) {
				t.Error("an attempt is not signed")
			}
		}
		if diff := cmp.Diff(schedule, got); diff != "" {
			t.Errorf("attempts (-want +got):\n%s", diff)
		}
		r := d.api("GET /integrations/webhooks/"+id+"/deliveries", nil).want(200)
		if len(r.ids()) != 1 || r.text("data.0.status") != "failed" || r.get("data.0.attempt") != 6.0 || r.get("data.0.response_status") != 500.0 {
			t.Errorf("deliveries %s", r.body)
		}
	})
	t.Run("are told ahead", func(t *testing.T) {
		d := open(t)
		hook := d.receive(500)
		d.subscribe(hook, "message.received")
		if due, any := d.Due(); any {
			t.Errorf("something is due at %s", due)
		}
		d.ana()
		if err := d.Settle(t.Context()); err != nil {
			t.Fatal(err)
		}
		if due, any := d.Due(); !any || due.Sub(start) != 30*time.Second {
			t.Errorf("due %v at %s", any, due)
		}
	})
	t.Run("keep the event and the delivery", func(t *testing.T) {
		d := open(t)
		hook := d.receive(500)
		d.subscribe(hook, "message.received")
		d.ana()
		d.advance(time.Minute)
		got := hook.deliveries()
		if len(got) != 2 || string(got[0].body) != string(got[1].body) ||
			got[0].header.Get("X-Service-Event-Id") != got[1].header.Get("X-Service-Event-Id") ||
			got[0].header.Get("X-Service-Delivery") != got[1].header.Get("X-Service-Delivery") {
			t.Errorf("%d attempts", len(got))
		}
	})
	t.Run("end with an answer of 2xx", func(t *testing.T) {
		d := open(t)
		hook := d.receive(503)
		id, _ := d.subscribe(hook, "message.received")
		d.ana()
		d.settle()
		list := d.api("GET /integrations/webhooks/"+id+"/deliveries", nil).want(200)
		if list.text("data.0.status") != "retrying" || list.text("data.0.next_attempt_at") != "2026-11-13T20:50:30Z" {
			t.Errorf("deliveries %s", list.body)
		}
		hook.answer(204)
		d.advance(24 * time.Hour)
		if got := len(hook.deliveries()); got != 2 {
			t.Errorf("%d attempts, want 2", got)
		}
		list = d.api("GET /integrations/webhooks/"+id+"/deliveries", nil).want(200)
		if list.text("data.0.status") != "delivered" || list.get("data.0.attempt") != 2.0 || list.get("data.0.next_attempt_at") != nil {
			t.Errorf("deliveries %s", list.body)
		}
	})
	t.Run("redirects are not followed", func(t *testing.T) {
		d := open(t)
		hook := d.receive(302)
		id, _ := d.subscribe(hook, "message.received")
		d.ana()
		d.settle()
		list := d.api("GET /integrations/webhooks/"+id+"/deliveries", nil).want(200)
		if len(hook.deliveries()) != 1 || list.text("data.0.status") != "retrying" || list.get("data.0.response_status") != 302.0 {
			t.Errorf("%d requests, %s", len(hook.deliveries()), list.body)
		}
	})
	t.Run("come by themselves on a running clock", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var attempts []time.Duration
			begin := time.Now()
			s, err := sandbox.New(sandbox.Options{AllowLoopback: true, Seed: 1, Transport: transport(func(r *http.Request) (*http.Response, error) {
				attempts = append(attempts, time.Since(begin))
				return answerWith(r, 500), nil
			})})
			if err != nil {
				t.Fatal(err)
			}
			state := `{"webhooks":[{"url":"http://127.0.0.1/","events":["message.received"],"active":true}]}`
			if err := s.SetState([]byte(state)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Text: "hi"}); err != nil {
				t.Fatal(err)
			}
			time.Sleep(8 * time.Hour)
			synctest.Wait()
			if len(attempts) != len(schedule) {
				t.Fatalf("%d attempts: %v", len(attempts), attempts)
			}
			for i, want := range schedule {
				if (attempts[i] - want).Abs() > 10*time.Millisecond {
					t.Errorf("attempt %d after %v, want %v", i+1, attempts[i], want)
				}
			}
			_ = s.Close()
		})
	})
}

// transport is a function that sends requests.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func answerWith(r *http.Request, status int) *http.Response {
	return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}
}

// TestDeliveryTimeout lets a receiver take a little less and a little more
// than 8 seconds.
func TestDeliveryTimeout(t *testing.T) {
	for name, tt := range map[string]struct {
		takes time.Duration
		want  string
	}{
		"7.9 seconds are in time":  {7900 * time.Millisecond, "delivered"},
		"8.1 seconds are too long": {8100 * time.Millisecond, "retrying"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, err := sandbox.New(sandbox.Options{AllowLoopback: true, Frozen: friday, Transport: transport(func(r *http.Request) (*http.Response, error) {
					select {
					case <-time.After(tt.takes):
						return answerWith(r, 200), nil
					case <-r.Context().Done():
						return nil, r.Context().Err()
					}
				})})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				if err := s.SetState([]byte(`{"webhooks":[{"url":"http://127.0.0.1/","events":["message.received"],"active":true}]}`)); err != nil {
					t.Fatal(err)
				}
				if _, err := s.CustomerMessage(sandbox.CustomerMessage{Phone: "+5511988887777", Text: "hi"}); err != nil {
					t.Fatal(err)
				}
				if err := s.Settle(context.Background()); err != nil {
					t.Fatal(err)
				}
				var state struct{ Deliveries []struct{ Status string } }
				if err := json.Unmarshal(s.State(), &state); err != nil {
					t.Fatal(err)
				}
				if got := state.Deliveries[0].Status; got != tt.want {
					t.Errorf("status %s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestDeactivation(t *testing.T) {
	d := open(t)
	hook := d.receive(500)
	id, _ := d.subscribe(hook, "message.received")
	active := func() any { return d.api("GET /integrations/webhooks", nil).want(200).get("data.0.active") }
	fail := func(n int) {
		for range n {
			d.ana()
		}
		d.advance(8 * time.Hour)
	}
	d.run(t, "9 failures in a row are borne", func(t *testing.T) {
		fail(9)
		if active() != true {
			t.Error("inactive after 9")
		}
	})
	d.run(t, "a success starts the count again", func(t *testing.T) {
		hook.answer(200)
		d.ana()
		d.settle()
		hook.answer(500)
		fail(9)
		if active() != true {
			t.Error("inactive although one came through")
		}
	})
	d.run(t, "10 in a row make it inactive", func(t *testing.T) {
		fail(1)
		if active() != false {
			t.Error("still active")
		}
	})
	d.run(t, "inactive it receives nothing", func(t *testing.T) {
		before := len(hook.deliveries())
		fail(1)
		if got := len(hook.deliveries()) - before; got != 0 {
			t.Errorf("%d attempts", got)
		}
	})
	d.run(t, "PATCH active true brings it back", func(t *testing.T) {
		d.api("PATCH /integrations/webhooks/"+id, m{"active": true}).want(200)
		fail(9)
		if active() != true {
			t.Error("the old failures still count")
		}
		hook.answer(200)
		before := len(hook.deliveries())
		d.ana()
		d.settle()
		if got := len(hook.deliveries()) - before; got != 1 {
			t.Errorf("%d deliveries", got)
		}
	})
}
