package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/memory"
	"github.com/quandohq/quando/engine/journal/postgres"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules/phrases"
)

// A Kind is where a desk's journal is kept.
type Kind string

// The kinds of journals.
const (
	SQLite   Kind = "sqlite"
	Memory   Kind = "memory"
	Postgres Kind = "postgres"
)

// A Journal is an engine's journal, with what people read.
type Journal interface {
	journal.Journal
	journal.Reader
}

// A Store makes journals for desks.
type Store struct {
	Folder   string                                // of SQLite's files
	Database func(context.Context) (string, error) // returns the address of an empty PostgreSQL database; nil is that there is none
	Drop     func(address string)                  // removes such a database
	Steal    func(ctx context.Context, database string) (bool, error)

	once  sync.Once
	empty []byte
	err   error
}

// A JournalStore is the journal of one desk, which engines open and leave.
type JournalStore interface {
	// Launch opens the journal as the nth engine does, Leave closes it, however it was left.
	Launch(ctx context.Context, n int) (Journal, error)
	Leave(n int) error
	// Beside is the journal for a command beside the engines.
	Beside() (Journal, error)
	// Copy copies the journal. Later launches use the copy. No engine has it open.
	Copy(ctx context.Context) error
	// Steal expires all leases in the middle of work. It reports whether there were any.
	Steal(ctx context.Context) (bool, error)
	Close() error
}

// Open makes an empty journal.
func (s *Store) Open(ctx context.Context, kind Kind) (JournalStore, error) {
	switch kind {
	case Memory:
		return &memoryStore{journal: memory.New()}, nil
	case Postgres:
		address, err := s.Database(ctx)
		if err != nil {
			return nil, err
		}
		p := &postgresStore{store: s, address: address}
		p.beside, err = postgres.Open(ctx, address, postgres.Options{Lease: time.Hour})
		return p, err
	}
	s.once.Do(func() { s.empty, s.err = emptyJournal(ctx, s.Folder) })
	if s.err != nil {
		return nil, s.err
	}
	folder, err := os.MkdirTemp(s.Folder, "desk-")
	if err != nil {
		return nil, err
	}
	f := &fileStore{folder: folder}
	return f, os.WriteFile(f.file(), s.empty, 0o600)
}

