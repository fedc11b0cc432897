package rulescmd

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/ruletest"
	"github.com/quandohq/quando/rules"
)

// An outcome is what came of a trial.
type outcome struct {
	ruletest.Result
	workspace string // empty if there is only one
	took      time.Duration
}

// errFailed ends a run of tests after the first failure.
var errFailed = errors.New("a test failed")

// A trialRunner runs tests, several at once: stories have nothing to do with each other.
type trialRunner struct {
	workers  int
	faults   bool
	failFast bool
	progress func() // is told of every telling
}

// run runs the tests and hands each outcome to tell, in the order of the tests. It returns what
// came of those that were run. The error is that of a test that could not be run, or ctx's.
func (r *trialRunner) run(ctx context.Context, trials []*trial, tell func(*outcome)) ([]*outcome, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	type finished struct {
		i   int
		out *outcome
	}
	next, done := make(chan int), make(chan finished)
	go func() {
		defer close(next)
		for i := range trials {
			select {
			case next <- i:
			case <-ctx.Done():
				return
			}
		}
	}()
	var workers sync.WaitGroup
	for range r.workers {
		workers.Go(func() {
			for i := range next {
				if out := r.try(ctx, stop, trials[i]); out != nil {
					done <- finished{i, out}
				}
			}
		})
	}
	go func() {
		workers.Wait()
		close(done)
	}()
	all := make([]*outcome, len(trials))
	told := 0
	for f := range done {
		all[f.i] = f.out
		for told < len(all) && all[told] != nil {
			tell(all[told])
			told++
		}
	}
	// What was given up leaves gaps.
	outcomes := all[:told:told]
	for _, out := range all[told:] {
		if out != nil {
			tell(out)
			outcomes = append(outcomes, out)
		}
	}
	if err := context.Cause(ctx); err != nil && !errors.Is(err, errFailed) {
		return outcomes, err
	}
	return outcomes, nil
}

// try runs one test; nil is one that did not come to its end.
func (r *trialRunner) try(ctx context.Context, stop context.CancelCauseFunc, t *trial) *outcome {
	began := time.Now()
	o := ruletest.Options{Set: t.set, Media: t.media, NoFaults: !r.faults, Progress: func(*rules.Test, string) { r.progress() }}
	if w := t.settings; w != nil {
		o.Location, o.People, o.Systems = w.Timezone, w.People, systems(w)
		o.Safety = rules.TestSafety{PerConversation: w.Safety.MessagesPerConversation, Messages: w.Safety.Messages, Internal: w.Safety.Internal}
	}
	result, err := ruletest.Run(ctx, o, t.test)
	switch {
	case ctx.Err() != nil:
		return nil
	case err != nil:
		stop(err)
		return nil
	case !result.OK && r.failFast:
		stop(errFailed)
	}
	return &outcome{Result: result, workspace: t.workspace, took: time.Since(began)}
}
