package engine_test

import (
	"os"
	"regexp"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// transitions are those that docs/runs.md draws.
func transitions(t *testing.T) map[[2]journal.State]bool {
	t.Helper()
	text := must(os.ReadFile("../docs/runs.md"))
	drawn := make(map[[2]journal.State]bool)
	for _, m := range regexp.MustCompile(`(?m)^    (\S+) --> (\S+)`).FindAllStringSubmatch(string(text), -1) {
		from, to := journal.State(m[1]), journal.State(m[2])
		if from == "[*]" {
			from = ""
		}
		drawn[[2]journal.State{from, to}] = true
	}
	if len(drawn) < 20 {
		t.Fatalf("only %d transitions are drawn", len(drawn))
	}
	return drawn
}

// A stateWatch checks the transitions of runs against the drawn ones.
type stateWatch struct {
	t     *testing.T
	drawn map[[2]journal.State]bool
	mu    sync.Mutex
	last  map[string]seenRun
}

// A seenRun is a run as the observer saw it last.
type seenRun struct {
	state    journal.State
	progress [3]int
}

// progressOf returns how far a run has come: the steps it has reached, the attempts at the last of
// them, and whether that one has ended.
func progressOf(r *journal.Run) [3]int {
	if len(r.Steps) == 0 {
		return [3]int{}
	}
	last, ended := r.Steps[len(r.Steps)-1], 0
	if last.State.Finished() {
		ended = 1
	}
	return [3]int{r.Reached(), last.Attempts, ended}
}

func (w *stateWatch) Began(r *journal.Run, _ *journal.Event) { w.Changed(r) }

func (w *stateWatch) Changed(r *journal.Run) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen, progress := w.last[r.Key], progressOf(r)
	if seen.state != "" && slices.Compare(progress[:], seen.progress[:]) < 0 {
		return // the visit after the one that tells this was faster to tell
	}
	from := seen.state
	w.last[r.Key] = seenRun{r.State, progress}
	if from == r.State || from == "" && w.reachable(r.State) {
		return
	}
	// Between two records, the run may have been running.
	through := w.drawn[[2]journal.State{from, journal.Running}] && w.drawn[[2]journal.State{journal.Running, r.State}]
	if !w.drawn[[2]journal.State{from, r.State}] && !through {
		w.t.Errorf("a run of %s went from %q to %q, which docs/runs.md does not draw", r.Rule, from, r.State)
	}
}

// reachable reports whether a run can be seen first in a state: of the transitions before a run is
// first recorded, only the last state is visible.
func (w *stateWatch) reachable(s journal.State) bool {
	return w.drawn[[2]journal.State{"", s}] || w.drawn[[2]journal.State{journal.Running, s}]
}

func (*stateWatch) Decided(*journal.Event)                      {}
func (*stateWatch) Called(string, string, time.Duration, error) {}
func (*stateWatch) Held(journal.Hold)                           {}
func (*stateWatch) Lifted(journal.Hold)                         {}
