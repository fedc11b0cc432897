package sqlite

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestReplace shows that somebody who looks for a journal always finds one while another takes its place: an engine that found none would begin anew.
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
