package postgres

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules/programtest"
)

// refusedWith checks that a journal cannot be opened, and the error message.
func refusedWith(t *testing.T, address string, o Options, says ...string) {
	t.Helper()
	j, err := Open(t.Context(), address, o)
	if err == nil {
		j.Close()
		t.Fatal("it was opened")
	}
	for _, s := range says {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("the message does not say %q: %v", s, err)
		}
	}
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("the message tells the password: %v", err)
	}
}

// TestManyStart has many engines open a journal at once that does not exist yet.
func TestManyStart(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			j, err := Open(t.Context(), address+"&pool_max_conns=3", Options{})
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := j.Accept(t.Context(), eventsOf(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
			if err := j.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	j := open(t, address, Options{})
	if n := count(t, j, `SELECT count(*) FROM quando.events`); n != 8 {
		t.Errorf("%d events", n)
	}
}

func TestNotAJournal(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	refusedWith(t, "postgres://user:se%cret@host/db", Options{}, "cannot be read", "postgres://")
	refusedWith(t, server.Address("nowhere"), Options{}, "no such database", "createdb")
	refusedWith(t, "postgres://user:secret@127.0.0.1:1/db?sslmode=disable", Options{}, "cannot be reached", "postgres://127.0.0.1:1/db")
	refusedWith(t, "postgres://user:secret@host/db?sslmode=perhaps", Options{}, "cannot be used")
	refusedWith(t, server.Database(t), Options{Beside: true}, "no journal", "quando run")

	address := server.Database(t)
	server.Exec(t, name(address), `CREATE SCHEMA quando`)
	server.Exec(t, name(address), `CREATE TABLE quando.notes (text text)`)
	refusedWith(t, address, Options{}, "something else")
}

// name returns the name of the database of an address.
func name(address string) string {
	_, rest, _ := strings.Cut(address, "@/")
	name, _, _ := strings.Cut(rest, "?")
	return name
}

// TestVersionsMeet opens journals that engines of other versions have written.
func TestVersionsMeet(t *testing.T) {
	t.Parallel()
	server := postgrestest.Shared(t)
	address := server.Database(t)
	j := open(t, address, Options{})
	newest := count(t, j, `SELECT max(version_id) FROM quando.goose_db_version`)
	server.Exec(t, name(address), `INSERT INTO quando.goose_db_version (version_id, is_applied) VALUES ($1, true)`, newest+1)
	// One version ahead is the normal state of a rolling update.
	accept(t, open(t, address, Options{}), event("1", "a"))
	open(t, address, Options{Beside: true})
	server.Exec(t, name(address), `INSERT INTO quando.goose_db_version (version_id, is_applied) VALUES ($1, true)`, newest+2)
	for _, o := range []Options{{}, {Beside: true}} {
		refusedWith(t, address, o, "newer version", fmt.Sprint(newest+2))
	}
}

// TestNotices checks which engines are woken by what others record.
func TestNotices(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	j, other := open(t, address, Options{}), open(t, address, Options{})
	hears(t, other, func() { accept(t, j, event(fmt.Sprint(time.Now().UnixNano()), "a")) })
	beside := open(t, address, Options{Beside: true})
	hears(t, j, func() { accept(t, beside, event(fmt.Sprint(time.Now().UnixNano()), "a")) })

	// A command sends its notice before it ends.
	last, err := Open(t.Context(), address, Options{Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	drain(j)
	accept(t, last, event("last", "a"))
	if err := last.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-j.News():
	case <-time.After(30 * time.Second):
		t.Error("nobody heard of it")
	}
}

// hears repeats do until an engine receives a notice: it may not be listening yet.
func hears(t *testing.T, j *Journal, do func()) {
	t.Helper()
	drain(j)
	for range 30 {
		do()
		select {
		case <-j.News():
			return
		case <-time.After(time.Second):
		}
	}
	t.Error("nobody heard of it")
}

// drain discards the news of an engine that begins to listen.
func drain(j *Journal) {
	for {
		select {
		case <-j.News():
		case <-time.After(200 * time.Millisecond):
			return
		}
	}
}

// TestPooler uses a pooler that gives every transaction another connection.
func TestPooler(t *testing.T) {
	t.Parallel()
	program := programtest.Find(t, "pgbouncer", "pgbouncer")
	server := postgrestest.Shared(t)
	database := server.Database(t)
	direct := open(t, database, Options{})
	address := pooled(t, program, server, name(database))

	for _, mode := range []string{"exec", "simple_protocol"} {
		a := address + "&default_query_exec_mode=" + mode
		j, other := open(t, a, Options{Lease: 20 * time.Second}), open(t, a, Options{Lease: 20 * time.Second})
		hears(t, j, func() { accept(t, direct, event(fmt.Sprint(time.Now().UnixNano()), "notice")) })
		for i := range 5 {
			accept(t, j, event(fmt.Sprint(mode, i), "a"), event(fmt.Sprint(mode, i, "b"), "b"))
			for _, of := range []*Journal{j, other} {
				lanes, err := of.Claim(t.Context(), time.Now(), 10, nil)
				if err != nil {
					t.Fatal(err)
				}
				for _, l := range lanes {
					work(t, of, l, func(*journal.Run) {})
				}
			}
		}
		if more, err := j.Prune(t.Context(), time.Now().Add(48*time.Hour), time.Hour); err != nil || more {
			t.Errorf("prune: %v, %v", more, err)
		}
	}
	if n := count(t, direct, `SELECT count(*) FROM quando.events WHERE NOT decided`); n != 0 {
		t.Errorf("%d events are undecided", n)
	}
}

// pooled starts a pooler and returns the address of a database through it. LISTEN uses the server
// itself.
func pooled(t *testing.T, program string, server *postgrestest.Server, database string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	l.Close()
	folder := t.TempDir()
	config := fmt.Sprintf("[databases]\n%s = host=%s user=postgres\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %s\nunix_socket_dir =\nauth_type = any\npool_mode = transaction\ndefault_pool_size = 8\nmax_client_conn = 200\n",
		database, server.Folder, port)
	file := filepath.Join(folder, "pgbouncer.ini")
	if err := os.WriteFile(file, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{file}
	if os.Getuid() == 0 {
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-u", "nobody")
	}
	cmd := exec.Command(program, args...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for range 6000 {
		if c, err := net.Dial("tcp", "127.0.0.1:"+port); err == nil {
			c.Close()
			return fmt.Sprintf("postgres://postgres@127.0.0.1:%s/%s?sslmode=disable&listen=%s", port, database, server.Folder)
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("the pooler does not answer")
	return ""
}

// TestOneConnection opens a journal whose address allows only one connection: it is created, and
// can be written.
func TestOneConnection(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	j, err := Open(ctx, postgrestest.Shared(t).Database(t)+"&pool_max_conns=1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = j.Close() }()
	record(t, j, mention("1", "Ana"))
}
