//go:build cgo

package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/rules"
)

// TestCloseGivesTheFilesBack checks which files the process has open after a journal was closed.
func TestCloseGivesTheFilesBack(t *testing.T) {
	const held = "/proc/self/fd"
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells in a folder which files are open")
	}
	file := filepath.Join(t.TempDir(), "journal.db")
	j, err := Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	if _, err := j.Accept(t.Context(), []rules.Event{{Workspace: "w", ID: "1", Type: "t", Lane: "l", CreatedAt: now, ReceivedAt: now}}); err != nil {
		t.Fatal(err)
	}
	if lanes, err := j.Claim(t.Context(), now, 1, nil); err != nil || len(lanes) != 1 {
		t.Fatalf("%d lanes, %v", len(lanes), err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	open, err := os.ReadDir(held)
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if target, err := os.Readlink(filepath.Join(held, fd.Name())); err == nil && strings.HasPrefix(target, file) {
			t.Errorf("%s is still open", target)
		}
	}
}
