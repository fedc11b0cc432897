package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service/sandbox"
)

// TestDoctorSecretReplaced judges a secret by what the engine that runs has answered, not by what
// the one before it did: neither is a wrong one well because the one before it was right, nor the
// other way round.
func TestDoctorSecretReplaced(t *testing.T) {
	t.Run("by a wrong one", func(t *testing.T) {
		c := newClinic(t)
		c.startAlone()
		c.writes("+5511988887777", "hello")
		c.stop()
		c.startWith("whsec_another")
		c.finds("secret", "fail", "answered with 401", "service.webhook.secrets")
	})
	t.Run("by the right one", func(t *testing.T) {
		c := newClinic(t)
		c.startWith("whsec_another")
		c.writes("+5511988887777", "hello")
		c.stop()
		c.startAlone()
		c.finds("secret", "ok", "the last delivery was taken", "")
	})
}

// TestDoctorManageScope misses the scope with which the engine looks after its webhook.
func TestDoctorManageScope(t *testing.T) {
	c := newClinic(t)
	key, err := c.sandbox.NewKey(sandbox.NewKey{Scopes: []string{"conversations:read", "conversations:write", "contacts:read", "messages:read", "messages:send", "team:read", "attendances:read", "read"}})
	if err != nil {
		t.Fatal(err)
	}
	c.startAlone()
	c.office.config(c.settings(key.APIKey, string(c.secret)) + "\nconsole: { listen: \"127.0.0.1:0\" }")
	c.finds("scopes", "fail", "webhooks:manage (service.webhook.public_url)", "give the key these scopes")
}

// TestDoctorLockedDatabase finds tables that somebody keeps locked, for writing or altogether, and
// says who.
func TestDoctorLockedDatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	address := postgrestest.Shared(t).Database(t)
	c := newClinic(t)
	journal := fmt.Sprintf("\njournal: %q\nconsole: { listen: \"127.0.0.1:0\" }", address)
	c.start(c.right() + journal)
	c.writes("+5511988887777", "hello")
	c.office.config(c.right() + journal)
	for _, mode := range []string{"SHARE", "ACCESS EXCLUSIVE"} {
		t.Run(mode, func(t *testing.T) {
			free := postgrestest.Locked(t, address, "quando.events", mode)
			c.finds("journal", "fail", "the journal is locked by another program", "session ")
			free()
		})
	}
	c.finds("journal", "ok", "it can be read and written", "")
}

// TestDoctorReadOnly runs the doctor where the journal's disk cannot be written although there is
// room on it.
func TestDoctorReadOnly(t *testing.T) {
	c := newClinic(t)
	small := t.TempDir()
	if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=30m", "none", small).Run(); err != nil {
		t.Skip("this system lets nobody have a disk of his own: ", err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c.office.config(c.right() + fmt.Sprintf("\njournal: %q", filepath.Join(small, "quando.db")))
	script := `mount -t tmpfs -o ro,size=30m none "$0" && exec -a quando "$2" doctor --config "$1/quando.yaml"`
	out, err := exec.Command("unshare", "-rm", "bash", "-c", script, small, c.folder, program).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != cli.ExitNo {
		t.Fatalf("%v %s", err, out)
	}
	if _, disk, _ := strings.Cut(string(out), "fail  disk"); !strings.Contains(disk, "read-only file system") || !strings.Contains(disk, "mounted for writing") || strings.Contains(disk, "make room") {
		t.Errorf("%s", out)
	}
}

// TestDoctorNoRules finds a folder in which there are no rules, such as one whose disk is not
// there.
func TestDoctorNoRules(t *testing.T) {
	c := newClinic(t)
	c.startAlone()
	c.writes("+5511988887777", "hello")
	c.stop()
	if err := os.Mkdir(filepath.Join(c.folder, "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.start(c.right() + "\nrules: empty")
	c.finds("rules", "fail", "so that nothing is done", "name where they are")
}
