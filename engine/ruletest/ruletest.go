// Package ruletest runs the tests that stand beside rules: the real engine, a journal in SQLite and
// an imitation of the service, on a simulated clock.
package ruletest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"

	_ "time/tzdata" // stories are told in a zone, also on machines without any
)

// Options say what tests run with. Set is required; every other zero value works.
type Options struct {
	Set      *rules.Set
	Media    fs.FS          // the rule set's media folder; nil means there is none
	Location *time.Location // the workspace's zone, in which moments such as "sat 09:06" are told; nil is America/Sao_Paulo

	// NoFaults tells each story once, without the faults that it names.
	NoFaults bool

	// Folder is where the journals stand while a test runs; empty is a folder of the system's, in
	// memory where there is one.
	Folder string

	// Progress is told which story is about to be told, and under which fault; nil is nobody.
	Progress func(test *rules.Test, fault string)

	// Look is given the journal of each telling that held, before it is taken away; nil is nobody.
	Look func(Told) error

	// For engines with a known fault: what stands between the engine, its journal and its actions.
	journal func(journal.Journal) journal.Journal
	action  func(actions.Action) actions.Action
}

// Told is what a telling leaves behind.
type Told struct {
	Fault     string // under which the story was told; empty is none
	Journal   string // the file, which the engine still has open
	Workspace string
	Now       time.Time        // when the story ends
	Names     service.Snapshot // of the imitated service
}

// A Result is what came of a test.
type Result struct {
	Test     *rules.Test
	OK       bool
	Tellings int // how often the story was told

	// What follows is empty when all is well.
	Fault    string   // under which the story did not hold; empty is without any
	Crashes  []string // where the engine was stopped in that telling
	Line     int      // of the step
	Message  string
	Expected []rules.ExpectedEffect // by that step
	Actual   []Effect               // since the expectation before it
	Differs  int                    // which of them is the first that differs, from 0

	Trace Trace
}

// Run tells a test's story, and tells it again under each of its faults until it does not hold. The
// error is that of a test that could not be run; one that failed has none.
//
// Each expect is compared with everything that was done to the service since the one before it;
// what happens after the last one is not looked at. Whatever a verb does counts: a message to a
// phone without a conversation opens that first. Under a fault an effect may come up to some
// minutes later than without: a call that was cut off is looked into after ten seconds, and a
// delivery that was refused comes again after half a minute, or two and a half. A story with faults
// leaves room for that between what happens and what it expects.
func Run(ctx context.Context, o Options, test *rules.Test) (Result, error) {
	r := Result{Test: test}
	if o.Location == nil {
		location, err := time.LoadLocation("America/Sao_Paulo")
		if err != nil {
			return r, fmt.Errorf("run a test: %w", err)
		}
		o.Location = location
	}
	folder, err := os.MkdirTemp(o.folder(), "quando-test-")
	if err != nil {
		return r, fmt.Errorf("run a test: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // what is left is the system's temporary folder's affair
	s, err := newStory(ctx, o, test, folder)
	if err != nil {
		return r, fmt.Errorf("run a test: %w", err)
	}
	for plan := range s.plans() {
		if o.Progress != nil {
			o.Progress(test, plan.fault)
		}
		r.Tellings++
		t, err := s.tell(ctx, plan)
		if ctx.Err() != nil {
			return r, ctx.Err()
		}
		if failure, ok := errors.AsType[*failure](err); ok {
			r.Fault, r.Crashes, r.Trace = plan.fault, t.crashes, t.trace
			r.Line, r.Message, r.Expected, r.Actual, r.Differs = failure.line, failure.message, failure.expected, failure.actual, failure.differs
			return r, nil
		}
		if err != nil {
			return r, fmt.Errorf("run a test: %w", err)
		}
	}
	r.OK = true
	return r, nil
}

// folder returns where journals are kept. A test's journal outlives no crash of the machine, so it
// need not reach a disk.
func (o *Options) folder() string {
	const memory = "/dev/shm"
	if o.Folder != "" {
		return o.Folder
	}
	if probe, err := os.MkdirTemp(memory, "quando-probe-"); err == nil && os.Remove(probe) == nil {
		return memory
	}
	return ""
}

// A story is a test with everything that its tellings share.
type story struct {
	options Options
	test    *rules.Test
	rules   *rules.Set // those that run
	start   time.Time
	state   []byte // of the sandbox
	folder  string
	empty   []byte // a journal in which nothing stands
	told    int
	end     func(context.Context, *telling) // is shown a telling that held, while everything is still there; nil is nobody

	crashed bool // by the last telling
}

func newStory(ctx context.Context, o Options, test *rules.Test, folder string) (*story, error) {
	s := &story{options: o, test: test, rules: o.Set, start: test.Start, folder: folder}
	if s.start.IsZero() {
		s.start = time.Date(2026, 1, 5, 9, 0, 0, 0, o.Location) // a Monday
	}
	if len(test.Rules) > 0 {
		var list []*rules.Rule
		for _, r := range o.Set.Rules {
			if slices.Contains(test.Rules, r.ID) {
				list = append(list, r)
			}
		}
		s.rules = (&rules.Set{Calendars: o.Set.Calendars}).With(list...)
	}
	var err error
	if s.state, err = state(s); err != nil {
		return nil, err
	}
	s.empty, err = emptyJournal(ctx, filepath.Join(folder, "empty.db"))
	return s, err
}

// emptyJournal returns the content of a fresh journal's file: to copy it is faster than to make one
// for each telling.
func emptyJournal(ctx context.Context, file string) ([]byte, error) {
	j, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	if err := j.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// A failure is a story that does not hold.
type failure struct {
	line     int
	message  string
	expected []rules.ExpectedEffect
	actual   []Effect
	differs  int
}

func (f *failure) Error() string { return f.message }

func failed(line int, format string, args ...any) *failure {
	return &failure{line: line, message: fmt.Sprintf(format, args...)}
}
