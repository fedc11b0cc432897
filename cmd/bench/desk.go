package main

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"time"

	_ "github.com/quandohq/quando/engine/journal/sqlite" // the driver that reads journals
)

// A desk is a `quando run` process with its own folder.
type desk struct {
	bench   *bench
	folder  string
	disk    disk
	timeout string // service.timeout
	to      target
	also    []target // of other engines that share the database
	console string
	address string        // of the database that is the journal; empty is a file
	next    atomic.Uint64 // the last event that was delivered

	cmd  *exec.Cmd
	done chan error
	look *sql.DB // the journal, read-only
}

// ruleFiles are texts by the names of their files.
type ruleFiles map[string]string

// newDesk prepares a folder. It starts nothing.
func (b *bench) newDesk(files ruleFiles) (*desk, error) {
	folder, err := os.MkdirTemp(b.folder, "desk")
	if err != nil {
		return nil, err
	}
	d := &desk{bench: b, folder: folder, timeout: "10s"}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	d.to, d.console = target{address: ports[0], path: "/webhook", apart: d.to.apart}, ports[1]
	if err := os.Mkdir(filepath.Join(folder, "rules"), 0o700); err != nil {
		return nil, err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, "rules", name), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// freePorts returns unused addresses. Their ports are below those that systems give to whoever asks
// for any: nobody else gets one before the process that it is meant for listens.
func freePorts(n int) (list []string, err error) {
	for tries := 0; len(list) < n; tries++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		switch {
		case err == nil:
			defer func() { _ = l.Close() }()
			list = append(list, l.Addr().String())
		case tries > 100:
			return nil, err
		}
	}
	return list, nil
}

func (d *desk) journal() string { return filepath.Join(d.folder, "quando.db") }

// configure writes quando.yaml. Everything is the default but the safety bounds, which would stop
// the load.
func (d *desk) configure() error {
	return os.WriteFile(filepath.Join(d.folder, "quando.yaml"), fmt.Appendf(nil, `service:
  base_url: %q
  api_key: %q
  timeout: %s
  webhook: { secrets: [%q] }
listen: %q
console: { listen: %q }
safety: { messages_per_conversation: 100000000 per 1h, messages: 100000000 per 1h }
journal: %q
`, d.bench.service.url(), apiKey, d.timeout, secret, d.to.address, d.console, cmp.Or(d.address, "quando.db")), 0o600)
}

// launch starts the process without waiting.
func (d *desk) launch(ctx context.Context) error {
	if err := d.configure(); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(d.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }() // the process has its own
	counter := d.counter()
	if _, err := os.Stat(counter); err != nil {
		if err := os.WriteFile(counter, make([]byte, 8), 0o600); err != nil {
			return err
		}
	}
	d.cmd = exec.CommandContext(ctx, d.bench.quando, "run", "--config", filepath.Join(d.folder, "quando.yaml"))
	d.cmd.Env = append(os.Environ(), d.disk.environment(d.bench.shim, counter)...)
	if d.bench.profile != "" {
		d.cmd.Env = append(d.cmd.Env, profileVariable+"="+d.bench.profileAddress)
	}
	d.cmd.Stdout, d.cmd.Stderr = log, log
	if err := d.cmd.Start(); err != nil {
		return err
	}
	d.done = make(chan error, 1)
	go func(cmd *exec.Cmd, done chan<- error) { done <- cmd.Wait() }(d.cmd, d.done)
	return nil
}

// start starts the process and waits until it takes connections.
func (d *desk) start(ctx context.Context) error {
	if err := d.launch(ctx); err != nil {
		return err
	}
	c, err := d.connect(ctx)
	if err == nil {
		c.close() // an idle connection would delay the shutdown
	}
	return err
}

