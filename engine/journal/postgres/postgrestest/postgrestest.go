// Package postgrestest runs a PostgreSQL server for tests.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/rules/programtest"
)

// A Server is a PostgreSQL server in a temporary folder, which listens only on a socket in that
// folder. It ends with the process that started it, even if that crashes.
type Server struct {
	Folder string

	programs string
	settings []string
	watchdog *exec.Cmd
	alive    io.Closer // the watchdog's standard input, which closes when this process ends
	count    atomic.Int64
}

// Start starts a server. Without durable, its commits do not survive a power cut, which is much
// faster.
func Start(durable bool) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	s := &Server{programs: programs, settings: []string{"max_connections=200", "shared_buffers=64MB", "autovacuum_naptime=5s", "listen_addresses=''", "log_checkpoints=off"}}
	if !durable {
		s.settings = append(s.settings, "fsync=off", "full_page_writes=off", "synchronous_commit=off")
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start a PostgreSQL server: %w", err), s.Stop())
	}
	return s, nil
}

// Needs ends a test where PostgreSQL is not installed.
func Needs(t testing.TB) {
	t.Helper()
	if _, err := findPrograms(); err != nil {
		programtest.Absent(t, "postgresql")
	}
}

// findPrograms finds where PostgreSQL is installed: the newest of Debian's versions, else the one
// in the PATH.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(slices.MaxFunc(found, func(a, b string) int { return len(a) - len(b) + strings.Compare(a, b) })), nil
	}
	initdb, err := exec.LookPath("initdb")
	if err != nil {
		return "", errors.New("PostgreSQL is not installed: make tools installs it")
	}
	if initdb, err = filepath.EvalSymlinks(initdb); err != nil {
		return "", err
	}
	return filepath.Dir(initdb), nil
}

func (s *Server) start() (err error) {
	if s.Folder, err = os.MkdirTemp("", "quando-postgres-"); err != nil {
		return err
	}
	if err := os.Chmod(s.Folder, 0o711); err != nil { // so that other users find the socket
		return err
	}
	if err := s.chownToServer(s.Folder); err != nil {
		return err
	}
	// The watchdog outlives this process by the moment that it takes to stop the server and to remove
	// its folder.
	s.watchdog = s.command("/bin/sh", "-c", `read line; "$0" -D "$1/data" -m immediate stop > /dev/null 2>&1; rm -rf "$1"`, filepath.Join(s.programs, "pg_ctl"), s.Folder)
	if s.alive, err = s.watchdog.StdinPipe(); err != nil {
		return err
	}
	if err := s.watchdog.Start(); err != nil {
		return err
	}
	if err := s.runProgram("initdb", "--pgdata", s.data(), "--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync"); err != nil {
		return err
	}
	config := strings.Join(append(s.settings, "unix_socket_directories='"+s.Folder+"'"), "\n") + "\n"
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(config); err != nil {
		return errors.Join(err, f.Close())
	}
	if err := f.Close(); err != nil {
		return err
	}
	return s.Up()
}

func (s *Server) data() string { return filepath.Join(s.Folder, "data") }

// runProgram runs one of PostgreSQL's programs.
func (s *Server) runProgram(program string, args ...string) error {
	out, err := s.command(filepath.Join(s.programs, program), args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, out)
	}
	return nil
}

// Up starts the server after Down.
func (s *Server) Up() error {
	log := filepath.Join(s.Folder, "log")
	err := s.runProgram("pg_ctl", "-D", s.data(), "-l", log, "-w", "-t", "60", "start")
	if err != nil {
		said, _ := os.ReadFile(log)
		return fmt.Errorf("%w\n%s", err, said)
	}
	return nil
}

// Down stops the server at once, as a crash does: what was not committed is lost.
func (s *Server) Down() error {
	return s.runProgram("pg_ctl", "-D", s.data(), "-m", "immediate", "-w", "stop")
}

// Stop stops the server and removes its folder.
func (s *Server) Stop() error {
	if s.alive == nil {
		return nil
	}
	return errors.Join(s.alive.Close(), s.watchdog.Wait())
}

// Socket is the address of the socket that the server listens on.
func (s *Server) Socket() string { return filepath.Join(s.Folder, ".s.PGSQL.5432") }

// Address returns the address of a database of the server. On a busy machine a connection may take
// longer than the journal's five seconds.
func (s *Server) Address(database string) string {
	query := url.Values{"host": {s.Folder}, "sslmode": {"disable"}, "connect_timeout": {"60"}}
	u := url.URL{Scheme: "postgres", User: url.User("postgres"), Path: "/" + database, RawQuery: query.Encode()}
	return u.String()
}

// Database creates an empty database for a test and returns its address.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("test_%d", s.count.Add(1))
	s.Exec(t, "postgres", `CREATE DATABASE `+name)
	return s.Address(name)
}

// Drop removes a database of Database: a long campaign would fill the disk.
func (s *Server) Drop(t testing.TB, address string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	s.Exec(t, "postgres", `DROP DATABASE `+strings.TrimPrefix(u.Path, "/")+` WITH (FORCE)`)
}

// Exec runs a statement in a database, without the journal's knowledge.
func (s *Server) Exec(t testing.TB, database, statement string, args ...any) {
	t.Helper()
	if err := Do(context.WithoutCancel(t.Context()), s.Address(database), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// Count returns the number that a query of a database returns.
func Count(t testing.TB, address, query string, args ...any) (n int) {
	t.Helper()
	n, err := Ask(context.WithoutCancel(t.Context()), address, query, args...)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Do runs a statement in the database at an address.
func Do(ctx context.Context, address, statement string, args ...any) error {
	return withConn(ctx, address, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, statement, args...)
		return err
	})
}

// Locked locks a table in a mode until free is called.
func Locked(t testing.TB, address, table, mode string) (free func()) {
	t.Helper()
	locked, over, ended := make(chan error, 2), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		locked <- withConn(context.WithoutCancel(t.Context()), address, func(ctx context.Context, c *pgx.Conn) error {
			if _, err := c.Exec(ctx, "BEGIN; LOCK TABLE "+table+" IN "+mode+" MODE"); err != nil {
				return err
			}
			locked <- nil
			<-over
			return nil
		})
	}()
	free = sync.OnceFunc(func() { close(over); <-ended })
	t.Cleanup(free)
	if err := <-locked; err != nil {
		t.Fatal(err)
	}
	return free
}

// Ask returns the number that a query of the database at an address returns.
func Ask(ctx context.Context, address, query string, args ...any) (n int, err error) {
	err = withConn(ctx, address, func(ctx context.Context, c *pgx.Conn) error { return c.QueryRow(ctx, query, args...).Scan(&n) })
	return n, err
}

func withConn(ctx context.Context, address string, do func(context.Context, *pgx.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	return do(ctx, conn)
}

var shared = sync.OnceValues(func() (*Server, error) { return Start(false) })

// Shared returns a server that all tests of the process share. It needs no Stop.
func Shared(t testing.TB) *Server {
	t.Helper()
	Needs(t)
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// serverUser returns the user that runs the server if the tests run as root, which PostgreSQL
// refuses.
func serverUser() (*user.User, error) {
	for _, name := range []string{"postgres", "nobody"} {
		if u, err := user.Lookup(name); err == nil {
			return u, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")
}
