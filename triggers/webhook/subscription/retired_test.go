package subscription

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/service/sandbox"
	"github.com/quandohq/quando/triggers/webhook"
)

// leaks sends an event signed with a leaked secret at a time, and returns the status of the answer.
func (d *desk) leaks(secret service.Secret, at time.Time) int {
	d.Helper()
	stamp := strconv.FormatInt(at.Unix(), 10)
	body := fmt.Sprintf(`{"id":"leaked-%d","type":"message.received","created_at":"2027-01-15T08:00:00Z","data":{}}`, at.UnixNano())
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(stamp + "." + body))
	r := must(http.NewRequestWithContext(d.Context(), http.MethodPost, d.url, strings.NewReader(body)))
	r.Header.Set("X-Service-Timestamp", stamp)
	r.Header.Set("X-Service-Signature", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		d.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// secret returns the service's current one.
func (d *desk) secret(s *Subscription) service.Secret {
	d.Helper()
	return s.Secrets(d.now())[0]
}

func (d *desk) setAhead(by time.Duration) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ahead = by
}

// TestRetiredSecret shows that a replaced secret verifies what was signed before that, within five
// minutes of clock skew, and nothing else.
func TestRetiredSecret(t *testing.T) {
	d := newDesk(t)
	d.moves.Store(true)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	old, rotated := d.secret(s), d.now()
	must(s.Rotate(t.Context(), false))
	for _, tt := range []struct {
		now, signed time.Duration // after the rotation
		want        int
	}{
		{time.Minute, -3 * time.Minute, 202}, {4 * time.Minute, 4 * time.Minute, 202}, {9 * time.Minute, 4*time.Minute + 30*time.Second, 202},
		{6 * time.Minute, 6 * time.Minute, 401}, {time.Hour, time.Hour, 401}, {7 * time.Hour, 7 * time.Hour, 401},
	} {
		d.setAhead(tt.now)
		if got := d.leaks(old, rotated.Add(tt.signed)); got != tt.want {
			t.Errorf("%v after the rotation, signed %v after it: %d, want %d", tt.now, tt.signed, got, tt.want)
		}
	}
}

// TestRetiredSecretOfBefore reads a record of an earlier version, which did not store when a secret
// was replaced: it was valid for eight hours then.
func TestRetiredSecretOfBefore(t *testing.T) {
	d := newDesk(t)
	d.moves.Store(true)
	s := d.open()
	s.SetRules(compile(t, "message.received"))
	d.tend(s)
	old := d.secret(s)
	must(s.Rotate(t.Context(), false))
	must(s.change(t.Context(), func(r *record) (bool, error) {
		r.Secrets[1].Retired, r.Secrets[1].Until = time.Time{}, r.Secrets[1].Retired.Add(8*time.Hour)
		return true, nil
	}))
	for after, want := range map[time.Duration]int{4 * time.Minute: 202, 6 * time.Minute: 401} {
		d.setAhead(after)
		if got := d.leaks(old, d.now()); got != want {
			t.Errorf("%v after the rotation: %d, want %d", after, got, want)
		}
	}
}

// TestRevoke lets a command revoke a leaked secret beside an engine: it is refused within seconds,
// and the service's deliveries are recorded.
func TestRevoke(t *testing.T) {
	for _, tt := range []struct {
		name    string
		fault   *sandbox.Fault
		refused bool // the leaked one
		fails   bool
	}{
		{"answered", nil, true, false},
		{"the answer is lost", &sandbox.Fault{Operation: rotateSecret, Kind: "drop_after", Count: 1}, true, true},
		{"the call is lost", &sandbox.Fault{Operation: rotateSecret, Kind: "drop_before", Count: 1}, true, true},
		{"refused", &sandbox.Fault{Operation: rotateSecret, Kind: "status_before", Status: 422, Count: 1}, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			s := d.open(func(o *Options) { o.Retired = 8 * time.Hour })
			s.SetRules(compile(t, "message.received"))
			d.tend(s)
			oldest := d.secret(s)
			must(s.Rotate(t.Context(), false))
			leaked := d.secret(s)
			if d.leaks(leaked, time.Now()) != 202 || d.leaks(oldest, time.Now()) != 202 {
				t.Fatal("they do not count before")
			}
			if tt.fault != nil {
				if err := d.sandbox.AddFault(*tt.fault); err != nil {
					t.Fatal(err)
				}
			}
			command := must(New(Options{Workspace: "default", Client: d.client, Cursors: d.journal, Keys: KeyFile(d.path("quando.key")), URL: d.url, Beside: true}))
			if _, err := command.Rotate(t.Context(), true); (err != nil) != tt.fails {
				t.Fatalf("%v", err)
			}
			if !tt.refused {
				if time.Sleep(believed + 100*time.Millisecond); d.leaks(leaked, time.Now()) != 202 {
					t.Error("nothing was revoked, and the secret does not count")
				}
				return
			}
			eventually(t, "the secret that became known counts no more", func() bool { return d.leaks(leaked, time.Now()) == 401 })
			if d.leaks(oldest, time.Now()) != 401 {
				t.Error("the one before it counts")
			}
			d.tend(s)
			before := d.counted(webhook.Recorded)
			d.writes("hello")
			if d.counted(webhook.Recorded) != before+1 {
				t.Errorf("the service is not heard: %v", d.outcomes)
			}
			if r := must(s.load(t.Context())); len(r.Secrets) != 1 || r.Unsure || r.Revoke || d.leaks(leaked, time.Now()) != 401 {
				t.Errorf("the record still has %d secrets, unsure %v, revoke %v", len(r.Secrets), r.Unsure, r.Revoke)
			}
		})
	}
}
