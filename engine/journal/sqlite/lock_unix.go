//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// openExclusive opens a file and locks it, or returns errInUse. The kernel releases the lock when
// the process ends.
func openExclusive(path string) (*os.File, error) {
	f, err := openOrCreate(path)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errInUse
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// unlock releases a lock. Closing the file may not release it at once: a child process that is just
// being started shares it until its exec.
func unlock(f *os.File) error {
	return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close())
}
