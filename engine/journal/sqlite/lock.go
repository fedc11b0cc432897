package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

var errInUse = errors.New("in use")

// lock makes the caller the only engine of a journal. The lock is on a separate file, which stays
// when the journal is closed: removing it would let two engines lock two files of the same name.
func lock(path string) (*os.File, error) {
	path += ".lock"
	f, err := openExclusive(path)
	if errors.Is(err, errInUse) {
		who := ""
		if pid, err := os.ReadFile(path); err == nil && len(pid) > 0 {
			who = fmt.Sprintf(" (process %s)", strings.TrimSpace(string(pid)))
		}
		return nil, fmt.Errorf("another engine is using it%s: stop that one, or give this one a journal of its own", who)
	}
	if err != nil {
		return nil, fmt.Errorf("lock: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
	}
	if _, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0); err != nil {
		return nil, errors.Join(fmt.Errorf("lock: %w", err), f.Close())
	}
	return f, nil
}

// Lock locks a journal's file against engines until it is released, or returns an error if an
// engine uses it.
func Lock(file string) (free func() error, err error) {
	path, err := (&Journal{}).locate(file)
	if err == nil {
		var f *os.File
		if f, err = lock(path); err == nil {
			return func() error { return unlock(f) }, nil
		}
	}
	return nil, fmt.Errorf("journal %s: %w", file, err)
}
