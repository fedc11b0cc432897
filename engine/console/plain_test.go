package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/console/plaintest"
	"github.com/quandohq/quando/engine/journal"
)

// technical and plainText are what tests of pages read them with.
var technical, plainText = plaintest.Technical, plaintest.Text

// plainPages are the pages that say nothing but what a person at the desk would say, but for what
// is folded under Technical details.
func (d *desk) plainPages() []string {
	list := []string{"/", "/activity", "/activity?noise=1", "/runs", "/events", "/rules"}
	for _, r := range d.set.Rules {
		list = append(list, "/rules/default/"+r.ID)
	}
	for _, r := range must(d.journal.ListRuns(d.t.Context(), journal.RunFilter{})) {
		list = append(list, "/runs/"+itoa(r.ID))
	}
	for _, e := range must(d.journal.ListEvents(d.t.Context(), journal.EventFilter{})) {
		list = append(list, "/events/"+itoa(e.Seq))
	}
	return list
}

// TestPlainWords shows that pages say no id, no name of code, no expression and no ISO time.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it reads every page")
	}
	d := newDesk(t)
	d.explains()
	for _, text := range []string{"Oi, tudo bem?", "boom", "please tell the erp"} {
		d.says(marina, "Marina Souza", text)
		d.says(bento, "Bento Alves", text)
		d.pass(time.Minute)
	}
	d.pass(24 * time.Hour)
	d.page("/") // which starts a check
	d.ask("POST", "/pause", url.Values{"workspace": {"default"}, "rule": {"watch"}, "reason": {"the survey is not ready"}})
	d.ask("POST", "/mute", url.Values{"workspace": {"default"}, "lane": {d.laneOf("Marina")}, "for": {"1d"}})
	must(d.journal.Hold(t.Context(), journal.Hold{Workspace: "default", Rule: "greet", Kind: journal.HoldSafety, Since: d.clock()}))
	d.console.checks.renew(t.Context(), d.options.Checks, d.clock())
	for _, path := range d.plainPages() {
		for _, l := range words.Languages {
			text := d.page(path, func(r *http.Request) { r.Header.Set("Accept-Language", l.Tag) })
			for _, found := range plaintest.Unsaid(text) {
				t.Errorf("%s, %s: %s", path, l.Code, found)
			}
			if strings.HasPrefix(path, "/runs/") && !strings.Contains(text, `<p class="headline"><bdi>`) {
				t.Errorf("%s has no headline", path)
			}
		}
	}
}
