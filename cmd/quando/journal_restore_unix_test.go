//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestRestoreByRoot shows that a journal which root restores, or makes, is one that the engine can
// use, whose user the folder belongs to.
func TestRestoreByRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file to somebody else")
	}
	const engine = 65534
	folder := t.TempDir()
	where, backup := filepath.Join(folder, "quando.db"), filepath.Join(t.TempDir(), "backup.db")
	if err := os.Chown(folder, engine, engine); err != nil {
		t.Fatal(err)
	}
	if err := fillJournal(t.Context(), where); err != nil {
		t.Fatal(err)
	}
	if code, _, errOut := quando(t, "journal", "backup", backup, "--journal", where); code != 0 {
		t.Fatal(errOut)
	}
	owners := func(when string) {
		t.Helper()
		for _, end := range []string{"", ".lock"} {
			info, err := os.Stat(where + end)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(where+end, 0, 0); err != nil { // so that the next shows that it is given away
				t.Fatal(err)
			}
			if s, ok := info.Sys().(*syscall.Stat_t); !ok || s.Uid != engine || s.Gid != engine || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %s belongs to somebody else: %+v", when, filepath.Base(where+end), info.Sys())
			}
		}
	}
	owners("made")
	if err := os.Remove(where + ".lock"); err != nil {
		t.Fatal(err)
	}
	if code, out, errOut := quando(t, "journal", "restore", backup, "--journal", where); code != 0 {
		t.Fatal(out, errOut)
	}
	owners("restored")
}
