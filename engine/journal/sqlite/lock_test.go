//go:build cgo && unix

package sqlite

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A journal that was closed can be opened again although a child process is just being started,
// which shares all files until its exec.
func TestLockIsGivenBack(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, Options{})
	shared, err := syscall.Dup(int(j.lock.Fd())) // as a fork does
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(shared)
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j, err = Open(t.Context(), file, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}
