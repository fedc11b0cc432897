//go:build linux && cgo

package powercut

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/sqlite"
	"github.com/quandohq/quando/rules"
)

var (
	cuts = flag.Int("cuts", 200, "how often TestPowerCuts cuts the power")
	seed = flag.Uint64("seed", uint64(time.Now().UnixNano()), "what the loads and the cuts are drawn from")
)

const (
	cutsOfALoad  = 100
	loadsPerDisk = 5 // one after the other, before the next begins with an empty disk
)

// The test's own binary is also the process that uses the journal.
func TestMain(m *testing.M) {
	if file := os.Getenv("POWERCUT_JOURNAL"); file != "" {
		var number uint64
		var well bool
		if _, err := fmt.Sscan(os.Getenv("POWERCUT_LOAD"), &number, &well); err != nil {
			panic(err)
		}
		record, err := os.OpenFile(os.Getenv("POWERCUT_RECORD"), os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			panic(err)
		}
		l := &load{file: file, name: fmt.Sprint(number), random: rand.New(rand.NewPCG(number, 2)), record: record}
		if err := l.run(well); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	flag.Parse()
	os.Exit(m.Run())
}

// Whenever the power is cut, and whatever part of the unsynced writes the disk has: what the
// journal has acknowledged is there, once, and an engine can continue.
func TestPowerCuts(t *testing.T) {
	h := newHarness(t, "")
	began := time.Now()
	var told sync.Mutex
	tallies := map[string]int{}
	loads := (*cuts + cutsOfALoad - 1) / cutsOfALoad
	t.Run("loads", func(t *testing.T) {
		for chain := range 2 {
			t.Run(fmt.Sprint(chain), func(t *testing.T) {
				t.Parallel()
				var files map[string][]byte // the files that the load begins with
				var kept *acks
				for n := chain; n < loads && !t.Failed(); n += 2 {
					if n/2%loadsPerDisk == 0 {
						files, kept = nil, newAcks()
					}
					tally := map[string]int{}
					files, kept = h.cutLoad(t, n, files, kept, min(cutsOfALoad, *cuts-n*cutsOfALoad), tally)
					told.Lock()
					for what, count := range tally {
						tallies[what] += count
					}
					told.Unlock()
				}
			})
		}
	})
	text := fmt.Sprintf("seed %d: %d loads in %s", *seed, loads, time.Since(began).Round(time.Second))
	for _, what := range slices.Sorted(maps.Keys(tallies)) {
		text += fmt.Sprintf(", %d %s", tallies[what], what)
	}
	t.Log(text)
}

// If a sync is left out, the cuts reveal it: else the test above proves nothing.
func TestMissingSyncIsFound(t *testing.T) {
	for what, name := range map[string]string{"the log": "-wal", "the file, before the log begins anew": "quando.db", "the folder, when it has a new log": "."} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			h := newHarness(t, name)
			found := map[string]int{}
			h.record(t, 0, nil).replay(t, newAcks(), rand.New(rand.NewPCG(*seed, 3)), 40, func(random *rand.Rand, d *disk, a *acks) {
				switch err := h.check(t.Context(), d.cut(random, nothing), a); {
				case errors.Is(err, errLost):
					found["lost"]++
				case err != nil:
					found["damaged"]++
				}
			})
			if t.Log(found); len(found) == 0 {
				t.Error("nothing was found")
			}
		})
	}
}

// A harness records loads and checks disks.
type harness struct {
	shim, folder string
	noSync       string // files with this suffix are not synced
}

