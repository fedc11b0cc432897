package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"
)

// seeded prepares a desk whose journal holds copies of what one event left, and which does not run.
func (b *bench) seeded(ctx context.Context, rules string, paused bool, g growth) (*desk, int, error) {
	d, err := b.open(ctx, ruleFiles{"rules.yaml": rules}, disk{})
	if err != nil {
		return nil, 0, err
	}
	rows, err := d.seed(ctx, paused, g)
	if err != nil {
		d.remove()
		return nil, 0, err
	}
	b.printProgress("a journal of %d rows, %d MB", rows, d.size()>>20)
	return d, rows, nil
}

// seed sends one event through the desk, stops it, and multiplies the rows of the event.
func (d *desk) seed(ctx context.Context, paused bool, g growth) (int, error) {
	if paused {
		// A pause is seen within a moment by an engine that runs, and at once by one that starts.
		if err := errors.Join(d.stop(), d.command(ctx, "pause"), d.start(ctx)); err != nil {
			return 0, err
		}
	}
	if _, err := (load{to: d.to, connections: 1, events: 1, next: &d.next}).run(ctx); err != nil {
		return 0, err
	}
	for !paused {
		over, err := d.ask(ctx, `SELECT NOT EXISTS (SELECT 1 FROM events WHERE decided = 0) AND NOT EXISTS (SELECT 1 FROM runs WHERE state NOT IN ('done', 'waiting'))`)
		if err != nil {
			return 0, err
		}
		if over == 1 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if err := d.stop(); err != nil {
		return 0, err
	}
	soon := time.Now().Add(5 * time.Second)
	g.file, g.first = d.journal(), d.next.Load()+1
	g.progress = func(done, all int) {
		if time.Now().After(soon) {
			d.bench.printProgress("%d of %d events are written", done, all)
			soon = time.Now().Add(5 * time.Second)
		}
	}
	rows, err := g.grow(ctx)
	if err != nil {
		return 0, err
	}
	d.next.Add(uint64(g.copies))
	if paused {
		err = d.command(ctx, "resume")
	}
	return rows, err
}

// command runs a quando command beside the engine.
func (d *desk) command(ctx context.Context, name string) error {
	out, err := exec.CommandContext(ctx, d.bench.quando, name, "--config", filepath.Join(d.folder, "quando.yaml")).CombinedOutput()
	if err != nil {
		return fmt.Errorf("quando %s: %w\n%s", name, err, out)
	}
	return nil
}

// firstAnswer starts the desk and returns how long it took until an event was acknowledged.
func (d *desk) firstAnswer(ctx context.Context) (time.Duration, error) {
	began := time.Now()
	if err := d.launch(ctx); err != nil {
		return 0, err
	}
	c, err := d.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer c.close()
	err = load{}.deliver(ctx, c, d.next.Add(1))
	return time.Since(began), err
}

// backlog measures how a desk works off events that arrived while it was stopped.
func (b *bench) backlog(ctx context.Context) error {
	d, _, err := b.seeded(ctx, oneCall, true, growth{copies: b.scale.backlog - 1, lanes: conversations})
	if err != nil {
		return err
	}
	defer d.remove()
	var anchor series
	if err := b.anchorRound(ctx, &anchor, b.scale.busy()); err != nil {
		return err
	}
	began := time.Now()
	if err := d.start(ctx); err != nil {
		return err
	}
	pid := d.cmd.Process.Pid
	watched := b.watch(ctx, "backlog")
	if err := d.drained(ctx); err != nil {
		return err
	}
	took, busy := time.Since(began), processorTime(pid)
	if err := <-watched; err != nil {
		return err
	}
	_, most := memory(pid)
	name := fmt.Sprintf("%d events, one call each", b.scale.backlog)
	b.add(name+": finished", "runs/s", []float64{float64(b.scale.backlog) / took.Seconds()}, anchor.acknowledged, "")
	b.add(name+": processor time", "µs/run", []float64{float64(busy.Microseconds()) / float64(b.scale.backlog)}, anchor.processor, "")
	b.add(name+": memory at most", "MB", []float64{megabytes(most)}, nil, "")
	return b.settle(ctx, d, b.scale.backlog, b.scale.backlog, "a")
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

// waiting compares a desk with many waiting runs with one that has a single one.
func (b *bench) waiting(ctx context.Context) error {
	var memories, starts [2][]float64
	for i, n := range []int{1, b.scale.waiting} {
		d, _, err := b.seeded(ctx, waits, false, growth{copies: n - 1, lanes: max(n, conversations)})
		if err != nil {
			return err
		}
		defer d.remove()
		for range b.scale.rounds {
			took, err := d.firstAnswer(ctx)
			if err != nil {
				return err
			}
			time.Sleep(b.scale.duration) // until it is at rest
			now, _ := memory(d.cmd.Process.Pid)
			memories[i], starts[i] = append(memories[i], megabytes(now)), append(starts[i], milliseconds(took))
			if err := d.stop(); err != nil {
				return err
			}
		}
		t, err := d.tally(ctx)
		if err != nil {
			return err
		}
		if want := n + b.scale.rounds; t.events != want || t.unfinished != want {
			b.problem("%d runs should wait; of %d events %d have one", want, t.events, t.unfinished)
		}
		d.remove()
	}
	name := fmt.Sprintf("%d runs wait", b.scale.waiting)
	b.add(name+": memory at rest", "MB", memories[1], memories[0], "one that waits")
	b.add(name+": a start, to the first acknowledgement", "ms", starts[1], starts[0], "one that waits")
	return nil
}

// rowsOfAnEvent is how many rows an event with one call leaves: itself, its run, its step, and two
// events that the call causes.
const rowsOfAnEvent = 5

// rows compares a desk with a large journal with one that has a small one.
func (b *bench) rows(ctx context.Context) error {
	var list []*contest
	var starts [2][]float64
	for i, n := range []int{b.scale.fewRows, b.scale.manyRows} {
		d, rows, err := b.seeded(ctx, oneCall, false, growth{copies: n / rowsOfAnEvent, lanes: conversations, spread: 20 * 24 * time.Hour})
		if err != nil {
			return err
		}
		defer d.remove()
		for range b.scale.rounds {
			took, err := d.firstAnswer(ctx)
			if err != nil {
				return err
			}
			starts[i] = append(starts[i], milliseconds(took))
			if err := d.drained(ctx); err != nil {
				return err
			}
			if err := d.stop(); err != nil {
				return err
			}
		}
		list = append(list, &contest{name: fmt.Sprintf("%d rows", rows), desk: d, connections: b.scale.busy()})
	}
	for _, c := range list {
		if err := c.desk.start(ctx); err != nil {
			return err
		}
	}
	anchor, err := b.compete(ctx, list...)
	if err != nil {
		return err
	}
	few, many := list[0], list[1]
	b.add(few.name+": finished", "runs/s", few.ours.finished, anchor.acknowledged, "")
	b.add(many.name+": finished", "runs/s", many.ours.finished, few.ours.finished, few.name)
	b.add(many.name+": processor time", "µs/run", many.ours.processor, few.ours.processor, few.name)
	b.add(few.name+": a start, to the first acknowledgement", "ms", starts[0], nil, "")
	b.add(many.name+": a start, to the first acknowledgement", "ms", starts[1], starts[0], few.name)
	for _, c := range list {
		t, err := c.desk.tally(ctx)
		if err != nil {
			return err
		}
		if want := int(c.desk.next.Load()); t.events != want || t.undecided != 0 || t.dones != want {
			b.problem("%s: %d events were acknowledged; the journal has %d, %d of them undecided, and %d runs that are done", c.name, want, t.events, t.undecided, t.dones)
		}
	}
	return nil
}

// memory measures a desk at rest and under load, and what an event takes in the file.
func (b *bench) memory(ctx context.Context) error {
	now, most := memory(b.anchor.cmd.Process.Pid)
	if now == 0 {
		b.leaveOut("memory", errors.New("the system does not tell what a process has"))
		return nil
	}
	for _, c := range []struct {
		name, rules, letters string
		runs                 int
	}{{"no call", nothingMatches, "", 0}, {"one call", oneCall, "a", 1}} {
		d, err := b.open(ctx, ruleFiles{"rules.yaml": c.rules}, disk{})
		if err != nil {
			return err
		}
		defer d.remove()
		time.Sleep(b.scale.duration) // until it is at rest
		rest, _ := memory(d.cmd.Process.Pid)
		var ours series
		if err := d.round(ctx, &ours, b.scale.busy(), ""); err != nil {
			return err
		}
		_, busy := memory(d.cmd.Process.Pid)
		events := int(d.next.Load())
		if err := b.settle(ctx, d, events, events*c.runs, c.letters); err != nil {
			return err
		}
		if err := d.stop(); err != nil {
			return err
		}
		b.add(c.name+": memory at rest", "MB", []float64{megabytes(rest)}, []float64{megabytes(now)}, "")
		b.add(c.name+": memory under load, at most", "MB", []float64{megabytes(busy)}, []float64{megabytes(most)}, "")
		b.add(c.name+": the journal", "bytes/event", []float64{float64(d.size()) / float64(events)}, []float64{float64(bodySize())}, "the delivery's body")
		d.remove()
	}
	return nil
}
