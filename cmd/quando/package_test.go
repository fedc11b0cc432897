package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/rules/programtest"
)

// deployed returns a file of deploy/.
func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestContainer reads the Dockerfile: what runs is not root, has nothing beside it, is asked how it
// is by a command that exists, and was built as releases are.
func TestContainer(t *testing.T) {
	text := deployed(t, "Dockerfile")
	stages := strings.Split(text, "\nFROM ")
	last := stages[len(stages)-1]
	for _, want := range []string{"scratch\n", "\nUSER 10001:10001\n", "\nHEALTHCHECK ", "ca-certificates.crt /etc/ssl/certs/ca-certificates.crt", `CMD ["run", "--config", "/etc/quando/quando.yaml"]`} {
		if !strings.Contains(last, want) {
			t.Errorf("no %q", want)
		}
	}
	if strings.Contains(last, "\nRUN ") {
		t.Error("there is nothing in it that could be run")
	}
	health := regexp.MustCompile(`HEALTHCHECK .* CMD \["quando", "(\w+)"`).FindStringSubmatch(last)
	if health == nil {
		t.Fatal("no health check")
	}
	if _, _, err := newRoot().Find(health[1:]); err != nil {
		t.Error(err)
	}
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	release, err := os.ReadFile("../../.goreleaser.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"cmd/quando/quando.pgo", "sqlite_omit_load_extension", "netgo", "osusergo", "-X github.com/quandohq/quando/cmd/quando/internal/cli.release=", `-linkmode external -extldflags "-static"`} {
		if !strings.Contains(string(makefile), want) || !strings.Contains(string(release), want) {
			t.Errorf("%s is not in both builds", want)
		}
	}
	if !strings.Contains(stages[len(stages)-2], "make static ") {
		t.Error("the image is built otherwise")
	}
}

// TestUnit lets systemd read the unit: it is well formed, and gives quando no more than it needs.
func TestUnit(t *testing.T) {
	analyze := programtest.Find(t, "systemd", "systemd-analyze")
	folder := t.TempDir()
	program := filepath.Join(folder, "quando")
	clitest.WriteFile(t, program, "#!/bin/sh\n")
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	unit := filepath.Join(folder, "quando.service")
	text := strings.Replace(deployed(t, "quando.service"), "/usr/bin/quando", program, 1)
	clitest.WriteFile(t, unit, strings.Replace(text, "Documentation=man:quando(1)\n", "", 1))
	if out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", unit).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
	if !strings.Contains(text, "\nMemoryMax=512M\n") {
		t.Error("the memory is not limited")
	}
	// The threshold is ten times the exposure level that is borne.
	if out, err := exec.CommandContext(t.Context(), analyze, "security", "--offline=true", "--threshold=20", unit).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range []string{"SERVICE_URL", "SERVICE_API_KEY", "SERVICE_WEBHOOK_SECRET"} {
		t.Setenv(name, "https://desk.example.com/v1")
	}
	c, err := config.Load("../../deploy/quando.example.yaml", false)
	if err != nil || !strings.HasPrefix(c.JournalPath(), "/var/lib/quando/") {
		t.Errorf("%v %v", c, err)
	}
}