func newHarness(t *testing.T, noSync string) *harness {
	t.Helper()
	if testing.Short() {
		t.Skip("starts processes")
	}
	h := &harness{shim: filepath.Join(t.TempDir(), "record.so"), noSync: noSync}
	if out, err := exec.CommandContext(t.Context(), "cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", h.shim, "testdata/record.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// In memory, if there is such a folder: all writes are in the record.
	folder, err := os.MkdirTemp("/dev/shm", "powercut")
	if err != nil {
		folder = t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	h.folder = folder
	return h
}

// A recorded load is what a process did to a disk that had these files.
type recorded struct {
	files   map[string][]byte
	entries []entry
}

// record runs a load on a disk.
func (h *harness) record(t *testing.T, n int, files map[string][]byte) *recorded {
	t.Helper()
	base := filepath.Join(h.folder, fmt.Sprint("load", n))
	folder, record := filepath.Join(base, "disk"), filepath.Join(base, "record")
	write(t, folder, files)
	defer os.RemoveAll(base)
	if err := os.WriteFile(record, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	well := n%2 == 0
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "LD_PRELOAD="+h.shim, "POWERCUT_FOLDER="+folder, "POWERCUT_RECORD="+record, "POWERCUT_NO_SYNC="+h.noSync,
		"POWERCUT_JOURNAL="+filepath.Join(folder, "quando.db"), fmt.Sprintf("POWERCUT_LOAD=%d %v", *seed+uint64(n), well))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("load %d of seed %d: %v\n%s", n, *seed, err, out)
	}
	entries, err := readRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	if well {
		checkComplete(t, folder, files, entries)
	}
	return &recorded{files, entries}
}

// checkComplete checks that the record has every write: with all of them, the disk has what the
// folder has.
func checkComplete(t *testing.T, folder string, files map[string][]byte, entries []entry) {
	t.Helper()
	d := newDisk(files)
	for _, e := range entries {
		if e.kind == acknowledged {
			continue
		}
		if err := d.apply(e); err != nil {
			t.Fatal(err)
		}
	}
	told := d.cut(rand.New(rand.NewPCG(0, 0)), everything)
	found, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if passing(f.Name()) {
			continue
		}
		content, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(content, told[f.Name()]) {
			t.Fatalf("%s has %d bytes, and others than the record tells of (%d)", f.Name(), len(content), len(told[f.Name()]))
		}
		delete(told, f.Name())
	}
	if len(told) > 0 {
		t.Fatalf("the record has %d files that are not there", len(told))
	}
}

// replay replays a record and stops at random moments, as often as asked.
func (r *recorded) replay(t *testing.T, a *acks, random *rand.Rand, times int, stop func(*rand.Rand, *disk, *acks)) {
	t.Helper()
	at := make(map[int]int)
	for range times {
		at[random.IntN(len(r.entries))+1]++
	}
	d := newDisk(r.files)
	for i, e := range r.entries {
		if e.kind == acknowledged {
			a.add(string(e.data))
		} else if err := d.apply(e); err != nil {
			t.Fatal(err)
		}
		for range at[i+1] {
			stop(random, d, a)
		}
	}
}

// cutLoad records a load and cuts the power at moments of it. It returns the files after one of the
// cuts, and what was acknowledged by then: the next load begins with them.
func (h *harness) cutLoad(t *testing.T, n int, files map[string][]byte, a *acks, times int, tally map[string]int) (map[string][]byte, *acks) {
	r := h.record(t, n, files)
	random := rand.New(rand.NewPCG(*seed, uint64(n)<<8))
	left, chosen := 0, random.IntN(times)
	var leftFiles map[string][]byte
	var leftAcks *acks
	r.replay(t, a, random, times, func(random *rand.Rand, d *disk, a *acks) {
		if t.Failed() {
			return
		}
		s := []survival{nothing, everything, prefixes, prefixes, sectors, sectors, sectors}[random.IntN(7)]
		image := d.cut(random, s)
		if err := h.check(t.Context(), image, a); err != nil {
			t.Errorf("seed %d, load %d, after %s, of the unsynced survived: %s; the disk is in %s: %v", *seed, n, a, s, h.saveFiles(t, image), err)
		}
		tally["cuts: "+s.String()]++
		if left++; left == chosen+1 {
			leftFiles, leftAcks = image, a.clone()
		}
	})
	tally["acknowledged events"] += len(a.events)
	tally["acknowledged saves"] += a.saves
	return leftFiles, leftAcks
}

// saveFiles writes the files of a cut into a folder, for debugging.
func (h *harness) saveFiles(t *testing.T, files map[string][]byte) string {
	t.Helper()
	folder, err := os.MkdirTemp("", "powercut")
	if err != nil {
		t.Fatal(err)
	}
	write(t, folder, files)
	return folder
}

