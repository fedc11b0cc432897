package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
)

const journalDoc = "../../docs/journal.md"

var (
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
	docWord      = regexp.MustCompile(`"[^"]*"|\S+`)
	madeUpID     = regexp.MustCompile(`manual/[0-9a-f-]{36}`)
)

// TestJournalDoc runs the examples of the documentation one after the other, in a folder with a
// journal, and compares what they print.
func TestJournalDoc(t *testing.T) {
	doc, err := filepath.Abs(journalDoc)
	if err != nil {
		t.Fatal(err)
	}
	cli.Now = func() time.Time { return time.Date(2026, 11, 14, 9, 0, 0, 0, time.UTC) }
	t.Cleanup(func() { cli.Now = time.Now })
	t.Chdir(t.TempDir())
	writeFiles(t, map[string]string{
		"quando.yaml":           "timezone: America/Sao_Paulo\nservice: { api_key: \"${NOBODY_HAS_THIS}\" }\n",
		"rules/away-reply.yaml": "rules:\n  - { id: away-reply, when: [message.received, manual], do: [send_message: Hello] }\n",
	})
	if err := fillJournal(t.Context(), "quando.db"); err != nil {
		t.Fatal(err)
	}

	runDoc(t, doc, 10)
}

// writeFiles writes files into the folder that the test is in.
func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// runDoc runs the examples of a document one after the other, and compares what they print. There
// must be at least so many.
func runDoc(t *testing.T, doc string, least int) {
	t.Helper()
	text, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	got := consoleBlock.ReplaceAllStringFunc(string(text), func(block string) string {
		var b strings.Builder
		for line := range strings.Lines(block) {
			command, ok := strings.CutPrefix(line, "$ quando ")
			if !ok {
				continue
			}
			examples++
			b.WriteString(line + runExample(t, strings.TrimSpace(command)))
		}
		return "```console\n" + b.String() + "```"
	})
	if examples < least {
		t.Errorf("the document has %d examples", examples)
	}
	if *update {
		if err := os.WriteFile(doc, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != string(text) {
		t.Errorf("the examples print something else than %s says; run make generate and read the difference. They print:\n%s", doc, got)
	}
}

// runExample returns what a command prints, on either output. Ids that are made up are always the
// same.
func runExample(t *testing.T, command string) string {
	t.Helper()
	var args []string
	for _, word := range docWord.FindAllString(command, -1) {
		args = append(args, strings.Trim(word, `"`))
	}
	var out bytes.Buffer
	if code := run(t.Context(), args, strings.NewReader(""), &out, &out); code != 0 {
		t.Errorf("quando %s exits with %d:\n%s", command, code, &out)
	}
	return madeUpID.ReplaceAllString(out.String(), "manual/5b0c7d52-4f0e-4c51-9b6f-2f1d3a7c9e10")
}
