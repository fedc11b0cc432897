package lsp

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"sync"
)

// maxFrame bounds a message: the largest is a document of 256 KiB with all its characters escaped.
const maxFrame = 8 << 20

// maxHeader bounds a line before a message.
const maxHeader = 4 << 10

var errFrame = errors.New("the input is not the language server protocol")

// readFrame reads one message. The error is io.EOF at the end of the input. After another one
// nothing can be read any more: it is not known where the next message begins.
func readFrame(r *bufio.Reader) ([]byte, error) {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n') // of a reader that holds maxHeader
		if first && len(line) == 0 && errors.Is(err, io.EOF) {
			return nil, io.EOF
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errFrame, err)
		}
		text := strings.TrimRight(string(line), "\r\n")
		if text == "" {
			break
		}
		name, value, ok := strings.Cut(text, ":")
		if !ok {
			return nil, fmt.Errorf("%w: a header without a colon", errFrame)
		}
		if textproto.CanonicalMIMEHeaderKey(name) == "Content-Length" {
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return nil, fmt.Errorf("%w: Content-Length: %w", errFrame, err)
			}
		}
	}
	if length < 0 {
		return nil, fmt.Errorf("%w: there is no Content-Length", errFrame)
	}
	if length > maxFrame {
		return nil, fmt.Errorf("a message of %d bytes is longer than %d", length, maxFrame)
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(r, body); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return body, nil
}

// A frameWriter writes messages, one at a time.
type frameWriter struct {
	mu sync.Mutex
	w  io.Writer
}

func (f *frameWriter) write(m message) error {
	m.JSONRPC = "2.0"
	body, err := json.Marshal(m)
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	_, err = f.w.Write(append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...))
	return err
}
