//go:build unix

package postgrestest

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// command returns a command that survives an interrupt of this process. If root runs the tests,
// another user runs the command.
func (s *Server) command(program string, args ...string) *exec.Cmd {
	cmd := exec.Command(program, args...)
	cmd.Dir = s.Folder
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if uid, gid, ok := s.serverIDs(); ok {
		cmd.SysProcAttr.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	}
	return cmd
}

// chownToServer gives a folder to the user that runs the server.
func (s *Server) chownToServer(folder string) error {
	if os.Getuid() != 0 {
		return nil
	}
	if _, err := serverUser(); err != nil {
		return err
	}
	uid, gid, _ := s.serverIDs()
	return os.Chown(folder, uid, gid)
}

// serverIDs returns the user and group that run the server, if that is not the user of this
// process.
func (s *Server) serverIDs() (uid, gid int, ok bool) {
	if os.Getuid() != 0 {
		return 0, 0, false
	}
	u, err := serverUser()
	if err != nil {
		return 0, 0, false
	}
	uid, uidErr := strconv.Atoi(u.Uid)
	gid, gidErr := strconv.Atoi(u.Gid)
	return uid, gid, uidErr == nil && gidErr == nil
}