// connect waits until the process takes a connection.
func (d *desk) connect(ctx context.Context) (*conn, error) {
	for deadline := time.Now().Add(10 * time.Minute); ; time.Sleep(time.Millisecond) {
		c, err := dial(ctx, d.to)
		if err == nil {
			return c, nil
		}
		select {
		case ended := <-d.done:
			return nil, fmt.Errorf("quando ended: %w\n%s", ended, d.log())
		default:
		}
		if time.Now().After(deadline) || ctx.Err() != nil {
			return nil, fmt.Errorf("quando does not start: %w\n%s", err, d.log())
		}
	}
}

// log returns the end of what the process has printed.
func (d *desk) log() []byte {
	text, _ := os.ReadFile(filepath.Join(d.folder, "log"))
	return bytes.TrimSpace(text[max(0, len(text)-2000):])
}

// stop ends the process with an interrupt.
func (d *desk) stop() error {
	if d.look != nil {
		_ = d.look.Close() // it has only been read
		d.look = nil
	}
	if d.cmd == nil {
		return nil
	}
	defer func() { d.cmd = nil }()
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := <-d.done; err != nil {
		return fmt.Errorf("quando ended: %w\n%s", err, d.log())
	}
	return nil
}

// kill ends the process as a power cut would, but for what the system has not written to the disk
// yet.
func (d *desk) kill() {
	_ = d.cmd.Process.Kill()
	<-d.done
	d.cmd = nil
}

// remove ends the process, whatever it does, and takes the folder away.
func (d *desk) remove() {
	if d.look != nil {
		_ = d.look.Close() // it has only been read
		d.look = nil
	}
	if d.cmd != nil {
		d.kill()
	}
	if !d.bench.keep {
		_ = os.RemoveAll(d.folder)
	}
}

// tally is what the journal holds.
type tally struct {
	events, undecided       int
	runs, unfinished, dones int
}

// ask queries the journal for a number.
func (d *desk) ask(ctx context.Context, query string) (n int, err error) {
	if d.address != "" {
		return askDatabase(ctx, d.address, query)
	}
	if d.look == nil {
		if d.look, err = sql.Open("sqlite3", "file:"+d.journal()+"?mode=ro&_busy_timeout=5000"); err != nil {
			return 0, err
		}
	}
	err = d.look.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}

// tally counts everything.
func (d *desk) tally(ctx context.Context) (t tally, err error) {
	for _, q := range []struct {
		query string
		into  *int
	}{
		{`SELECT count(*) FROM events`, &t.events}, {`SELECT count(*) FROM events WHERE NOT decided`, &t.undecided},
		{`SELECT count(*) FROM runs`, &t.runs}, {`SELECT count(*) FROM runs WHERE NOT finished`, &t.unfinished},
		{`SELECT count(*) FROM runs WHERE state = 'done'`, &t.dones},
	} {
		if *q.into, err = d.ask(ctx, q.query); err != nil {
			return t, err
		}
	}
	return t, nil
}

// drained waits until every event is decided and every run is over. Both queries use a partial
// index.
func (d *desk) drained(ctx context.Context) error {
	open := `EXISTS (SELECT 1 FROM events WHERE ` + d.column("decided") + `) OR EXISTS (SELECT 1 FROM runs WHERE ` + d.column("finished") + `)`
	for {
		left, err := d.ask(ctx, `SELECT CASE WHEN `+open+` THEN 1 ELSE 0 END`)
		if err != nil || left == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case ended := <-d.done:
			d.cmd = nil
			return errors.Join(fmt.Errorf("quando ended before everything was done\n%s", d.log()), ended)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// column is the SQL for a false column, as in the index on it.
func (d *desk) column(name string) string {
	if d.address != "" {
		return "NOT " + name
	}
	return name + " = 0"
}

// size is how many bytes the journal has in all its files.
func (d *desk) size() (n int64) {
	for _, end := range []string{"", "-wal"} {
		if info, err := os.Stat(d.journal() + end); err == nil {
			n += info.Size()
		}
	}
	return n
}

// counter is the file that counts the syncs of the process.
func (d *desk) counter() string { return filepath.Join(d.folder, "syncs") }
