package builtin_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/quandohq/quando/actions"
)

// A driver carries a step out as the engine does: it records each intent before and each receipt
// after a call, and after any failure it settles before it repeats. Everything recorded goes
// through JSON, as through a journal.
type driver struct {
	*desk
	action actions.Action
	step   actions.Step

	crash func(point string, n int) bool // at the n-th intent, from 1: after "intent" or after "do"

	intents []actions.Intent
	settled []actions.Verdict
	errs    []error
}

func (d *desk) drive(verb string, step actions.Step) *driver {
	d.t.Helper()
	a := d.registry.Action(verb)
	if a == nil {
		d.t.Fatalf("there is no verb %q", verb)
	}
	return &driver{desk: d, action: a, step: step, crash: func(string, int) bool { return false }}
}

// do runs a step to its end, which must not be an error.
func (d *desk) do(verb string, args map[string]any) actions.Result {
	d.t.Helper()
	result, err := d.drive(verb, d.step(args)).run()
	if err != nil {
		d.t.Fatalf("%s: %v", verb, err)
	}
	return result
}

// unknown is the outcome of a step that a person must decide.
const unknown actions.Outcome = "uncertain"

func (d *driver) run() (actions.Result, error) {
	var open *actions.Intent
	made := false // whether the intent's first attempt may have been made
	for range 100 {
		if open == nil {
			next, err := d.action.Plan(context.Background(), d.now())
			if err != nil {
				if stop := d.wait(err); stop {
					return actions.Result{}, err
				}
				continue
			}
			if next.Result != nil {
				return *next.Result, nil
			}
			open, made = throughJSON(next.Intent), false
			d.intents = append(d.intents, *open)
			if d.crash("intent", len(d.intents)) {
				made = true
				d.step.Failed = nil
				continue
			}
		}
		if made {
			end, again, err := d.settle(&open)
			if end != nil || err != nil {
				return *end, err
			}
			if !again {
				continue
			}
		}
		made = true
		r, err := d.action.Do(context.Background(), d.now(), *open)
		d.step.Failed = err
		if d.crash("do", len(d.intents)) {
			d.step.Failed = nil
			d.clock.Advance(11 * time.Second)
			continue
		}
		switch {
		case err == nil:
			d.receive(r)
			open = nil
		case actions.IsStale(err):
			d.errs = append(d.errs, err)
			d.step.Generation++
			open = nil
		default:
			if stop := d.wait(err); stop {
				return actions.Result{}, err
			}
		}
	}
	return actions.Result{}, fmt.Errorf("the step does not come to an end: %v", d.errs)
}

// settle lets the action find out what became of a call. It returns the end of the step, or whether
// to make the call again.
func (d *driver) settle(open **actions.Intent) (end *actions.Result, again bool, err error) {
	s, err := d.action.Settle(context.Background(), d.now(), **open)
	if err != nil {
		if stop := d.wait(err); stop {
			return &actions.Result{}, false, err
		}
		return nil, false, nil
	}
	d.settled = append(d.settled, s.Verdict)
	switch s.Verdict {
	case actions.Repeat:
		return nil, true, nil
	case actions.Happened:
		d.receive(s.Receipt)
		*open = nil
	case actions.Replan:
		d.step.Generation++
		*open = nil
	case actions.Overtook:
		return &actions.Result{Outcome: actions.Superseded, Why: s.Why}, false, nil
	default:
		return &actions.Result{Outcome: unknown, Why: s.Why}, false, nil
	}
	return nil, false, nil
}

// receive records a receipt as JSON and, like a journal, beside it the events that the call caused.
func (d *driver) receive(r actions.Receipt) {
	recorded := *throughJSON(&r)
	recorded.Caused = r.Caused
	d.step.Receipts = append(d.step.Receipts, recorded)
}

// wait keeps an error and advances the clock by the delay that it asks for; it reports whether the
// step has failed for good.
func (d *driver) wait(err error) (stop bool) {
	d.errs = append(d.errs, err)
	d.clock.Advance(max(11*time.Second, actions.Wait(err), actions.StepWait(err)))
	return actions.IsPermanent(err)
}

// now returns the present state of the step, at this time.
func (d *driver) now() *actions.Step {
	s := d.step
	s.Now = d.clock.Now()
	return &s
}

// throughJSON encodes and decodes a value.
func throughJSON[T any](v *T) *T {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	out := new(T)
	if err := json.Unmarshal(raw, out); err != nil {
		panic(err)
	}
	return out
}
