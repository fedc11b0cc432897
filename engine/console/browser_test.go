package console

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	cdproto "github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	cdp "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/programtest"
	"github.com/quandohq/quando/service/sandbox"
)

var screenshots = flag.String("screenshots", "", "a folder to write pictures of every page to")

//go:embed testdata/axe.min.js
var axe string

// A browser is one tab of a headless Chromium.
type browser struct {
	t    *testing.T
	ctx  context.Context
	base string
	at   string // the page that it is on
}

// browserStep is how long one step may take, on a machine that has other things to do.
const browserStep = 3 * time.Minute

// browserFlags isolate the browser: it requests nothing but the page.
var browserFlags = []string{
	"headless", "no-sandbox", "disable-gpu", "in-process-gpu", "disable-quic", "no-first-run", "disable-background-networking", "disable-component-update", "disable-sync",
}

// chromium is the browser of the whole package: to start one takes as long as many pages.
var chromium struct {
	sync.Once
	ctx  context.Context
	stop []context.CancelFunc
	err  error
}

// profiles are windows that share no cookies, one for each processor. A test may need two.
var profiles = make(chan context.Context, max(2, runtime.NumCPU()))

func TestMain(m *testing.M) {
	code := m.Run()
	for _, stop := range slices.Backward(chromium.stop) {
		stop()
	}
	os.Exit(code)
}

// startChromium starts the browser of the package.
func startChromium(path string) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(1280, 900), chromedp.WSURLReadTimeout(browserStep))
	for _, flag := range browserFlags {
		options = append(options, chromedp.Flag(flag, true))
	}
	allocator, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	chromium.stop = append(chromium.stop, cancel)
	chromium.ctx, cancel = chromedp.NewContext(allocator)
	chromium.stop = append(chromium.stop, cancel)
	chromium.err = chromedp.Do(chromium.ctx)
	for range cap(profiles) {
		if chromium.err == nil {
			profile, cancel := chromedp.NewContext(chromium.ctx, chromedp.WithNewBrowserContext())
			chromium.stop = append(chromium.stop, cancel)
			chromium.err = chromedp.Do(profile)
			profiles <- profile
		}
	}
}

// needsBrowser finds the browser: rather one that has no windows of its own, since that takes a
// quarter less of the processor. It ends a test in the short form, before that has built what the
// browser would look at.
func needsBrowser(t *testing.T) (path string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes its time")
	}
	return programtest.Find(t, "chromium-headless-shell", "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
}

// newBrowser opens a tab at an address, in an empty profile that nobody else uses.
func newBrowser(t *testing.T, base string) *browser {
	t.Helper()
	path := needsBrowser(t)
	chromium.Do(func() { startChromium(path) })
	if chromium.err != nil {
		t.Fatalf("the browser does not start: %v", chromium.err)
	}
	profile := <-profiles
	t.Cleanup(func() { profiles <- profile })
	ctx, cancel := chromedp.NewContext(profile, chromedp.WithNewWindow(false))
	t.Cleanup(cancel)
	// The tab lives as long as what it is opened with, so this is not one step among others.
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1280, 900)); err != nil {
		t.Fatalf("the browser opens no tab: %v", err)
	}
	if _, err := chromedp.Call(ctx, network.ClearBrowserCookies, cdproto.Empty{}); err != nil {
		t.Fatal(err)
	}
	// Every window has the focus, also while others are open.
	if _, err := chromedp.Call(ctx, emulation.SetFocusEmulationEnabled, emulation.SetFocusEmulationEnabledParams{Enabled: true}); err != nil {
		t.Fatal(err)
	}
	source := `addEventListener("error", (e) => (window.broken ||= []).push(e.message + " at " + e.filename + ":" + e.lineno))`
	if _, err := chromedp.Call(ctx, cdp.AddScriptToEvaluateOnNewDocument, cdp.AddScriptToEvaluateOnNewDocumentParams{Source: source}); err != nil {
		t.Fatal(err)
	}
	return &browser{t: t, ctx: ctx, base: base}
}

// everyLook asks for the long form of the tests that look at many pages.
var everyLook = flag.Bool("looks", false, "look at every page in each language and at each width, instead of in turns")

// inTurn tells whether a page is looked at in one of several ways, such as languages or widths.
// Pages take turns: each is seen in one way, and each way by some. -looks shows all in every way.
func inTurn(page, way, ways int) bool {
	return *everyLook || *screenshots != "" || page%ways == way
}

// look takes one step and returns its result. Each step has its own timeout, so that many of them
// may take long, and one that hangs is named.
func look[T any](b *browser, what string, step chromedp.Action[T]) T {
	b.t.Helper()
	v, err := try(b, step)
	if err != nil {
		b.t.Fatalf("%s, on %s: %v", what, b.at, err)
	}
	return v
}

