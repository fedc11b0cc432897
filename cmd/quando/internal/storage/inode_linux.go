package storage

import (
	"os"
	"strconv"
	"syscall"
)

// Inode is a file's inode number, or "" if unknown.
func Inode(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return strconv.FormatUint(s.Ino, 10)
	}
	return ""
}
