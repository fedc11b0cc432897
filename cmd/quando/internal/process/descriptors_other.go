//go:build !(darwin || dragonfly || freebsd || linux || openbsd)

package process

import "errors"

// descriptorLimit returns how many files and connections the process may have open.
func descriptorLimit() (uint64, error) { return 0, errors.ErrUnsupported }
