package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/examples"
	"github.com/quandohq/quando/rules/programtest"
	"github.com/quandohq/quando/service/sandbox"
)

// TestInit begins a project with every template, as the company of the sandbox would.
func TestInit(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	s, err := sandbox.New(sandbox.Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	address, err := s.Start(t.Context(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("SERVICE_URL", address.BaseURL)
	t.Setenv("SERVICE_API_KEY", address.APIKey)
	t.Setenv("SERVICE_WEBHOOK_SECRET", "whsec_test")
	if len(examples.Names()) < 8 {
		t.Errorf("only %d templates", len(examples.Names()))
	}
	for n, name := range examples.Names() {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "desk")
			if code, out, errOut := quando(t, "init", dir, "--template", name); code != 0 || !strings.Contains(out, filepath.Join(dir, "rules", name+".yaml")) {
				t.Fatalf("%d %s %s", code, out, errOut)
			}
			config := filepath.Join(dir, "quando.yaml")
			// The names in the rules are those of the sandbox's company, so the service has them all.
			code, out, errOut := quando(t, "check", "--online", "--config", config)
			if code != 0 || !strings.Contains(out, "in 3 files: no errors\n") {
				t.Errorf("check: %d %s %s", code, out, errOut)
			}
			if code, out, errOut := quando(t, "fmt", "--check", "--config", config); code != 0 {
				t.Errorf("fmt --check: %d %s %s", code, out, errOut)
			}
			// That the stories of every template hold is shown beside them, in examples.
			if n%5 == 0 {
				if code, out, errOut := quando(t, "test", "--faults=false", "--config", config); code != 0 {
					t.Errorf("test: %d %s %s", code, out, errOut)
				}
			}
			before := contents(t, dir)
			code, out, errOut = quando(t, "init", dir, "--template", name)
			if code != cli.ExitError || out != "" || !strings.Contains(errOut, config) {
				t.Errorf("a second init: %d %s %s", code, out, errOut)
			}
			if after := contents(t, dir); after != before {
				t.Errorf("a second init changed something:\n%s", after)
			}
		})
	}
}

// TestInitWritesAllOrNothing: one file in the way, and no other is written.
func TestInitWritesAllOrNothing(t *testing.T) {
	for _, name := range []string{"quando.yaml", "rules/away-reply.yaml", "rules/away-reply_test.yaml", "rules/ping.yaml", "quando.schema.json", "rules"} {
		dir := t.TempDir()
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		clitest.WriteFile(t, file, "mine")
		before := contents(t, dir)
		if code, out, errOut := quando(t, "init", dir); code != cli.ExitError || out != "" || !strings.Contains(errOut, file) {
			t.Errorf("%s: %d %s %s", name, code, out, errOut)
		}
		if after := contents(t, dir); after != before {
			t.Errorf("%s: there is now\n%s", name, after)
		}
	}
}

// TestInitConfig: the configuration that init writes says what holds without it.
func TestInitConfig(t *testing.T) {
	dir := t.TempDir()
	if code, _, errOut := quando(t, "init", dir); code != 0 {
		t.Fatal(errOut)
	}
	file := filepath.Join(dir, "quando.yaml")
	if _, err := config.Load(file, false); err == nil || !strings.Contains(err.Error(), "the environment has no SERVICE_URL") {
		t.Errorf("without an environment: %v", err)
	}
	t.Setenv("SERVICE_URL", "https://api.example.com/v1")
	t.Setenv("SERVICE_API_KEY", "qsk_x")
	t.Setenv("SERVICE_WEBHOOK_SECRET", "whsec_x")
	c, err := config.Load(file, false)
	if err != nil {
		t.Fatal(err)
	}
	d := config.Default()
	if c.Service.BaseURL != "https://api.example.com/v1" || len(c.Service.Webhook.Secrets) != 1 {
		t.Errorf("%+v", c.Service)
	}
	if c.Listen != d.Listen || c.Journal != d.Journal || c.Keep != d.Keep || !reflect.DeepEqual(c.Console, d.Console) || c.Log != d.Log || !reflect.DeepEqual(c.Safety, d.Safety) ||
		c.Rules != d.Rules || c.Timezone.String() != d.Timezone.String() || c.Service.Timeout != d.Service.Timeout {
		t.Errorf("the template differs from the defaults:\n%+v\n%+v", c, d)
	}
}

// contents lists the files below a folder with what is in them.
func contents(t *testing.T, dir string) string {
	t.Helper()
	var b bytes.Buffer
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		b.WriteString(path + "\n" + string(text) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestInitSteps types what init prints, as it stands, and gets a message answered through a
// webhook.
func TestInitSteps(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts processes")
	}
	for _, flags := range [][]string{nil, {"--sandbox"}} {
		dir := t.TempDir()
		code, printed, errOut := quando(t, append([]string{"init", filepath.Join(dir, "desk")}, flags...)...)
		if code != 0 {
			t.Fatal(errOut)
		}
		var typed []string
		for line := range strings.Lines(printed[strings.Index(printed, "\nNext\n"):]) {
			// play goes on until Ctrl-C, and the rules to test are the same with a sandbox.
			if strings.HasPrefix(line, "  ") && line != "  quando play\n" && (flags == nil || !strings.HasPrefix(line, "  quando test ")) {
				typed = append(typed, line)
			}
		}
		// What was started in the background is ended, as by closing the terminal.
		programtest.Find(t, "curl", "curl")
		script := strings.Join(typed, "") + "curl -s http://127.0.0.1:9090/control/state\nkill $(jobs -p); wait\n"
		program, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "bin")
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(path, "quando")); err != nil { // under this name it is the command
			t.Fatal(err)
		}
		out := &clitest.Buffer{}
		shell := exec.CommandContext(t.Context(), "/bin/bash", "-c", script)
		shell.Env, shell.Stdout, shell.Stderr = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"), "HOME="+dir), out, out
		begun := time.Now()
		if err := alone(shell).Run(); err != nil || !out.Contains(`"text":"pong"`) || !out.Contains("RULE") || time.Since(begun) > 5*time.Minute {
			t.Errorf("%v %v after %s:\n%s\n%s", flags, err, time.Since(begun), script, out)
		}
		if out.Contains("NO WEBHOOK") || out.Contains("level=ERROR") || out.Contains("level=WARN") {
			t.Errorf("%v: it complains:\n%s", flags, out)
		}
	}
}

// TestSandboxExports: what the sandbox prints is pasted into a shell, and then run works with it.
func TestSandboxExports(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &clitest.Buffer{}
	done := make(chan int)
	go func() { done <- run(ctx, []string{"sandbox", "--listen", "127.0.0.1:0"}, nil, out, out) }()
	clitest.Eventually(t, func() (bool, string) { return out.Contains("# curl"), out.String() })
	pasted := exec.CommandContext(t.Context(), "sh", "-c", out.String()+"\nenv")
	text, err := pasted.Output()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(strings.TrimSpace(line), "="); strings.HasPrefix(name, "SERVICE_") || name == "QUANDO_SERVICE_SANDBOX" {
			t.Setenv(name, value)
		}
	}
	dir := t.TempDir()
	if code, _, errOut := quando(t, "init", dir); code != 0 {
		t.Fatal(errOut)
	}
	code, found, errOut := quando(t, "check", "--online", "--config", filepath.Join(dir, "quando.yaml"))
	if code != 0 || !strings.Contains(found, "no errors") {
		t.Errorf("%d %s %s", code, found, errOut)
	}
	stop()
	<-done
}
