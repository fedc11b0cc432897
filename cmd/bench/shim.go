package main

import (
	"context"
	_ "embed"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"
)

//go:embed shim/slowsync.c
var shimSource []byte

// A disk is what the journal's file lies on, as far as it differs from the machine's own.
type disk struct {
	slower    time.Duration // extra latency of each sync
	forgetful bool          // the write-ahead log is not synced: what synchronous=NORMAL does, but for the sync before a checkpoint
}

// buildShim makes the library that stands between a program and its disk. Without a C compiler, or
// where libraries cannot be put in front of others, there is none.
func buildShim(ctx context.Context, folder string) (string, error) {
	if runtime.GOOS != "linux" {
		return "", fmt.Errorf("a slow disk can be imitated on Linux only, not on %s", runtime.GOOS)
	}
	source, library := filepath.Join(folder, "slowsync.c"), filepath.Join(folder, "slowsync.so")
	if err := os.WriteFile(source, shimSource, 0o600); err != nil {
		return "", err
	}
	out, err := exec.CommandContext(ctx, "cc", "-O2", "-fPIC", "-shared", "-o", library, source, "-ldl").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("a slow disk needs a C compiler: %w\n%s", err, out)
	}
	return library, nil
}

// environment is the environment of a process on this disk. It counts syncs in a file.
func (d disk) environment(library, counter string) []string {
	if library == "" {
		return nil
	}
	env := []string{"LD_PRELOAD=" + library, "SLOWSYNC_COUNT=" + counter, "SLOWSYNC_MICROS=" + strconv.FormatInt(d.slower.Microseconds(), 10)}
	if d.forgetful {
		env = append(env, "SLOWSYNC_SKIP=-wal")
	}
	return env
}

// syncs reads how often a process has waited for its disk.
func syncs(counter string) uint64 {
	b, err := os.ReadFile(counter)
	if err != nil || len(b) < 8 {
		return 0
	}
	return binary.NativeEndian.Uint64(b)
}
