package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/rules/programtest"
)

// docBlock matches a block of a guide: what is typed, a file to save, or a change of one.
var docBlock = regexp.MustCompile("(?ms)^```(console|yaml|diff) ?(\\S*)\n(.*?)^```")

// TestGuide types docs/guide.md from an empty folder, and sees what it says.
func TestGuide(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	text, err := os.ReadFile("../../docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(t)
	r.follow(string(text))
	for _, seen := range []struct {
		what, line string
		within     time.Duration
	}{{"the first answered message", "→ Ana: “pong”", time.Minute}, {"the SLA", "→ Bia: label sla-breach", 2 * time.Minute}} {
		took, ok := r.seen[seen.line]
		t.Logf("%s is seen after %s", seen.what, took.Round(100*time.Millisecond))
		if !ok || took > seen.within {
			t.Errorf("%s is seen after %s", seen.what, took)
		}
	}
}

// A reader does what a document says, in a shell of its own that begins in an empty folder.
type reader struct {
	t      *testing.T
	folder string // where files are saved: that of the shell
	stdin  io.Writer
	out    *clitest.Buffer
	from   int // of the output, where that of the last command begins
	typed  int
	begun  time.Time
	seen   map[string]time.Duration // when a part of a line was first seen
}

// newReader starts the shell, in which the program is the command quando. It is alone in its
// network, so that every port is free.
func newReader(t *testing.T, env ...string) *reader {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "quando")); err != nil { // under this name it is the command
		t.Fatal(err)
	}
	programtest.Find(t, "curl", "curl")
	stdin, typing, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	r := &reader{t: t, folder: t.TempDir(), stdin: typing, out: &clitest.Buffer{}, begun: time.Now(), seen: map[string]time.Duration{}}
	shell := exec.CommandContext(t.Context(), "/bin/bash")
	shell.Dir, shell.Stdin, shell.Stdout, shell.Stderr = r.folder, stdin, r.out, r.out
	shell.Env = append(append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+r.folder, "LC_ALL=C.UTF-8"), env...)
	shell = alone(shell)
	if err := shell.Start(); err != nil {
		t.Fatal(err)
	}
	stdin.Close()
	t.Cleanup(func() {
		fmt.Fprintln(typing, "kill $(jobs -p) 2>/dev/null; wait")
		typing.Close()
		if err := shell.Wait(); t.Failed() {
			t.Logf("%v\n%s", err, r.out)
		}
	})
	return r
}

// follow types the commands of a document and saves its files, from the top to the bottom.
func (r *reader) follow(text string) {
	r.t.Helper()
	for _, block := range docBlock.FindAllStringSubmatch(text, -1) {
		kind, name, body := block[1], block[2], block[3]
		switch {
		case kind == "console":
			r.console(body)
		case name == "":
		case kind == "yaml":
			r.from = len(r.out.String())
			clitest.WriteFile(r.t, filepath.Join(r.folder, name), body)
		case kind == "diff":
			r.change(name, body)
		}
	}
}

// console types what stands behind a $, and waits for the lines below it.
func (r *reader) console(body string) {
	r.t.Helper()
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			r.types(command)
		} else if strings.TrimSpace(line) != "" {
			r.sees(line)
		}
	}
}

// types types a command and waits for its end; one with & at its end goes on.
func (r *reader) types(command string) {
	r.t.Helper()
	r.typed++
	if strings.HasPrefix(command, "kill ") {
		time.Sleep(time.Second) // a person looks first, and the journal learns names meanwhile
	}
	r.from = len(r.out.String())
	done := fmt.Sprintf("\n# command %d: ", r.typed)
	fmt.Fprintf(r.stdin, "%s\nprintf '%s%%s\\n' $?\n", command, strings.ReplaceAll(done, "\n", `\n`))
	clitest.Eventually(r.t, func() (bool, string) { return r.out.Contains(done), "$ " + command + "\n" + r.output() })
	if !r.out.Contains(done + "0\n") {
		r.t.Fatalf("$ %s\n%s", command, r.output())
	}
	if folder, ok := strings.CutPrefix(command, "cd "); ok {
		r.folder = filepath.Join(r.folder, folder)
	}
}

// output returns what was printed since the last command was typed.
func (r *reader) output() string { return r.out.String()[r.from:] }

// sees waits for a line; … in it stands for anything, and the width of columns does not matter.
func (r *reader) sees(line string) {
	r.t.Helper()
	var parts []string
	for part := range strings.SplitSeq(line, "…") {
		parts = append(parts, strings.ReplaceAll(regexp.QuoteMeta(strings.Join(strings.Fields(part), " ")), " ", `\s+`))
	}
	pattern := regexp.MustCompile(`(?m)^.*` + strings.Join(parts, ".*"))
	clitest.Eventually(r.t, func() (bool, string) {
		return pattern.MatchString(r.output()), line + "\nis not in\n" + r.output()
	})
	for _, part := range []string{"→ Ana: “pong”", "→ Bia: label sla-breach"} {
		if _, known := r.seen[part]; strings.Contains(line, part) && !known {
			r.seen[part] = time.Since(r.begun)
		}
	}
}

// change changes a file as a person does who reads a difference.
func (r *reader) change(name, diff string) {
	r.t.Helper()
	var before, after strings.Builder
	for line := range strings.Lines(diff) {
		if line[0] != '+' {
			before.WriteString(line[1:])
		}
		if line[0] != '-' {
			after.WriteString(line[1:])
		}
	}
	file := filepath.Join(r.folder, name)
	text, err := os.ReadFile(file)
	if err != nil || strings.Count(string(text), before.String()) != 1 {
		r.t.Fatalf("%s (%v) does not have\n%s", name, err, before.String())
	}
	r.from = len(r.out.String())
	clitest.WriteFile(r.t, file, strings.Replace(string(text), before.String(), after.String(), 1))
}
