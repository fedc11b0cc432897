package console

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/quandohq/quando/rules"
)

// TestSearchByKeys finds a customer and a rule without the mouse: "/" or Ctrl-K opens the search,
// arrow keys choose, Enter opens.
func TestSearchByKeys(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t)
	d.says(marina, "Marina Souza", "Oi, preciso de um abacaxi")
	d.says(bento, "Bento Alves", "Oi!")
	b := newBrowser(t, d.serve())
	b.open("/rules")
	press := func(keys string) { b.do(chromedp.KeyEvent(keys)) }
	chosen := `document.getElementById(document.querySelector("#search input").getAttribute("aria-activedescendant"))`

	b.slash()
	b.until(`document.querySelector("#search").open && document.activeElement.matches("#search input")`)
	press("marina")
	b.until(chosen + `?.textContent.includes("Marina Souza")`)
	if said := look(b, "hear", chromedp.Evaluate[string](`document.querySelector("#search [role=status]").textContent`)); !strings.Contains(said, " found") {
		t.Errorf("a screen reader says %q", said)
	}
	look(b, "bring axe", chromedp.Evaluate[bool](axe+"; true"))
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		if found := b.complaints("light"); len(found) > 0 {
			t.Errorf("the search, %s: %s", theme, strings.Join(found, "\n"))
		}
		b.picture("search", "en", theme)
	}
	press(kb.Escape)
	b.until(`!document.querySelector("#search").open`)

	b.do(chromedp.KeyEvent("k", chromedp.KeyModifiers(2)))
	b.until(`document.querySelector("#search").open`)
	press("greet")
	b.until(chosen + `?.textContent.includes("Greet whoever writes")`)
	press(kb.ArrowDown)
	press(kb.ArrowUp)
	b.until(chosen + `?.textContent.includes("Greet whoever writes")`)
	press(kb.Enter)
	b.until(`location.pathname === "/rules/default/greet"`)

	// The words of a message lead to its customer.
	b.open("/")
	b.slash()
	press("abacaxi")
	b.until(chosen + `?.textContent.includes("Marina Souza")`)
	press(kb.Enter)
	b.until(`location.pathname === "/conversation"`)
	b.sees("preciso de um abacaxi")

	// In a field a slash is a slash.
	b.open("/rules")
	look(b, "go to the field", chromedp.Evaluate[bool](`document.querySelector("main input").focus(), true`))
	b.slash()
	if look(b, "look", chromedp.Evaluate[bool](`document.querySelector("#search").open`)) {
		t.Error("a slash in a field opens the search")
	}
}

// slash presses the key as a keyboard does: the character comes only if the page lets it.
func (b *browser) slash() {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, browserStep)
	defer cancel()
	for _, typ := range []input.DispatchKeyEventType{input.DispatchKeyEventTypeKeyDown, input.DispatchKeyEventTypeKeyUp} {
		text := ""
		if typ == input.DispatchKeyEventTypeKeyDown {
			text = "/"
		}
		if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: typ, Key: "/", Code: "Slash", Text: text, WindowsVirtualKeyCode: 191}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestSearch finds by name, phone, protocol, rule, number of a run and text, without JavaScript,
// and says so if there is nothing.
func TestSearch(t *testing.T) {
	d := newDesk(t)
	d.says(marina, "Marina Souza", "Oi, preciso de um abacaxi")
	d.says(bento, "Bento Alves", hostile)
	lane := inHTML(conversationLink("default", d.laneOf("Marina")))
	run := fmt.Sprintf(`href="/runs/%d"`, d.runOf("greet"))
	for query, want := range map[string]string{
		"Marina": lane, "souza": lane, "7777": lane, "ATD-000001": lane, "ABACAXI": lane, "#" + itoa(d.runOf("greet")): run, "bento": run,
		"greet": `href="/rules/default/greet"`, "Já vamos": `href="/rules/default/greet"`, "xyzzyx": "Nothing was found.", "": "The beginning of a name",
	} {
		if page := d.page("/search?q=" + url.QueryEscape(query)); !strings.Contains(page, want) {
			t.Errorf("%q does not find %s:\n%s", query, want, mainOf(page))
		}
	}
	part := d.page("/search?q=Marina", func(r *http.Request) { r.Header.Set("HX-Request", "true") })
	if strings.Contains(part, "<html") || !strings.Contains(part, lane) {
		t.Errorf("a script gets %s", part)
	}
}

func inHTML(link string) string { return strings.ReplaceAll(link, "&", "&amp;") }

func mainOf(page string) string {
	_, page, _ = strings.Cut(page, "<main")
	page, _, _ = strings.Cut(page, "</main>")
	return page
}

