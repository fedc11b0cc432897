package console

import (
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// TestSentAfterTheSession shows that a form sent after the session has ended is neither carried out
// nor lost: the user gets it back, and can send it again.
func TestSentAfterTheSession(t *testing.T) {
	d := newDesk(t, guarded)
	sent := url.Values{"reason": {`the "list" is <b>wrong</b>` + "\nsince noon"}, "workspace": {"default"}, "rule": {"greet"}}
	w := d.ask("POST", "/pause", sent)
	page := w.Body.String()
	if w.Code != http.StatusUnauthorized || len(must(d.journal.Holds(t.Context()))) > 0 {
		t.Fatalf("%d %s", w.Code, page)
	}
	for _, want := range []string{`action="/pause"`, `name="rule" value="greet"`, "Send it again", `href="/login"`} {
		if !strings.Contains(page, want) {
			t.Errorf("%s is not on the page:\n%s", want, page)
		}
	}
	if !strings.Contains(html.UnescapeString(page), sent.Get("reason")) || strings.Contains(page, "<b>wrong") {
		t.Errorf("the reason is not on the page as it was written:\n%s", page)
	}
	program := func(r *http.Request) { r.Header.Set("Accept", "*/*") }
	if w := d.ask("POST", "/pause", sent, program); w.Code != http.StatusUnauthorized || strings.Contains(w.Body.String(), "<") || w.Header().Get("WWW-Authenticate") == "" {
		t.Errorf("a program is told %d %s", w.Code, w.Body)
	}
}

// TestOpenPages shows that an open page shows when another user has stopped everything, and when it
// is not live any more.
func TestOpenPages(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t, func(o *Options) {
		guarded(o)
		o.Access.Listen = "127.0.0.1:8081" // where the browser keeps cookies without encryption
	})
	b := newBrowser(t, d.serve())
	b.enters("edu")
	b.open("/rules/default/hello")
	b.until(`document.querySelector("#rail .card")`)
	if w := d.ask("POST", "/pause", url.Values{}, bearer("open-sesame-of-ali")); w.Code != http.StatusSeeOther {
		t.Fatal(w.Code)
	}
	b.sees("Everything is stopped.")
	d.ask("POST", "/resume", url.Values{}, bearer("open-sesame-of-ali"))
	b.until(`!document.body.innerText.includes("Everything is stopped.")`)

	d.mu.Lock()
	d.now = d.now.Add(12*time.Hour + time.Second)
	d.mu.Unlock()
	d.console.change()
	b.sees("You are not logged in any more.")
	b.click(`button[name="stage"][value="draft"]`)
	b.sees("what you wrote is still here")
	b.enters("edu") // as in another tab
	b.until(`document.getElementById("lost").hidden`)
	b.follow(`button[name="stage"][value="draft"]`)
	b.sees("Saved as a draft.")
}

// enters logs a user in without leaving the page.
func (b *browser) enters(name string) {
	b.t.Helper()
	if b.at == "" {
		b.open("/login")
	}
	look(b, "log in", chromedp.Evaluate[bool](`fetch("/login", {method: "POST", body: new URLSearchParams({name: "`+name+`", password: "correct horse"})}).then(() => window.dispatchEvent(new Event("focus")))`, chromedp.EvalAwaitPromise))
}

// TestGuessesThroughAProxy shows that guessing blocks only the guesser: not others behind the same
// proxy, and no one by a forged proxy header.
func TestGuessesThroughAProxy(t *testing.T) {
	d := newDesk(t, guarded, func(o *Options) { o.Access.ForwardedFor = "X-Forwarded-For" })
	through := func(header string) func(*http.Request) {
		return func(r *http.Request) { r.RemoteAddr = "10.0.0.1:1234"; r.Header.Set("X-Forwarded-For", header) }
	}
	login := func(name, password, header string) int {
		return d.ask("POST", "/login", url.Values{"name": {name}, "password": {password}}, through(header)).Code
	}
	for i := range guessesFrom {
		// What stands before the last address is the guesser's own.
		if got := login("vera", "wrong horse", "198.51.100."+itoa(int64(i))+", 203.0.113.7"); got != http.StatusUnauthorized && i < maxGuesses || got != http.StatusTooManyRequests && i >= maxGuesses {
			t.Fatalf("guess %d: %d", i, got)
		}
	}
	for _, tt := range []struct {
		name, header string
		want         int
	}{{"vera", "203.0.113.7", 429}, {"olga", "203.0.113.7", 303}, {"vera", "203.0.113.8", 303}, {"vera", "203.0.113.7, [2001:db8::1]:443", 303}, {"vera", "nonsense", 303}} {
		if got := login(tt.name, "correct horse", tt.header); got != tt.want {
			t.Errorf("%s from %s: %d", tt.name, tt.header, got)
		}
	}
	plain := newDesk(t, guarded)
	for i := range guessesFrom {
		name := []string{"vera", "edu", "olga"}[i%3]
		plain.ask("POST", "/login", url.Values{"name": {name}, "password": {"wrong horse"}}, through("203.0.113."+itoa(int64(i))))
	}
	if got := plain.ask("POST", "/login", url.Values{"password": {"open-sesame-of-ali"}}, through("203.0.113.200")).Code; got != http.StatusTooManyRequests {
		t.Errorf("without the setting the header counts: %d", got)
	}
}

// TestFromAPageThatAFormLedTo shows that stopping everything, or choosing another language, on a
// page with the errors of a form redirects to an existing page.
func TestFromAPageThatAFormLedTo(t *testing.T) {
	d := newEditorDesk(t)
	wrong := strings.Replace(greetRules, "message.received", "message.lost", 1)
	_, refused, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "own", "hello", "text", wrong, "was", d.sumOf("hello.yaml"), "stage", "live")
	failed := d.ask("POST", "/pause", url.Values{"workspace": {"nobody"}, "back": {"/runs?state=failed"}}).Body.String()
	for text, want := range map[string]string{refused: "/rules/default/hello", failed: "/runs?state=failed"} {
		found := regexp.MustCompile(`name="back" value="([^"]*)"`).FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("nothing leads back:\n%s", text)
		}
		for _, back := range found {
			if got := html.UnescapeString(back[1]); got != want {
				t.Errorf("it leads to %s", got)
			}
		}
	}
}