// emptyJournal returns the content of a fresh journal's file: to copy it is faster than to make one
// for each desk.
func emptyJournal(ctx context.Context, folder string) ([]byte, error) {
	folder, err := os.MkdirTemp(folder, "empty-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system cleans its temporary folder
	file := filepath.Join(folder, "empty.db")
	j, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := j.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// A memoryStore outlives its engine, which real memory does not: desks on it see no crash.
type memoryStore struct{ journal *memory.Journal }

func (s *memoryStore) Launch(context.Context, int) (Journal, error) { return s.journal, nil }
func (*memoryStore) Leave(int) error                                { return nil }
func (s *memoryStore) Beside() (Journal, error)                     { return s.journal, nil }
func (*memoryStore) Copy(context.Context) error                     { return nil }
func (*memoryStore) Steal(context.Context) (bool, error)            { return false, nil }
func (*memoryStore) Close() error                                   { return nil }

// A fileStore is a journal in a file of SQLite's.
type fileStore struct {
	folder  string
	copies  int
	journal *sqlite.Journal
	beside  *sqlite.Journal
}

func (s *fileStore) file() string {
	return filepath.Join(s.folder, fmt.Sprintf("journal-%d.db", s.copies))
}

func (s *fileStore) Launch(ctx context.Context, _ int) (Journal, error) {
	if s.beside != nil {
		if err := s.beside.Close(); err != nil {
			return nil, err
		}
		s.beside = nil
	}
	j, err := sqlite.Open(ctx, s.file(), sqlite.Options{})
	s.journal = j
	return j, err
}

func (s *fileStore) Leave(int) error {
	j := s.journal
	s.journal = nil
	return j.Close()
}

// Beside is the engine's own journal while it is open: another caller stands in for another
// process.
func (s *fileStore) Beside() (_ Journal, err error) {
	if s.journal != nil {
		return s.journal, nil
	}
	if s.beside == nil {
		s.beside, err = sqlite.Open(context.Background(), s.file(), sqlite.Options{})
	}
	return s.beside, err
}

func (s *fileStore) Copy(ctx context.Context) (err error) {
	if s.beside != nil {
		if err := s.beside.Close(); err != nil {
			return err
		}
		s.beside = nil
	}
	from, err := sqlite.OpenCopy(ctx, s.file(), true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	s.copies++
	to, err := sqlite.OpenCopy(ctx, s.file(), false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.Close()) }()
	_, err = stored.Copy(ctx, from, to, func(*stored.Table, int64, int64) {})
	return err
}

func (*fileStore) Steal(context.Context) (bool, error) { return false, nil }

func (s *fileStore) Close() error {
	var problems []error
	for _, j := range []*sqlite.Journal{s.journal, s.beside} {
		if j != nil {
			problems = append(problems, j.Close())
		}
	}
	return errors.Join(append(problems, os.RemoveAll(s.folder))...)
}

// A postgresStore is a journal in a database, which several engines share.
type postgresStore struct {
	left     []string // the addresses of what was copied
	store    *Store
	address  string
	beside   *postgres.Journal
	journals map[int]*postgres.Journal
}

func (s *postgresStore) Launch(ctx context.Context, n int) (Journal, error) {
	j, err := postgres.Open(ctx, s.address, postgres.Options{Lease: time.Hour})
	if err != nil {
		return nil, err
	}
	if s.journals == nil {
		s.journals = map[int]*postgres.Journal{}
	}
	s.journals[n] = j
	return j, nil
}

func (s *postgresStore) Leave(n int) error {
	s.journals[n].Close()
	delete(s.journals, n)
	return nil
}

func (s *postgresStore) Beside() (Journal, error) { return s.beside, nil }

func (s *postgresStore) Copy(ctx context.Context) (err error) {
	s.beside.Close()
	from, err := postgres.OpenCopy(ctx, s.address, true)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	s.left = append(s.left, s.address)
	if s.address, err = s.store.Database(ctx); err != nil {
		return err
	}
	to, err := postgres.OpenCopy(ctx, s.address, false)
	if err != nil {
		return err
	}
	_, err = stored.Copy(ctx, from, to, func(*stored.Table, int64, int64) {})
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	s.beside, err = postgres.Open(ctx, s.address, postgres.Options{Lease: time.Hour})
	return err
}

func (s *postgresStore) Steal(ctx context.Context) (bool, error) {
	if len(s.journals) < 2 || s.store.Steal == nil {
		return false, nil
	}
	return s.store.Steal(ctx, s.address)
}

func (s *postgresStore) Close() error {
	for _, j := range s.journals {
		j.Close()
	}
	s.beside.Close()
	for _, address := range append(s.left, s.address) {
		s.store.Drop(address)
	}
	return nil
}

// runNumber is how texts name a run by its number, which differs from journal to journal.
var runNumber = regexp.MustCompile(`\brun \d+\b`)

// record returns all that the engine recorded: events with their verdicts, runs with their steps.
// It leaves out what differs between journals, as row numbers do.
func (w *world) record(ctx context.Context) (string, error) {
	j, err := w.store.Beside()
	if err != nil {
		return "", err
	}
	events, err := j.ListEvents(ctx, journal.EventFilter{Forward: true, Limit: 1 << 20})
	if err != nil {
		return "", err
	}
	runs, err := j.ListRuns(ctx, journal.RunFilter{Limit: 1 << 20})
	if err != nil {
		return "", err
	}
	var lines []string
	line := func(v any) error {
		raw, err := json.Marshal(v)
		lines = append(lines, runNumber.ReplaceAllString(string(raw), "run N"))
		return err
	}
	for _, e := range events {
		verdicts := append([]journal.Verdict{}, e.Verdicts...)
		for i, v := range verdicts {
			if v.Why != nil { // its arguments may be numbers of runs; the text has them too
				verdicts[i].Why = phrases.New(v.Why.Code)
			}
		}
		slices.SortStableFunc(verdicts, func(a, b journal.Verdict) int { return strings.Compare(a.Rule, b.Rule) })
		err = errors.Join(err, line(map[string]any{"event": e.ID, "type": e.Type, "lane": e.Lane, "at": e.CreatedAt.UTC(), "heard": e.ReceivedAt.UTC(), "decided": e.Decided, "verdicts": verdicts}))
	}
	slices.SortStableFunc(runs, func(a, b *journal.Run) int { return strings.Compare(a.Key, b.Key) })
	for _, r := range runs {
		var steps []map[string]any
		for _, s := range r.Steps {
			steps = append(steps, map[string]any{"path": s.Path, "verb": s.Verb, "state": s.State, "attempts": s.Attempts, "error": s.Error})
		}
		err = errors.Join(err, line(map[string]any{
			"run": r.Key, "state": r.State, "stage": r.Stage, "lane": r.Lane, "home": r.Home, "by": r.By, "began": r.StartedAt.UTC(), "wakes": r.WakeAt.UTC(), "ended": r.FinishedAt.UTC(), "reason": r.Reason, "steps": steps,
		}))
	}
	return strings.Join(lines, "\n"), err
}
