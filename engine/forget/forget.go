package forget

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal/stored"
)

// Options say how a person is forgotten. Every zero value works.
type Options struct {
	// Ask asks the engine that uses the journal to cancel a run; nil is that nobody can be asked.
	Ask func(ctx context.Context, run int64) error

	// Wait is how long an engine may take for that: what it is in the middle of comes to its end
	// first. Then runs are cancelled without it.
	Wait time.Duration

	// Now tells the time; nil is this machine's.
	Now func() time.Time

	// Tell is told what is being done; nil is nobody.
	Tell func(what string)

	// Found is called when it is known what there is of the person, before anything is changed; an
	// error ends it there. Nil is nobody.
	Found func(ctx context.Context, t *Trail) error
}

// A Result is what came of forgetting a person.
type Result struct {
	*Trail    `json:"-"`
	Cancelled int `json:"cancelled"` // runs that were not finished
	Changed   int `json:"changed"`   // rows that are others than before
}

const (
	looks    = 20                     // that are taken at most until nothing more comes of an engine's work that was under way
	lookEach = 250 * time.Millisecond // that lies between them
)

// Forget erases what a journal holds of a person. An engine may work on it meanwhile: what that has
// in its hands and records later is erased too.
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
	if t.Empty() && p.Known == nil { // whom another journal knows may still be named in what is about others
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
		if err := t.again(ctx); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// askAll asks for all unfinished runs to be cancelled, and waits until they are. The newest come
// first: those that wait for their turn behind others must not begin when these are cancelled.
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

// again reads what has come since the last look.
func (t *Trail) again(ctx context.Context) error {
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
