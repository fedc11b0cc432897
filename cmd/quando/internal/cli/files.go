package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/quandohq/quando/rules/source"
)

// ReadBounded reads a rule file; of one that is too large, only enough to report that.
func ReadBounded(name string) ([]byte, error) {
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
