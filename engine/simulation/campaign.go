package simulation

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"
)

// A Campaign plays many desks.
type Campaign struct {
	From, Seeds uint64
	Store       *Store
	Postgres    uint64        // every so many seeds run in PostgreSQL too, and all with several engines; 0 is none
	Most        int           // failures after which it ends; 0 is after all seeds
	Shrink      int           // tries to shrink a failure; 0 reports it as it is
	Patience    time.Duration // how long a desk may take, or it is a failure; 0 is as long as it likes
	Progress    func(done uint64, failures []Failure)
}

// A Report is the result of a campaign.
type Report struct {
	Seeds, Plays, Crashes int
	Days                  float64 // that desks lived, all plays together
	Took                  time.Duration
	Coverage              Coverage
	Fingerprint           string // of all histories
	Failures              []Failure
}

// A Failure is a desk on which a law was broken.
type Failure struct {
	Scenario *Scenario
	Broken   []string
	Shrunk   *Scenario // the smallest desk on which the same law is broken
	Expected []Effect  // what the reference says of that
}

// lawEnd is broken by a desk that does not end.
const lawEnd = "end"

// Law returns which law was broken first.
func (f *Failure) Law() string { return law(f.Broken) }

func law(broken []string) string {
	if len(broken) == 0 {
		return ""
	}
	name, _, _ := strings.Cut(broken[0], ":")
	return name
}

// An examination is a desk that was played in every way that it can be judged by.
type examination struct {
	broken   []string
	days     float64
	plays    int
	crashes  int
	coverage Coverage
	digest   [sha256.Size]byte
}

// Examine plays a desk undisturbed in memory, then in SQLite with everything that goes wrong on it,
// and judges both. With shared it is played in PostgreSQL too, both ways.
func Examine(ctx context.Context, s *Scenario, store *Store, shared bool) ([]string, error) {
	x, err := examine(ctx, s, store, shared)
	if err != nil {
		return nil, err
	}
	return x.broken, nil
}

func examine(ctx context.Context, s *Scenario, store *Store, shared bool) (*examination, error) {
	x := &examination{coverage: Coverage{}}
	hash := sha256.New()
	sets, err := s.compile()
	if err != nil {
		return nil, err
	}
	play := func(o Options) (*Outcome, error) {
		o.Store, o.sets = store, sets
		out, err := Play(ctx, s, o)
		if err != nil {
			return nil, err
		}
		x.plays++
		x.days += s.Length.Hours() / 24
		x.crashes += out.Crashes
		for k, n := range out.Coverage {
			x.coverage[k] += n
		}
		raw, err := json.Marshal(out.History)
		if o.Journal != Postgres {
			fmt.Fprintf(hash, "%s\n%s\n%s\n", raw, out.Journal, out.Failure)
		}
		for _, law := range Ledger(s, out) {
			x.broken = append(x.broken, fmt.Sprintf("%s [%s]", law, o))
		}
		return out, err
	}
	calm, err := play(Options{Journal: Memory, Calm: true})
	if err != nil {
		return nil, err
	}
	if exact, _ := Comparable(s); exact {
		x.broken = append(x.broken, AsExpected(s, calm)...)
	}
	played, err := play(Options{Journal: SQLite, Calm: len(s.Troubles) == 0})
	if err != nil {
		return nil, err
	}
	switch {
	case len(s.Troubles) == 0:
		x.broken = append(x.broken, Alike(calm, played, SQLite)...)
	case s.Exact:
		x.broken = append(x.broken, Same(s, calm, played)...)
	}
	if shared {
		if played, err = play(Options{Journal: Postgres, Calm: true}); err != nil {
			return nil, err
		}
		x.broken = append(x.broken, Alike(calm, played, Postgres)...)
		if played, err = play(Options{Journal: Postgres}); err != nil {
			return nil, err
		}
		if s.Exact {
			x.broken = append(x.broken, Same(s, calm, played)...)
		}
	}
	hash.Sum(x.digest[:0])
	return x, nil
}

