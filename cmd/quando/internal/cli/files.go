package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/quandohq/quando/rules/source"
)

// ReadBounded reads a rule file; of one that is too large, only enough to report that. It refuses a
// pipe, which could be read without end; a shell hands its own over below /dev.
func ReadBounded(name string) ([]byte, error) {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() && !info.IsDir() && !strings.HasPrefix(name, "/dev/") {
		return nil, fmt.Errorf("%s is no regular file: remove it, or write the rules into one", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, FileError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, source.MaxBytes+1))
	if err != nil {
		return nil, FileError(err)
	}
	return text, nil
}

// FileError words a file error without Go's name for the call.
func FileError(err error) error {
	var e *fs.PathError
	if !errors.As(err, &e) {
		return err
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no file %s", e.Path)
	}
	return fmt.Errorf("%s: %w", e.Path, e.Err)
}

// Embedded returns a file that the binary carries.
func Embedded(files fs.FS, name string) []byte {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		panic(err) // the build put it there
	}
	return text
}
