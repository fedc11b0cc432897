//go:build cgo

package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

func TestMain(m *testing.M) {
	if file := os.Getenv("JOURNAL_TO_FILL"); file != "" {
		fill(file)
	}
	os.Exit(m.Run())
}

// refused checks that a journal cannot be opened, and the error message.
func refused(t *testing.T, file string, o Options, says ...string) {
	t.Helper()
	j, err := Open(t.Context(), file, o)
	if err == nil {
		j.Close()
		t.Fatal("it was opened")
	}
	for _, s := range append(says, filepath.Base(file)) {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the message does not say %q: %v", s, err)
		}
	}
}

func TestOneEngine(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	file, link := filepath.Join(folder, "quando.db"), filepath.Join(folder, "link.db")
	j := open(t, file, Options{})
	refused(t, file, Options{}, "another engine", fmt.Sprint("process ", os.Getpid()), "stop that one")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	refused(t, link, Options{}, "another engine")
	open(t, link, Options{Beside: true})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, link, Options{})
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Error("closed twice:", err)
	}
	if _, err := j.Accept(t.Context(), []rules.Event{{ID: "1"}}); err == nil {
		t.Error("a closed journal accepts")
	}
}

func TestCloseLeavesOneFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, Options{})
	if _, err := j.Accept(t.Context(), []rules.Event{{ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := j.ListEvents(t.Context(), journal.EventFilter{}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file + "-wal"); !errors.Is(err, os.ErrNotExist) {
		t.Error("the write-ahead log is left:", err)
	}
}

func TestFilesAreTheOwners(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	j := open(t, filepath.Join(folder, "odd name?%41#.db"), Options{})
	if _, err := j.Accept(t.Context(), []rules.Event{{ID: "1"}}); err != nil {
		t.Fatal(err)
	}
	var names []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		names = append(names, d.Name())
		return err
	})
	if err != nil || len(names) != 4 || names[0] != "odd name?%41#.db" {
		t.Errorf("files %q, %v", names, err)
	}
}

func TestNotAJournal(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	path := func(name string) string { return filepath.Join(folder, name) }

	refused(t, path("none.db"), Options{Beside: true}, "no such file")
	if _, err := os.Stat(path("none.db")); err == nil {
		t.Error("a file was created")
	}
	refused(t, filepath.Join(folder, "no", "folder.db"), Options{}, "folder")

	if err := os.WriteFile(path("text.db"), []byte(strings.Repeat("this is a text. ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	refused(t, path("text.db"), Options{}, "not a journal")

	change(t, path("other.db"), `CREATE TABLE notes (text TEXT)`)
	refused(t, path("other.db"), Options{}, "something else")

	change(t, path("empty.db"), `PRAGMA user_version = 1`)
	refused(t, path("empty.db"), Options{Beside: true}, "older version", "run the engine")
	open(t, path("empty.db"), Options{})
}

// TestDamagedJournal checks that, whichever page of a file is damaged, an error on opening it says
// what to do.
func TestDamagedJournal(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	whole := filepath.Join(folder, "whole.db")
	if err := open(t, whole, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	found := 0
	for at := page; at < len(content); at += page {
		file := filepath.Join(folder, "damaged.db")
		damaged := slices.Concat(content[:at], bytes.Repeat([]byte{0xff}, page), content[at+page:])
		if err := os.WriteFile(file, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		j, err := Open(t.Context(), file, Options{Beside: true})
		if err == nil {
			err = j.Close() // the damaged page was not read
		} else {
			found++
		}
		if err != nil && !strings.Contains(err.Error(), "put back a backup") {
			t.Errorf("at %d: %v", at, err)
		}
	}
	if found == 0 {
		t.Error("every damaged file was opened")
	}
}

func TestNewerSchema(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	if err := open(t, file, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	change(t, file, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`)
	for _, o := range []Options{{}, {Beside: true}} {
		refused(t, file, o, "newer version", "99")
	}
}

// change changes a database without the journal's knowledge.
func change(t *testing.T, file, query string) {
	t.Helper()
	db, err := sql.Open("sqlite3", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(query); err != nil {
		t.Fatal(err)
	}
}

// fill records events forever, and prints each when it is recorded.
func fill(file string) {
	ctx := context.Background()
	j, err := Open(ctx, file, Options{})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var told sync.Mutex
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				id := fmt.Sprintf("%d-%d-%d", os.Getpid(), w, i)
				if _, err := j.Accept(ctx, []rules.Event{{Workspace: "default", ID: id, Lane: id}}); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				told.Lock()
				fmt.Println(id)
				told.Unlock()
			}
		}()
	}
	select {}
}

func TestKilled(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	acknowledged := map[string]bool{}
	for round := range 5 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "JOURNAL_TO_FILL="+file)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for n := 0; lines.Scan(); n++ {
			acknowledged[lines.Text()] = true
			if n == 200+50*round {
				cmd.Process.Kill()
			}
		}
		cmd.Wait()
		if len(acknowledged) < 200*(round+1) {
			t.Fatalf("the process told of %d events only", len(acknowledged))
		}
	}

	j := open(t, file, Options{})
	for id := range acknowledged {
		if _, err := j.FindEvent(t.Context(), "default", id); err != nil {
			t.Fatalf("event %s was told of: %v", id, err)
		}
	}
	lanes, err := j.Claim(t.Context(), time.Now(), len(acknowledged)+1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(lanes) < len(acknowledged) {
		t.Errorf("%d lanes are due after %d events", len(lanes), len(acknowledged))
	}
	for _, l := range lanes {
		if len(l.Events) != 1 {
			t.Errorf("lane %s has %d events", l.Name, len(l.Events))
		}
	}
	if _, err := j.ListEvents(t.Context(), journal.EventFilter{}); err != nil {
		t.Error(err)
	}
}
