//go:build unix

package cli

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestPipeIsNoFile reads a pipe that nobody writes to: it is refused, and not waited for.
func TestPipeIsNoFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "rules.yaml")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := ReadBounded(name)
		done <- err
	}()
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), name+" is no regular file") {
			t.Errorf("error %v", err)
		}
	case <-time.After(time.Minute):
		t.Fatal("it waits for the pipe")
	}
}