func try[T any](b *browser, step chromedp.Action[T]) (T, error) {
	ctx, cancel := context.WithTimeout(b.ctx, browserStep)
	defer cancel()
	return chromedp.Run(ctx, step)
}

// do carries out what a person does.
func (b *browser) do(steps ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	for _, step := range steps {
		look(b, "a step", step)
	}
}

// open goes to a page and waits until it is all there.
func (b *browser) open(path string) {
	b.t.Helper()
	b.at = path
	look(b, "open", chromedp.Navigate(b.base+path))
	b.until(`document.readyState === "complete" && window.htmx`)
	if broken := look(b, "look for scripts that fail", chromedp.Evaluate[[]string](`window.broken || []`)); len(broken) > 0 {
		b.t.Errorf("%s: a script fails: %q", path, broken)
	}
}

// click clicks on something as soon as it is there. It does so within the page, because what is
// live may be replaced at any moment.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.querySelector(%q)", selector))
	look(b, "click "+selector, chromedp.Evaluate[bool](fmt.Sprintf("document.querySelector(%q).click(), true", selector)))
}

// follow clicks a link to another page, and waits until that is loaded: a browser that is still
// loading aborts when it is sent elsewhere.
func (b *browser) follow(selector string) {
	b.t.Helper()
	look(b, "mark the page", chromedp.Evaluate[bool](`window.left = true`))
	b.click(selector)
	b.until(`!window.left && document.readyState === "complete" && window.htmx`)
}

// until waits for an expression to be true on the page, also across pages.
func (b *browser) until(expression string) {
	b.t.Helper()
	var last error
	for end := time.Now().Add(browserStep); time.Now().Before(end); {
		_, err := try(b, chromedp.Poll[bool]("!!("+expression+")", chromedp.WithPollingInterval(30*time.Millisecond), chromedp.WithPollingTimeout(2*time.Second)))
		if err == nil {
			return
		}
		last = err
		if b.ctx.Err() != nil {
			b.t.Fatalf("the browser is gone, on %s: %v", b.at, last)
		}
	}
	text, _ := try(b, chromedp.Evaluate[string](`document.body.innerText`))
	b.t.Fatalf("%s did not come, on %s: %v\n%s", expression, b.at, last, text)
}

// sees waits for a text on the page.
func (b *browser) sees(text string) {
	b.t.Helper()
	b.until(fmt.Sprintf("document.body.innerText.includes(%q)", text))
}

// theme makes the browser prefer light or dark pages.
func (b *browser) theme(name string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserStep)
	defer cancel()
	_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}})
	if err != nil {
		b.t.Fatal(err)
	}
}

// complaints returns what axe finds on the page. Only the colours are another thing in
// another theme.
func (b *browser) complaints(theme string) []string {
	b.t.Helper()
	options := `{resultTypes: ["violations"]}`
	if theme == "dark" {
		options = `{resultTypes: ["violations"], runOnly: ["color-contrast"]}`
	}
	ask := chromedp.Evaluate[[]string](`axe.run(document, `+options+`).then(r => r.violations
		.map(v => v.id + ": " + v.nodes.slice(0, 3).map(n => n.target.join(" ") + " " + n.failureSummary).join(" | ")))`, chromedp.EvalAwaitPromise)
	for range 3 { // live parts may be replaced while axe runs
		if found, err := try(b, ask); err == nil {
			return found
		}
	}
	return look(b, "look for what is in the way of people", ask)
}

// lookedAt are the pages to check, by the names of their pictures.
var lookedAt = []struct{ name, path string }{
	{"today", "/"}, {"rules", "/rules"}, {"rule", "/rules/default/remind"}, {"activity", "/activity"}, {"run", "/runs/%d"}, {"event", "/events/%d"},
	{"conversations", "/conversations?q=Marina"}, {"conversation", "%s"}, {"calendars", "/calendars"}, {"health", "/health"}, {"audit", "/audit"}, {"simulator", "/simulator?with=%s"}, {"error", "/nothing"},
}

