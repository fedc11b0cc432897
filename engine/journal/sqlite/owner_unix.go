//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the owner of a file.
func ownerOf(info fs.FileInfo) (user, group int, ok bool) {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(s.Uid), int(s.Gid), true
}
