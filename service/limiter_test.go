package service

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// desk is a service that lives inside a synctest bubble: it answers with the given statuses in
// turn, then with 200, and notes when it was asked.
type desk struct {
	mu       sync.Mutex
	statuses []int
	retry    string
	asked    []time.Time
}

func (d *desk) RoundTrip(*http.Request) (*http.Response, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked = append(d.asked, time.Now())
	res := &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(jsonConversation))}
	if len(d.statuses) > 0 {
		res.StatusCode, d.statuses = d.statuses[0], d.statuses[1:]
		if d.retry != "" {
			res.Header.Set("Retry-After", d.retry)
		}
	}
	return res, nil
}

func (d *desk) requests() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.asked)
}

func (d *desk) client(t *testing.T, options ...func(*Options)) *Client {
	t.Helper()
	o := Options{BaseURL: "https://service.example.com/v1", APIKey: testKey, Transport: d}
	for _, set := range options {
		set(&o)
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRetryAfterIsHonouredToTheSecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{statuses: []int{429}, retry: "30"}
		c := d.client(t)
		shared := d.client(t, func(o *Options) { o.Limiter = c.Limiter() })
		start := time.Now()
		if e := asError(t, read(c)); e.Status != 429 || e.RetryAfter != 30*time.Second || e.Uncertain {
			t.Fatalf("got %+v", e)
		}
		var wg sync.WaitGroup
		for _, each := range []*Client{c, shared, c} {
			wg.Go(func() {
				if err := read(each); err != nil {
					t.Error(err)
				}
			})
		}
		time.Sleep(30*time.Second - time.Millisecond)
		synctest.Wait()
		if n := d.requests(); n != 1 {
			t.Fatalf("%d requests left during the pause", n-1)
		}
		wg.Wait()
		for _, at := range d.asked[1:] {
			if at.Sub(start) != 30*time.Second {
				t.Errorf("a request left after %v, want 30s", at.Sub(start))
			}
		}
	})
}

// The pause is kept on the clock the client was given, not on the machine's.
func TestRetryAfterOnAGivenClock(t *testing.T) {
	now := at2000
	var slept time.Duration
	d := &desk{statuses: []int{429}, retry: "30"}
	c := d.client(t, func(o *Options) {
		o.Now = func() time.Time { return now }
		o.Sleep = func(_ context.Context, d time.Duration) error { slept += d; now = now.Add(d); return nil }
	})
	_ = read(c)
	if err := read(c); err != nil || slept != 30*time.Second {
		t.Errorf("slept %v, %v", slept, err)
	}
}

func TestRetryAfterForms(t *testing.T) {
	now := time.Date(2026, 11, 13, 20, 0, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"30": 30 * time.Second, "1.5": 1500 * time.Millisecond, "": 0, "soon": 0, "-5": 0, "99999999999999": maxRetryAfter,
		"Fri, 13 Nov 2026 20:01:00 GMT": time.Minute, "Fri, 13 Nov 2026 19:00:00 GMT": 0,
	} {
		if got := retryAfter(http.Header{"Retry-After": {value}}, now); got != want {
			t.Errorf("%q means %v, want %v", value, got, want)
		}
	}
}

func TestMissingRetryAfterPausesForASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{statuses: []int{429}}
		c := d.client(t)
		if e := asError(t, read(c)); e.RetryAfter != time.Second {
			t.Errorf("retry after %v", e.RetryAfter)
		}
		_ = read(c)
		if got := d.asked[1].Sub(d.asked[0]); got != time.Second {
			t.Errorf("paused for %v", got)
		}
	})
}

func TestPatientClientWaitsAndRepeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{statuses: []int{429, 429}, retry: "10"}
		c := d.client(t, func(o *Options) { o.MaxWait = -1 }).Patient()
		start := time.Now()
		if err := send(c); err != nil || len(d.asked) != 3 || time.Since(start) != 20*time.Second {
			t.Errorf("%v after %v and %d requests", err, time.Since(start), len(d.asked))
		}
	})
}

func TestServerErrorsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{statuses: []int{503}, retry: "10"}
		c := d.client(t).Patient()
		if e := asError(t, send(c)); e.RetryAfter != 10*time.Second || len(d.asked) != 1 {
			t.Errorf("got %+v after %d requests", e, len(d.asked))
		}
		if err := read(c); err != nil || d.asked[1] != d.asked[0] {
			t.Errorf("a 503 must not hold back other calls: %v", err)
		}
	})
}

func TestWaitEndsWithTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		c := d.client(t)
		c.Limiter().Pause(time.Now().Add(time.Hour))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err := c.GetConversation(ctx, idConv)
		if !errors.Is(err, context.DeadlineExceeded) || IsUncertain(err) || len(d.asked) != 0 {
			t.Errorf("got %v after %d requests", err, len(d.asked))
		}
	})
}

// Waiting to be let through does not eat up the time for the answer.
func TestTimeoutBeginsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		c := d.client(t, func(o *Options) { o.Timeout = time.Second })
		c.Limiter().Pause(time.Now().Add(time.Minute))
		if err := read(c); err != nil {
			t.Error(err)
		}
	})
}

func TestMaxWaitFailsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		c := d.client(t, func(o *Options) { o.MaxWait = 10 * time.Second })
		start := time.Now()
		c.Limiter().Pause(start.Add(time.Minute))
		err := send(c)
		if e := asError(t, err); e.Status != 429 || !e.Local || e.RetryAfter != time.Minute || !IsTemporary(err) || time.Since(start) != 0 || len(d.asked) != 0 {
			t.Errorf("got %+v after %v", e, time.Since(start))
		}
		time.Sleep(55 * time.Second)
		if err := send(c); err != nil || time.Since(start) != time.Minute {
			t.Errorf("a short wait: %v after %v", err, time.Since(start))
		}
	})
}

func TestPauseIsNeverShortened(t *testing.T) {
	l := NewLimiter(0)
	l.Pause(at2050)
	l.Pause(at2000)
	if got := l.PausedUntil(); got != at2050 {
		t.Errorf("paused until %v", got)
	}
}

func TestCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		c := d.client(t, func(o *Options) { o.Rate = 20 })
		start := time.Now()
		var wg sync.WaitGroup
		for range 101 {
			wg.Go(func() { _ = read(c) })
		}
		wg.Wait()
		if took := time.Since(start); took < 4900*time.Millisecond || took > 5100*time.Millisecond {
			t.Errorf("101 calls at 20 a second took %v", took)
		}
	})
}

// A call that waits for the rate limit when a 429 arrives waits for its pause too.
func TestPauseDuringTheCeiling(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{}
		c := d.client(t, func(o *Options) { o.Rate = 1 })
		start := time.Now()
		_ = read(c)
		time.AfterFunc(500*time.Millisecond, func() { c.Limiter().Pause(start.Add(time.Minute)) })
		if err := read(c); err != nil || time.Since(start) < time.Minute {
			t.Errorf("left after %v (%v)", time.Since(start), err)
		}
	})
}

// TestLimiterState shows the limiter's reported state.
func TestLimiterState(t *testing.T) {
	now := time.Date(2026, 11, 13, 17, 50, 0, 0, time.UTC)
	l := newLimiter(20, func() time.Time { return now }, nil)
	if got := l.State(); got != (LimiterState{PerSecond: 20}) {
		t.Errorf("at first: %+v", got)
	}
	l.Pause(now.Add(time.Minute))
	asked := now
	now = now.Add(10 * time.Second)
	l.Pause(now.Add(5 * time.Second))
	if got, want := l.State(), (LimiterState{PerSecond: 20, PausedUntil: asked.Add(time.Minute), Asked: now, Length: 5 * time.Second, Times: 2}); got != want {
		t.Errorf("after two pauses: %+v, want %+v", got, want)
	}
	if got := NewLimiter(0).State(); got != (LimiterState{}) {
		t.Errorf("without a ceiling: %+v", got)
	}
}
