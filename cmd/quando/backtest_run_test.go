package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
)

// TestBacktestOfARun looks back at what the real command did at the real service, which is gone by
// then.
func TestBacktestOfARun(t *testing.T) {
	const text = `
rules:
  - id: vip
    when: message.received
    if: [conversation.channel_name == "Main", not has_label("vip"), 'attendance.status == "open"']
    do: [{ add_labels: [vip] }, { wait: 1s }, { stop_if: conversation.archived }, { send_message: "Hello {{ contact.name }}" }]
  - { id: heard, when: message.sent, from: any, do: [log: "{{ message.by }}"] }
`
	o := newOffice(t)
	o.write("rules/r.yaml", text)
	o.start(o.service())
	for _, phone := range []string{"+5511988887777", "+5511977776666", "+5511966665555"} {
		o.writes(phone, "hello")
	}
	j, err := storage.Open(t.Context(), filepath.Join(o.folder, "quando.db"), true)
	if err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, func() (bool, string) {
		done, err := j.ListRuns(t.Context(), journal.RunFilter{State: journal.Done})
		names, _ := j.Cursor(t.Context(), storage.DirectoryCursor("default"))
		return err == nil && len(done) == 6 && strings.Contains(names, "after-hours"), o.log.String()
	})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if code := o.stop(); code != 0 {
		t.Fatalf("it ended with %d\n%s", code, o.log)
	}
	if err := o.sandbox.Close(); err != nil {
		t.Fatal(err)
	}
	type report struct {
		Effects, Differences []any
		NotRecorded          []any `json:"not_recorded"`
		Rules                []struct{ Changed bool }
	}
	backtest := func(want int) (r report) {
		t.Helper()
		var out, notes bytes.Buffer
		args := []string{"backtest", "--config", filepath.Join(o.folder, "quando.yaml"), "--output", "json", "--fail-on-diff"}
		if code := run(t.Context(), args, strings.NewReader(""), &out, &notes); code != want {
			t.Fatalf("it ends with %d\n%s%s", code, &out, &notes)
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		if len(r.NotRecorded) > 0 {
			t.Errorf("not recorded: %v", r.NotRecorded)
		}
		return r
	}
	if r := backtest(0); len(r.Effects) != 6 {
		t.Errorf("%d effects: %+v", len(r.Effects), r.Effects)
	}
	// What makes no difference: the same conditions in other words, and a step that only notes.
	o.write("rules/r.yaml", strings.NewReplacer(`not has_label("vip")`, `has_label("vip") == false`, "{ wait: 1s }", "{ log: waits }, { wait: 1s }").Replace(text))
	if r := backtest(0); len(r.Effects) != 6 || !r.Rules[1].Changed {
		t.Errorf("%d effects: %+v", len(r.Effects), r.Rules)
	}
	o.write("rules/r.yaml", strings.Replace(text, "Hello", "Hi", 1))
	if r := backtest(1); len(r.Effects) != 6 || len(r.Differences) != 3 {
		t.Errorf("%d effects, %d differences: %+v", len(r.Effects), len(r.Differences), r.Differences)
	}
}