// TestFrameOnAPhone shows that the bar at the bottom leads to four places and opens the rest, that
// nothing of a page lies behind it, and that axe finds nothing in the frame at any width and theme.
func TestFrameOnAPhone(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	b := newBrowser(t, d.serve())
	for _, width := range []int64{390, 800, 1280} {
		b.do(chromedp.EmulateViewport(width, 800))
		for _, path := range []string{"/", "/parts"} {
			b.open(path)
			look(b, "bring axe", chromedp.Evaluate[bool](axe+"; true"))
			for _, theme := range []string{"light", "dark"} {
				b.theme(theme)
				if found := b.complaints("light"); len(found) > 0 {
					t.Errorf("%s at %d, %s: %s", path, width, theme, strings.Join(found, "\n"))
				}
				b.picture(fmt.Sprintf("frame%s-%d", strings.ReplaceAll(path, "/", "-"), width), "en", theme)
			}
		}
	}
	b.do(chromedp.EmulateViewport(390, 800))
	b.theme("light")
	b.open("/")
	for _, to := range []string{"/activity", "/conversations", "/rules", "/"} {
		b.follow(fmt.Sprintf(`nav.tabbar a[href=%q]`, to))
		b.until(fmt.Sprintf(`location.pathname === %q && document.querySelector("nav.tabbar [aria-current=page]").getAttribute("href") === %q`, to, to))
	}
	reached := `(selector) => { const e = document.querySelector(selector), box = e.getBoundingClientRect(); return e.contains(document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2)); }`
	for _, selector := range []string{"nav.tabbar button", "details.stop > summary", ".opensearch"} {
		if !look(b, "look", chromedp.Evaluate[bool](fmt.Sprintf("(%s)(%q)", reached, selector))) {
			t.Errorf("%s is out of reach", selector)
		}
	}
	b.do(chromedp.Click(chromedp.CSS("nav.tabbar button")))
	b.until(fmt.Sprintf(`(%s)('.side a[href="/health"]') && (%s)('.side a[href="/calendars"]')`, reached, reached))
	b.picture("frame-more-390", "en", "light")
	b.follow(`.side a[href="/health"]`)
	b.until(`location.pathname === "/health"`)

	// The bar of the studio stands above the bar of the frame.
	b.open("/rules/default/hello")
	b.until(`document.querySelector("#rail [data-at]")`)
	if !look(b, "look", chromedp.Evaluate[bool](fmt.Sprintf(`(%s)("#save") && document.querySelector(".savebar").getBoundingClientRect().bottom <= document.querySelector(".tabbar").getBoundingClientRect().top`, reached))) {
		t.Error("the bars cover each other")
	}
	b.picture("frame-studio-390", "en", "light")
}

// TestNeedsAreCounted shows that every page says how many things need a person, and that an open
// one follows.
func TestNeedsAreCounted(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t)
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	b := newBrowser(t, d.serve())
	count := `document.querySelector("#needs-side .count")?.textContent`
	b.open("/rules")
	before := look(b, "read", chromedp.Evaluate[int](`Number(`+count+` || 0)`))
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"greet"}})
	b.until(fmt.Sprintf(`Number(%s) === %d`, count, before+1))
	d.ask("POST", "/resume", url.Values{"workspace": {"default"}, "rule": {"greet"}})
	b.until(fmt.Sprintf(`Number(%s || 0) === %d`, count, before))
}

// TestWorkspaceSwitch shows that a console of several workspaces bounds its lists to one of them,
// and that the menu keeps the choice.
func TestWorkspaceSwitch(t *testing.T) {
	d := newDesk(t, func(o *Options) {
		o.Workspaces = append(o.Workspaces, Workspace{Name: "branch"})
	})
	if page := d.page("/activity?workspace=branch"); !strings.Contains(page, `<a href="/rules?workspace=branch">`) || !strings.Contains(page, `href="/activity?workspace=default"`) {
		t.Error("the menu forgets the workspace")
	}
	if page := mainOf(d.page("/rules?workspace=branch")); strings.Contains(page, "/rules/default/greet") {
		t.Error("rules of another workspace are listed")
	}
	if page := newDesk(t).page("/runs?workspace=default"); strings.Contains(page, "spaces") {
		t.Error("there is a choice of one")
	}
}

// TestIconsAreThere shows that everything that a page shows an icon of has one in the sprite.
func TestIconsAreThere(t *testing.T) {
	sprite := string(must(assets.ReadFile("assets/icons.svg")))
	names := slices.Clone(rules.TemplateIcons)
	for _, group := range menu {
		for _, one := range group.Places {
			names = append(names, one.Icon)
		}
	}
	named := regexp.MustCompile(`\{\{icon "([^"]+)"\}\}`)
	for _, file := range must(fs.Glob(templateFiles, "templates/*.html")) {
		for _, found := range named.FindAllStringSubmatch(string(must(templateFiles.ReadFile(file))), -1) {
			names = append(names, found[1])
		}
	}
	used := regexp.MustCompile(`#([a-z-]+)"`)
	for _, name := range names {
		if id := used.FindStringSubmatch(string(icon(name)))[1]; !strings.Contains(sprite, `<symbol id="`+id+`"`) {
			t.Errorf("there is no icon %s", id)
		}
	}
}

// TestFirstPageIsLight bounds what a browser loads for its first page: over a phone's line it must
// be there at once.
func TestFirstPageIsLight(t *testing.T) {
	d := newPlayground(t)
	d.story()
	page := d.page("/")
	all := len(page)
	asset := regexp.MustCompile(`(?:href|src)="(/assets/[^"#]+)`)
	seen := map[string]bool{}
	for _, found := range asset.FindAllStringSubmatch(page, -1) {
		if seen[found[1]] {
			continue
		}
		seen[found[1]] = true
		w := d.ask("GET", found[1], nil)
		all += len(must(io.ReadAll(w.Result().Body)))
	}
	if len(seen) < 8 || all > 120<<10 {
		t.Errorf("%d files with %d bytes: %v", len(seen), all, seen)
	}
}