// examine examines a desk. One that does not end is left to itself, so that others are played.
func (c *Campaign) examine(ctx context.Context, s *Scenario, shared bool) (*examination, error) {
	if c.Patience <= 0 {
		return examine(ctx, s, c.Store, shared)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var x *examination
	ended := make(chan error, 1)
	go func() {
		var err error
		x, err = examine(ctx, s, c.Store, shared)
		ended <- err
	}()
	select {
	case err := <-ended:
		return x, err
	case <-time.After(c.Patience):
		return &examination{broken: []string{fmt.Sprintf("%s: the desk has not ended after %s", lawEnd, c.Patience)}, coverage: Coverage{}}, nil
	}
}

// engines is how many engines share the journal, where they can.
func (s *Scenario) engines() (n int) {
	for _, t := range s.Troubles {
		if t.Kind == TroubleEngines {
			n = max(n, t.More)
		}
	}
	return n
}

// String says how a desk is played.
func (o Options) String() string {
	if o.Calm {
		return string(o.Journal) + ", undisturbed"
	}
	return string(o.Journal)
}

// Alike returns the first difference between two journals of the same scenario.
func Alike(a, b *Outcome, kind Kind) []string {
	one, other := strings.Split(a.Journal, "\n"), strings.Split(b.Journal, "\n")
	for i := range max(len(one), len(other)) {
		var x, y string
		if i < len(one) {
			x = one[i]
		}
		if i < len(other) {
			y = other[i]
		}
		if x != y {
			at := 0
			for at < len(x) && at < len(y) && x[at] == y[at] {
				at++
			}
			return []string{fmt.Sprintf("journals: %.90s: memory tells …%.160s, %s tells …%.160s", x, x[max(0, at-20):], kind, y[max(0, at-20):])}
		}
	}
	return nil
}

// Run plays the campaign's desks, as many at a time as there are processors.
func (c *Campaign) Run(ctx context.Context) (*Report, error) {
	began := time.Now()
	r := &Report{Coverage: Coverage{}}
	digests := make([][sha256.Size]byte, c.Seeds)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var mu sync.Mutex
	var next, done uint64
	var failed error
	take := func() (uint64, bool) {
		mu.Lock()
		defer mu.Unlock()
		if next == c.Seeds || ctx.Err() != nil {
			return 0, false
		}
		next++
		return next - 1, true
	}
	work := func() {
		for i, more := take(); more; i, more = take() {
			s := Generate(c.From + i)
			x, err := c.examine(ctx, s, c.Postgres > 0 && (i%c.Postgres == 0 || s.engines() > 1))
			mu.Lock()
			if err != nil {
				if ctx.Err() == nil {
					failed = fmt.Errorf("seed %d: %w", s.Seed, err)
				}
				cancel()
				mu.Unlock()
				return
			}
			done++
			r.Seeds, r.Plays, r.Crashes, r.Days = r.Seeds+1, r.Plays+x.plays, r.Crashes+x.crashes, r.Days+x.days
			for k, n := range x.coverage {
				r.Coverage[k] += n
			}
			digests[i] = x.digest
			if len(x.broken) > 0 {
				r.Failures = append(r.Failures, Failure{Scenario: s, Broken: x.broken})
				if c.Most > 0 && len(r.Failures) >= c.Most {
					cancel()
				}
			}
			if c.Progress != nil {
				c.Progress(done, r.Failures)
			}
			mu.Unlock()
		}
	}
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(work)
	}
	workers.Wait()
	if failed != nil {
		return nil, failed
	}
	slices.SortFunc(r.Failures, func(a, b Failure) int { return int(int64(a.Scenario.Seed - b.Scenario.Seed)) })
	if c.Shrink > 0 {
		for i := range r.Failures {
			c.shrink(context.WithoutCancel(ctx), &r.Failures[i])
		}
	}
	hash := sha256.New()
	for _, d := range digests {
		hash.Write(d[:])
	}
	r.Fingerprint, r.Took = hex.EncodeToString(hash.Sum(nil)), time.Since(began)
	return r, nil
}

// shrink finds the smallest desk on which the same law is broken.
func (c *Campaign) shrink(ctx context.Context, f *Failure) {
	if f.Law() == lawEnd {
		return // every try would take as long
	}
	shared := strings.Contains(f.Broken[0], string(Postgres))
	f.Shrunk = Shrink(f.Scenario, func(s *Scenario) bool {
		broken, err := Examine(ctx, s, c.Store, shared)
		return err == nil && law(broken) == f.Law()
	}, c.Shrink)
	if calm, err := Play(ctx, f.Shrunk, Options{Journal: Memory, Calm: true, Store: c.Store}); err == nil {
		f.Expected = Expect(f.Shrunk, &calm.History)
	}
}

// Write prints the report.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "%d seeds, %d plays, %.0f desk-days, %d crashes in %s: %.1f seeds a second, %.0f desk-days a minute\n",
		r.Seeds, r.Plays, r.Days, r.Crashes, r.Took.Round(time.Second), float64(r.Seeds)/r.Took.Seconds(), r.Days/r.Took.Minutes())
	r.Coverage.write(w)
	for i := range r.Failures {
		f := &r.Failures[i]
		fmt.Fprintf(w, "seed %d: %s\n", f.Scenario.Seed, f.Broken[0])
	}
	fmt.Fprintf(w, "%d differences\nfingerprint %s\n", len(r.Failures), r.Fingerprint)
}

// write prints how often each trouble struck what.
func (c Coverage) write(w io.Writer) {
	var rows, columns []string
	for _, k := range slices.Collect(maps.Keys(c)) {
		if !slices.Contains(rows, k[0]) {
			rows = append(rows, k[0])
		}
		if !slices.Contains(columns, k[1]) {
			columns = append(columns, k[1])
		}
	}
	slices.Sort(rows)
	slices.Sort(columns)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\t%s\t\n", strings.Join(columns, "\t"))
	for _, row := range rows {
		fmt.Fprintf(table, "%s\t", row)
		for _, column := range columns {
			if n := c[[2]string{row, column}]; n > 0 {
				fmt.Fprintf(table, "%d", n)
			}
			fmt.Fprint(table, "\t")
		}
		fmt.Fprintln(table)
	}
	_ = table.Flush() // the reader may be gone
}
