package main

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// A contest is a desk measured in rounds, each next to one of the anchor.
type contest struct {
	name        string
	desk        *desk
	connections int
	ours        series
}

// compete measures desks in rounds: first the anchor, then each of them. Everything that was
// delivered is done when it returns.
func (b *bench) compete(ctx context.Context, list ...*contest) (anchor series, err error) {
	for i := range b.scale.rounds {
		if err := b.anchorRound(ctx, &anchor, list[0].connections); err != nil {
			return anchor, err
		}
		for _, c := range list {
			profile := ""
			if i == 0 {
				profile = b.scenario + " " + c.name
			}
			if err := c.desk.round(ctx, &c.ours, c.connections, profile); err != nil {
				return anchor, fmt.Errorf("%s: %w", c.name, err)
			}
		}
		b.printProgress("%s: round %d of %d", list[0].name, i+1, b.scale.rounds)
	}
	return anchor, nil
}

// open starts a desk with these rules and an empty account.
func (b *bench) open(ctx context.Context, files ruleFiles, on disk) (*desk, error) {
	b.service.reset()
	d, err := b.newDesk(files)
	if err != nil {
		return nil, err
	}
	d.disk = on
	if err := d.start(ctx); err != nil {
		d.remove()
		return nil, err
	}
	return d, nil
}

// acknowledge measures how fast deliveries are answered, each after it is on disk. The engine
// decides on them meanwhile.
func (b *bench) acknowledge(ctx context.Context) error {
	for _, n := range b.scale.connections {
		if _, err := b.acknowledgeOn(ctx, n, oneQuestion, namedDisk{connections(n), disk{}}); err != nil {
			return err
		}
	}
	return nil
}

// twelve measures the same with a typical rule set.
func (b *bench) twelve(ctx context.Context) error {
	n := b.scale.busy()
	_, err := b.acknowledgeOn(ctx, n, evaluated{twelveRules, 12, true}, namedDisk{connections(n), disk{}})
	return err
}

// evaluated are rules of which so many are evaluated for each event, and whether each event has its
// own conversation.
type evaluated struct {
	rules    string
	verdicts int
	apart    bool
}

// oneQuestion is a rule that is evaluated for every event.
var oneQuestion = evaluated{nothingMatches, 1, false}

func connections(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}

// A namedDisk is what a case is called and the disk that it has.
type namedDisk struct {
	name string
	on   disk
}

// acknowledgeOn measures acknowledgements on disks, with a desk on each and their rounds in turn.
func (b *bench) acknowledgeOn(ctx context.Context, n int, by evaluated, disks ...namedDisk) ([]*contest, error) {
	var list []*contest
	for _, k := range disks {
		d, err := b.open(ctx, ruleFiles{"rules.yaml": by.rules}, k.on)
		if err != nil {
			return nil, err
		}
		defer d.remove()
		d.to.apart = by.apart
		list = append(list, &contest{name: k.name, desk: d, connections: n})
	}
	anchor, err := b.compete(ctx, list...)
	if err != nil {
		return nil, err
	}
	for _, c := range list {
		b.add(c.name+": acknowledged", "events/s", c.ours.acknowledged, anchor.acknowledged, "")
		b.add(c.name+": acknowledged and decided", "events/s", c.ours.finished, anchor.finished, "")
		b.add(c.name+": processor time", "µs/event", c.ours.processor, anchor.processor, "")
		b.add(c.name+": p99 of the answer", "ms", c.ours.p99, anchor.p99, "")
		if b.shim != "" {
			b.add(c.name+": syncs of the disk", "for each event", c.ours.syncs, nil, "")
			if !c.desk.disk.forgetful && slices.Max(c.ours.syncs) == 0 {
				b.problem("%s: nothing was synced, so nothing is durable", c.name)
			}
		}
		if err := b.settle(ctx, c.desk, int(c.desk.next.Load()), 0, ""); err != nil {
			return nil, err
		}
		if n, err := c.desk.ask(ctx, `SELECT min(json_array_length(verdicts)) FROM events`); err != nil || n != by.verdicts {
			b.problem("%s: an event has %d verdicts, and %d rules are evaluated (%v)", c.name, n, by.verdicts, err)
		}
	}
	return list, nil
}

// disks measures acknowledgements on this machine's disk and on others, with as many connections as
// there can be.
func (b *bench) disks(ctx context.Context) error {
	if b.noShim != nil {
		b.leaveOut("disks other than this one", b.noShim)
		return nil
	}
	const forgetful = "the log is not synced"
	list, err := b.acknowledgeOn(ctx, slices.Max(b.scale.connections), oneQuestion,
		namedDisk{"the log is synced", disk{}},
		namedDisk{forgetful, disk{forgetful: true}},
		namedDisk{"a sync takes 2 ms more", disk{slower: 2 * time.Millisecond}},
		namedDisk{forgetful + ", a sync takes 2 ms more", disk{slower: 2 * time.Millisecond, forgetful: true}})
	if err != nil {
		return err
	}
	b.add("the log is synced: acknowledged", "events/s", list[0].ours.acknowledged, list[1].ours.acknowledged, forgetful)
	return nil
}

