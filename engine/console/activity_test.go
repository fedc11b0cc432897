package console

import (
	"encoding/csv"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service/sandbox"
)

var (
	activityRows = regexp.MustCompile(`(?s)<li data-row="([^"]*)".*?</li>`)
	olderLink    = regexp.MustCompile(`href="([^"]*before=[^"]*)"`)
)

// rowsOf returns the sentences of a list, by their keys, in order.
func rowsOf(page string) (keys, said []string) {
	for _, m := range activityRows.FindAllStringSubmatch(page, -1) {
		keys, said = append(keys, m[1]), append(said, plainText(timed(m[0])))
	}
	return keys, said
}

// TestActivity shows that what happened and what rules did is one list of sentences, the newest
// first, and what its chips leave of it.
func TestActivity(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.says(marina, "Marina Souza", "Oi, tudo bem?")
	d.pass(time.Minute)
	d.says(bento, "Bento Alves", "boom")
	failed := itoa(d.runOf("breaks"))
	_, said := rowsOf(d.page("/activity"))
	all := strings.Join(said, "\n")
	for _, want := range []string{
		"17:50 Marina Souza : wrote “Oi, tudo bem?” 2 rules started",
		"17:50 Marina Souza : sent “Olá, Marina Souza! Já vamos responder.”, label vip Greet whoever writes",
		"17:50 Marina Souza : would send to Marina Souza: “How do you like us, Marina Souza?” shadow What a survey would ask",
		"Marina Souza : waits until tomorrow 10:50 Remind after two hours of office time",
		"17:51 Bento Alves : failed: ", "Nobody Atall",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in\n%s", want, all)
		}
	}
	if i, j := strings.Index(all, "Bento Alves : failed"), strings.Index(all, "Marina Souza : wrote"); i > j {
		t.Error("the newest is not the first")
	}
	count := func(path string) int { keys, _ := rowsOf(d.page(path)); return len(keys) }
	for path, want := range map[string]func(key, said string) bool{
		"/activity?kind=runs":            func(key, _ string) bool { return key[0] == 'r' },
		"/runs":                          func(key, _ string) bool { return key[0] == 'r' },
		"/activity?kind=events":          func(key, _ string) bool { return key[0] == 'e' },
		"/events":                        func(key, _ string) bool { return key[0] == 'e' },
		"/activity?state=failed":         func(key, _ string) bool { return key == "r"+failed },
		"/activity?rule=greet&kind=runs": func(_, said string) bool { return strings.HasSuffix(said, "Greet whoever writes") },
		"/activity?customer=bento":       func(_, said string) bool { return strings.Contains(said, "Bento Alves") },
		"/activity?day=2026-11-13":       func(string, string) bool { return true },
		"/activity?workspace=default&lane=" + d.laneOf("Marina"): func(_, said string) bool { return strings.Contains(said, "Marina Souza") },
	} {
		keys, said := rowsOf(d.page(path))
		if len(keys) == 0 {
			t.Errorf("%s lists nothing", path)
		}
		for i := range keys {
			if !want(keys[i], said[i]) {
				t.Errorf("%s lists %s", path, said[i])
			}
		}
	}
	if n := count("/activity?day=2026-11-12"); n != 0 {
		t.Errorf("another day has %d rows", n)
	}
	if quiet, noisy := count("/activity?kind=events"), count("/activity?kind=events&noise=1"); quiet >= noisy {
		t.Errorf("%d of %d events are shown though no rule asked for some", quiet, noisy)
	}
	d.pass(24 * time.Hour)
	if _, said := rowsOf(d.page("/activity?day=2026-11-13")); len(said) == 0 || !strings.Contains(said[0], "yesterday 17:51") {
		t.Errorf("yesterday is %q", said)
	}
}

