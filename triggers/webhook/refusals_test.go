package webhook

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// TestRefuses shows that a delivery that cannot be trusted or decoded is refused, counted with its
// reason, and not recorded.
func TestRefuses(t *testing.T) {
	resign := func(offset time.Duration) func(*http.Request) {
		return func(r *http.Request) {
			timestamp := strconv.FormatInt(time.Unix(1_800_000_000, 0).Add(offset).Unix(), 10)
			r.Header.Set("X-Service-Timestamp", timestamp)
			r.Header.Set("X-Service-Signature", signature("whsec_new", timestamp, body))
		}
	}
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	tests := []struct {
		name    string
		body    string
		change  func(*http.Request)
		status  int
		outcome Outcome
	}{
		{"another secret", body, set("X-Service-Signature", signature("guess", "1800000000", body)), 401, Forged},
		{"an empty secret", body, set("X-Service-Signature", signature("", "1800000000", body)), 401, Forged},
		{"another body", body, set("X-Service-Signature", signature("whsec_new", "1800000000", body+" ")), 401, Forged},
		{"another timestamp", body, set("X-Service-Timestamp", "1800000001"), 401, Forged},
		{"no signature", body, func(r *http.Request) { r.Header.Del("X-Service-Signature") }, 401, Unsigned},
		{"no timestamp", body, func(r *http.Request) { r.Header.Del("X-Service-Timestamp") }, 401, Unsigned},
		{"not hex", body, set("X-Service-Signature", "sha256=xyz"), 401, Forged},
		{"no prefix", body, func(r *http.Request) {
			r.Header.Set("X-Service-Signature", strings.TrimPrefix(r.Header.Get("X-Service-Signature"), "sha256="))
		}, 401, Forged},
		{"upper case", body, func(r *http.Request) {
			r.Header.Set("X-Service-Signature", "sha256="+strings.ToUpper(strings.TrimPrefix(r.Header.Get("X-Service-Signature"), "sha256=")))
		}, 401, Forged},
		{"over five minutes old", body, resign(-5*time.Minute - time.Second), 401, Stale},
		{"over five minutes ahead", body, resign(5*time.Minute + time.Second), 401, Early},
		{"no JSON", "hello", nil, 400, NotAnEvent},
		{"no object", `["x"]`, nil, 400, NotAnEvent},
		{"cut off", body[:40], nil, 400, NotAnEvent},
		{"more behind it", body + `{}`, nil, 400, NotAnEvent},
		{"no id", `{"type":"message.received","created_at":"2027-01-15T08:00:00Z","data":{}}`, nil, 400, NotAnEvent},
		{"ID beside id", strings.Replace(body, `{"id"`, `{"ID":"e9","id"`, 1), nil, 400, NotAnEvent},
		{"id twice", strings.Replace(body, `{"id"`, `{"id":"e9","id"`, 1), nil, 400, NotAnEvent},
		{"ID instead of id", strings.Replace(body, `{"id"`, `{"ID"`, 1), nil, 400, NotAnEvent},
		{"id of another type", strings.Replace(body, `"e1"`, `7`, 1), nil, 400, NotAnEvent},
		{"no time", strings.Replace(body, "2027-01-15T08:00:00Z", "soon", 1), nil, 400, NotAnEvent},
		{"a bad time", strings.Replace(body, "2027-01-15T", "2027-15-01T", 1), nil, 400, NotAnEvent},
		{"data of another type", `{"id":"e1","type":"x","created_at":"2027-01-15T08:00:00Z","data":[1]}`, nil, 400, NotAnEvent},
		{"a header with another id", body, set("X-Service-Event-Id", "e2"), 400, Mismatch},
		{"a header with another type", body, set("X-Service-Event", "message.sent"), 400, Mismatch},
		{"too large", `{"id":"` + strings.Repeat("x", maxBody) + `"}`, nil, 413, TooLarge},
		{"an endless id", strings.Replace(body, "e1", strings.Repeat("x", rules.MaxName+1), 1), nil, 400, NotAnEvent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			if got := d.serve(d.delivery(tt.body, tt.change)); got != tt.status {
				t.Errorf("%d, want %d", got, tt.status)
			}
			if d.counts[tt.outcome] != 1 || len(d.counts) != 1 || len(d.memory.events) != 0 {
				t.Errorf("counted %v, recorded %d", d.counts, len(d.memory.events))
			}
			if strings.Contains(d.log.take(), "whsec") {
				t.Error("a secret is in the log")
			}
		})
	}
}

func TestWithinFiveMinutes(t *testing.T) {
	for _, offset := range []time.Duration{-5 * time.Minute, 5 * time.Minute} {
		d := newDesk(t)
		r := d.delivery(body, nil)
		d.now = d.now.Add(offset)
		if got := d.serve(r); got != http.StatusAccepted {
			t.Errorf("%v: %d", offset, got)
		}
	}
}

