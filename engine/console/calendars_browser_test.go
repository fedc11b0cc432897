package console

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// drags moves the end of a bar to a time of day, with the mouse.
func (b *browser) drags(day, span, side, hour int) {
	b.t.Helper()
	handle := fmt.Sprintf(`.day[data-day="%d"] .handle[data-span="%d"][data-side="%d"]`, day, span, side)
	b.until(fmt.Sprintf(`document.querySelector(%q)`, handle))
	at := look(b, "find the end of a bar", chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => { const h = document.querySelector(%q), svg = h.closest("svg"); svg.scrollIntoView({ block: "center" });
		const box = svg.getBoundingClientRect(); return [box.left + box.width * h.getAttribute("x1") / 1440, box.top + box.height / 2, box.left + box.width * %d / 24]; })()`, handle, hour)))
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMousePressed, at[0], at[1], chromedp.Button("left"), chromedp.ClickCount(1)))
	for _, part := range []float64{0.3, 0.7, 1} {
		b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseMoved, at[0]+(at[2]-at[0])*part, at[1], chromedp.Button("left")))
	}
	b.do(chromedp.MouseEvent(input.DispatchMouseEventTypeMouseReleased, at[2], at[1], chromedp.Button("left"), chromedp.ClickCount(1)))
}

// TestHoursInABrowser drags the end of a bar, types a half day, adds a special day, copies a day
// and saves; the file has only that changed.
func TestHoursInABrowser(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := withSLA(t)
	b := newBrowser(t, d.serve())
	pages := []struct{ name, path string }{{"hours", "/calendars"}, {"hours-week", "/calendars/default/office?at=2026-11-16T12:30"}, {"hours-edit", officeEdit}}
	for w, width := range []int64{390, 1280} {
		b.do(chromedp.EmulateViewport(width, 900))
		for n, p := range pages {
			b.theme("light")
			b.open(p.path)
			if inTurn(n, w, 2) {
				b.isGood(fmt.Sprintf("%s-%d", p.name, width), "en")
			}
			if wide := evaluate[int](b, `document.documentElement.scrollWidth - window.innerWidth`); wide > 0 {
				t.Errorf("%s is %d pixels wider than %d", p.path, wide, width)
			}
		}
	}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.theme("light")
	b.open(officeEdit)
	b.drags(4, 1, 1, 17)
	b.sees("Friday: closes at 17:00 instead of 18:00")
	b.sees("used by 1 rule")

	// A half day, by keys alone.
	look(b, "focus", chromedp.Evaluate[bool](`document.querySelector('.day[data-day="5"] [data-add]').focus(), true`))
	b.do(chromedp.KeyEvent("\r"))
	b.do(chromedp.KeyEvent("9"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("1230"), chromedp.KeyEvent("\t"))
	b.sees("Saturday: open 09:00–12:30, no longer closed")

	b.click("#addspecial")
	b.do(chromedp.SetValue(chromedp.CSS(`.special [type="date"]`), "2026-12-24"), chromedp.SendKeys(chromedp.CSS(`.special [name$=".name"]`), "Christmas Eve"))
	b.click(".special [data-add]")
	b.do(chromedp.KeyEvent("8"), chromedp.KeyEvent("\t"), chromedp.KeyEvent("12"), chromedp.KeyEvent("\t"))
	b.sees("24 Dec 2026 (Christmas Eve): open 08:00–12:00")
	b.click(`.day[data-day="5"] .copy summary`)
	b.click(`.day[data-day="5"] .copy [data-copy="6"]`)
	b.sees("Saturday and Sunday: open 09:00–12:30, no longer closed")
	b.click(`.day[data-day="6"] .span [data-remove]`)
	b.until(`!document.querySelector("#changes").innerText.includes("Sunday")`)
	b.isGood("hours-changed", "en")
	b.follow("#changes button")
	b.sees("The hours are saved, and in use.")
	want := strings.Replace(officeRules, " { mon-fri: [08:00-12:00, 13:30-18:00] }", "\n      mon-thu: [08:00-12:00, 13:30-18:00]\n      fri: [08:00-12:00, 13:30-17:00]\n      sat: [09:00-12:30]", 1) +
		"    special:\n      2026-12-24: { open: [08:00-12:00], name: Christmas Eve }\n"
	if got := d.read("office.yaml"); got != want {
		t.Errorf("the file is\n%s\nwant\n%s", got, want)
	}
}
