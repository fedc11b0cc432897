package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestReplace checks that there always is a journal under the name while another takes its place:
// an engine that found none would start with an empty one.
func TestReplace(t *testing.T) {
	folder := t.TempDir()
	name, next := filepath.Join(folder, "quando.db"), filepath.Join(folder, "next.db")
	content := func(n int) string { return strings.Repeat(fmt.Sprintf("no journal %d\n", n), 100) }
	write := func(path string, n int) {
		if err := os.WriteFile(path, []byte(content(n)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(name, 0)
	var over atomic.Bool
	missing := make(chan int)
	go func() {
		n := 0
		for !over.Load() {
			if _, err := os.Stat(name); err != nil {
				n++
			}
		}
		missing <- n
	}()
	for i := range 300 {
		write(next, i+1)
		aside := filepath.Join(folder, fmt.Sprint("aside", i))
		if was, err := Replace(t.Context(), next, name, aside); err != nil || !was {
			t.Fatal(was, err)
		}
		if text, err := os.ReadFile(aside); err != nil || string(text) != content(i) {
			t.Fatalf("%s %v", text, err)
		}
	}
	over.Store(true)
	if n := <-missing; n > 0 {
		t.Errorf("%d times there was no journal", n)
	}
}

// TestBackupName checks that a backup gets its name only after it was verified.
func TestBackupName(t *testing.T) {
	folder := t.TempDir()
	file, to := filepath.Join(folder, "quando.db"), filepath.Join(folder, "backup.db")
	j, err := Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	k, err := OpenKeeper(t.Context(), file, true)
	if err != nil {
		t.Fatal(err)
	}
	defer k.Close()
	wrong := errors.New("wrong")
	for _, found := range []error{wrong, nil} {
		err := k.Backup(t.Context(), to, func(part string) error {
			if _, err := os.Stat(to); err == nil {
				t.Error("it has its name before it was looked at")
			}
			if _, err := os.Stat(part); err != nil {
				t.Error(err)
			}
			return found
		})
		if !errors.Is(err, found) {
			t.Error(err)
		}
		names, err := filepath.Glob(filepath.Join(folder, "*backup.db*"))
		if err != nil || len(names) != map[bool]int{true: 1}[found == nil] {
			t.Errorf("there are %v %v", names, err)
		}
	}
}
