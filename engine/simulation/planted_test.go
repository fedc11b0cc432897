package simulation_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/quandohq/quando/engine/internal/planted"
)

var (
	plantedBugs = flag.String("planted", "", "all, or a part of a name: plant these bugs, instead of the few that are always planted")
	plantedFrom = flag.Uint64("planted-from", 1, "the first seed that looks for them")
	plantedFor  = flag.Duration("planted-for", 5*time.Minute, "how much processor time made-up desks may take until one of them finds a bug")
)

const root = "../.."

// A hunt is the result of a search for a bug.
type hunt struct {
	seed uint64
	law  string
	took time.Duration // processor time
}

// TestPlanted plants one bug after another into the engine and plays made-up desks until one of
// them shows it.
func TestPlanted(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the simulation for each bug")
	}
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "bug\tseed\tlaw\tprocessor")
	for _, b := range planted.All() {
		switch {
		case *plantedBugs == "" && !b.Early, *plantedBugs != "all" && !strings.Contains(b.Name, *plantedBugs):
			continue
		}
		t.Run(b.Name, func(t *testing.T) {
			if b.Unseen != "" {
				found := findByTest(t, &b)
				fmt.Fprintf(table, "%s\t-\t%s\t-\n", b.Name, found)
				t.Log(found)
				return
			}
			from, seeds := *plantedFrom, uint64(1_000_000)
			if *plantedBugs == "" {
				seeds = 200
			}
			binary := buildPlanted(t, &b)
			h := look(t, binary, from, seeds)
			for h.seed != 0 && !sound(t, h.seed) {
				t.Logf("seed %d is broken without the bug too: the next one", h.seed)
				next := look(t, binary, h.seed+1, seeds)
				next.took += h.took
				h = next
			}
			if h.seed == 0 {
				fmt.Fprintf(table, "%s\t-\tNOT FOUND\t%.1f s\n", b.Name, h.took.Seconds())
				t.Fatalf("no desk showed it in %s of processor time", h.took.Round(time.Second))
			}
			fmt.Fprintf(table, "%s\t%d\t%s\t%.1f s\n", b.Name, h.seed, h.law, h.took.Seconds())
			t.Logf("seed %d in %s: %s", h.seed, h.took.Round(100*time.Millisecond), h.law)
			if h.took > *plantedFor {
				t.Errorf("it took %s of processor time", h.took.Round(time.Second))
			}
		})
	}
	_ = table.Flush() // it is in memory
	t.Logf("\n%s", text.String())
}

// buildPlanted builds the tests of this package with a bug in what they test.
func buildPlanted(t *testing.T, b *planted.Bug) string {
	t.Helper()
	folder := t.TempDir()
	overlay, err := b.Overlay(root, folder)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "simulation.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-ldflags=-s -w", "-o", binary, "./engine/simulation")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// shown matches a campaign's report of the first difference.
var shown = regexp.MustCompile(`(?m)^\s*seed (\d+): (\w+): `)

// look plays desks until one shows the bug, or the processor time is used up. One thread plays, so
// that the desk is the same each time.
func look(t *testing.T, binary string, from, seeds uint64) hunt {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20**plantedFor)
	defer cancel()
	args := []string{
		"-c", fmt.Sprintf(`ulimit -t %d; exec "$0" "$@"`, int(plantedFor.Seconds())+1), binary,
		"-test.run", "^TestSimulate$", "-test.count", "1", "-test.v", "-test.timeout", "0", "-most", "1", "-shrink", "0",
		"-seeds", strconv.FormatUint(seeds, 10), "-from", strconv.FormatUint(from, 10), "-postgres", "10", "-folder", newFolder(t), // one that is ended by force leaves nothing behind
	}
	play := exec.CommandContext(ctx, "/bin/sh", args...)
	play.Env = append(os.Environ(), "GOMAXPROCS=1")
	var out bytes.Buffer
	play.Stdout, play.Stderr = &out, nil
	err := play.Run()
	h := hunt{took: play.ProcessState.UserTime() + play.ProcessState.SystemTime()}
	if found := shown.FindStringSubmatch(out.String()); found != nil {
		h.seed, _ = strconv.ParseUint(found[1], 10, 64)
		h.law = found[2]
		return h
	}
	if seeds > 1 && h.took < *plantedFor && ctx.Err() == nil {
		t.Errorf("it ended without a difference: %v\n%s", err, out.String())
	}
	return h
}

// sound reports whether a desk breaks no law without a bug.
func sound(t *testing.T, seed uint64) bool {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	h := look(t, self, seed, 1)
	return h.seed == 0
}

// findByTest has a bug found that no made-up desk can show.
func findByTest(t *testing.T, b *planted.Bug) string {
	t.Helper()
	overlay, err := b.Overlay(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	args := append([]string{"test", "-count", "1", "-overlay", overlay}, b.Flags...)
	test := exec.CommandContext(t.Context(), "go", append(args, "-run", "^"+b.Finder[1]+"$", b.Finder[0])...)
	test.Dir = root
	if out, err := test.CombinedOutput(); err == nil {
		t.Fatalf("%s of %s did not find it\n%s", b.Finder[1], b.Finder[0], out)
	}
	return fmt.Sprintf("%s; %s of %s finds it", b.Unseen, b.Finder[1], b.Finder[0])
}
