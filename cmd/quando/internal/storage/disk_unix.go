//go:build darwin || dragonfly || freebsd || linux || openbsd

package storage

import (
	"syscall"
)

// FreeSpace returns how many bytes may still be written where a folder is.
func FreeSpace(folder string) (int64, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(folder, &s); err != nil {
		return 0, err
	}
	return int64(s.Bavail) * int64(s.Bsize), nil //nolint:unconvert // the types differ from system to system
}
