//go:build darwin || dragonfly || freebsd || linux || openbsd

package process

import (
	"syscall"
)

// descriptorLimit returns how many files and connections the process may have open. Go has raised
// it to the hard limit.
func descriptorLimit() (uint64, error) {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return 0, err
	}
	return uint64(limit.Cur), nil //nolint:unconvert // it is signed on some systems
}