// TestPagesInABrowser shows that every page works with a keyboard, a screen reader or a dark
// screen, that no page runs what a customer wrote, and that the policy of the pages refuses nothing
// of their own.
func TestPagesInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newPlayground(t)
	d.story()
	d.explains()
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Marina's offer", Contact: "Marina Souza"}))
	if err := d.AddFault(sandbox.Fault{Operation: "POST /conversations/{id}/messages", Kind: "status_before", Status: 429, Count: 1}); err != nil {
		t.Fatal(err)
	}
	d.ask("POST", "/pause", map[string][]string{"workspace": {"default"}, "rule": {"watch"}, "reason": {hostileOr("the survey is not ready")}})
	run, lane := d.runOf("greet"), d.laneOf("Marina")
	bounded := journal.Hold{Workspace: "default", Rule: "greet", Lane: lane, Kind: journal.HoldSafety, Since: d.clock(), Why: phrases.New(phrases.SafetyConversation, 6, "10m")}
	bounded.Reason = bounded.Why.String()
	if _, err := d.journal.Hold(t.Context(), bounded); err != nil {
		t.Fatal(err)
	}
	d.ask("POST", "/mute", map[string][]string{"workspace": {"default"}, "lane": {lane}, "for": {"1d"}})
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	b := newBrowser(t, d.serve())
	written := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))
	for l, lang := range words.Languages {
		b.theme("light")
		d.languageCookie(b, lang.Code)
		for n, p := range lookedAt {
			if !inTurn(n, l, len(words.Languages)) {
				continue
			}
			path := p.path
			switch p.name {
			case "run":
				path = fmt.Sprintf(p.path, run)
			case "event":
				path = fmt.Sprintf(p.path, written[len(written)-1].Seq)
			case "conversation":
				path = fmt.Sprintf(p.path, conversationLink("default", lane))
			case "simulator":
				path = fmt.Sprintf(p.path, strings.TrimPrefix(lane, "conversation:"))
			}
			b.open(path)
			b.isGood(p.name, lang.Code)
		}
	}
	b.phone(run)
}

// TestLoginInABrowser is the same for the pages before the login.
func TestLoginInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t, func(o *Options) {
		guarded(o)
		o.Access.Listen = "127.0.0.1:8081" // where the browser keeps cookies without encryption
	})
	b := newBrowser(t, d.serve())
	for _, lang := range words.Languages {
		b.theme("light")
		b.open("/login?back=/runs")
		b.follow(fmt.Sprintf(`footer button[value=%q]`, lang.Code))
		b.open("/login?back=/runs")
		b.isGood("login", lang.Code)
		look(b, "write a password", chromedp.SendKeys(chromedp.CSS(`input[name="password"]`), "wrong horse"))
		b.follow(".login button")
		b.until(`document.querySelector("p.error")`)
		b.isGood("login-wrong", lang.Code)
	}
}

// isGood asks axe in both themes, and takes pictures of the page.
func (b *browser) isGood(name, lang string) {
	b.t.Helper()
	look(b, "bring axe", chromedp.Evaluate[bool](axe+"; true"))
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		if found := b.complaints(theme); len(found) > 0 {
			b.t.Errorf("%s, %s, %s:\n%s", name, lang, theme, strings.Join(found, "\n"))
		}
		b.picture(name, lang, theme)
	}
	if title := look(b, "read the title", chromedp.Title()); title == "owned" {
		b.t.Errorf("%s: %q", name, title)
	}
}

// phone checks pages at the width of a phone: nothing is wider than the screen.
func (b *browser) phone(run int64) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	for _, p := range []struct{ name, path string }{{"today", "/"}, {"activity", "/activity"}, {"run", "/runs/" + itoa(run)}, {"rule", "/rules/default/remind"}, {"event", "/events/1"}, {"simulator", "/simulator"}, {"health", "/health"}} {
		b.open(p.path)
		if wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`)); wide > 0 {
			b.t.Errorf("%s is %d pixels wider than a phone", p.path, wide)
		}
		b.picture("phone-"+p.name, words.Languages[len(words.Languages)-1].Code, "light")
	}
}

// TestAPersonStops does what a person does: sees a run appear without reloading, opens it, stops
// everything, sees that nothing is sent, and resumes.
func TestAPersonStops(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t)
	b := newBrowser(t, d.serve())
	b.open("/runs")
	b.sees("Nothing like that has happened.")
	d.says(marina, "Marina Souza", "Oi!")
	b.sees("Greet whoever writes")
	b.click(fmt.Sprintf(`a[href="/runs/%d"]`, d.runOf("greet")))
	b.sees("What it did")
	b.sees("Já vamos responder.")

	b.click("details.stop > summary")
	b.do(chromedp.SendKeys(chromedp.CSS(`details.stop input[name="reason"]`), "the price list is wrong"))
	b.follow("details.stop button.danger")
	b.sees("Everything is stopped.")
	before := len(d.Effects())
	d.says(bento, "Bento", "Alguém aí?")
	if got := len(d.Effects()); got != before {
		t.Errorf("%d effects while everything is stopped", got-before)
	}
	b.open("/")
	b.sees("the price list is wrong")
	b.follow("header button.go")
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
	b.follow(fmt.Sprintf(`footer button[value=%q]`, code))
	b.until(fmt.Sprintf(`document.documentElement.lang.startsWith(%q)`, code))
}
