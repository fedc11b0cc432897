//go:build cgo

package sqlite

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/rules"
)

// Nobody is told that something is recorded before a sync that began after it was written has come to its end: what is recorded survives a power cut.
func TestSynced(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{})
	var mode string
	var level int
	if err := j.writer.conn.QueryRowContext(t.Context(), `SELECT journal_mode, synchronous FROM pragma_journal_mode, pragma_synchronous`).Scan(&mode, &level); err != nil || mode != "wal" || level < 1 {
		t.Fatalf("the journal mode is %s, and synchronous is %d: %v", mode, level, err)
	}
	var written, safe atomic.Int64 // bytes of the log, and those of them that a sync has seen
	j.writer.log.bring = func(f *os.File) error {
		if !strings.HasSuffix(f.Name(), "quando.db-wal") {
			t.Errorf("%s is synced", f.Name())
		}
		size := written.Load()
		err := syncLog(f)
		safe.Store(size)
		return err
	}
	commit := j.writer.commits.Load
	before := commit()
	j.writer.fail = func(p Point) error {
		if p == AfterCommit {
			written.Store(commit())
		}
		return nil
	}
	var group sync.WaitGroup
	for worker := range 8 {
		group.Go(func() {
			for i := range 50 {
				id := fmt.Sprint(worker, " ", i)
				if _, err := j.Accept(t.Context(), []rules.Event{{Workspace: "default", ID: id, Lane: id}}); err != nil {
					t.Error(err)
				}
				if _, err := j.FindEvent(t.Context(), "default", id); err != nil || safe.Load() <= before {
					t.Errorf("%s: %v, and %d commits are safe of %d", id, err, safe.Load(), commit())
				}
			}
		})
	}
	group.Wait()
	if safe.Load() != commit() {
		t.Errorf("%d commits of %d are safe", safe.Load(), commit())
	}
}

// While a sync is under way others write, and are told when the next one is over.
func TestWrittenWhileSynced(t *testing.T) {
	t.Parallel()
	j := open(t, filepath.Join(t.TempDir(), "quando.db"), Options{Linger: -1})
	syncing, release := make(chan struct{}), make(chan struct{})
	j.writer.log.bring = func(f *os.File) error {
		syncing <- struct{}{}
		<-release
		return syncLog(f)
	}
	results := make(chan error, 10)
	accept := func(ids ...string) {
		for _, id := range ids {
			go func() {
				_, err := j.Accept(t.Context(), []rules.Event{{Workspace: "default", ID: id, Lane: id}})
				results <- err
			}()
		}
	}
	// Two at once, so that the writer does not sync by itself.
	began, held := make(chan struct{}), make(chan struct{})
	go func() {
		_ = j.writer.write(t.Context(), &operation{do: func(*tx) error { close(began); <-held; return nil }})
	}()
	<-began
	accept("a", "b")
	for j.writer.Len() < 2 {
	}
	close(held)
	<-syncing // of the one that was held, alone
	release <- struct{}{}
	<-syncing // of the two
	commits := j.writer.commits.Load()
	accept("c", "d")
	for j.writer.commits.Load() == commits { // written while the sync of the two is under way
	}
	if len(results) > 0 {
		t.Error("somebody was told before the sync was over")
	}
	release <- struct{}{}
	for range 2 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	for told := 0; told < 2; {
		select {
		case <-syncing:
			release <- struct{}{}
		case err := <-results:
			if told++; err != nil {
				t.Error(err)
			}
		}
	}
	j.writer.log.bring = syncLog
}

// When the disk fails, everybody is told, and nothing more is recorded until the journal is opened anew.
func TestSyncFails(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "quando.db")
	j := open(t, file, Options{})
	if _, err := j.Accept(t.Context(), events("lane", "before")); err != nil {
		t.Fatal(err)
	}
	failed := errors.New("input/output error")
	j.writer.log.bring = func(*os.File) error { return failed }
	if _, err := j.Accept(t.Context(), events("lane", "then")); !errors.Is(err, failed) {
		t.Error(err)
	}
	j.writer.log.bring = syncLog // which would not tell that something is missing
	if _, err := j.Accept(t.Context(), events("lane", "after")); !errors.Is(err, failed) || !strings.Contains(err.Error(), "start again") {
		t.Error(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	j = open(t, file, Options{})
	if _, err := j.Accept(t.Context(), events("lane", "again")); err != nil {
		t.Error(err)
	}
	if _, err := j.FindEvent(t.Context(), "default", "after"); !errors.Is(err, engine.ErrNoEvent) {
		t.Error("what was refused is recorded:", err)
	}
}