// TestActivityPages shows that nothing is lost or doubled between the pages of the list of both
// kinds, also where most events are hidden.
func TestActivityPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it fills a journal")
	}
	d := newDesk(t)
	var batch []rules.Event
	for i := range 2*eventWindow + 300 {
		batch = append(batch, rules.Event{Workspace: "default", ID: "e" + strconv.Itoa(i), Type: "contact.updated", Lane: "contact:c" + strconv.Itoa(i%7), CreatedAt: friday, ReceivedAt: friday})
	}
	must(d.journal.Accept(t.Context(), batch[:100]))
	for i := range 40 {
		d.pass(time.Second)
		if i == 20 {
			must(d.journal.Accept(t.Context(), batch[100:]))
		}
		must(d.CustomerMessage(sandbox.CustomerMessage{Phone: marina, Name: "Marina Souza", Text: "erp " + strconv.Itoa(i)}))
	}
	d.rest()
	want := map[string]bool{}
	for _, r := range must(d.journal.ListRuns(t.Context(), journal.RunFilter{Limit: 10_000})) {
		want["r"+itoa(r.ID)] = true
	}
	for _, e := range must(d.journal.ListEvents(t.Context(), journal.EventFilter{Limit: 10_000})) {
		if isAskedFor(e) {
			want["e"+itoa(e.Seq)] = true
		}
	}
	seen := map[string]bool{}
	pages := 0
	for path := "/activity"; path != ""; pages++ {
		text := d.page(path)
		keys, _ := rowsOf(text)
		if len(keys) > listSize {
			t.Fatalf("a page has %d rows", len(keys))
		}
		for _, key := range keys {
			if seen[key] {
				t.Errorf("%s is there twice", key)
			}
			if !want[key] {
				t.Errorf("%s should not be there", key)
			}
			seen[key] = true
		}
		path = ""
		if m := olderLink.FindStringSubmatch(text); m != nil {
			path = html.UnescapeString(m[1])
		}
	}
	if len(seen) != len(want) || pages < 4 {
		t.Errorf("%d pages have %d of %d rows", pages, len(seen), len(want))
	}
}

// TestChosenRuns shows that several runs are tried again, dealt with or cancelled at once, that
// each is audited, and that only operators do it.
func TestChosenRuns(t *testing.T) {
	t.Parallel()
	d := newDesk(t, guarded)
	operator := bearer("open-sesame-of-ali")
	d.says(marina, "Marina Souza", "boom")
	d.says(bento, "Bento Alves", "boom")
	var failed, waiting []string
	for _, r := range must(d.journal.ListRuns(t.Context(), journal.RunFilter{})) {
		switch r.State {
		case journal.FailedRun:
			failed = append(failed, itoa(r.ID))
		case journal.Waiting:
			waiting = append(waiting, itoa(r.ID))
		}
	}
	if len(failed) != 2 || len(waiting) != 2 {
		t.Fatal(failed, waiting)
	}
	text := d.page("/activity", operator)
	for _, id := range failed {
		if !strings.Contains(text, `name="run" value="`+id+`" form="chosen"`) {
			t.Errorf("run %s cannot be chosen", id)
		}
	}
	viewer, _ := d.enters("vera", "correct horse")
	if strings.Contains(d.page("/activity", viewer), `id="chosen"`) {
		t.Error("a viewer is offered to act")
	}
	if w := d.ask("POST", "/activity/dealt", url.Values{"run": failed}, viewer); w.Code != http.StatusForbidden {
		t.Errorf("a viewer: %d", w.Code)
	}
	if w := d.ask("POST", "/activity/dealt", url.Values{"run": append(failed, waiting...), "back": {"/activity"}}, operator); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	d.ask("POST", "/activity/cancel", url.Values{"run": waiting}, operator)
	d.rest()
	var audited []string
	for _, e := range must(d.journal.Audits(t.Context(), 0, 20)) {
		audited = append(audited, e.What)
	}
	slices.Sort(audited)
	if got := strings.Join(audited, " "); got != "cancel cancel dealt dealt" {
		t.Errorf("audited: %s", got)
	}
	for _, r := range must(d.journal.ListRuns(t.Context(), journal.RunFilter{})) {
		if slices.Contains(failed, itoa(r.ID)) && r.State != journal.Dealt || slices.Contains(waiting, itoa(r.ID)) && r.State != journal.Cancelled {
			t.Errorf("run %d is %s", r.ID, r.State)
		}
	}
	if w := d.ask("POST", "/activity/dealt", url.Values{"run": failed, "back": {"/activity"}}, operator); w.Header().Get("Location") != "/activity?said=asked_none" {
		t.Errorf("asked again: %s", w.Header().Get("Location"))
	}
}

// TestExport shows that what is filtered comes as a table whose texts are data.
func TestExport(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.says(marina, "=1+1", "Oi, tudo bem?")
	w := d.ask("GET", "/activity/export?kind=events&type=message.received", nil)
	rows, err := csv.NewReader(strings.NewReader(strings.TrimPrefix(w.Body.String(), "\ufeff"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{{"When", "Who", "What", "Rule", "State"}, {"2026-11-13 17:50:00", "'=1+1", "wrote “Oi, tudo bem?”", "2 rules started", ""}}
	if len(rows) != 2 || !slices.Equal(rows[0], want[0]) || !slices.Equal(rows[1], want[1]) {
		t.Errorf("%q", rows)
	}
	if got := w.Header().Get("Content-Disposition"); got != `attachment; filename="activity-2026-11-13.csv"` {
		t.Error(got)
	}
}
