//go:build cgo && unix

package sqlite

// #include <unistd.h>
import "C"

import "os"

// syncLog brings a file to the disk, in the C library's way as SQLite does.
func syncLog(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if n, errno := C.fsync(C.int(fd)); n != 0 {
			failed = errno
		}
	})
	if err == nil {
		err = failed
	}
	return err
}
