package forget

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal/stored"
)

// Options configure the erasure. Every zero value works.
type Options struct {
	// Ask asks the engine that uses the journal to cancel a run; nil if there is none.
	Ask func(ctx context.Context, run int64) error

	// Wait is how long an engine may take for that: it finishes its current step first. Then runs are
	// cancelled without it.
	Wait time.Duration

	// Now is the clock; nil is the real one.
	Now func() time.Time

	// Tell is called with each stage; may be nil.
	Tell func(what string)

	// Found is called after the search, before anything is changed; an error stops there. May be nil.
	Found func(ctx context.Context, t *Trail) error
}

// A Result is the result of an erasure.
type Result struct {
	*Trail    `json:"-"`
	Cancelled int `json:"cancelled"` // runs that were not finished
	Changed   int `json:"changed"`   // rows that are others than before
}

const (
	looks    = 20                     // passes at most until an engine's work in progress adds nothing more
	lookEach = 250 * time.Millisecond // that lies between them
)

// Forget erases what a journal holds of a person. An engine may use the journal meanwhile: what it
// records later is erased too.
func Forget(ctx context.Context, k stored.Keeper, p Person, o Options) (*Result, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Tell == nil {
		o.Tell = func(string) {}
	}
	o.Tell("looking for the person")
	t, err := Find(ctx, k, p)
	if err != nil {
		return nil, err
	}
	r := &Result{Trail: t, Cancelled: len(t.open)}
	if t.Empty() && p.Known == nil { // a person known from another journal may still be named in rows about others
		return r, ErrUnknown
	}
	if o.Found != nil {
		if err := o.Found(ctx, t); err != nil {
			return nil, err
		}
	}
	engine, err := k.Engine(ctx)
	if err != nil {
		return nil, err
	}
	if engine != "" && o.Ask != nil && len(t.open) > 0 {
		o.Tell("asking the engine to cancel what is under way")
		if err := t.askAll(ctx, o); err != nil {
			return nil, err
		}
	}
	o.Tell("erasing")
	for quiet, n := 0, 0; n < looks && quiet < 2; n++ {
		changed, err := t.Erase(ctx, o.Now())
		if err != nil {
			return nil, err
		}
		if r.Changed += changed; changed == 0 {
			quiet++
		} else {
			quiet = 0
		}
		if engine == "" {
			break
		}
		if err := pause(ctx, lookEach); err != nil {
			return nil, err
		}
		if err := t.reread(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// askAll asks the engine to cancel all unfinished runs, and waits until they are. The newest come
// first: queued ones must not begin when those before them are cancelled.
func (t *Trail) askAll(ctx context.Context, o Options) error {
	for _, run := range slices.Backward(t.Open()) {
		if err := o.Ask(ctx, run); err != nil {
			return fmt.Errorf("cancel run %d: %w", run, err)
		}
	}
	for over := time.Now().Add(o.Wait); len(t.open) > 0 && time.Now().Before(over); {
		if err := pause(ctx, lookEach); err != nil {
			return err
		}
		if err := t.readRuns(ctx); err != nil {
			return err
		}
	}
	return nil
}

// reread reads what was added since the last pass.
func (t *Trail) reread(ctx context.Context) error {
	before := t.id.size() + len(t.texts)
	for _, read := range []func(context.Context) error{t.readEvents, t.readRuns, t.readSteps, t.readCaused, t.readKnown} {
		if err := read(ctx); err != nil {
			return fmt.Errorf("look for the person once more: %w", err)
		}
	}
	if t.id.size()+len(t.texts) == before {
		return nil
	}
	return t.settleTerms(ctx)
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
