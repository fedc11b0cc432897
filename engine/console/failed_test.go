package console

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/journal"
)

// groups are the runs of each button of a kind on Today.
func groups(page, what string) (list []string) {
	for _, m := range regexp.MustCompile(`action="/failed/`+what+`"><input type="hidden" name="back" value="/"><input type="hidden" name="runs" value="([^"]*)"`).FindAllStringSubmatch(page, -1) {
		list = append(list, m[1])
	}
	return list
}

// TestFailuresStay shows that a failed run stays on Today for days, grouped with those that failed
// in the same way, until somebody tries it again or says that it is dealt with.
func TestFailuresStay(t *testing.T) {
	t.Parallel()
	d := newDesk(t, guarded)
	operator := bearer("open-sesame-of-ali")
	d.says(marina, "Marina Souza", "boom")
	d.pass(time.Hour)
	d.says(bento, "Bento", "boom")
	d.pass(72 * time.Hour)
	today := d.page("/", operator)
	has(t, today, "“A transfer that fails” failed 2 times", "for Bento", "Try all again", "All dealt with", `href="/runs?state=failed&amp;rule=breaks"`)
	failed := must(d.journal.ListRuns(t.Context(), journal.RunFilter{State: journal.FailedRun}))
	if got := groups(today, "dealt"); len(got) != 1 || got[0] != itoa(failed[0].ID)+" "+itoa(failed[1].ID) {
		t.Fatalf("%q", got)
	}
	viewer, _ := d.enters("vera", "correct horse")
	if w := d.ask("POST", "/failed/dealt", url.Values{"runs": {itoa(failed[0].ID)}}, viewer); w.Code != http.StatusForbidden {
		t.Errorf("a viewer: %d", w.Code)
	}

	// One is dealt with: it is gone at once, and still gone when the engine has taken it down.
	if w := d.ask("POST", "/failed/dealt", url.Values{"runs": {itoa(failed[1].ID)}, "back": {"/"}}, operator); w.Code != http.StatusSeeOther {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	for range 2 {
		if got := groups(d.page("/", operator), "dealt"); len(got) != 1 || got[0] != itoa(failed[0].ID) {
			t.Errorf("after one is dealt with: %q", got)
		}
		d.rest()
	}
	if r := must(d.journal.FindRun(t.Context(), failed[1].ID)); r.State != journal.Dealt || r.Asked != nil || !r.FinishedAt.Equal(failed[1].FinishedAt) || r.Reason != failed[1].Reason {
		t.Errorf("%+v", r)
	}
	has(t, d.page("/runs/"+itoa(failed[1].ID), operator), "dealt with", "Nobody Atall", "Try again")
	entries := must(d.journal.Audits(t.Context(), 0, 1))
	if len(entries) != 1 || entries[0].What != "dealt" || entries[0].Subject != "run "+itoa(failed[1].ID)+" (default/breaks)" || entries[0].Who == "" {
		t.Errorf("%+v", entries)
	}

	// The other one is tried again, fails again, and is back.
	d.ask("POST", "/failed/retry", url.Values{"runs": {itoa(failed[0].ID) + " " + itoa(failed[1].ID) + " 999999"}}, operator)
	if got := groups(d.page("/", operator), "dealt"); len(got) != 0 {
		t.Errorf("what is to be tried again: %q", got)
	}
	d.rest()
	if got := groups(d.page("/", operator), "dealt"); len(got) != 1 || got[0] != itoa(failed[0].ID) {
		t.Errorf("what failed again: %q", got)
	}
	if r := must(d.journal.FindRun(t.Context(), failed[1].ID)); r.State != journal.Dealt {
		t.Errorf("a run that is dealt with was tried again: %s", r.State)
	}
	for _, wrong := range []string{"", "x", strings.Repeat("1 ", attention.MaxFailed+1)} {
		if w := d.ask("POST", "/failed/dealt", url.Values{"runs": {wrong}}, operator); w.Code != http.StatusBadRequest {
			t.Errorf("%q: %d", wrong, w.Code)
		}
	}
	if w := d.ask("POST", "/failed/done", url.Values{"runs": {"1"}}, operator); w.Code != http.StatusNotFound {
		t.Errorf("what is asked of one run only: %d", w.Code)
	}
}

// TestGatheredCountsOnce shows that an event which a rule gathered and then did not fire for is
// counted once among the reasons.
func TestGatheredCountsOnce(t *testing.T) {
	t.Parallel()
	d := newEditorDesk(t)
	d.write("hello.yaml", "rules:\n  - id: hello\n    name: A first word\n    when: message.received\n    gather: { quiet: 20s, at_most: 2m }\n    if: message.text == \"xyz\"\n    do:\n      - send_message: Hello\n")
	if err := d.reload(); err != nil || d.set.Rule("hello") == nil {
		t.Fatal(err, d.set.Broken)
	}
	d.says(marina, "Marina Souza", "Oi!")
	d.pass(time.Minute)
	text := d.page("/rules/default/hello/activity")
	if !strings.Contains(text, "1 × · 100.0 %") || strings.Count(text, " × · ") != 1 {
		t.Error(text)
	}
}
