package main

import (
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestBacktestWithoutANetwork lets the command be a process that has no network at all, not even
// the machine's own address.
func TestBacktestWithoutANetwork(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	weekendAt(t, "127.0.0.1:1")
	run := func(alone bool, args ...string) (string, error) {
		// Under this name the test's own binary is the command.
		c := &exec.Cmd{Path: program, Args: append([]string{"quando"}, args...), Env: append(os.Environ(), "TEST_NOW=2026-11-14T14:00:00Z")}
		if alone {
			c.SysProcAttr = &syscall.SysProcAttr{
				Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNET,
				UidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getuid(), HostID: os.Getuid(), Size: 1}},
				GidMappings: []syscall.SysProcIDMap{{ContainerID: os.Getgid(), HostID: os.Getgid(), Size: 1}},
			}
		}
		out, err := c.CombinedOutput()
		return string(out), err
	}
	for _, args := range lookBack {
		want, err := run(false, args...)
		if err != nil {
			t.Fatalf("%v: %v\n%s", args, err, want)
		}
		got, err := run(true, args...)
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSPC) {
			t.Skip("this system does not let a process be without a network")
		}
		if err != nil || got != want {
			t.Errorf("%v: %v\n%s\nwith a network:\n%s", args, err, got, want)
		}
	}
}
