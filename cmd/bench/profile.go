package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// profileVariable tells a profiling build of quando where to serve its profile.
const profileVariable = "QUANDO_BENCH_PROFILE"

//go:embed profile/profile.go.txt
var profileSource []byte

// build builds quando from the tree with what the compiler has learnt, as releases are. For a
// profile it overlays one file: releases have no such endpoint.
func (b *bench) build(ctx context.Context) error {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/quandohq/quando").Output()
	if err != nil {
		return fmt.Errorf("find the module: run this inside of the repository: %w", err)
	}
	b.root = strings.TrimSpace(string(root))
	b.quando = filepath.Join(b.folder, "quando")
	built := b.quando + ".built"
	args := []string{"build", "-pgo=cmd/quando/quando.pgo", "-o", built}
	if b.profile != "" {
		added, overlay := filepath.Join(b.folder, "profile.go"), filepath.Join(b.folder, "overlay.json")
		if err := os.WriteFile(added, profileSource, 0o600); err != nil {
			return err
		}
		text, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(b.root, "cmd", "quando", "bench_profile.go"): added}})
		if err != nil {
			return err
		}
		if err := os.WriteFile(overlay, text, 0o600); err != nil {
			return err
		}
		if err := os.MkdirAll(b.profile, 0o700); err != nil {
			return err
		}
		ports, err := freePorts(1)
		if err != nil {
			return err
		}
		b.profileAddress = ports[0]
		args = append(args, "-overlay", overlay, "-trimpath") // what the profiles say is to be the same wherever the tree is
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/quando")...)
	cmd.Dir, cmd.Stderr = b.root, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("build quando: %w", err)
	}
	return install(built, b.quando)
}

// install copies a program to where it is run from, as on a real machine. The pages that the linker
// has just written are cached in larger units than those of a copied file, and touching part of a
// unit counts all of it as the process's memory.
func install(from, to string) error {
	program, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = program.Close() }() // it was only read
	copied, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(copied, program)
	return errors.Join(err, copied.Close())
}

// watch starts a CPU profile of the process during one load, if requested. The channel reports its
// end.
func (b *bench) watch(ctx context.Context, name string) <-chan error {
	over := make(chan error, 1)
	if b.profile == "" || name == "" {
		over <- nil
		return over
	}
	go func() { over <- b.takeProfile(ctx, name, b.scale.duration) }()
	return over
}

// takeProfile watches for so long, and keeps what it saw under a name.
func (b *bench) takeProfile(ctx context.Context, name string, length time.Duration) error {
	address := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", b.profileAddress, max(1, int(length.Seconds())))
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(b.profile, strings.Map(plain, name)+".pprof"), text, 0o600)
}

// plain makes a name fit for a file.
func plain(r rune) rune {
	if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
		return r
	}
	return '-'
}
