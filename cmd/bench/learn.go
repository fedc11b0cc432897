package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
)

// writeProfile merges the profiles into the file that the compiler uses for profile-guided
// optimization.
func (b *bench) writeProfile(ctx context.Context, file string) error {
	profiles, err := filepath.Glob(filepath.Join(b.profile, "*.pprof"))
	if err != nil {
		return err
	}
	merged := filepath.Join(b.profile, "all")
	cmd := exec.CommandContext(ctx, "go", append([]string{"tool", "pprof", "-proto", "-output", merged}, profiles...)...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("put the profiles together: %w", err)
	}
	profile, err := os.ReadFile(merged)
	if err == nil {
		profile, err = withoutPaths(profile)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", merged, err)
	}
	return os.WriteFile(file, profile, 0o644) //nolint:gosec // it is one of the sources
}

// The parts of a profile, which is a protocol buffer.
const (
	profileStrings = 6 // the number of the texts that everything else refers to
	lengthFirst    = 2 // a part that begins with its length
	varint         = 0
)

var errNoProfile = errors.New("it is not a profile")

// withoutPaths returns a profile without the places of this machine's files. The compiler goes by
// the names of functions.
func withoutPaths(profile []byte) ([]byte, error) {
	zipped, err := gzip.NewReader(bytes.NewReader(profile))
	if err != nil {
		return nil, err
	}
	in, err := io.ReadAll(zipped)
	if err != nil {
		return nil, err
	}
	var out []byte
	for len(in) > 0 {
		tag, n := binary.Uvarint(in)
		value, m := binary.Uvarint(in[max(n, 0):])
		if n <= 0 || m <= 0 {
			return nil, errNoProfile
		}
		part, rest := in[n:n+m], in[n+m:]
		switch tag & 7 {
		case varint:
			out = append(binary.AppendUvarint(out, tag), part...)
		case lengthFirst:
			if value > uint64(len(rest)) {
				return nil, errNoProfile
			}
			part, rest = rest[:value], rest[value:]
			if tag>>3 == profileStrings && path.IsAbs(string(part)) {
				part = []byte(path.Base(string(part)))
			}
			out = append(binary.AppendUvarint(binary.AppendUvarint(out, tag), uint64(len(part))), part...)
		default:
			return nil, errNoProfile
		}
		in = rest
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(out); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}
