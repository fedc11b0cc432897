package console

import (
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/quandohq/quando/engine/journal/sqlite"
)

var (
	crowdEvents  = flag.Int("events", 0, "how many events and runs the journal of TestManyPages has")
	crowdRules   = flag.Int("rules", 50, "how many rules it has")
	crowdWaiting = flag.Int("unfinished", 300, "how many of the runs are not finished")
	crowdOnly    = flag.String("page", "", "only the pages with this in their names")
	crowdJournal = flag.String("journal", "", "a file in which that journal is kept for another time, and taken up again")
)

// newCrowdConsole opens a console on a journal.
func newCrowdConsole(tb testing.TB, c crowd, j *sqlite.Journal) *Console {
	tb.Helper()
	set := c.set(tb)
	book := func() Book { return Book{Set: set} }
	console := must(New(Options{
		Journal: j, Now: func() time.Time { return friday }, Access: Access{Listen: "127.0.0.1:8081"},
		Workspaces: []Workspace{{Name: "default", Location: saoPaulo, Rules: book}, {Name: crowdBranch, Location: saoPaulo, Rules: book}},
	}))
	tb.Cleanup(console.Close)
	return console
}

// get requests a page.
func get(tb testing.TB, c *Console, path string) *timedAnswer {
	tb.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = "localhost"
	w := &timedAnswer{ResponseRecorder: httptest.NewRecorder(), path: path, began: time.Now()}
	c.ServeHTTP(w, r)
	w.took = time.Since(w.began)
	if w.Code != http.StatusOK {
		tb.Errorf("%s: %d %.300s", path, w.Code, w.Body)
	}
	return w
}

// A timedAnswer is an answer with how long it took.
type timedAnswer struct {
	*httptest.ResponseRecorder
	path        string
	began       time.Time
	first, took time.Duration // until its first byte, and until its end
}

func (w *timedAnswer) Write(b []byte) (int, error) {
	if w.first == 0 {
		w.first = time.Since(w.began)
	} else if strings.Contains(w.path, "/export") {
		return 0, http.ErrHandlerTimeout // its first part is enough
	}
	return w.ResponseRecorder.Write(b)
}

// TestManyPages requests every page of a desk with many events, runs and rules, and prints how long
// each takes, on the clock and of the processor.
func TestManyPages(t *testing.T) {
	if *crowdEvents == 0 {
		t.Skip("make pages measures it; TestBoundedPages bounds what pages read")
	}
	file := *crowdJournal
	if file == "" {
		file = filepath.Join(t.TempDir(), "quando.db")
	}
	c := crowd{events: *crowdEvents, rules: *crowdRules, unfinished: *crowdWaiting, failed: 300}
	j := must(sqlite.Open(t.Context(), file, sqlite.Options{}))
	t.Cleanup(func() { _ = j.Close() })
	c.fill(t, j)
	console := newCrowdConsole(t, c, j)
	fmt.Fprintf(os.Stderr, "%-48s %10s %10s %10s %10s\n", "page", "median ms", "95% ms", "cpu ms", "bytes")
	for _, path := range c.paths(t, j) {
		if *crowdOnly != "" && !strings.Contains(path[0], *crowdOnly) {
			continue
		}
		var times []time.Duration
		size := 0
		began := processorTime()
		for range 20 {
			w := get(t, console, path[1])
			took := w.took
			if strings.Contains(path[1], "/export") {
				took = w.first
			}
			times, size = append(times, took), w.Body.Len()
		}
		slices.Sort(times)
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		fmt.Fprintf(os.Stderr, "%-48s %10.1f %10.1f %10.1f %10d\n", path[0], ms(times[len(times)/2]), ms(times[len(times)*19/20]), ms(processorTime()-began)/float64(len(times)), size)
	}
}

// processorTime is what the process has used so far.
func processorTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
