//go:build unix

package service

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// look reads what has come over a socket and does not wait.
type look struct {
	socket syscall.RawConn
	into   []byte
	n      int
	err    error
	read   func(fd uintptr) bool // of this look, made once
}

// newLook returns nil for what is not a socket.
func newLook(c net.Conn) *look {
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	l := &look{socket: raw}
	l.read = func(fd uintptr) bool {
		for {
			if l.n, l.err = syscall.Read(int(fd), l.into); !errors.Is(l.err, syscall.EINTR) {
				return true
			}
		}
	}
	return l
}

// Read returns errNothing where nothing has come.
func (l *look) Read(p []byte) (int, error) {
	if l == nil {
		return 0, errNothing
	}
	l.into = p
	err := l.socket.Read(l.read)
	l.into = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(l.err, syscall.EAGAIN):
		return 0, errNothing
	case l.err != nil:
		return 0, l.err
	case l.n == 0:
		return 0, io.EOF
	}
	return l.n, nil
}
