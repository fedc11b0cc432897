package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules/costtest"
)

// slowText takes long to check, and has nothing in it that is refused before.
func slowText() string {
	line := "      - " + strings.Repeat("(contact.city==\"b\" or contact.name==\"a\")and ", 4) + strings.Repeat("contact.name==\"a\"and ", 15) + "true\n"
	head := "rules:\n  - id: r\n    when: message.received\n    do: [mark_read]\n    if:\n"
	return head + strings.Repeat(line, (60<<10)/len(line))
}

// TestCheckEnds shows that a check ends at its timeout, and when the client disconnects.
func TestCheckEnds(t *testing.T) {
	d := newEditorDesk(t)
	text := slowText()
	d.console.checked.most = 5 * time.Millisecond
	for path, fields := range map[string][]string{"/write/check": nil, "/write/complete": {"line", "1", "column", "1"}, "/write/save": {"stage", "live"}} {
		status, body, _ := d.post(path, append(fields, "text", text, "rule", "r")...)
		if status != http.StatusServiceUnavailable || !strings.Contains(body, "took too long") {
			t.Errorf("%s: %d %.300s", path, status, body)
		}
	}

	d.console.checked.most = time.Hour
	checks := func() int {
		d.console.checked.mu.Lock()
		defer d.console.checked.mu.Unlock()
		return len(d.console.checked.each)
	}
	whole := func() {
		if status, body, _ := d.post("/write/check", "text", text, "rule", "r"); status != http.StatusOK {
			t.Fatal(status, body)
		}
	}
	left := func() {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			d.ask("POST", "/write/check", url.Values{"workspace": {"default"}, "text": {text}, "rule": {"r"}}, func(r *http.Request) { *r = *r.WithContext(ctx) })
		}()
		for begun := false; !begun; time.Sleep(time.Millisecond) {
			select {
			case <-done:
				begun = true
			default:
				begun = checks() > 0
			}
		}
		cancel()
		<-done
	}
	if testing.Short() {
		left()
		return
	}
	times := costtest.Ratio(left, whole)
	t.Logf("a whole check takes %.1f times as long as one whose client has disconnected", times)
	if times < 2 {
		t.Errorf("a whole check takes only %.1f times as long as one whose client has disconnected", times)
	}
}

// TestOneCheckForEach shows that a user has one text checked at a time, and does not delay others.
func TestOneCheckForEach(t *testing.T) {
	d := newEditorDesk(t, guarded)
	edu, _ := d.enters("edu", "correct horse")
	olga, _ := d.enters("olga", "correct horse")
	check := func(as func(*http.Request)) int {
		return d.ask("POST", "/write/check", url.Values{"workspace": {"default"}, "text": {awayTemplate}}, as).Code
	}
	leave, err := d.console.checked.enter(t.Context(), "editor edu") // as a running check does
	if err != nil {
		t.Fatal(err)
	}
	answers := make(chan int, 100)
	for range 30 {
		go func() { answers <- check(edu) }()
	}
	for range 30 - checkWaiting {
		if code := <-answers; code != http.StatusTooManyRequests {
			t.Errorf("a check too many is answered with %d", code)
		}
	}
	if code := check(olga); code != http.StatusOK {
		t.Errorf("another person's check is answered with %d", code)
	}
	select {
	case code := <-answers:
		t.Errorf("a second check went on beside the first, and was answered with %d", code)
	default:
	}
	leave()
	for range checkWaiting {
		if code := <-answers; code != http.StatusOK {
			t.Errorf("a check that waited is answered with %d", code)
		}
	}
	if n := len(d.console.checked.each); n > 0 {
		t.Errorf("%d are remembered", n)
	}
}
