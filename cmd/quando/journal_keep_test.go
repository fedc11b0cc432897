package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// TestBackupWhileRunning backs a journal up again and again while an engine records: each backup is
// whole, and holds everything that was acknowledged before it was begun.
func TestBackupWhileRunning(t *testing.T) {
	o := newOffice(t)
	o.write("rules/r.yaml", "rules:\n  - { id: hello, when: message.received, do: [{ send_message: Hello }] }\n")
	o.start(o.service())
	config := filepath.Join(o.folder, "quando.yaml")
	var writing sync.WaitGroup
	stop := make(chan struct{})
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				body := fmt.Sprintf(`{"id":"load-%d","type":"something.new","created_at":"2027-01-15T08:00:00Z","data":{"conversation":{"id":"c%d"}}}`, i, i%10)
				if got, text := o.asks("POST", o.public+"/webhook", signed(string(o.secret), body), body); got != 202 {
					t.Errorf("%d %s", got, text)
					return
				}
			}
		}
	})
	for n := range 4 {
		id := fmt.Sprintf("mark-%d", n)
		body := fmt.Sprintf(`{"id":%q,"type":"something.new","created_at":"2027-01-15T08:00:00Z","data":{"conversation":{"id":"c1"}}}`, id)
		if got, text := o.asks("POST", o.public+"/webhook", signed(string(o.secret), body), body); got != 202 {
			t.Fatalf("%d %s", got, text)
		}
		file := filepath.Join(o.folder, id+".db")
		if code, out, errOut := quando(t, "journal", "backup", file, "--config", config); code != 0 || strings.TrimSpace(out) != file {
			t.Fatalf("%d %s %s", code, out, errOut)
		}
		if code, out, errOut := quando(t, "journal", "verify", file); code != 0 {
			t.Errorf("%d %s %s", code, out, errOut)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("others may read it: %v %v", info, err)
		}
		j, err := storage.Open(t.Context(), file, true)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := j.FindEvent(t.Context(), "default", id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
		j.Close()
	}
	close(stop)
	writing.Wait()
	left, _ := filepath.Glob(filepath.Join(o.folder, ".*part*"))
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestVerifyFindings spoils a journal in one way after another, in both kinds: verify finds each,
// and says so.
func TestVerifyFindings(t *testing.T) {
	for name, journal := range map[string]func(*testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "quando.db") },
		"PostgreSQL": func(t *testing.T) string { return postgrestest.Shared(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			where := journal(t)
			if err := fillJournal(t.Context(), where); err != nil {
				t.Fatal(err)
			}
			if code, out, errOut := quando(t, "journal", "verify", where); code != 0 || !strings.Contains(out, "Nothing is wrong") {
				t.Fatalf("%d %s %s", code, out, errOut)
			}
			k, err := storage.OpenKeeper(t.Context(), where, false)
			if err != nil {
				t.Fatal(err)
			}
			defer k.Close()
			for _, tt := range []struct {
				table string
				key   []any
				set   map[string]any // nil takes the row away
				want  string
			}{
				{"events", []any{int64(2)}, map[string]any{"data": nil}, "unfinished runs whose event is gone or has lost its data, so that they cannot go on: [2]"},
				{"runs", []any{int64(1)}, map[string]any{"event": int64(99), "started_at": int64(4e15)}, "runs whose event is not there although older ones are: [1]"},
				{"lanes", []any{"default", ana}, nil, "runs that nobody would wake, because their lanes are not due by then: [2]"},
				{"lanes", []any{"default", ana}, nil, "events that nobody would decide on, because their lanes are not due: [9]"},
				{"runs", []any{int64(5)}, map[string]any{"asked": `{"what":"cancel","at":"2026-11-13T20:51:02Z"}`}, "runs of which something was asked that nobody would see: [5]"},
				{"runs", []any{int64(2)}, map[string]any{"state": "queued"}, "queued runs that wait for nothing: [2]"},
				{"runs", []any{int64(2)}, map[string]any{"state": "done"}, "runs whose state and end disagree: [2]"},
				{"runs", []any{int64(1)}, nil, "steps of runs that are not there: [1]"},
				{"rule_versions", []any{"v1"}, nil, "rule is not kept in the version that they began with: [2 4]"},
				{"events", []any{int64(1)}, map[string]any{"verdicts": "{"}, "events that cannot be read: [[1] (verdicts)]"},
				{"steps", []any{int64(1), int64(0)}, map[string]any{"record": "{"}, "steps that cannot be read: [[1 0] (record)]"},
			} {
				table := stored.Named(tt.table)
				undo := spoil(t, k, table, tt.key, tt.set)
				if code, out, errOut := quando(t, "journal", "verify", where); code != cli.ExitNo || !strings.Contains(out, tt.want) {
					t.Errorf("%s: %d %s %s", tt.want, code, out, errOut)
				}
				if tt.set != nil {
					if _, err := k.Edit(t.Context(), table, [][]any{tt.key}, func([]any) ([]any, error) { return undo, nil }); err != nil {
						t.Fatal(err)
					}
				} else {
					insertRow(t, where, table, undo)
				}
			}
			if code, out, errOut := quando(t, "journal", "verify", where, "--output", "json"); code != 0 || !strings.Contains(out, `"findings": []`) {
				t.Errorf("%d %s %s", code, out, errOut)
			}
		})
	}
}

