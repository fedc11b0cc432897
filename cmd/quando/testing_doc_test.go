package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
)

const testingDoc = "../../docs/testing.md"

var (
	fileBlock = regexp.MustCompile("(?s)```yaml (\\S+)\n(.*?)```")
	tookTime  = regexp.MustCompile(`\d+\.\d\ds`)
	tookAll   = regexp.MustCompile(`in \d+\.\ds`)
	toldOften = regexp.MustCompile(`\b\d\d tellings`)
	tookJSON  = regexp.MustCompile(`"seconds": [0-9.]+`)
	padding   = regexp.MustCompile(` {2,}`) // of columns that are as wide as the times in them
)

// TestTestingDoc writes the files of the documentation, runs its examples, and compares what they
// print.
func TestTestingDoc(t *testing.T) {
	if testing.Short() {
		t.Skip("tells many stories, none of which has anything happen at once")
	}
	doc, err := filepath.Abs(testingDoc)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, m := range fileBlock.FindAllStringSubmatch(string(text), -1) {
		if err := os.MkdirAll(filepath.Dir(m[1]), 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, m[1], m[2])
	}
	examples := 0
	got := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		line, _, _ := strings.Cut(strings.TrimPrefix(block, "```console\n"), "\n")
		command, ok := strings.CutPrefix(line, "$ quando ")
		if !ok {
			t.Fatalf("not a command: %s", line)
		}
		examples++
		var out bytes.Buffer
		if code := run(t.Context(), docWord.FindAllString(command, -1), strings.NewReader(""), &out, &out); code == cli.ExitError {
			t.Errorf("quando %s exits with %d:\n%s", command, code, &out)
		}
		// How long it takes is not the same everywhere, and in how many points the engine can be stopped
		// changes with it.
		shown := tookTime.ReplaceAllString(out.String(), "0.02s")
		shown = toldOften.ReplaceAllString(shown, "38 tellings")
		shown = tookAll.ReplaceAllString(shown, "in 0.1s")
		return "```console\n" + line + "\n" + tookJSON.ReplaceAllString(shown, `"seconds": 0.02`) + "```"
	})
	if examples < 3 {
		t.Errorf("the document has %d examples", examples)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if padding.ReplaceAllString(got, " ") != padding.ReplaceAllString(string(text), " ") {
		t.Errorf("the examples print something else than %s says; run make generate and read the difference. They print:\n%s", testingDoc, got)
	}
}
