package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
)

// TestJournalCopy lets an engine tell the first part of a story with a journal in SQLite, the next
// with a copy in PostgreSQL, and the last with a copy in SQLite again: nothing is lost, nothing is
// done twice.
func TestJournalCopy(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	o := newOffice(t)
	o.write("rules/r.yaml", `rules:
  - id: series
    when: message.received
    limit: { times: 1, per: 1h, by: conversation.id }
    do:
      - send_message: first
      - wait: 4s
      - send_message: second
      - wait: 4s
      - send_message: third
`)
	const customers = 5
	sent := func(text string) (n int) {
		for _, e := range o.sandbox.Effects() {
			if strings.Contains(string(e.Request), text) {
				n++
			}
		}
		return n
	}
	places := []string{filepath.Join(o.folder, "1.db"), postgrestest.Shared(t).Database(t), filepath.Join(o.folder, "3.db")}
	for i, text := range []string{"first", "second", "third"} {
		if i > 0 {
			code, out, errOut := quando(t, "journal", "copy", places[i-1], places[i])
			if code != 0 || !strings.Contains(out, "counted on both sides") || !strings.Contains(errOut, "runs: 5 of 5") {
				t.Fatalf("%d\n%s%s", code, out, errOut)
			}
		}
		o.start(o.service() + fmt.Sprintf("\njournal: %q", places[i]))
		for c := range customers {
			o.writes(fmt.Sprintf("+551198888000%d", c), "hello") // again and again, which the limit knows
		}
		clitest.Eventually(t, func() (bool, string) {
			return sent(text) == customers, fmt.Sprintf("%s: %d\n%s", text, sent(text), o.log)
		})
		if code := o.stop(); code != 0 {
			t.Fatalf("it ended with %d\n%s", code, o.log)
		}
	}
	for _, text := range []string{"first", "second", "third"} {
		if n := sent(text); n != customers {
			t.Errorf("%s was sent %d times to %d customers", text, n, customers)
		}
	}
	_, out, errOut := quando(t, "runs", "--journal", places[2], "--state", "done")
	if strings.Count(out, "series") != customers {
		t.Errorf("what is told at the end:\n%s%s", out, errOut)
	}

	// What is in use is refused, in words for people.
	if code, _, errOut := quando(t, "journal", "copy", places[0], places[1]); code != cli.ExitError || !strings.Contains(errOut, "copy into an empty one") {
		t.Errorf("%d\n%s", code, errOut)
	}
	o.start(o.service() + fmt.Sprintf("\njournal: %q", places[2]))
	if code, _, errOut := quando(t, "journal", "copy", places[2], filepath.Join(o.folder, "4.db")); code != cli.ExitError || !strings.Contains(errOut, "engine is using it") {
		t.Errorf("%d\n%s", code, errOut)
	}
}

// TestJournalCopyOntoItself says what is wrong when both names are one journal's, and not that an
// engine is using it.
func TestJournalCopyOntoItself(t *testing.T) {
	folder := t.TempDir()
	where, link := filepath.Join(folder, "quando.db"), filepath.Join(folder, "link.db")
	if err := fillJournal(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(where, link); err != nil {
		t.Fatal(err)
	}
	for _, target := range []string{where, link} {
		if code, _, errOut := quando(t, "journal", "copy", where, target); code != cli.ExitError || !strings.Contains(errOut, "name an empty journal to copy it to") {
			t.Errorf("%d %s", code, errOut)
		}
	}
}
