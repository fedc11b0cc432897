package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if playRole() || playPeer() {
		return
	}
	os.Exit(m.Run())
}

// built builds quando without the compiler's profile, which would compile every package once more.
func built(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "quando")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", file, "./cmd/quando")
	build.Dir = filepath.Join("..", "..")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return file
}

// TestAccountsClose runs every scenario in its smallest form. How fast anything is does not matter
// here: what was acknowledged must have been recorded, decided and done exactly once, whatever was
// killed meanwhile.
func TestAccountsClose(t *testing.T) {
	if testing.Short() {
		t.Skip("builds quando and starts it many times")
	}
	var told bytes.Buffer
	b := &bench{scale: scales["test"], seed: 1, told: &told, folder: t.TempDir(), quando: built(t)}
	defer b.close()
	if err := b.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, s := range scenarios {
		if s.name == "peers" {
			continue // they are not installed
		}
		t.Run(s.name, func(t *testing.T) {
			before := len(b.figures)
			if err := b.runAll(t.Context(), []scenario{s}); err != nil {
				t.Fatalf("%v\n%s", err, &told)
			}
			if len(b.problems) > 0 {
				t.Errorf("%s\n%s", joined(b.problems), &told)
			}
			if len(b.figures) == before && !strings.Contains(told.String(), "left out") {
				t.Error("nothing was measured")
			}
		})
	}
}

// TestAccountThatDoesNotClose shows that a lost effect, a doubled one and a lost event are each
// noticed.
func TestAccountThatDoesNotClose(t *testing.T) {
	if testing.Short() {
		t.Skip("builds quando and starts it")
	}
	b := &bench{scale: scales["test"], told: io.Discard, folder: t.TempDir(), quando: built(t)}
	defer b.close()
	if err := b.prepare(t.Context()); err != nil {
		t.Fatal(err)
	}
	d, err := b.open(t.Context(), ruleFiles{"rules.yaml": oneCall}, disk{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.remove()
	if _, err := (load{to: d.to, connections: 2, events: 5, next: &d.next}).run(t.Context()); err != nil {
		t.Fatal(err)
	}
	settle := func(acknowledged, runs int) int {
		b.problems = nil
		if err := b.settle(t.Context(), d, acknowledged, runs, "a"); err != nil {
			t.Fatal(err)
		}
		return len(b.problems)
	}
	if n := settle(5, 5); n != 0 {
		t.Fatal(b.problems)
	}
	if settle(6, 5) == 0 {
		t.Error("an event that was acknowledged and is not recorded was not noticed")
	}
	b.service.recordMessage([]byte("a "+string(appendID(nil, eventPrefix, 3))), "another client id")
	if settle(5, 5) == 0 {
		t.Error("a second message to the same event was not noticed")
	}
	b.service.reset()
	if settle(5, 5) == 0 {
		t.Error("effects that are missing were not noticed")
	}
}

// TestReport shows what is written into the documentation.
func TestReport(t *testing.T) {
	folder := t.TempDir()
	r := &report{Scale: "test", Figures: []figure{
		{Scenario: "runs", Case: "one call: finished", Unit: "runs/s", Value: 1234.6, Anchor: 4938, Ratio: 0.25},
		{Scenario: "rows", Case: "a start <cold>", Unit: "ms", Value: 0.0123, Anchor: 0.00123, Ratio: 10, Against: "few rows"},
	}}
	if err := r.write(folder); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a page to write into: %v", err)
	}
	page := filepath.Join(folder, "benchmarks.md")
	if err := os.WriteFile(page, []byte("before\n"+tableBegins+"stale\n"+tableEnds+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := r.write(folder); err != nil {
		t.Fatal(err)
	}
	text := string(read(t, page))
	for _, want := range []string{"before\n", "after\n", "| runs | one call: finished | 1,235 runs/s | 4,938 | 0.25× | the anchor |", "| rows | a start <cold> | 0.0123 ms | 0.00123 | 10.00× | few rows |", "Every account closes."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "stale") {
		t.Error("the old table is still there")
	}
	var back report
	if err := json.Unmarshal(read(t, filepath.Join(folder, "bench.json")), &back); err != nil || len(back.Figures) != 2 {
		t.Errorf("%+v %v", back, err)
	}
	for d := xml.NewDecoder(bytes.NewReader(read(t, filepath.Join(folder, "bench.svg")))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the chart is not XML: %v", err)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestChosen shows that a scenario can be run alone, and that a wrong name is no silent nothing.
func TestChosen(t *testing.T) {
	if list, err := chosen("runs|kill"); err != nil || len(list) != 2 {
		t.Errorf("%v %v", list, err)
	}
	if _, err := chosen("run"); err == nil {
		t.Error("a name that no scenario has was taken")
	}
	if err := measure(context.Background(), []string{"-scale", "huge"}); err == nil {
		t.Error("a scale that there is not was taken")
	}
}
