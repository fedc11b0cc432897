// Package sqlite keeps the engine's journal in one SQLite file.
package sqlite

import (
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
// Everything that is written goes through one goroutine, which puts what is waiting into one
// transaction, so that many writers share the cost of reaching the disk. A context that ends while
// a call waits for its turn takes the call back: nothing is recorded, and its error is returned.
// Once its transaction has begun the call is waited for, so that the caller always knows.
type Journal struct {
	file   string
	beside bool
	lock   *os.File // nil when beside

	writer      *writer
	checkpoints *checkpointer // nil when beside
	reads       *sql.DB       // for people and rules that look

	claims    claims
	prune     pruning
	following *following

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
	// Beside opens a journal that an engine may be using: to look, and to accept, ask, hold and lift.
	// There must be a file. Claim, Save, Follow and Prune are refused.
	Beside bool

	// Fail lets tests make a transaction fail: before the commit, so that nothing is recorded, or
	// after it, so that everything is and nobody is told.
	Fail func(Point) error
}

// A Point is where a transaction can be made to fail.
type Point int

// The points of a transaction.
const (
	BeforeCommit Point = iota
	AfterCommit
)

// readers is how many may look at once.
const readers = 4

var errBeside = errors.New("the journal was opened beside an engine: only the engine itself claims, saves, follows and prunes")

var errNoSQLite = errors.New("this program was built without cgo, which its SQLite needs: build it again with CGO_ENABLED=1 and a C compiler")

// Open opens the journal in a file, and creates it where there is none, readable by its owner only.
// An engine's journal is locked until Close or the end of the process, however that comes.
func Open(ctx context.Context, file string, o Options) (*Journal, error) {
	if !usable {
		return nil, errNoSQLite
	}
	j := &Journal{beside: o.Beside, following: newFollowing()}
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
	if err := uncopied(ctx, db, o.Beside); err != nil {
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
	if j.reads, err = sql.Open("sqlite3", source(path, "_query_only=true&_cache_size=-4096&_stmt_cache_size=64")); err != nil {
		return err
	}
	j.reads.SetMaxOpenConns(readers)
	j.reads.SetMaxIdleConns(readers)
	return j.claims.open(ctx, source(path, "_query_only=true&_cache_size=-4096"))
}

// locate returns the path that every name of the file leads to, so that an engine that comes by
// another name meets the same lock.
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
	if j.beside {
		return "", errors.New("there is no such file: is this the right folder, and has an engine been run here?")
	}
	return filepath.Join(folder, filepath.Base(path)), nil
}

// source returns a file with the settings of its connections, as the driver takes them.
func source(path, settings string) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?_journal_mode=WAL&_synchronous=FULL&_busy_timeout=5000&_mutex=no&" + settings
}

// Close lets what is waiting come to an end, and gives the file back. It may be called twice.
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
