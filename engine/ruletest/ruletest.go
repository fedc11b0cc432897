// Package ruletest runs the tests beside rules: the real engine, a journal in SQLite and an
// imitation of the service, on a simulated clock.
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
	"github.com/quandohq/quando/actions/builtin"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"

	_ "time/tzdata" // stories have a zone, also on machines without tzdata
)

// Options say what tests run with. Set is required; every other zero value works.
type Options struct {
	Set      *rules.Set
	Media    fs.FS          // the rule set's media folder; nil means there is none
	Location *time.Location // the workspace's zone, for times such as "sat 09:06"; nil is America/Sao_Paulo

	// What the workspace's configuration says; what a test says goes before it.
	People  service.People     // one without a phone has one that nobody has, as those whom only rules name
	Safety  rules.TestSafety   // zero values are those of every workspace
	Systems []builtin.HTTPHost // the other systems that rules may call; nil is all

	// NoFaults runs each story once, without its faults.
	NoFaults bool

	// Folder is where the journals are while a test runs; empty is one of the system's folders, in
	// memory if there is one.
	Folder string

	// Progress is called before each run of a story, with the fault; may be nil.
	Progress func(test *rules.Test, fault string)

	// Look is called with the journal of each run that passed, before it is deleted; may be nil.
	Look func(Told) error

	// CrashEvery shortens "crash every_step": of the points where the engine can be stopped, every
	// how many-th it is. 0 and 1 are all.
	CrashEvery int

	// For tests with a planted bug: wrappers around the engine's journal and actions.
	journal func(journal.Journal) journal.Journal
	action  func(actions.Action) actions.Action
}

// Told is what one run of a story leaves.
type Told struct {
	Fault     string // of the run; empty if none
	Journal   string // the file, which the engine still has open
	Workspace string
	Now       time.Time        // when the story ends
	Names     service.Snapshot // of the imitated service
}

// A Result is the result of a test.
type Result struct {
	Test     *rules.Test
	OK       bool
	Tellings int // how often the story was run

	// What follows is empty when all is well.
	Fault    string   // under which the story did not hold; empty is without any
	Crashes  []string // where the engine was stopped in that run
	Line     int      // of the step
	Message  string
	Expected []rules.ExpectedEffect // by that step
	Actual   []Effect               // since the expectation before it
	Differs  int                    // which of them is the first that differs, from 0

	Trace Trace
}

// Run runs a test's story, and runs it again under each of its faults until one fails. It returns
// an error for a test that could not be run, not for one that failed.
//
// Each expect is compared with all effects since the one before it; effects after the last one are
// not checked. Every effect counts: a message to a phone without a conversation opens that first.
// Under a fault an effect may come some minutes later than without: an interrupted call is checked
// after ten seconds, and a refused delivery is retried after half a minute, or two and a half. A
// story with faults leaves time for that between its actions and its expectations.
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
	defer func() { _ = os.RemoveAll(folder) }() // the system cleans its temporary folder
	s, err := newStory(ctx, o, test, folder)
	if err != nil {
		return r, fmt.Errorf("run a test: %w", err)
	}
	for plan := range s.plans() {
		if o.Progress != nil {
			o.Progress(test, plan.fault)
		}
		r.Tellings++
		t, err := s.run(ctx, plan)
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
	people  service.People
	folder  string
	empty   []byte // an empty journal
	told    int
	end     func(context.Context, *storyRun) // called after a run that passed, before cleanup; may be nil

	crashed bool // in the last run
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
// for each run.
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
