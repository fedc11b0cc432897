//go:build !(darwin || dragonfly || freebsd || linux || openbsd)

package main

import "errors"

// freeOn returns how many bytes may still be written where a folder is.
func freeOn(string) (int64, error) { return 0, errors.ErrUnsupported }
