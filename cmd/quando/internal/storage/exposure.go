package storage

import (
	"os"
	"runtime"
	"strings"
)

// ExposedFiles returns the files of a journal that group or others may read or write, and whether
// others may.
func ExposedFiles(where string) (files []string, everybody bool) {
	if IsDatabase(where) || runtime.GOOS == "windows" { // which has no such modes
		return nil, false
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		info, err := os.Stat(where + end)
		if err != nil {
			continue
		}
		if mode := info.Mode().Perm(); mode&0o077 != 0 {
			files, everybody = append(files, where+end), everybody || mode&0o007 != 0
		}
	}
	return files, everybody
}

// ExposedFix returns the command that keeps others out.
func ExposedFix(files []string) string { return "chmod 600 " + strings.Join(files, " ") }