// spoil changes a row, or takes it away, and returns what it was.
func spoil(t *testing.T, k stored.Keeper, table *stored.Table, key []any, set map[string]any) (was []any) {
	t.Helper()
	n, err := k.Edit(t.Context(), table, [][]any{key}, func(row []any) ([]any, error) {
		was = append([]any{}, row...)
		if set == nil {
			return nil, nil
		}
		for name, v := range set {
			row[table.Index(name)] = v
		}
		return row, nil
	})
	if err != nil || n != 1 {
		t.Fatalf("%s %v: %d %v", table.Name, key, n, err)
	}
	return was
}

// insertRow puts a row back that was taken away.
func insertRow(t *testing.T, where string, table *stored.Table, row []any) {
	t.Helper()
	s, err := storage.OpenStore(t.Context(), where, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), table, [][]any{row}, "x", ""); err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// backedUp makes a journal and a backup of it, side by side.
func backedUp(t *testing.T) (where, backup string) {
	t.Helper()
	folder := t.TempDir()
	where, backup = filepath.Join(folder, "quando.db"), filepath.Join(folder, "backup.db")
	if err := fillJournal(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := quando(t, "journal", "backup", backup, "--journal", where); code != 0 {
		t.Fatal(errOut)
	}
	return where, backup
}

// TestVerifyDamaged shows that a file whose bytes are damaged is found, and that a backup which
// somebody changed is told from the one that was made.
func TestVerifyDamaged(t *testing.T) {
	where, backup := backedUp(t)
	j, err := storage.Open(t.Context(), backup, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Accept(t.Context(), []rules.Event{{Workspace: "default", ID: "later", Type: "x", Lane: "l", ReceivedAt: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	j.Close()
	if code, out, errOut := quando(t, "journal", "verify", backup); code != cli.ExitNo || !strings.Contains(out, "its checksum is not the one in") {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	whole, err := os.ReadFile(where)
	if err != nil {
		t.Fatal(err)
	}
	spoil := func(from int) string {
		text := slices.Clone(whole)
		for i := from; i < len(text); i += 4096 { // the head of most pages
			copy(text[i:], "spoilt")
		}
		return string(text)
	}
	for _, tt := range []struct{ name, text, want string }{
		{"most pages are spoilt", spoil(3 * 4096), "damaged"},
		{"SQLite gives up", spoil(4096), "damaged"},
		{"cut off", string(whole[:5000]), "damaged"},
		{"the beginning is gone", string(whole[512:]), "not a journal"},
		{"empty", "", "no journal"},
		{"a text", "hello", "not a journal"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "copy.db")
			clitest.WriteFile(t, file, tt.text)
			code, out, errOut := quando(t, "journal", "verify", file)
			if code != cli.ExitNo || !strings.Contains(out, "wrong: ") || !strings.Contains(out, tt.want) {
				t.Errorf("%d %s %s", code, out, errOut)
			}
			code, out, errOut = quando(t, "journal", "verify", file, "--output", "json")
			if code != cli.ExitNo || !strings.Contains(out, tt.want) || !json.Valid([]byte(out)) {
				t.Errorf("%d %s %s", code, out, errOut)
			}
			if code, _, errOut := quando(t, "journal", "restore", file, "--journal", where); code != cli.ExitNo || !strings.Contains(errOut, "nothing was changed") {
				t.Errorf("restore: %d %s", code, errOut)
			}
		})
	}
	if code, _, errOut := quando(t, "journal", "verify", where+".none"); code != cli.ExitError || !strings.Contains(errOut, "there is no journal") {
		t.Errorf("%d %s", code, errOut)
	}
}

// TestListOfBackups shows which backups the list goes on to tell of when another is made: those
// that are there, and those that were thrown away less than a year ago.
func TestListOfBackups(t *testing.T) {
	folder := t.TempDir()
	where := filepath.Join(folder, "quando.db")
	if err := fillJournal(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	for name, age := range map[string]int{"old.db": 500, "old-and-gone.db": 500, "gone.db": 360} {
		listBackups(t, folder, listedBackup{File: name, MadeAt: cli.Now().AddDate(0, 0, -age)})
	}
	clitest.WriteFile(t, filepath.Join(folder, "old.db"), "")
	if code, _, errOut := quando(t, "journal", "backup", filepath.Join(folder, "another.db"), "--journal", where); code != 0 {
		t.Fatal(errOut)
	}
	var list struct{ Backups []listedBackup }
	if err := json.Unmarshal([]byte(readFile(t, filepath.Join(folder, backupList))), &list); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, b := range list.Backups {
		names = append(names, b.File)
	}
	slices.Sort(names)
	if diff := cmp.Diff([]string{"another.db", "gone.db", "old.db"}, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestVerifyUnlisted says of a copy that no list tells of that its bytes could not be compared.
func TestVerifyUnlisted(t *testing.T) {
	where, backup := backedUp(t)
	text, err := os.ReadFile(backup)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := filepath.Join(t.TempDir(), "backup.db")
	clitest.WriteFile(t, elsewhere, string(text))
	for file, said := range map[string]bool{backup: false, elsewhere: true} {
		if code, _, errOut := quando(t, "journal", "verify", file); code != 0 || strings.Contains(errOut, "keep that list with copies") != said {
			t.Errorf("%s: %d %s", file, code, errOut)
		}
	}
	if code, _, errOut := quando(t, "journal", "verify", "--journal", where); code != 0 || strings.Contains(errOut, "checksum") {
		t.Errorf("the journal itself: %d %s", code, errOut)
	}
}

// TestExportOfOnePerson writes what is about one person and nothing else.
func TestExportOfOnePerson(t *testing.T) {
	t.Parallel()
	c := newCrime(t, filepath.Join(t.TempDir(), "quando.db"))
	code, out, errOut := c.quando("journal", "export", "--contact", c.contact)
	if code != 0 || strings.Contains(out, "Bruno") || !strings.Contains(out, markedText) {
		t.Errorf("%d %s %s", code, out, errOut)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(out) {
		var v struct{ Kind string }
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds[v.Kind]++
	}
	if kinds["event"] < 4 || kinds["run"] < 6 || kinds["step"] < 6 || kinds["audit"] != 0 {
		t.Errorf("%v", kinds)
	}
}

// backupList is the file beside backups that lists them.
const backupList = "backups.json"

// A listedBackup is what the list tells of a backup, in part.
type listedBackup struct {
	File   string    `json:"file"`
	MadeAt time.Time `json:"made_at"`
}

// listBackups adds a backup to the list in a folder.
func listBackups(t *testing.T, folder string, one listedBackup) {
	t.Helper()
	path := filepath.Join(folder, backupList)
	var list struct {
		Backups []any `json:"backups"`
	}
	if text, err := os.ReadFile(path); err == nil {
		if err := json.Unmarshal(text, &list); err != nil {
			t.Fatal(err)
		}
	}
	list.Backups = append(list.Backups, one)
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	clitest.WriteFile(t, path, string(text))
}
