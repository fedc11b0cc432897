package console

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

var screenshots = flag.String("screenshots", "", "a folder to write pictures of every page to")

//go:embed testdata/axe.min.js
var axe string

// A browser is one tab of a headless Chromium.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string
}

// newBrowser starts a browser that looks at an address.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("there is no Chromium: make tools installs it")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(time.Minute))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return &browser{t, ctx, base}
}

// do carries out what a person does.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, steps...); err != nil {
		b.t.Fatal(err)
	}
}

func (b *browser) open(path string) { b.t.Helper(); b.do(chromedp.Navigate(b.base + path)) }

// click clicks on something as soon as it is there. It does so within the page, because what is live may be replaced at any moment.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q)", selector))
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q).click(), true", selector))); err != nil {
		b.t.Fatal(err)
	}
}

// until waits for an expression to be true on the page, also across pages.
func (b *browser) until(expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); {
		_, err := chromedp.Run(b.ctx, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(2*time.Second)))
		if err == nil {
			return
		}
		last = err
	}
	text, _ := chromedp.Run(b.ctx, chromedp.Evaluate[string](`document.body.innerText`))
	b.t.Fatalf("%s did not come: %v\n%s", expression, last, text)
}

// sees waits for a text on the page.
func (b *browser) sees(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// theme makes the browser prefer light or dark pages.
func (b *browser) theme(name string) {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// complaints returns what axe finds serious on the page. Only the colours are another thing in another theme.
func (b *browser) complaints(theme string) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations"]}`
	if theme == "dark" {
		options = `{resultTypes: ["violations"], runOnly: ["color-contrast"]}`
	}
	look := chromedp.Evaluate[[]string](`axe.run(document, `+options+`).then(r => r.violations.filter(v => v.impact === "serious" || v.impact === "critical")
		.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + n.failureSummary).join(" | ")))`, chromedp.EvalAwaitPromise)
	found, err := chromedp.Run(b.ctx, look)
	for range 3 { // what is live may be replaced while axe looks at it
		if err == nil {
			return found
		}
		found, err = chromedp.Run(b.ctx, look)
	}
	b.t.Fatal(err)
	return nil
}

// lookedAt are the pages that are looked at, by what their pictures are called.
var lookedAt = []struct{ name, path string }{
	{"today", "/"}, {"rules", "/rules"}, {"rule", "/rules/default/remind"}, {"runs", "/runs"}, {"run", "/runs/%d"}, {"events", "/events"}, {"event", "/events/1"},
	{"conversations", "/conversations?q=Marina"}, {"conversation", "%s"}, {"calendars", "/calendars"}, {"health", "/health"}, {"audit", "/audit"},
}

// TestPagesInABrowser shows that nothing on any page is in the way of people who use a keyboard, a screen reader or a dark screen, that no page runs
// what a customer wrote, and that the policy of the pages refuses nothing of their own.
func TestPagesInABrowser(t *testing.T) {
	d := newDesk(t)
	d.story()
	d.ask("POST", "/pause", map[string][]string{"workspace": {"default"}, "rule": {"watch"}, "reason": {hostile}})
	b := newBrowser(t, d.serve())
	run, lane := d.runOf("greet"), d.laneOf("Marina")
	for _, lang := range languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		for _, p := range lookedAt {
			path := p.path
			switch p.name {
			case "run":
				path = fmt.Sprintf(p.path, run)
			case "conversation":
				path = fmt.Sprintf(p.path, conversationLink("default", lane))
			}
			b.open(path)
			b.until(`window.htmx && document.readyState === "complete"`)
			if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](axe+"; true")); err != nil {
				t.Fatal(err)
			}
			for _, theme := range []string{"light", "dark"} {
				b.theme(theme)
				if found := b.complaints(theme); len(found) > 0 {
					t.Errorf("%s, %s, %s:\n%s", p.name, lang.Code, theme, strings.Join(found, "\n"))
				}
				b.picture(p.name, lang.Code, theme)
			}
			if title, err := chromedp.Run(b.ctx, chromedp.Title()); err != nil || strings.Contains(title, "owned") {
				t.Errorf("%s: %q %v", p.name, title, err)
			}
		}
	}
	b.phone(run)
}

// phone looks at pages as a phone shows them: nothing is wider than the screen.
func (b *browser) phone(run int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	for _, p := range []struct{ name, path string }{{"today", "/"}, {"runs", "/runs"}, {"run", "/runs/" + itoa(run)}, {"rule", "/rules/default/remind"}, {"events", "/events"}} {
		b.open(p.path)
		b.until(`window.htmx && document.readyState === "complete"`)
		wide, err := chromedp.Run(b.ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`))
		if err != nil || wide > 0 {
			b.t.Errorf("%s is %d pixels wider than a phone: %v", p.path, wide, err)
		}
		b.picture("phone-"+p.name, languages[len(languages)-1].Code, "light")
	}
}

// TestAPersonStops does what a person does: sees a run appear without reloading, opens it, stops everything, sees that nothing is sent, and resumes.
func TestAPersonStops(t *testing.T) {
	d := newDesk(t)
	b := newBrowser(t, d.serve())
	b.open("/runs")
	b.until("window.htmx")
	b.sees("No such runs.")
	d.says(marina, "Marina Souza", "Oi!")
	b.sees("Greet whoever writes")
	b.click(fmt.Sprintf(`a[href="/runs/%d"]`, d.runOf("greet")))
	b.sees("Steps over time")
	b.click(".steps details summary")
	b.sees("Já vamos responder.")

	b.click("details.stop > summary")
	b.do(chromedp.SendKeys(chromedp.CSS(`details.stop input[name="reason"]`), "the price list is wrong"))
	b.click("details.stop button.danger")
	b.sees("Everything is stopped.")
	before := len(d.Effects())
	d.says(bento, "Bento", "Alguém aí?")
	if got := len(d.Effects()); got != before {
		t.Errorf("%d effects while everything is stopped", got-before)
	}
	b.open("/")
	b.sees("the price list is wrong")
	b.click("header button.go")
	b.sees("It goes on.")
	d.rest()
	if len(d.Effects()) == before {
		t.Error("nothing goes on")
	}
	b.open("/audit")
	b.sees("the price list is wrong")
}

// languageCookie chooses the language as a person does.
func (d *desk) languageCookie(b *browser, code string) {
	d.t.Helper()
	b.open("/")
	if _, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool]("window.before = true")); err != nil {
		d.t.Fatal(err)
	}
	b.click(fmt.Sprintf(`footer button[value=%q]`, code))
	b.until(fmt.Sprintf(`!window.before && document.documentElement.lang.startsWith(%q)`, code))
}

// picture writes a picture of the page, where that is wanted.
func (b *browser) picture(name, lang, theme string) {
	b.t.Helper()
	if *screenshots == "" {
		return
	}
	shot, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.MkdirAll(*screenshots, 0o755); err != nil {
		b.t.Fatal(err)
	}
	file := must(os.Create(filepath.Join(*screenshots, fmt.Sprintf("%s-%s-%s.png", name, lang, theme))))
	// The browser is quick rather than thorough.
	picture := must(png.Decode(bytes.NewReader(shot)))
	if err := errors.Join((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(file, picture), file.Close()); err != nil {
		b.t.Fatal(err)
	}
}