func TestNoSecret(t *testing.T) {
	d := newDesk(t)
	d.secrets = nil
	if got := d.serve(d.delivery(body, nil)); got != http.StatusUnauthorized || d.counts[NoSecret] != 1 {
		t.Errorf("%d %v", got, d.counts)
	}
	d.secrets = []service.Secret{""} // a variable that was set to nothing
	r := d.delivery(body, func(r *http.Request) {
		r.Header.Set("X-Service-Signature", signature("", r.Header.Get("X-Service-Timestamp"), body))
	})
	if got := d.serve(r); got != http.StatusUnauthorized || len(d.memory.events) > 0 {
		t.Errorf("an empty secret lets everybody in: %d", got)
	}
}

func TestOnlyPost(t *testing.T) {
	d := newDesk(t)
	w := httptest.NewRecorder()
	d.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/webhook", nil))
	if w.Code != http.StatusMethodNotAllowed || w.Header().Get("Allow") != "POST" {
		t.Errorf("%d %v", w.Code, w.Header())
	}
}

// lines is a log. A timer writes to it, too.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// take returns the lines since its last call.
func (l *lines) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.b.Reset()
	return l.b.String()
}

// TestFloodOfRefusals shows that a flood of unsigned deliveries takes a few lines of the log, which
// say how many there were.
func TestFloodOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t)
		unsigned := func(r *http.Request) { r.Header.Del("X-Service-Signature") }
		forged := func(r *http.Request) { r.Header.Set("X-Service-Signature", signature("guess", "1800000000", body)) }
		told := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := strings.Split(strings.TrimSpace(d.log.take()), "\n")
			if len(got) != len(want) {
				t.Fatalf("%d lines, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
			}
			for i := range want {
				if !strings.Contains(got[i], want[i]) {
					t.Errorf("the log says\n%s\nwant %s", got[i], want[i])
				}
			}
		}
		for range 1000 {
			d.serve(d.delivery(body, forged))
		}
		d.serve(d.delivery(body, unsigned))
		told(`msg="delivery refused" workspace=default outcome=bad_signature`, "outcome=unsigned")
		time.Sleep(logEvery)
		told(`msg="more deliveries refused" workspace=default outcome=bad_signature count=999`)
		d.serve(d.delivery(body, forged))
		time.Sleep(logEvery)
		told("count=1 ")
		time.Sleep(logEvery)
		synctest.Wait() // until it is known that there were none
		d.serve(d.delivery(body, forged))
		told(`msg="delivery refused"`)
		if d.counts[Forged] != 1002 || d.counts[Unsigned] != 1 {
			t.Errorf("counted %v", d.counts)
		}
		time.Sleep(2 * logEvery)
	})
}

// TestLongNames shows that no name is longer than a name may be: an event with too long a company
// is refused with the reason, and one with too long a conversation gets a lane whose name every
// journal can record.
func TestLongNames(t *testing.T) {
	for name, c := range map[string]struct {
		old, new     string
		want         int
		log          string
		tenant, lane string
	}{
		"a long company":        {`"t1"`, `"` + strings.Repeat("t", 100_000) + `"`, http.StatusBadRequest, "tenant_id is longer than 200 bytes", "", ""},
		"a company in a list":   {`"t1"`, `[` + strings.Repeat("1,", 50_000) + `1]`, http.StatusBadRequest, "tenant_id is longer than 200 bytes", "", ""},
		"a long id":             {`"e1"`, `"` + strings.Repeat("e", 201) + `"`, http.StatusBadRequest, "the event's id is longer than 200 bytes", "", ""},
		"a company by a number": {`"t1"`, `1234567890123456789`, http.StatusAccepted, "", "1234567890123456789", "conversation:c1"},
		"an escaped company":    {`"t1"`, `"\u0074\"1"`, http.StatusAccepted, "", `t"1`, "conversation:c1"},
		"no company":            {`"t1"`, `null`, http.StatusAccepted, "", "", "conversation:c1"},
		"a company of 200":      {`"t1"`, `"` + strings.Repeat("t", 200) + `"`, http.StatusAccepted, "", strings.Repeat("t", 200), "conversation:c1"},
		"a long conversation":   {`"c1"`, `"` + strings.Repeat("c", 100_000) + `"`, http.StatusAccepted, "", "t1", rules.LaneOf("conversation", strings.Repeat("c", 100_000))},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			if got := d.serve(d.delivery(strings.Replace(body, c.old, c.new, 1), nil)); got != c.want {
				t.Errorf("answered with %d, want %d", got, c.want)
			}
			if said := d.log.take(); !strings.Contains(said, c.log) {
				t.Errorf("the log says %.300s, want %s", said, c.log)
			}
			if c.want == http.StatusAccepted && (len(d.memory.events) != 1 || d.memory.events[0].Tenant != c.tenant || d.memory.events[0].Lane != c.lane || len(c.lane) > 500) {
				t.Errorf("%.500v", d.memory.events)
			}
		})
	}
}
