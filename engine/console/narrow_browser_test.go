package console

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/service/sandbox"
)

// narrow opens pages on the smallest phone. Nothing may be wider than the screen, unless it scrolls
// by itself.
func (b *browser) narrow(paths ...string) {
	b.t.Helper()
	b.do(chromedp.EmulateViewport(320, 640))
	for _, path := range paths {
		b.open(path)
		wide := look(b, "measure", chromedp.Evaluate[int](`document.documentElement.scrollWidth - window.innerWidth`))
		if wide > 0 {
			who := look(b, "find it", chromedp.Evaluate[string](`[...document.querySelectorAll("main *, header *, footer *")].filter((e) => e.getBoundingClientRect().right > window.innerWidth + 0.5).slice(0, 3).map((e) => e.outerHTML.slice(0, 150)).join(" | ")`))
			b.t.Errorf("%s is %d pixels wider than a phone: %s", path, wide, who)
		}
	}
}

// TestNoPageScrollsSideways shows that every page fits on the smallest phone.
func TestNoPageScrollsSideways(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newPlayground(t)
	d.story()
	d.explains()
	must(d.CreateCard(sandbox.NewCard{Board: "Sales", Title: "Marina's offer", Contact: "Marina Souza"}))
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"watch"}, "reason": {"the survey is not ready"}})
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	b := newBrowser(t, d.serve())
	written := must(d.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))
	b.narrow("/", "/rules", "/rules/default/remind", "/rules/default/broken", "/runs", "/runs/"+itoa(d.runOf("greet")), "/runs/"+itoa(d.runOf("tell-erp")), "/runs/"+itoa(d.runOf("breaks")), "/events", "/events/"+itoa(written[0].Seq),
		"/conversations?q=Marina", conversationLink("default", d.laneOf("Marina")), conversationLink("default", d.laneOf("7777 6666")), "/calendars", "/calendars/default/office", "/variables", "/health", "/audit", "/simulator", "/simulator?with="+d.laneOf("Marina")[len("conversation:"):], "/deleted", "/nothing")

	e := newCampaign(t)
	lane := url.QueryEscape(e.laneOf("Marina"))
	e.ask("POST", "/rules/default/hello/rename", url.Values{"name": {"x"}})
	b.base = e.serve()
	written = must(e.journal.ListEvents(t.Context(), journal.EventFilter{Type: "message.received"}))
	b.narrow(officeEdit, "/rules", "/write", "/rules/default/offer", "/rules/default/offer/start", "/rules/default/offer/start?lane="+lane, "/rules/default/offer/delete", "/history?workspace=default&file=hello.yaml", "/events/"+itoa(written[0].Seq)+"/test", "/deleted", "/variables")

	g := newDesk(t, guarded, func(o *Options) { o.Access.Listen = "127.0.0.1:8081" })
	b.base = g.serve()
	b.narrow("/login")
}

// TestStopIsInReach shows that nothing covers Stop everything and its form, and that Today begins
// with the newest hours on a phone.
func TestStopIsInReach(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newPlayground(t)
	d.story()
	b := newBrowser(t, d.serve())
	for _, path := range []string{"/simulator?with=" + d.laneOf("Marina")[len("conversation:"):], "/", "/runs/" + itoa(d.runOf("breaks"))} {
		b.open(path)
		b.click("details.stop > summary")
		if covered := look(b, "look at the form", chromedp.Evaluate[[]string](`[...document.querySelectorAll("details.stop .sheet, details.stop .sheet :is(p, label, button)")].filter((e) => {
			const box = e.getBoundingClientRect();
			return [[10, 10], [box.width / 2, box.height / 2], [box.width - 10, box.height - 10]].some(([x, y]) => !document.elementFromPoint(box.x + x, box.y + y)?.closest("details.stop"));
		}).map((e) => e.outerHTML.slice(0, 80))`)); len(covered) > 0 {
			t.Errorf("%s: something covers %q", path, covered)
		}
	}
	// What asks whether one is sure lies above the page and does not push it around.
	top := `document.querySelector(".headline").getBoundingClientRect().top`
	before := look(b, "measure", chromedp.Evaluate[float64](top))
	b.click("main details.confirm > summary")
	if after := look(b, "measure again", chromedp.Evaluate[float64](top)); after != before {
		t.Errorf("the page moved by %v pixels", after-before)
	}
	b.do(chromedp.EmulateViewport(390, 800))
	b.open("/")
	if !look(b, "look at the chart", chromedp.Evaluate[bool](`(() => { const picture = document.querySelector(".picture.latest"); const last = [...picture.querySelectorAll("text.axis")].at(-1).getBoundingClientRect(); return picture.scrollWidth > picture.clientWidth && last.left >= 0 && last.right <= window.innerWidth; })()`)) {
		t.Error("the chart does not begin with the newest hours")
	}
}

// TestHistoryShowsTheWholeLine shows that what a version changed is not cut off, however long its
// lines are.
func TestHistoryShowsTheWholeLine(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newEditorDesk(t)
	long := fmt.Sprintf("rules:\n  - id: hello\n    name: A first word\n    when: message.received\n    do:\n      - send_message: \"%0300d the end\"\n", 1)
	if status, body, _ := d.post("/write/save", "file", "hello.yaml", "rule", "hello", "text", long, "was", d.sumOf("hello.yaml"), "stage", "live"); status != http.StatusSeeOther {
		t.Fatalf("%d %s", status, body)
	}
	b := newBrowser(t, d.serve())
	b.open("/history?workspace=default&file=hello.yaml")
	b.click(".versions details summary")
	if cut := look(b, "measure", chromedp.Evaluate[int](`(() => { const diff = document.querySelector(".versions pre.diff"); return diff.scrollWidth - diff.clientWidth; })()`)); cut > 0 {
		t.Errorf("%d pixels are cut off", cut)
	}
}

// TestNamesAreWhole shows that no name of a rule or a customer is broken inside a word, on a wide
// screen and on a phone.
func TestNamesAreWhole(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t)
	d.says(marina, "Maria Auxiliadora Vasconcelos", "Oi!")
	d.says(bento, "Bartolomeu Wanderley", "boom")
	b := newBrowser(t, d.serve())
	for _, width := range []int64{1280, 1024, 390} {
		b.do(chromedp.EmulateViewport(width, 900))
		for _, path := range []string{"/", "/rules", "/runs", "/events", "/conversations?q=Maria", "/runs/" + itoa(d.runOf("greet"))} {
			b.open(path)
			if broken := look(b, "look at the words", chromedp.Evaluate[[]string](`[...document.querySelectorAll("main h1, main a, main .needs strong")].flatMap((e) => {
				const found = [], walk = document.createTreeWalker(e, NodeFilter.SHOW_TEXT);
				while (walk.nextNode()) for (const m of walk.currentNode.nodeValue.matchAll(/\p{L}+/gu)) {
					const range = document.createRange();
					range.setStart(walk.currentNode, m.index);
					range.setEnd(walk.currentNode, m.index + m[0].length);
					if (new Set([...range.getClientRects()].map((r) => Math.round(r.top))).size > 1) found.push(m[0]);
				}
				return found;
			})`)); len(broken) > 0 {
				t.Errorf("%s at %d pixels breaks %q", path, width, broken)
			}
		}
	}
}
