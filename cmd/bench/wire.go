package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// maxWire bounds a message: nothing here is larger.
const maxWire = 1 << 20

// readHead reads the first line of an HTTP message and its headers. It returns the length of the
// body, -1 where it comes in chunks.
func readHead(r *bufio.Reader, first []byte) (line []byte, length int, err error) {
	line, err = r.ReadSlice('\n')
	if err != nil {
		return nil, 0, err
	}
	line = append(first[:0], bytes.TrimRight(line, "\r\n")...)
	for {
		h, err := r.ReadSlice('\n')
		if err != nil {
			return nil, 0, unexpected(err)
		}
		h = bytes.TrimRight(h, "\r\n")
		if len(h) == 0 {
			return line, length, nil
		}
		name, value, _ := bytes.Cut(h, []byte(":"))
		switch {
		case len(name) == 14 && bytes.EqualFold(name, []byte("content-length")):
			length, err = strconv.Atoi(string(bytes.TrimSpace(value)))
			if err != nil || length < 0 || length > maxWire {
				return nil, 0, fmt.Errorf("content-length %q", value)
			}
		case len(name) == 17 && bytes.EqualFold(name, []byte("transfer-encoding")):
			length = -1
		}
	}
}

// readBody reads a body into a reused buffer.
func readBody(r *bufio.Reader, length int, into []byte) ([]byte, error) {
	into = into[:0]
	if length >= 0 {
		return fill(r, length, into)
	}
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return nil, unexpected(err)
		}
		n, err := strconv.ParseUint(string(bytes.TrimRight(line, "\r\n")), 16, 20)
		if err != nil {
			return nil, fmt.Errorf("a chunk's length: %w", err)
		}
		if into, err = fill(r, int(n), into); err != nil {
			return nil, err
		}
		if _, err := r.ReadSlice('\n'); err != nil {
			return nil, unexpected(err)
		}
		if n == 0 {
			return into, nil
		}
	}
}

func fill(r *bufio.Reader, n int, into []byte) ([]byte, error) {
	start := len(into)
	if cap(into) < start+n {
		into = append(make([]byte, 0, 2*(start+n)), into...)
	}
	into = into[:start+n]
	_, err := io.ReadFull(r, into[start:])
	return into, unexpected(err)
}

// unexpected makes of an end an end in the middle.
func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
