package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/journalcmd"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/forget"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/service"
)

// TestForgetInBackupsLater erases in backups, by the contact's id, whom the journal has forgotten
// before: as forget itself says that one should.
func TestForgetInBackupsLater(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := newCrime(t, filepath.Join(t.TempDir(), "quando.db"))
	backup := filepath.Join(t.TempDir(), "backup.db")
	if code, _, errOut := c.quando("journal", "backup", backup); code != 0 {
		t.Fatal(errOut)
	}
	c.stop()
	for range 2 { // who says it twice is told twice
		if _, out, errOut := c.quando("journal", "forget", "--contact", c.contact); !strings.Contains(out, backup+" still holds the person") {
			t.Fatal(out, errOut)
		}
	}
	if code, out, errOut := c.quando("journal", "forget", "--contact", c.contact, "--backups"); code != 0 || !strings.Contains(out, "Erased in the backup "+backup) || !strings.Contains(out, "Forgotten before, at ") {
		t.Fatalf("%d %s %s", code, out, errOut)
	}
	c.tidyFile(backup)
	if list := readFile(t, filepath.Join(filepath.Dir(backup), backupList)); strings.Contains(list, c.contact) {
		t.Errorf("the list says that the person is still in the backup: %s", list)
	}
	if code, out, errOut := c.quando("journal", "verify", backup); code != 0 {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	if code, out, errOut := c.quando("journal", "forget", "--contact", c.contact, "--backups"); code != 0 || strings.Contains(out, "backup") {
		t.Errorf("there is nothing left in the backup: %d %s %s", code, out, errOut)
	}
	if code, out, errOut := c.quando("journal", "forget", "--contact", "nobody-ever-heard-of", "--backups"); code != cli.ExitNo {
		t.Errorf("somebody who may have been misspelt: %d %s %s", code, out, errOut)
	}
	for _, end := range []string{"-wal", "-shm", ".lock"} {
		if _, err := os.Stat(backup + end); err == nil {
			t.Errorf("a backup is one file, and there is %s", end)
		}
	}
}

// TestForgetHalfway stops forgetting after each change that it makes: whoever says it once more
// finds the rest, and nothing is left in the journal's files. Backups that hold the person are
// known from the beginning.
func TestForgetHalfway(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	c := newCrime(t, filepath.Join(t.TempDir(), "quando.db"))
	c.stop()
	whole, err := os.ReadFile(c.where)
	if err != nil {
		t.Fatal(err)
	}
	for n, ended := 0, false; !ended; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			folder := t.TempDir()
			where := filepath.Join(folder, "quando.db")
			if err := os.WriteFile(where, whole, 0o600); err != nil {
				t.Fatal(err)
			}
			if code, _, errOut := c.quando("journal", "backup", "--journal", where); code != 0 {
				t.Fatal(errOut)
			}
			ended = forgetHalfway(t, where, forget.Person{Contact: c.contact}, n)
			_, out, errOut := c.quando("journal", "forget", "--contact", c.contact, "--journal", where)
			if strings.Count(out, "still holds the person") != 1 || strings.Contains(out, "found, and left") {
				t.Error(out, errOut)
			}
			for _, end := range []string{"", "-wal"} {
				text, err := os.ReadFile(where + end)
				if err != nil && !os.IsNotExist(err) {
					t.Fatal(err)
				}
				(&crime{office: &office{t: t}}).tidy(end+" after "+out+errOut, string(text))
			}
			if code, out, errOut := c.quando("journal", "verify", "--journal", where); code != 0 {
				t.Errorf("%d %s %s", code, out, errOut)
			}
			if text := readFile(t, filepath.Join(folder, "backups", backupList)); !strings.Contains(text, c.contact) {
				t.Errorf("the backup is not marked: %s", text)
			}
		})
	}
}

// TestForgetUnfinished tells of what a backup and a restore have left that were stopped halfway,
// and takes it away where backups are to be looked after.
func TestForgetUnfinished(t *testing.T) {
	folder := t.TempDir()
	where := filepath.Join(folder, "quando.db")
	if err := fillJournal(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := quando(t, "journal", "backup", "--journal", where); code != 0 {
		t.Fatal(errOut)
	}
	left := []string{filepath.Join(folder, "backups", ".quando-20261114T090000Z.db.part-123"), where + ".restoring"}
	for _, path := range left {
		clitest.WriteFile(t, path, readFile(t, where))
	}
	_, out, errOut := quando(t, "journal", "forget", "--contact", "somebody-who-wrote", "--journal", where)
	for _, path := range left {
		if !strings.Contains(out, path) {
			t.Errorf("%s is not told of: %s %s", path, out, errOut)
		}
	}
	_, out, errOut = quando(t, "journal", "forget", "--contact", "somebody-who-wrote", "--backups", "--journal", where)
	for _, path := range left {
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s is still there: %s %s", path, out, errOut)
		}
	}
}

