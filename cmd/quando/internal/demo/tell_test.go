package demo

import (
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// TestDemoTeller shows that a failure is told and counted, and that no text of people steers the
// terminal or leaves its line.
func TestDemoTeller(t *testing.T) {
	out := &clitest.Buffer{}
	tell := newTeller(out, startTime().Location(), startTime())
	tell.rules.Store(mustCompileExamples(t))
	tell.learn(map[string]any{"contacts": []any{map[string]any{"id": "c1", "name": "Eve\x1b[2J"}}})
	tell.act(startTime(), "%s writes: “%s”", "Eve", "\x1b]0;\x07 "+strings.Repeat("long ", 40))
	r := &journal.Run{ID: 1, Rule: "away-reply", Stage: "live", State: journal.FailedRun, Reason: "422: no\nsuch channel"}
	r.About.Contact = "c1"
	r.Steps = []*journal.Step{{Path: "1", Verb: "transfer", State: journal.StepDone, Record: []byte(`{"args":{"sector":"c1"},"receipts":[{"call":"transfer"}]}`)}}
	tell.Changed(r)
	tell.Changed(r)
	tell.runs(startTime())
	tell.closing(startTime())
	text := out.String()
	clitest.HasLines(t, text,
		`17:40      Eve writes: “\\x1b\]0;\\a long .*…`, `17:40  away-reply            → Eve\\x1b\[2J: transferred to Eve\\x1b\[2J`,
		`17:40  away-reply            failed: 422: no\\nsuch channel`, `    customers 0 · events 0 · runs 1: 0 done · .* · 0 waiting · 1 failed`,
		`    messages 0 · transfers 1 · .*`)
	if strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("%q", text)
	}
	for line := range strings.Lines(text) {
		if cli.Width(line) > lineWidth+1 {
			t.Errorf("%d columns: %s", cli.Width(line), line)
		}
	}
}

func mustCompileExamples(t *testing.T) *rules.Set {
	t.Helper()
	folder := t.TempDir()
	if err := writeExamples(folder); err != nil {
		t.Fatal(err)
	}
	set, err := compileFiles(folder, nil)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