func write(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// acks is what the journal has acknowledged.
type acks struct {
	events  map[string]bool // and whether they are decided
	runs    map[string]progress
	cursors map[string]bool
	saves   int
}

type progress struct {
	steps int
	done  bool
}

func newAcks() *acks {
	return &acks{events: map[string]bool{}, runs: map[string]progress{}, cursors: map[string]bool{}}
}

func (a *acks) clone() *acks {
	return &acks{maps.Clone(a.events), maps.Clone(a.runs), maps.Clone(a.cursors), a.saves}
}

func (a *acks) String() string {
	return fmt.Sprintf("%d events and %d saves", len(a.events), a.saves)
}

func (a *acks) add(text string) {
	words := strings.Fields(text)
	switch words[0] {
	case "event":
		if _, known := a.events[words[1]]; !known { // another operation may have decided it already
			a.events[words[1]] = false
		}
	case "decided":
		a.events[words[1]] = true
		a.saves++
	case "run", "done":
		var steps int
		_, _ = fmt.Sscan(words[2], &steps)
		a.runs[words[1]] = progress{steps, words[0] == "done" || a.runs[words[1]].done}
		a.saves++
	case "cursor":
		a.cursors[words[1]] = true
	}
}

// errLost says that something acknowledged is missing.
var errLost = errors.New("lost")

// check opens a journal after a cut.
func (h *harness) check(ctx context.Context, files map[string][]byte, a *acks) (err error) {
	folder, err := os.MkdirTemp(h.folder, "cut")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			return err
		}
	}
	file := filepath.Join(folder, "quando.db")
	j, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	if err := checkSound(ctx, file); err != nil {
		return err
	}
	if err := a.checkPresent(ctx, j); err != nil {
		return err
	}
	return checkUsable(ctx, j)
}

// checkSound checks the file itself, and the invariants of a journal.
func checkSound(ctx context.Context, file string) error {
	k, err := sqlite.OpenKeeper(ctx, file, false)
	if err != nil {
		return err
	}
	report, err := k.Check(ctx, func(string) {})
	if err == nil && len(report.Findings) > 0 {
		err = fmt.Errorf("the file is not sound: %v", report.Findings)
	}
	return errors.Join(err, k.Close())
}

// checkPresent checks that everything acknowledged is there, once.
func (a *acks) checkPresent(ctx context.Context, j *sqlite.Journal) error {
	events := map[string]*journal.Event{}
	for after := int64(0); ; {
		list, err := j.ListEvents(ctx, journal.EventFilter{Forward: true, After: after, Limit: 1000})
		if err != nil {
			return err
		}
		for _, e := range list {
			if events[e.ID] != nil {
				return fmt.Errorf("the event %s is there twice", e.ID)
			}
			events[e.ID], after = e, e.Seq
		}
		if len(list) == 0 {
			break
		}
	}
	for id, decided := range a.events {
		switch e := events[id]; {
		case e == nil:
			return fmt.Errorf("%w: the event %s", errLost, id)
		case decided && !e.Decided:
			return fmt.Errorf("%w: what was decided on the event %s", errLost, id)
		}
	}
	runs := map[string]*journal.Run{}
	for before := int64(0); ; {
		list, err := j.ListRuns(ctx, journal.RunFilter{Before: before, Limit: 1000})
		if err != nil {
			return err
		}
		for _, r := range list {
			if runs[r.Key] != nil {
				return fmt.Errorf("the run %s is there twice", r.Key)
			}
			runs[r.Key], before = r, r.ID
		}
		if len(list) == 0 {
			break
		}
	}
	for key, want := range a.runs {
		switch r := runs[key]; {
		case r == nil:
			return fmt.Errorf("%w: the run %s", errLost, key)
		case len(r.Steps) < want.steps || want.done && r.State != journal.Done:
			return fmt.Errorf("%w: the run %s is %s with %d steps, and was saved with %d, done: %v", errLost, key, r.State, len(r.Steps), want.steps, want.done)
		}
	}
	for name := range a.cursors {
		if at, err := j.Cursor(ctx, name); err != nil || at == "" {
			return fmt.Errorf("%w: the cursor %s: %w", errLost, name, err)
		}
	}
	return nil
}

// checkUsable checks that an engine can continue: everything pending is claimed and brought to its
// end, and a new event is recorded.
func checkUsable(ctx context.Context, j *sqlite.Journal) error {
	if _, err := j.Accept(ctx, []rules.Event{eventOf("after the cut", "lane-0")}); err != nil {
		return err
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		due, err := j.Due(ctx, nil)
		if err != nil {
			return err
		}
		if due.IsZero() {
			break
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("a lane is due at %s, and nobody gets it", due)
		}
		time.Sleep(min(time.Until(due), 10*time.Millisecond))
		if _, err := workDue(ctx, j, func(string, ...any) {}); err != nil {
			return err
		}
	}
	unfinished, err := j.CountRuns(ctx)
	if err != nil || len(unfinished) > 0 {
		return fmt.Errorf("runs that nobody gets: %v %w", unfinished, err)
	}
	list, err := j.ListEvents(ctx, journal.EventFilter{Limit: 100_000})
	for _, e := range list {
		if !e.Decided {
			return fmt.Errorf("the event %s is never decided", e.ID)
		}
	}
	return err
}