// TestForgetAlone forgets somebody in both journals while no engine runs that could cancel runs:
// they are cancelled all the same, and who waited for them is next.
func TestForgetAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	for name, journal := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "quando.db") },
		"PostgreSQL": func(t *testing.T) string { return postgrestest.Shared(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			c := newCrime(t, journal(t), "  - { id: alone, when: message.received, mode: queued, by: '\"everybody\"', do: [{ wait: 30d }] }\n")
			c.stop()
			phone, gone, left := "+5511944440000", "Bruno Costa", markedText
			if !c.first(phone) {
				phone, gone, left = markedPhone, markedName, "good evening"
			}
			code, out, errOut := c.quando("journal", "forget", "--phone", phone)
			if code != 0 || !strings.Contains(out, "found nowhere") {
				t.Fatalf("%d %s %s", code, out, errOut)
			}
			_, out, errOut = c.quando("runs", "--rule", "alone", "--output", "json")
			for state, want := range map[string]int{"cancelled": 2, "running": 1, "queued": 1} {
				if got := strings.Count(out, `"state": "`+state+`"`); got != want {
					t.Errorf("%d runs are %s, not %d: %s %s", got, state, want, out, errOut)
				}
			}
			if rows := c.rows(); strings.Contains(rows, gone) || !strings.Contains(rows, left) {
				t.Error("not who was first is forgotten, or others too")
			}
			if code, out, errOut := c.quando("journal", "verify"); code != 0 {
				t.Errorf("%d %s %s", code, out, errOut)
			}
		})
	}
}

// first reports whether the run for which others wait is about the one with this phone.
func (c *crime) first(phone string) bool {
	c.t.Helper()
	_, out, errOut := c.quando("runs", "--rule", "alone", "--state", "waiting", "--output", "json")
	var list struct{ Runs []struct{ Lane string } }
	if err := json.Unmarshal([]byte(out), &list); err != nil || len(list.Runs) != 1 {
		c.t.Fatal(err, out, errOut)
	}
	conversation, err := serviceOf(c.t, c.office).GetConversation(c.t.Context(), strings.TrimPrefix(list.Runs[0].Lane, "conversation:"))
	if err != nil {
		c.t.Fatal(err)
	}
	return service.SamePhone(conversation.Phone, phone)
}

// forgetHalfway does what quando journal forget does, and stops after so many changes. It reports
// whether there were no more.
func forgetHalfway(t *testing.T, where string, who forget.Person, changes int) (ended bool) {
	t.Helper()
	j, err := storage.Open(t.Context(), where, true)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	k, err := storage.OpenKeeper(t.Context(), where, false)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	cmd := &cobra.Command{}
	cmd.SetContext(t.Context())
	_, err = (&journalcmd.ForgetOptions{Person: who}).Erase(cmd, &stopping{Keeper: k, left: changes}, j, &journalcmd.ForgetReport{})
	if err != nil && !errors.Is(err, errStopped) {
		t.Fatal(err)
	}
	return err == nil
}

var errStopped = errors.New("stopped")

// A stopping keeper makes so many changes, and no more. Compacting is one.
type stopping struct {
	stored.Keeper
	left int
}

func (s *stopping) Edit(ctx context.Context, t *stored.Table, keys [][]any, edit func([]any) ([]any, error)) (int, error) {
	if s.left--; s.left < 0 {
		return 0, errStopped
	}
	return s.Keeper.Edit(ctx, t, keys, edit)
}

func (s *stopping) Compact(ctx context.Context) error {
	if s.left--; s.left < 0 {
		return errStopped
	}
	return s.Keeper.Compact(ctx)
}

// TestForgetInOldBackups erases a person in backups that earlier versions wrote, and does not leave
// them in one because another cannot be read.
func TestForgetInOldBackups(t *testing.T) {
	const phone = "+5511988880001"
	folder := t.TempDir()
	backups := filepath.Join(folder, "backups")
	if err := os.Mkdir(backups, 0o700); err != nil {
		t.Fatal(err)
	}
	list := func(name, text string) string {
		path := filepath.Join(backups, name)
		clitest.WriteFile(t, path, text)
		listBackups(t, backups, listedBackup{File: name})
		return path
	}
	broken := list("broken.db", "no journal")
	var old []string
	for schema := 1; schema <= 5; schema++ {
		name := fmt.Sprint("schema", schema)
		old = append(old, list(name+".db", readFile(t, oldFile(t, name))))
	}
	where := filepath.Join(folder, "quando.db")
	clitest.WriteFile(t, where, readFile(t, old[4]))
	j, err := storage.Open(t.Context(), where, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(j.SetCursor(t.Context(), "backups", fmt.Sprintf("[%q]", filepath.Join(backups, backupList))), j.Close()); err != nil {
		t.Fatal(err)
	}
	code, out, errOut := quando(t, "journal", "forget", "--phone", phone, "--backups", "--journal", where)
	if code != cli.ExitNo || strings.Count(out, "Erased in the backup") != len(old) || !strings.Contains(out, "could not be erased in the backup "+broken) || !strings.Contains(out, "found nowhere") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	for _, path := range old {
		if text := readFile(t, path); strings.Contains(text, phone) || strings.Contains(text, "are you there?") {
			t.Errorf("the person is still in %s", path)
		}
		if code, out, errOut := quando(t, "journal", "verify", path); code != 0 || errOut != "" {
			t.Errorf("%s: %d %s %s", path, code, out, errOut)
		}
	}
	if left, err := filepath.Glob(filepath.Join(backups, "*.lock")); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind", left)
	}
}
