package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// A bench is one run of this program: the service, the anchor and what has been measured.
type bench struct {
	scale  scale
	seed   uint64
	keep   bool   // the folders of desks
	folder string // for all files
	root   string // of the repository
	quando string // the program
	shim   string // between it and its disk; empty if there is none
	peers  []string
	told   io.Writer

	profile, profileAddress string

	service    *messenger
	anchor     *anchor
	anchorNext atomic.Uint64

	scenario string // the one that runs
	figures  []figure
	problems []string
	missing  []string // what could not be measured
	noShim   error
}

// prepare builds and starts what every scenario needs.
func (b *bench) prepare(ctx context.Context) (err error) {
	if b.folder, err = os.MkdirTemp(b.folder, "quando-bench"); err != nil {
		return err
	}
	if b.quando == "" {
		b.printProgress("building quando")
		if err := b.build(ctx); err != nil {
			return err
		}
	}
	if b.quando, err = filepath.Abs(b.quando); err != nil {
		return err
	}
	b.shim, b.noShim = buildShim(ctx, b.folder)
	if b.service, err = newMessenger(); err != nil {
		return err
	}
	b.anchor, err = startAnchor(ctx)
	return err
}

// close ends what was started.
func (b *bench) close() {
	if b.anchor != nil {
		b.anchor.stop()
	}
	if b.service != nil {
		_ = b.service.close()
	}
	if !b.keep {
		_ = os.RemoveAll(b.folder)
	}
}

// printProgress prints the progress.
func (b *bench) printProgress(format string, args ...any) {
	fmt.Fprintf(b.told, "%s  %-12s %s\n", time.Now().Format("15:04:05"), b.scenario, fmt.Sprintf(format, args...))
}

// problem notes that an account does not close.
func (b *bench) problem(format string, args ...any) {
	p := b.scenario + ": " + fmt.Sprintf(format, args...)
	b.problems = append(b.problems, p)
	b.printProgress("WRONG: %s", p)
}

// leaveOut notes what could not be measured here. The first line of why is enough for the report.
func (b *bench) leaveOut(what string, why error) {
	b.printProgress("%s: left out: %v", what, why)
	first, _, _ := strings.Cut(why.Error(), "\n")
	b.missing = append(b.missing, fmt.Sprintf("%s, %s: %s", b.scenario, what, first))
}

// A figure is one thing that was measured.
type figure struct {
	Scenario string  `json:"scenario"`
	Case     string  `json:"case"`
	Unit     string  `json:"unit"`
	Value    float64 `json:"value"` // the median of the rounds
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Anchor   float64 `json:"anchor,omitempty"` // the same of the anchor, or of what Against says
	Ratio    float64 `json:"ratio,omitempty"`
	Against  string  `json:"against,omitempty"` // what it is compared with; empty is the anchor
}

// add notes a figure that was measured in several rounds, and what it is compared with.
func (b *bench) add(what, unit string, values, anchor []float64, against string) {
	f := figure{Scenario: b.scenario, Case: what, Unit: unit, Value: median(values), Low: slices.Min(values), High: slices.Max(values), Against: against}
	if len(anchor) > 0 && median(anchor) > 0 {
		f.Anchor = median(anchor)
		f.Ratio = f.Value / f.Anchor
	}
	b.figures = append(b.figures, f)
	b.printProgress("%s", f.line())
}

func (f figure) line() string {
	s := fmt.Sprintf("%s: %s %s", f.Case, number(f.Value), f.Unit)
	if f.Ratio > 0 {
		against := f.Against
		if against == "" {
			against = "the anchor"
		}
		s += fmt.Sprintf(", %s of %s", ratio(f.Ratio), against)
	}
	return s
}

func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}

// A series is a measure's rounds.
type series struct {
	acknowledged []float64 // a second
	finished     []float64 // per second, until nothing was left to do
	processor    []float64 // microseconds of processor time for each event
	syncs        []float64 // for each event
	p50, p99     []float64 // milliseconds from a delivery to its answer
}

// anchorRound loads the anchor.
func (b *bench) anchorRound(ctx context.Context, into *series, connections int) error {
	pid := b.anchor.cmd.Process.Pid
	before := processorTime(pid)
	out, err := load{to: b.anchor.to, connections: connections, duration: b.scale.duration, next: &b.anchorNext}.run(ctx)
	if err != nil {
		return fmt.Errorf("the anchor: %w", err)
	}
	into.addRound(out, out.took, processorTime(pid)-before, 0)
	return nil
}

// round loads a desk, and waits until nothing is left to do.
func (d *desk) round(ctx context.Context, into *series, connections int, profile string) error {
	pid := d.cmd.Process.Pid
	before, synced, began := processorTime(pid), syncs(d.counter()), time.Now()
	watched := d.bench.watch(ctx, profile)
	out, err := load{to: d.to, also: d.also, connections: connections, duration: d.bench.scale.duration, next: &d.next}.run(ctx)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, d.log())
	}
	if err := d.drained(ctx); err != nil {
		return err
	}
	into.addRound(out, time.Since(began), processorTime(pid)-before, syncs(d.counter())-synced)
	return <-watched
}

func (s *series) addRound(out loaded, total, processor time.Duration, synced uint64) {
	n := float64(out.events())
	s.acknowledged = append(s.acknowledged, out.perSecond())
	s.finished = append(s.finished, n/total.Seconds())
	s.processor = append(s.processor, float64(processor.Microseconds())/n)
	s.syncs = append(s.syncs, float64(synced)/n)
	s.p50 = append(s.p50, milliseconds(percentile(out.delays, 50)))
	s.p99 = append(s.p99, milliseconds(percentile(out.delays, 99)))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// settle checks the account of a desk: every acknowledged event is recorded and decided, every run
// is done, and every call had its effect once. The letters are those of the calls per event.
func (b *bench) settle(ctx context.Context, d *desk, acknowledged, runs int, letters string) error {
	if err := d.drained(ctx); err != nil {
		return err
	}
	t, err := d.tally(ctx)
	if err != nil {
		return err
	}
	if t.events != acknowledged || t.undecided != 0 {
		b.problem("%d events were acknowledged; the journal has %d, %d of them undecided", acknowledged, t.events, t.undecided)
	}
	if t.runs != runs || t.dones != runs {
		b.problem("%d runs are due; the journal has %d, %d of them done", runs, t.runs, t.dones)
	}
	effects, double := b.service.count()
	if want := runs * len(letters); effects != want || double != 0 {
		b.problem("%d effects are due; the service has %d, %d of them more than once", want, effects, double)
	}
	for n := uint64(1); n <= uint64(runs); n++ {
		for _, letter := range []byte(letters) {
			if !b.service.has(effect{n, letter}) {
				b.problem("event %d had no effect", n)
				return nil
			}
		}
	}
	return nil
}
