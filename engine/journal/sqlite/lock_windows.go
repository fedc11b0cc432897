package sqlite

import (
	"errors"
	"os"
	"syscall"
)

// sharingViolation is the system's answer for a file that another process keeps to itself.
const sharingViolation = syscall.Errno(32)

// exclusive opens a file for reading by others only, or returns errInUse. The system gives it back
// when the process ends.
func exclusive(path string) (*os.File, error) {
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

// unlock gives a lock back.
func unlock(f *os.File) error { return f.Close() }
