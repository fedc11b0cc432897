package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/engine/journal/sqlite"
)

// TestRestoreElsewhere restores a backup that was carried away from its list: who was forgotten
// since is forgotten in it again all the same, and who is forgotten afterwards is found in the
// journal that was moved aside and in backups that were made after the one that was restored.
func TestRestoreElsewhere(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := newCrime(t, filepath.Join(t.TempDir(), "quando.db"))
	first, carried, later := filepath.Join(t.TempDir(), "first.db"), filepath.Join(t.TempDir(), "carried.db"), filepath.Join(t.TempDir(), "later.db")
	if code, _, errOut := c.quando("journal", "backup", first); code != 0 {
		t.Fatal(errOut)
	}
	clitest.WriteFile(t, carried, readFile(t, first))
	if code, _, errOut := c.quando("journal", "backup", later); code != 0 {
		t.Fatal(errOut)
	}
	c.stop()
	if code, out, errOut := c.quando("journal", "restore", carried); code != 0 || strings.Contains(out, "Forgotten") {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	code, out, errOut := c.quando("journal", "forget", "--contact", c.contact)
	if code != 0 || !strings.Contains(out, c.where+".before-") || !strings.Contains(out, first) || !strings.Contains(out, later) {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	for range 2 { // what is restored passes on who was forgotten
		if code, out, errOut := c.quando("journal", "restore", carried); code != 0 || !strings.Contains(out, "Forgotten again: 1 person") {
			t.Fatalf("%d %s %s", code, out, errOut)
		}
		c.tidyFile(c.where)
	}
}

// TestRestoreAfterStop restores a backup where an earlier restore was stopped and has left its copy
// with a log.
func TestRestoreAfterStop(t *testing.T) {
	where, backup := backedUp(t)
	left := where + ".restoring"
	clitest.WriteFile(t, left, readFile(t, backup))
	db := openFile(t, left)
	for _, s := range []string{"PRAGMA journal_mode = WAL", "DELETE FROM events", "VACUUM"} {
		if _, err := db.Exec(s); err != nil {
			t.Fatal(err)
		}
	}
	log, err := os.ReadFile(left + "-wal")
	if err != nil || len(log) == 0 {
		t.Fatal(len(log), err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left+"-wal", log, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := quando(t, "journal", "restore", backup, "--journal", where); code != 0 {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	if code, out, errOut := quando(t, "journal", "verify", "--journal", where); code != 0 || !strings.Contains(out, ": 9 events, 6 runs") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	names, err := filepath.Glob(left + "*")
	if err != nil || len(names) > 0 {
		t.Errorf("%v %v are left", names, err)
	}
}

// TestRestoreStopped stops a restore when it has moved a journal aside, and before it has said so:
// the journal that was moved is listed all the same, and can be put back.
func TestRestoreStopped(t *testing.T) {
	folder := t.TempDir()
	where, copied, aside := filepath.Join(folder, "quando.db"), filepath.Join(folder, "backup.db"), filepath.Join(folder, "quando.db.before-20261114T090000Z")
	record(t, where, "conversation:a", "message.received", `{"contact":{"id":"1ff3570a-9f58-45d6","name":"Zuleika Marcador","phone":"+5511977712345"},"message":{"text":"hello"}}`)
	if code, _, errOut := quando(t, "journal", "backup", copied, "--journal", where); code != 0 {
		t.Fatal(errOut)
	}
	listBackups(t, folder, listedBackup{File: filepath.Base(aside)})
	if _, err := sqlite.Replace(t.Context(), copied, where, aside); err != nil {
		t.Fatal(err)
	}
	if _, out, errOut := quando(t, "journal", "forget", "--contact", "1ff3570a-9f58-45d6", "--journal", where); !strings.Contains(out, aside+" still holds") {
		t.Error(out, errOut)
	}
	if code, out, errOut := quando(t, "journal", "restore", aside, "--journal", where); code != 0 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
}

// TestBackupAgain makes a backup under the name of one that was thrown away: it is the one that is
// listed.
func TestBackupAgain(t *testing.T) {
	folder := t.TempDir()
	where, backup := filepath.Join(folder, "quando.db"), filepath.Join(folder, "nightly.db")
	if err := fillJournal(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if code, _, errOut := quando(t, "journal", "backup", backup, "--journal", where); code != 0 {
			t.Fatal(errOut)
		}
		if code, out, errOut := quando(t, "journal", "verify", backup); code != 0 {
			t.Errorf("%d %s %s", code, out, errOut)
		}
		if code, _, errOut := quando(t, "pause", "--journal", where, "--reason", "so that it is another one"); code != 0 {
			t.Fatal(errOut)
		}
		if err := os.Rename(backup, backup+".old"); err != nil {
			t.Fatal(err)
		}
	}
}
