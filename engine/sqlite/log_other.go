//go:build !cgo || !unix

package sqlite

import "os"

// syncLog brings a file to the disk.
func syncLog(f *os.File) error { return f.Sync() }
