// Package sqlite stores the engine's journal in one SQLite file.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/quandohq/quando/engine/journal"
)

// A Journal is a journal.Journal and a journal.Reader in one file.
//
// All writes go through one goroutine, which runs all pending operations in one transaction, so
// that many callers share the cost of a disk sync. If a context ends while its call is in the
// queue, the call is withdrawn: nothing is recorded, and the context's error is returned. Once its
// transaction has begun the call waits for the result, so that the caller always knows whether it
// was committed.
type Journal struct {
	file     string
	attached bool
	lock     *os.File // nil if attached

	writer      *writer
	checkpoints *checkpointer // nil if attached
	reads       *sql.DB       // connections for readers and rules

	claims   claims
	prune    pruneProgress
	follower *follower

	closing sync.Once
	closed  error
}

var (
	_ journal.Journal    = (*Journal)(nil)
	_ journal.Reader     = (*Journal)(nil)
	_ journal.Statistics = (*Journal)(nil)
	_ journal.Auditor    = (*Journal)(nil)
	_ journal.Finder     = (*Journal)(nil)
)

// Options configure a Journal. Every zero value works.
type Options struct {
	// Beside opens a journal that an engine may be using: to read, and to accept, ask, hold and lift.
	// The file must exist. Claim, Save, Follow and Prune return an error.
	Beside bool

	// Fail lets tests make a transaction fail: before the commit, so that nothing is recorded, or
	// after it, so that everything is recorded but the callers get an error.
	Fail func(Point) error

	// ReadDriver lets tests see what is read: the name of a database/sql driver for connections that
	// read. Empty is sqlite3.
	ReadDriver string
}

// A Point is where a transaction can be made to fail.
type Point int

// The points of a transaction.
const (
	BeforeCommit Point = iota
	AfterCommit
)

// maxReaders is how many connections may read at once.
const maxReaders = 4

var errAttached = errors.New("the journal was opened beside an engine: only the engine itself claims, saves, follows and prunes")

var errNoSQLite = errors.New("this program was built without cgo, which its SQLite needs: build it again with CGO_ENABLED=1 and a C compiler")

// Open opens the journal in a file, and creates it if it does not exist, readable by its owner
// only. An engine's journal is locked until Close or the end of the process, even by a crash.
func Open(ctx context.Context, file string, o Options) (*Journal, error) {
	if !hasSQLite {
		return nil, errNoSQLite
	}
	j := &Journal{attached: o.Beside, follower: newFollower()}
	if err := j.open(ctx, file, o); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, explain(err)), j.Close())
	}
	return j, nil
}

func (j *Journal) open(ctx context.Context, file string, o Options) error {
	path, err := j.locate(file)
	if err != nil {
		return err
	}
	j.file = path
	if !o.Beside {
		if j.lock, err = lock(path); err != nil {
			return err
		}
		// SQLite gives the files that it adds the mode of this one.
		f, err := openOrCreate(path)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	db, err := sql.Open("sqlite3", source(path, "_txlock=immediate&_cache_size=-8192"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	if err := migrate(ctx, db, o.Beside); err != nil {
		return errors.Join(err, db.Close())
	}
	if err := refuseUnfinishedCopy(ctx, db, o.Beside); err != nil {
		return errors.Join(err, db.Close())
	}
	if !o.Beside {
		if err := wakeRunning(ctx, db); err != nil {
			return errors.Join(err, db.Close())
		}
	}
	if j.writer, err = newWriter(ctx, db, &j.claims, o); err != nil {
		return errors.Join(err, db.Close())
	}
	if !o.Beside {
		if j.checkpoints, err = newCheckpointer(path, j.writer); err != nil {
			return err
		}
	}
	if j.reads, err = sql.Open(cmp.Or(o.ReadDriver, "sqlite3"), source(path, "_query_only=true&_cache_size=-4096&_stmt_cache_size=64")); err != nil {
		return err
	}
	j.reads.SetMaxOpenConns(maxReaders)
	j.reads.SetMaxIdleConns(maxReaders)
	return j.claims.open(ctx, source(path, "_query_only=true&_cache_size=-4096"))
}

// locate resolves links, so that an engine that opens the file by another name meets the same lock.
func (j *Journal) locate(file string) (string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(path)
	if err == nil {
		return real, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err != nil {
		return "", fmt.Errorf("its folder: %w", err)
	}
	if j.attached {
		return "", errors.New("there is no such file: is this the right folder, and has an engine been run here?")
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// source returns the driver's data source name of a file with settings.
func source(path, settings string) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_mutex=no&" + settings
}

// Close waits for pending operations, and closes the file. It may be called twice.
func (j *Journal) Close() error {
	j.closing.Do(func() {
		var problems []error
		if j.writer != nil {
			problems = append(problems, j.writer.close())
		}
		if j.checkpoints != nil {
			problems = append(problems, j.checkpoints.close())
		}
		problems = append(problems, j.claims.close())
		if j.reads != nil {
			problems = append(problems, j.reads.Close())
		}
		// The last connection to be closed moves the write-ahead log into the file, so it must be one
		// that may write.
		if j.writer != nil {
			problems = append(problems, j.writer.db.Close())
		}
		if j.lock != nil {
			problems = append(problems, unlock(j.lock))
		}
		j.closed = errors.Join(problems...)
	})
	return j.closed
}
