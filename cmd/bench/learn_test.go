package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"testing"
)

// What the compiler learns from says what ran, and nothing of the machine where that was.
func TestProfileWithoutPaths(t *testing.T) {
	var taken bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&taken, 0); err != nil {
		t.Fatal(err)
	}
	clean, err := withoutPaths(taken.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, profile := range map[string][]byte{"as it was taken": taken.Bytes(), "clean": clean} {
		zipped, err := gzip.NewReader(bytes.NewReader(profile))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(zipped)
		if err != nil {
			t.Fatal(err)
		}
		if tells := bytes.Contains(text, []byte(program)); tells != (name != "clean") {
			t.Errorf("%s, it tells where the program was: %v", name, tells)
		}
	}
	file := filepath.Join(t.TempDir(), "quando.pgo")
	if err := os.WriteFile(file, clean, 0o600); err != nil {
		t.Fatal(err)
	}
	top, err := exec.CommandContext(t.Context(), "go", "tool", "pprof", "-top", file).CombinedOutput()
	if err != nil || !strings.Contains(string(top), "TestProfileWithoutPaths") {
		t.Errorf("%v\n%s", err, top)
	}
	for _, broken := range [][]byte{nil, taken.Bytes()[:20], []byte("text")} {
		if _, err := withoutPaths(broken); err == nil {
			t.Errorf("%q is taken for a profile", broken)
		}
	}
}
