package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// killing kills a desk under load repeatedly, and checks its account: the client retries until
// there is an answer, as the service does.
func (b *bench) killing(ctx context.Context) error {
	d, err := b.newDesk(ruleFiles{"rules.yaml": twoCalls})
	if err != nil {
		return err
	}
	defer d.remove()
	b.service.reset()
	d.timeout = "1s" // a call that may be under way is left alone for so long
	if err := d.start(ctx); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(b.seed, 1))
	type outcome struct {
		loaded
		err error
	}
	over := make(chan outcome, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	length := time.Duration(b.scale.kills) * (b.scale.duration + 300*time.Millisecond)
	go func() {
		out, err := load{to: d.to, connections: b.scale.busy(), duration: length, next: &d.next, again: true}.run(ctx)
		over <- outcome{out, err}
	}()
	for i := range b.scale.kills {
		time.Sleep(b.scale.duration/4 + time.Duration(random.Int64N(int64(b.scale.duration)/2)))
		d.kill()
		if err := d.start(ctx); err != nil {
			return err
		}
		b.printProgress("killed %d of %d times", i+1, b.scale.kills)
	}
	out := <-over
	if out.err != nil {
		return out.err
	}
	if err := d.drained(ctx); err != nil {
		return err
	}
	n := int(d.next.Load())
	effects, double := b.service.count()
	name := fmt.Sprintf("killed %d times", b.scale.kills)
	b.add(name+": acknowledged", "events", []float64{float64(n)}, nil, "")
	b.add(name+": effects, two for each", "effects", []float64{float64(effects)}, nil, "")
	b.add(name+": effects that are missing", "effects", []float64{float64(2*n - effects)}, nil, "")
	b.add(name+": effects that came twice", "effects", []float64{float64(double)}, nil, "")
	b.add(name+": calls that were repeated, with the same key", "calls", []float64{float64(b.service.repeats.Load())}, nil, "")
	return b.settle(ctx, d, n, n, "ab")
}
