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

// sendHead sends the head of a delivery without any byte of its body, and returns the status of the
// answer, and whether the connection is closed after it.
func sendHead(t *testing.T, address string, header map[string]string, length int) (status int, closes bool) {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
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
		return 0, false
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Close
}

// TestHeadBeforeBody shows that a delivery with a wrong head is refused before any of its body has
// arrived.
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
			if status, closes := sendHead(t, server.Listener.Addr().String(), tt.header, tt.length); status != tt.status || !closes {
				t.Errorf("answered with %d, and the connection ends: %v; want %d", status, closes, tt.status)
			}
			d.mu.Lock()
			defer d.mu.Unlock()
			if d.counts[tt.outcome] != 1 {
				t.Errorf("counted %v, want %s", d.counts, tt.outcome)
			}
		})
	}
}

// TestLengths shows that bodies up to 1 MiB are accepted, with and without a Content-Length, and
// that one byte more is too much.
func TestLengths(t *testing.T) {
	d := newDesk(t)
	server := httptest.NewServer(d)
	defer server.Close()
	for i, n := range []int{len(body), firstRoom - 1, firstRoom, firstRoom + 1, smallBody - 1, smallBody, smallBody + 1, smallBody + pieceSize, smallBody + pieceSize + 1, 500_000, maxBody - 1, maxBody, maxBody + 1} {
		for _, told := range []bool{true, false} {
			id := fmt.Sprintf("%02d", 2*i)
			if told {
				id = fmt.Sprintf("%02d", 2*i+1)
			}
			text := strings.NewReplacer(`"e1"`, `"`+id+`"`, `"hi"`, `"`+strings.Repeat("h", max(2, n-len(body)+2))+`"`).Replace(body)
			r, err := http.NewRequest(http.MethodPost, server.URL, io.MultiReader(strings.NewReader(text)))
			if err != nil {
				t.Fatal(err)
			}
			r.Header = d.delivery(text, nil).Header
			if told {
				r.ContentLength = int64(len(text))
			}
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			want := http.StatusAccepted
			if len(text) > maxBody {
				want = http.StatusRequestEntityTooLarge
			}
			if res.StatusCode != want {
				t.Errorf("%d bytes, length told %v: %d, want %d", len(text), told, res.StatusCode, want)
			}
		}
	}
	for _, e := range d.memory.events {
		if said := e.Data["message"].(map[string]any)["text"].(string); strings.Trim(said, "h") != "" && said != "hi" {
			t.Errorf("the event %s has another text", e.ID)
		}
	}
	if used := d.options.Bodies.used; used != 0 {
		t.Errorf("%d bytes are held after all have gone", used)
	}
}

// holder returns a body that reserves bytes, and whether it was evicted.
func holder(b *Bodies, age time.Duration) (u *unverified, gone *bool) {
	gone = new(bool)
	return &unverified{bodies: b, began: time.Now().Add(-age), end: func() { *gone = true }}, gone
}

// TestBodiesGiveWay shows which body is evicted for which if there is no room left, and that the
// bound holds in any case.
func TestBodiesGiveWay(t *testing.T) {
	b := NewBodies()
	var gone []*bool
	var all []*unverified
	for range 23 {
		u, g := holder(b, 0)
		if !u.reserve(1 << 20) {
			t.Fatal("no room for 23 of 1 MiB")
		}
		all, gone = append(all, u), append(gone, g)
	}
	more, _ := holder(b, 0)
	if more.reserve(2 << 20) {
		t.Error("a large body takes the place of one that has just begun")
	}
	all[0].began = all[0].began.Add(-slowBody)
	if !more.reserve(2<<20) || !*gone[0] || *gone[1] {
		t.Error("a large body does not take the place of a slow one")
	}
	small, _ := holder(b, 0)
	if !small.reserve(smallBody) || !*gone[1] || *gone[2] {
		t.Error("a small body does not take the place of the oldest one")
	}
	if !all[2].complete() || all[0].complete() {
		t.Error("complete is what gave way, or is not what did not")
	}
	taken := 0
	for range 10_000 {
		if u, _ := holder(b, 0); u.reserve(smallBody) {
			taken++
		}
	}
	if b.used > maxUnverified || taken == 0 || *gone[2] {
		t.Errorf("%d bytes are held after %d more, and a complete body gave way: %v", b.used, taken, *gone[2])
	}
	for _, u := range append(all, small, more) {
		u.release()
	}
	if b.used != b.evicted+b.held() {
		t.Errorf("%d bytes are used, and %d held", b.used, b.evicted+b.held())
	}
}

// held returns how many bytes are reserved by bodies that are not evicted.
func (b *Bodies) held() (n int) {
	for e := b.arriving.Front(); e != nil; e = e.Next() {
		n += e.Value.(*unverified).held
	}
	return n
}

// TestBodiesAtOnce checks the sums while many bodies come and go.
func TestBodiesAtOnce(t *testing.T) {
	b := NewBodies()
	var all sync.WaitGroup
	for i := range 64 {
		all.Go(func() {
			for k := range 200 {
				u, _ := holder(b, time.Duration(k%2)*time.Second)
				for n := 4 << 10; n <= (64<<10)<<(i%5) && u.reserve(n); n *= 2 {
				}
				if k%3 == 0 && u.complete() {
					u.allowEviction(func() {})
				}
				u.release()
			}
		})
	}
	all.Wait()
	if b.used != 0 || b.evicted != 0 || b.arriving.Len() != 0 {
		t.Errorf("%d used, %d leaving, %d there after all have gone", b.used, b.evicted, b.arriving.Len())
	}
}

// A deadlines is a writer of a connection that notes how long may be read from it.
type deadlines struct {
	*httptest.ResponseRecorder
	set []time.Time
}

func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.set = append(d.set, at)
	return nil
}

// TestBodyTime shows that a body is waited for for less time than the 8 seconds that the service
// waits for the answer, and that recording is not bounded by it.
func TestBodyTime(t *testing.T) {
	d := newDesk(t)
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	before := time.Now()
	d.ServeHTTP(w, d.delivery(body, nil))
	after := time.Now()
	if w.Code != http.StatusAccepted || len(w.set) != 2 {
		t.Fatalf("%d, deadlines %v", w.Code, w.set)
	}
	if first := w.set[0]; first.Before(before.Add(3*time.Second)) || first.After(after.Add(7*time.Second)) {
		t.Errorf("the body is waited for until %v, from %v", first, before)
	}
	if !w.set[1].IsZero() {
		t.Errorf("after the body nothing is read after %v", w.set[1])
	}
}
