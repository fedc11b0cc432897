package console

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/quandohq/quando/service/sandbox"
)

// load lets customers write all the time, until the test ends or it is stopped.
func (d *desk) load() (stop func()) {
	d.console.live.every = 20 * time.Millisecond
	ctx, cancel := context.WithCancel(d.t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ctx.Err() == nil; n++ {
			phone := fmt.Sprintf("+55119%08d", n)
			_, _ = d.CustomerMessage(sandbox.CustomerMessage{Phone: phone, Name: fmt.Sprintf("Customer %d", n), Text: "Oi!"})
			_ = d.Settle(ctx)
			_, _ = d.engine.Tick(ctx, d.clock())
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return func() { cancel(); <-done }
}

// TestLiveListsStay shows that nobody opens another run than the one they point at, however much
// happens meanwhile, and that neither the focus nor the page moves.
func TestLiveListsStay(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t)
	b := newBrowser(t, d.serve())
	for i := range 15 {
		d.says(fmt.Sprintf("+55118%08d", i), fmt.Sprintf("Early %d", i), "Oi!")
	}
	b.open("/runs")
	defer d.load()()
	b.until(`/^[0-9]+ new · show$/.test(document.querySelector(".news").textContent)`)
	look(b, "note clicks", chromedp.Evaluate[bool](`document.addEventListener("click", (e) => { if (e.target.closest("[data-row]")) { e.preventDefault(); window.hit = e.target.closest("[data-row]").dataset.row; } }, true), true`))
	missed := 0
	for i := range 100 {
		at := look(b, "aim", chromedp.Evaluate[[]float64](fmt.Sprintf(`(() => { window.hit = ""; const row = document.querySelectorAll("[data-row]")[%d]; const box = row.querySelector("a").getBoundingClientRect();
			return [box.x + box.width / 2, box.y + box.height / 2, Number(row.dataset.row.slice(1))]; })()`, i%12)))
		time.Sleep(50 * time.Millisecond) // some updates
		b.do(chromedp.MouseClickXY(at[0], at[1]))
		if hit := look(b, "what was hit", chromedp.Evaluate[string](`window.hit`)); hit != fmt.Sprint("r", int(at[2])) {
			missed++
			t.Logf("aimed at %v, hit %q", at[2], hit)
		}
	}
	if missed > 0 {
		t.Errorf("%d of 100 clicks opened something else", missed)
	}

	// The focus and what is read stay, also far down.
	look(b, "focus", chromedp.Evaluate[bool](`(() => { window.scrollTo(0, 200); const link = document.querySelectorAll("[data-row] a")[20]; link.focus(); window.kept = link; window.place = link.getBoundingClientRect().top; window.text = link.href; return true; })()`))
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if !look(b, "look at the focus", chromedp.Evaluate[bool](`document.activeElement === window.kept && window.kept.href === window.text && window.kept.getBoundingClientRect().top === window.place`)) {
			t.Fatal("the focus or the page has moved")
		}
	}
	b.sees("50+ new · show")

	// What waited is there when it is asked for, and the focus is on the first row.
	newest := look(b, "read the first row", chromedp.Evaluate[int](`Number(document.querySelector("[data-row]").dataset.row.slice(1))`))
	b.click(".news button")
	b.until(fmt.Sprintf(`Number(document.querySelector("[data-row]").dataset.row.slice(1)) > %d && document.activeElement.closest("[data-row]") === document.querySelector("[data-row]")`, newest))
}

// TestLiveRowsChange shows that a row changes in its place, and that the first rows of an empty
// list do not wait.
func TestLiveRowsChange(t *testing.T) {
	needsBrowser(t)
	t.Parallel()
	d := newDesk(t)
	b := newBrowser(t, d.serve())
	d.console.live.every = 20 * time.Millisecond
	b.open("/runs?state=failed")
	b.sees("Nothing like that has happened.")
	d.says(bento, "Bento", "boom")
	b.sees("A transfer that fails")
	b.open("/")
	b.sees("“A transfer that fails” for Bento failed")
	look(b, "remember the row", chromedp.Evaluate[bool](`(window.row = document.querySelector(".needs [data-row*=breaks]")) && true`))
	d.says(marina, "Marina Souza", "boom")
	b.until(`window.row.isConnected && window.row.textContent.includes("failed 2 times") || document.querySelector(".news button")`)
	if d.ask("POST", "/failed/dealt", map[string][]string{"runs": {strings.Join(groups(d.page("/"), "dealt"), " ")}}).Code != 303 {
		t.Fatal("not dealt with")
	}
	d.rest()
	b.until(`window.row.isConnected && window.row.classList.contains("gone")`)
	b.click(".news button")
	b.until(`!document.querySelector(".needs [data-row*=breaks]")`)
}
