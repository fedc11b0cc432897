//go:build cgo && unix

package sqlite

/*
#include <unistd.h>

// sync_data brings to the disk what it takes to read the file's data again, which is less than all that is known of the file.
static int sync_data(int fd) {
#ifdef __linux__
	return fdatasync(fd);
#else
	return fsync(fd);
#endif
}
*/
import "C"

import "os"

// syncLog brings a file's data to the disk, in the C library's way as SQLite does.
func syncLog(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		if n, errno := C.sync_data(C.int(fd)); n != 0 {
			failed = errno
		}
	})
	if err == nil {
		err = failed
	}
	return err
}
