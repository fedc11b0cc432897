package main

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/quandohq/quando/rules/programtest"
)

var manFolder = flag.String("man", "", "write the man pages to this folder")

// TestMan writes a man page for every command and lets man read them. The library that writes them
// is not a part of quando.
func TestMan(t *testing.T) {
	folder := *manFolder
	if folder == "" {
		folder = t.TempDir()
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	root := newRoot()
	root.InitDefaultCompletionCmd()
	root.DisableAutoGenTag = true
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC) // the same pages come of the same commands
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "Quando", Manual: "Quando", Date: &day}, folder); err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || !c.IsAvailableCommand() && c.HasParent() {
			return
		}
		name := strings.ReplaceAll(c.CommandPath(), " ", "-") + ".1"
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil || !strings.Contains(string(text), ".SH SYNOPSIS") {
			t.Errorf("%s: %v", name, err)
		}
		for _, one := range c.Commands() {
			walk(one)
		}
	}
	walk(root)
	man := programtest.Find(t, "man-db", "man")
	read := exec.CommandContext(t.Context(), man, "--warnings=w", "-l", filepath.Join(folder, "quando-runs-resolve.1"))
	read.Env = append(os.Environ(), "MANWIDTH=100", "MANPAGER=cat", "LC_ALL=C.UTF-8")
	out, err := read.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "quando runs resolve") || strings.Contains(string(out), "warning") {
		t.Errorf("%v\n%s", err, out)
	}
}
