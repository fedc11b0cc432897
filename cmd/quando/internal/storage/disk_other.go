//go:build !(darwin || dragonfly || freebsd || linux || openbsd)

package storage

import "errors"

// FreeSpace returns how many bytes may still be written where a folder is.
func FreeSpace(string) (int64, error) { return 0, errors.ErrUnsupported }
