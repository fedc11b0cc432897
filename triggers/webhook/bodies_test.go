package webhook

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// sendHead sends the head of a delivery, and of its body no byte, and returns how it is answered.
func sendHead(t *testing.T, address string, header map[string]string, length int) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	head := fmt.Sprintf("POST /webhook HTTP/1.1\r\nHost: here\r\nContent-Length: %d\r\n", length)
	for k, v := range header {
		head += k + ": " + v + "\r\n"
	}
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Errorf("%d bytes are announced and not sent: %v", length, err)
		return nil
	}
	_ = res.Body.Close()
	return res
}

// TestHeadBeforeBody shows that what the head alone tells to be wrong is refused before any of the body has come.
func TestHeadBeforeBody(t *testing.T) {
	const stamp, sign = "X-Service-Timestamp", "X-Service-Signature"
	right := signature("whsec_new", "1800000000", body)
	for _, tt := range []struct {
		name    string
		header  map[string]string
		length  int
		status  int
		outcome Outcome
	}{
		{"not signed", nil, 1000, 401, Unsigned},
		{"no timestamp", map[string]string{sign: right}, 1000, 401, Unsigned},
		{"not a signature", map[string]string{stamp: "1800000000", sign: "sha256=00"}, 1000, 401, Forged},
		{"not a time", map[string]string{stamp: "noon", sign: right}, 1000, 401, Unsigned},
		{"old", map[string]string{stamp: "1799999699", sign: right}, 1000, 401, Stale},
		{"ahead", map[string]string{stamp: "1800000301", sign: right}, 1000, 401, Early},
		{"large", map[string]string{stamp: "1800000000", sign: right}, maxBody + 1, 413, TooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			server := httptest.NewServer(d)
			defer server.Close()
			res := sendHead(t, server.Listener.Addr().String(), tt.header, tt.length)
			if res == nil || res.StatusCode != tt.status || !res.Close {
				t.Errorf("answered with %+v, want %d and the end of the connection", res, tt.status)
			}
			if res != nil {
				_ = res.Body.Close()
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.counts[tt.outcome] != 1 {
				t.Errorf("counted %v, want %s", d.counts, tt.outcome)
			}
		})
	}
}

// TestLongestBody shows that a body of 1 MiB is taken, with and without its length told, and one byte more is not.
func TestLongestBody(t *testing.T) {
	for extra, want := range map[int]int{0: http.StatusAccepted, 1: http.StatusRequestEntityTooLarge} {
		d := newDesk(t)
		server := httptest.NewServer(d)
		defer server.Close()
		long := strings.Replace(body, `"hi"`, `"`+strings.Repeat("h", maxBody+extra-len(body)+2)+`"`, 1)
		for _, told := range []bool{true, false} {
			r, err := http.NewRequest(http.MethodPost, server.URL, io.MultiReader(strings.NewReader(long)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = d.delivery(long, nil).Header
			if told {
				r.ContentLength = int64(len(long))
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if ok := res.StatusCode == want || want == http.StatusAccepted && res.StatusCode == http.StatusOK; !ok {
				t.Errorf("%d bytes, length told %v: %d, want %d", len(long), told, res.StatusCode, want)
			}
		}
	}
}

// holder holds bytes of a bound, and notes whether it was made to give way.
func holder(b *Bodies, age time.Duration) (u *unverified, gone *bool) {
	gone = new(bool)
	return &unverified{bodies: b, began: time.Now().Add(-age), end: func() { *gone = true }}, gone
}

// TestBodiesGiveWay shows who gives way to whom when there is no room left, and that the bound holds whoever comes.
func TestBodiesGiveWay(t *testing.T) {
	b := NewBodies()
	var gone []*bool
	var all []*unverified
	for range 23 {
		u, g := holder(b, 0)
		if !u.take(1 << 20) {
			t.Fatal("no room for 23 of 1 MiB")
		}
		all, gone = append(all, u), append(gone, g)
	}
	more, _ := holder(b, 0)
	if more.take(2 << 20) {
		t.Error("a large body takes the place of one that has just begun")
	}
	all[0].began = all[0].began.Add(-slowBody)
	if !more.take(2<<20) || !*gone[0] || *gone[1] {
		t.Error("a large body does not take the place of a slow one")
	}
	small, _ := holder(b, 0)
	if !small.take(smallBody) || !*gone[1] || *gone[2] {
		t.Error("a small body does not take the place of the oldest one")
	}
	if !all[2].complete() || all[0].complete() {
		t.Error("complete is what gave way, or is not what did not")
	}
	taken := 0
	for range 10_000 {
		if u, _ := holder(b, 0); u.take(smallBody) {
			taken++
		}
	}
	if b.used > maxUnverified || taken == 0 || *gone[2] {
		t.Errorf("%d bytes are held after %d more, and a complete body gave way: %v", b.used, taken, *gone[2])
	}
	for _, u := range append(all, small, more) {
		u.release()
	}
	if b.used != b.leaving+b.held() {
		t.Errorf("%d bytes are used, and %d held", b.used, b.leaving+b.held())
	}
}

// held adds up what those hold that do not give way.
func (b *Bodies) held() (n int) {
	for e := b.coming.Front(); e != nil; e = e.Next() {
		n += e.Value.(*unverified).held
	}
	return n
}

// TestBodiesAtOnce holds the sums together while many come and go.
func TestBodiesAtOnce(t *testing.T) {
	b := NewBodies()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 200 {
				u, _ := holder(b, time.Duration(k%2)*time.Second)
				for n := 4 << 10; n <= (64<<10)<<(i%5) && u.take(n); n *= 2 {
				}
				if k%3 == 0 && u.complete() {
					u.wait(func() {})
				}
				u.release()
			}
		})
	}
	all.Wait()
	if b.used != 0 || b.leaving != 0 || b.coming.Len() != 0 {
		t.Errorf("%d used, %d leaving, %d there after all have gone", b.used, b.leaving, b.coming.Len())
	}
}
