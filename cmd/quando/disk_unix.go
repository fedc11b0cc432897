//go:build linux || darwin

package main

import (
	"path/filepath"
	"syscall"
)

// freeBytes is how much room is left on the disk that a file is on, for those who are not root.
func freeBytes(file string) (float64, bool) {
	var s syscall.Statfs_t
	if isAddress(file) || syscall.Statfs(filepath.Dir(file), &s) != nil {
		return 0, false
	}
	return float64(s.Bavail) * float64(s.Bsize), true
}
