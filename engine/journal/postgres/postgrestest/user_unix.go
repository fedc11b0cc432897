//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// command returns a command that outlives an interrupt of this process. Where root runs the tests
// it is carried out by another user.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.Folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if uid, gid, ok := s.other(); ok {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}

// give gives a folder to whoever runs the server.
func (s *Server) give(folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	if _, err := servant(); err != nil {
		return err
	}
	uid, gid, _ := s.other()
	return os.Chown(folder, uid, gid)
}

// other returns who runs the server, where that is not the user of this process.
func (s *Server) other() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	u, err := servant()
	if err != nil {
		return 0, 0, false
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	return uid, gid, uidErr == nil && gidErr == nil
}
