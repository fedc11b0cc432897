//go:build !linux

package storage

// Inode is a file's inode number, or "" if unknown.
func Inode(string) string { return "" }
