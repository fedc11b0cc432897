package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is the error for a file that another process has opened exclusively.
const sharingViolation = syscall.Errno(32)

// openExclusive opens a file that others may only read, or returns errInUse. The system closes it
// when the process ends.
func openExclusive(path string) (*os.File, error) {
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		return nil, err
	}
	h, err := syscall.CreateFile(name, syscall.GENERIC_READ|syscall.GENERIC_WRITE, syscall.FILE_SHARE_READ, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
	if errors.Is(err, sharingViolation) {
		return nil, errInUse
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(h), path), nil
}

// unlock releases a lock.
func unlock(f *os.File) error { return f.Close() }