// finishRuns measures runs from the delivery to the end.
func (b *bench) finishRuns(ctx context.Context) error {
	for _, c := range []struct{ name, rules, letters string }{{"one call", oneCall, "a"}, {"two calls", twoCalls, "ab"}} {
		if err := b.finishRunsOf(ctx, c.name, ruleFiles{"rules.yaml": c.rules}, c.letters); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) finishRunsOf(ctx context.Context, name string, files ruleFiles, letters string) error {
	d, err := b.open(ctx, files, disk{})
	if err != nil {
		return err
	}
	defer d.remove()
	c := &contest{name: name, desk: d, connections: b.scale.busy()}
	anchor, err := b.compete(ctx, c)
	if err != nil {
		return err
	}
	b.add(name+": finished", "runs/s", c.ours.finished, anchor.acknowledged, "")
	b.add(name+": processor time", "µs/run", c.ours.processor, anchor.processor, "")
	if b.shim != "" {
		b.add(name+": syncs of the disk", "for each run", c.ours.syncs, nil, "")
	}
	n := int(d.next.Load())
	return b.settle(ctx, d, n, n, letters)
}

// latency measures from the start of a delivery to the effect on the service. It also tracks when
// the machine was slow: what is in flight then takes many times as long, in any program.
func (b *bench) latency(ctx context.Context) error {
	const rate = 100
	d, err := b.open(ctx, ruleFiles{"rules.yaml": oneCall}, disk{})
	if err != nil {
		return err
	}
	defer d.remove()
	var p50, p99, steady99, lost, answered, anchor50, anchor99 []float64
	for i := range b.scale.rounds {
		_, out, err := paced{to: b.anchor.to, rate: rate, next: &b.anchorNext, duration: b.scale.latency}.run(ctx)
		if err != nil {
			return err
		}
		anchor50, anchor99 = append(anchor50, milliseconds(percentile(out.delays, 50))), append(anchor99, milliseconds(percentile(out.delays, 99)))
		effects := make(chan effectAt, int(b.scale.latency.Seconds()*rate)+1)
		watch := func(e effect, at time.Time) { effects <- effectAt{e, at} }
		b.service.watch.Store(&watch)
		paceOf := watchPace()
		began, out, err := paced{to: d.to, rate: rate, next: &d.next, duration: b.scale.latency}.run(ctx)
		pace := paceOf()
		if err != nil {
			return err
		}
		if err := d.drained(ctx); err != nil {
			return err
		}
		b.service.watch.Store(nil)
		close(effects)
		var all, steady []time.Duration
		for e := range effects {
			took := e.at.Sub(began[e.event])
			all = append(all, took)
			if !pace.lost(began[e.event], e.at) {
				steady = append(steady, took)
			}
		}
		slices.Sort(all)
		slices.Sort(steady)
		p50, p99 = append(p50, milliseconds(percentile(all, 50))), append(p99, milliseconds(percentile(all, 99)))
		steady99, lost = append(steady99, milliseconds(percentile(steady, 99))), append(lost, 100*pace.share())
		answered = append(answered, milliseconds(percentile(out.delays, 50)))
		b.printProgress("round %d of %d", i+1, b.scale.rounds)
	}
	b.add("to the effect: p50", "ms", p50, anchor50, "the anchor's answer")
	b.add("to the effect: p99", "ms", p99, anchor99, "the anchor's answer")
	b.add("to the effect, while the machine kept its pace: p99", "ms", steady99, nil, "")
	b.add("the machine had lost its pace", "% of the time", lost, nil, "")
	b.add("to the acknowledgement: p50", "ms", answered, anchor50, "the anchor's answer")
	n := int(d.next.Load())
	return b.settle(ctx, d, n, n, "a")
}

type effectAt struct {
	effect
	at time.Time
}

// matching measures the whole way of an event with ever more rules.
func (b *bench) matching(ctx context.Context) error {
	var few []float64
	for _, n := range b.scale.rules {
		d, err := b.open(ctx, manyRules(n), disk{})
		if err != nil {
			return err
		}
		defer d.remove()
		c := &contest{name: fmt.Sprintf("%d rules", n), desk: d, connections: b.scale.busy()}
		anchor, err := b.compete(ctx, c)
		if err != nil {
			return err
		}
		if few == nil {
			few = c.ours.processor
		}
		b.add(c.name+": finished", "runs/s", c.ours.finished, anchor.acknowledged, "")
		b.add(c.name+": processor time", "µs/run", c.ours.processor, few, fmt.Sprintf("%d rules", b.scale.rules[0]))
		events := int(d.next.Load())
		if err := b.settle(ctx, d, events, events, "a"); err != nil {
			return err
		}
		d.remove()
	}
	return nil
}
