// Package clitest has what the tests of several commands share.
package clitest

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// Buffer is a log that may be read while it is written to.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns what has been written so far.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Contains reports whether a text has been written.
func (b *Buffer) Contains(text string) bool { return strings.Contains(b.String(), text) }

// Rule writes a rule whose name tells its versions apart.
func Rule(id, name string) string {
	return "  - { id: " + id + ", name: " + name + ", when: attendance.opened, do: [{ log: " + name + " }] }\n"
}

// WriteConfig writes a configuration to a temporary folder and returns its path.
func WriteConfig(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "quando.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// HasLines reports an error for each pattern that no line of a text matches.
func HasLines(t *testing.T, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !regexp.MustCompile("(?m)^" + line + "$").MatchString(text) {
			t.Errorf("no line %s in\n%s", line, text)
		}
	}
}

// WriteFile writes a file, and the folder that it is in.
func WriteFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Eventually waits until something holds. How long that may take is no part of a test.
func Eventually(t *testing.T, holds func() (bool, string)) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		ok, text := holds()
		if ok {
			return
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
}
