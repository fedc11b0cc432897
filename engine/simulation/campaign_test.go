package simulation_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/engine/simulation"
)

var (
	seeds  = flag.Uint64("seeds", 0, "how many desks TestSimulate plays; 0 is the fixed set of CI")
	from   = flag.Uint64("from", 1, "the first seed")
	shared = flag.Uint64("postgres", 20, "every so many desks are played in PostgreSQL too; 0 is none")
	most   = flag.Int("most", 20, "failures after which a campaign ends; 0 is after all seeds")
	tries  = flag.Int("shrink", 400, "with how many tries a failure is shrunk; 0 is not at all")
	write  = flag.String("write", "", "a folder for the stories of failures")
	keep   = flag.String("folder", "", "where journals are kept meanwhile; in memory where the system has a folder for that")
	story  = flag.String("story", "", "a story that a campaign has written: play that desk, and nothing else")
)

// fixedSeeds is what CI plays.
const fixedSeeds = 45

// newStore keeps journals in memory where the system has such a folder: they outlive no crash of
// the machine.
func newStore(t *testing.T) *simulation.Store {
	return &simulation.Store{Folder: newFolder(t)}
}

func newFolder(t *testing.T) string {
	if *keep != "" {
		return *keep
	}
	f, err := os.MkdirTemp("/dev/shm", "quando-simulation-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(f) })
	return f
}

// TestSimulate plays made-up desks, and judges them.
func TestSimulate(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // a desk is soon forgotten, and what it took with it
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(1 << 30))
	store := newStore(t)
	c := simulation.Campaign{From: *from, Seeds: *seeds, Store: store, Postgres: *shared, Most: *most, Shrink: *tries, Patience: 10 * time.Minute}
	if *seeds == 0 {
		c.Seeds, c.Postgres = fixedSeeds, 50
	}
	if testing.Short() {
		c.Seeds, c.Postgres = 5, 0
	}
	if c.Postgres > 0 {
		server := postgrestest.Shared(t)
		store.Database = func(context.Context) (string, error) { return server.Database(t), nil }
		store.Drop = func(address string) { server.Drop(t, address) }
		store.Steal = steal
	}
	if *story != "" {
		playStory(t, store, *story)
		return
	}
	if *seeds > 0 {
		told, seen := time.Now(), 0
		c.Progress = func(done uint64, failures []simulation.Failure) {
			for ; seen < len(failures); seen++ {
				fmt.Fprintf(os.Stderr, "\rseed %d: %.1000s\n", failures[seen].Scenario.Seed, failures[seen].Broken[0])
			}
			if time.Since(told) > 2*time.Second || done == *seeds {
				told = time.Now()
				fmt.Fprintf(os.Stderr, "\r%s %d of %d seeds, %d differences ", bar(done, *seeds), done, *seeds, seen)
			}
		}
	}
	report, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintln(os.Stderr)
	report.Write(t.Output())
	for i := range report.Failures {
		f := &report.Failures[i]
		text := fmt.Sprintf("seed %d: %v", f.Scenario.Seed, f.Broken)
		if f.Shrunk != nil {
			file := simulation.TestFile(f.Shrunk, f.Expected)
			text += "\nshrunk:\n" + string(file)
			if *write != "" {
				if err := os.WriteFile(filepath.Join(*write, fmt.Sprintf("seed-%d_test.yaml", f.Scenario.Seed)), file, 0o600); err != nil {
					t.Error(err)
				}
			}
		}
		t.Error(text)
	}
}

// TestCampaignTellsOfADeskThatDoesNotEnd gives desks no time at all.
func TestCampaignTellsOfADeskThatDoesNotEnd(t *testing.T) {
	c := simulation.Campaign{From: 1, Seeds: 2, Store: newStore(t), Shrink: 400, Patience: time.Nanosecond}
	report, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Failures) != 2 || report.Failures[0].Law() != "end" || report.Failures[1].Scenario.Seed != 2 {
		t.Errorf("two desks did not end, but these failures are told: %+v", report.Failures)
	}
}

// playStory plays a desk that a campaign has written, in every journal that the store has.
func playStory(t *testing.T, store *simulation.Store, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := simulation.ReadStory(text)
	if err != nil {
		t.Fatal(err)
	}
	broken, err := simulation.Examine(t.Context(), s, store, store.Database != nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range broken {
		t.Error(law)
	}
}

// TestFound plays the desks by which campaigns found faults, as they were shrunk.
func TestFound(t *testing.T) {
	files, err := filepath.Glob("testdata/found/*_test.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(len(files), err)
	}
	for i, file := range files {
		if testing.Short() && i%4 != 0 {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) { playStory(t, newStore(t), file) })
	}
}

// bar draws how far a campaign is.
func bar(done, of uint64) string {
	const width = 30
	full := int(done * width / of)
	out := make([]byte, width)
	for i := range out {
		out[i] = '.'
		if i < full {
			out[i] = '#'
		}
	}
	return "[" + string(out) + "]"
}

// steal takes all leases, as an engine does when they have run out.
func steal(ctx context.Context, database string) (bool, error) {
	n, err := postgrestest.Ask(ctx, database, `WITH gone AS (DELETE FROM quando.leases RETURNING 1) SELECT count(*) FROM gone`)
	return n > 0, err
}

// TestSameSeed: a seed has one history, to the byte.
func TestSameSeed(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long")
	}
	store := newStore(t)
	// In 163 a service that fails is asked for two arguments of a step: always for the same one first.
	for _, played := range []struct {
		from, seeds uint64
		times       int
	}{{1, 20, 2}, {163, 1, 12}} {
		var first string
		for range played.times {
			c := simulation.Campaign{From: played.from, Seeds: played.seeds, Store: store}
			report, err := c.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = report.Fingerprint
			}
			if report.Fingerprint != first {
				t.Fatalf("the same seeds from %d gave %s, and then %s", played.from, first, report.Fingerprint)
			}
		}
	}
}
