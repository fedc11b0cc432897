package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// A walk takes the steps of a run, from the first: those that have come to their end are only
// remembered, so a resumed run goes the same way that it went before.
type walk struct {
	*visit
	run   *journal.Run
	rule  *rules.Rule
	facts *facts
	eval  *rules.Evaluation

	steps   map[string]*journal.Step // that were reached before, by path
	passed  map[string]int           // how many items of a for_each are over for good, by its path
	results map[string]any           // by step id
	names   map[string]any           // of results, of set and of for_each
	indexes []int                    // of the for_each loops that the walk is in
	ended   time.Time                // when the last step came to its end
	last    question                 // what a wait_for that comes next waits for an answer to
	failed  error                    // of the step's last call, while it is remembered
	latest  time.Time                // when the call that is about to be made must be over, by this machine's clock
}

// noResults are the results of a walk before there are any. Nothing is put into them.
var noResults = map[string]any{}

// A flow says how a walk goes on after a step.
type flow int

const (
	onward flow = iota
	parked      // the run has something to wait for
	over        // the run is finished
)

// walk takes a run as far as it can go now. The facts are those of its event; nil makes them anew.
func (v *visit) walk(ctx context.Context, r *journal.Run, f *facts) error {
	fresh := f != nil
	rule, err := v.ruleOf(ctx, r)
	if err != nil {
		return err
	}
	if rule == nil {
		v.finish(r, journal.FailedRun, phrases.New(phrases.VersionUnreadable))
		return nil
	}
	if v.engine.holdOn(r.Workspace, r.Rule, r.Lane) != nil {
		v.hold(r)
		return nil
	}
	if f == nil {
		events, err := v.eventsOf(ctx, append([]int64{r.Event}, r.Gathered...)...)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			v.finish(r, journal.FailedRun, phrases.New(phrases.EventGone))
			return nil
		}
		f = v.factsOf(events[0])
		f.gathered, f.about = events[1:], &r.About
		f.run, f.trigger = r, f.event
	}
	k := &walk{visit: v, run: r, rule: rule, facts: f, results: noResults}
	if len(r.Steps) > 0 {
		k.steps = make(map[string]*journal.Step, len(r.Steps))
	}
	for _, s := range r.Steps {
		k.steps[s.Path] = s
	}
	k.passed = passedItems(r.Steps)
	k.eval, v.evaluation = v.evaluate(ctx, rule, f), nil // nobody else may use it before the walk is over
	defer func() { v.evaluation = k.eval }()
	k.eval.Set("steps", k.results)
	if fresh || len(r.Steps) == 0 {
		end, err := v.endedBefore(ctx, r, rule, f.event)
		if err == nil {
			err = k.facts.pin(ctx, rule)
		}
		if err != nil {
			return k.setback(ctx, err)
		}
		if end.state != "" {
			v.finish(r, end.state, end.reason)
			return nil
		}
	}
	r.State, r.WakeAt = journal.Running, v.now()
	r.Because(nil)
	v.touch(r)
	switch flow, err := k.take(ctx, rule.Do); {
	case err != nil:
		return err
	case flow == onward:
		v.finish(r, journal.Done, nil)
	}
	if r.ID != 0 && !r.State.Finished() {
		r.Kept = v.keep(r)
	}
	return nil
}

// setback lets a run wait that could not be begun for want of an answer. What is not the desk's is
// returned.
func (k *walk) setback(ctx context.Context, err error) error {
	missing, ok := errors.AsType[*deskError](err)
	if !ok {
		return err
	}
	if halted, err := k.pause(ctx, missing); halted || err != nil {
		k.hold(k.run)
		return err
	}
	if actions.IsDenied(missing) {
		k.deny(missing)
		return nil
	}
	pause, givenUp := patience(missing, k.now().Sub(k.run.StartedAt))
	if givenUp {
		k.finish(k.run, journal.FailedRun, phrases.Of(missing))
		return nil
	}
	k.run.WakeAt = k.now().Add(pause)
	k.touch(k.run)
	return nil
}

// deny holds a run, and no other, until the key may do what it asks for: that is tried again and
// again.
func (k *walk) deny(err error) {
	k.run.State, k.run.WakeAt = journal.Held, k.now().Add(probeEvery)
	k.run.Because(phrases.Of(err))
	k.touch(k.run)
	k.engine.log.Error("a run is held because the key lacks a scope", "workspace", k.run.Workspace, "rule", k.run.Rule, "run", k.run.ID, "error", Discreet(err))
}

// hold stops a run until what stops it is lifted.
func (p *pending) hold(r *journal.Run) {
	r.State, r.WakeAt = journal.Held, time.Time{}
	if h := p.engine.holdOn(r.Workspace, r.Rule, r.Lane); h != nil {
		r.Because(h.Said())
	}
	p.touch(r)
}

// stopped reports whether the run may begin nothing more for now. Its rule alone can be stopped
// too, also between two of its calls.
func (k *walk) stopped() bool {
	if k.visit.stopped() {
		return true
	}
	if k.engine.holdOn(k.run.Workspace, k.run.Rule, k.run.Lane) == nil {
		return false
	}
	k.hold(k.run)
	return true
}

// take takes a list of steps in order.
func (k *walk) take(ctx context.Context, list []*rules.Step) (flow, error) {
	for _, s := range list {
		if flow, err := k.step(ctx, s); flow != onward || err != nil {
			return flow, err
		}
	}
	return onward, nil
}

// note puts what the desk was asked for a step into the step's record. A step that is taken again
// may have been told something else.
func (k *walk) note(rec *record) {
	if rec.Answers == nil {
		rec.Answers = k.facts.asked
	} else {
		maps.Copy(rec.Answers, k.facts.asked)
	}
	k.facts.asked = nil
}

// step takes one step, or remembers what came of it.
func (k *walk) step(ctx context.Context, s *rules.Step) (flow, error) {
	path := k.path(s.Path)
	k.facts.step = path
	taken := k.steps[path]
	if taken == nil {
		if k.settling == k.run || k.stopped() {
			k.touch(k.run)
			return parked, nil
		}
		taken = reach(k.run, &journal.Step{Path: path, Verb: s.Verb, Key: k.run.Key + "/" + path, State: journal.StepOpen})
		put(&k.records, taken, &record{At: k.now()})
	}
	rec, err := k.record(taken)
	if err != nil {
		return over, err
	}
	if taken.State == journal.StepFailed {
		return k.afterFailure(ctx, s, taken, rec)
	}
	if taken.State.Finished() && (taken.State != journal.StepDone || !nests(s)) {
		return onward, k.remember(s, taken, rec)
	}
	if s.If != nil && !rec.Allowed {
		met, err := k.eval.True(s.If)
		if err != nil {
			return k.trouble(ctx, s, taken, rec, err)
		}
		if !met {
			rec.Values = named(k.eval.Values(s.If))
			return k.end(ctx, s, taken, rec, journal.StepSkipped, nil, phrases.New(phrases.If, s.If.Text))
		}
		rec.Allowed = true
	}
	flow, err := k.carryOut(ctx, s, taken, rec)
	if err == nil && len(k.facts.asked) > 0 {
		k.note(rec) // of one that waits for something
		k.touch(k.run, taken)
	}
	return flow, err
}

// carryOut does what a step's verb says.
func (k *walk) carryOut(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	switch s.Verb {
	case "wait", "wait_for":
		return k.wait(ctx, s, taken, rec)
	case "choose", "for_each":
		return k.branch(ctx, s, taken, rec)
	case "stop", "stop_if", "set", "log":
		return k.simple(ctx, s, taken, rec)
	}
	return k.act(ctx, s, taken, rec)
}

// path puts the indexes of loops into a step's path.
func (k *walk) path(path string) string {
	for _, i := range k.indexes {
		path = strings.Replace(path, "[]", fmt.Sprintf("[%d]", i), 1)
	}
	return path
}

// end brings a step to its end.
func (k *walk) end(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, state journal.StepState, value any, reason *phrases.Phrase) (flow, error) {
	raw, err := encode(value)
	if err != nil {
		return k.fail(ctx, s, taken, rec, err)
	}
	taken.State, rec.Reason, rec.Why, rec.Ended = state, reason.String(), reason.Coded(), k.now()
	if !slept(taken) && k.run.Lane == k.run.Home && asks(k.rule) {
		rec.Number = k.engine.journal.Newest()
	}
	k.note(rec)
	k.touch(k.run, taken)
	if value != nil {
		rec.Value = raw
		if survives(value) {
			k.learn(s, taken, rec, value)
			return onward, nil
		}
	}
	return onward, k.remember(s, taken, rec)
}

// remember makes a step's recorded result known to those behind it.
func (k *walk) remember(s *rules.Step, taken *journal.Step, rec *record) error {
	value, err := decode(rec.Value)
	if err == nil {
		k.learn(s, taken, rec, value)
	}
	return err
}

// learn makes a step's result known to those behind it, as it is recorded. What a step that was not
// taken would have given stays what it was.
func (k *walk) learn(s *rules.Step, taken *journal.Step, rec *record, value any) {
	k.ended, k.failed = rec.Ended, nil
	k.last = k.last.next(k.run, s, taken, rec, value, k.steps[k.path(s.Path)] != nil)
	k.forgetAfter(taken)
	if slept(taken) {
		k.facts.passed = k.passWait(rec, idOf(value))
	}
	if s.Verb == "set" {
		values, _ := value.(map[string]any)
		for _, a := range s.Assignment {
			k.name(a.Name, values[a.Name])
		}
		return
	}
	if s.ID != "" {
		if len(k.results) == 0 {
			k.results = make(map[string]any)
			k.eval.Set("steps", k.results)
		}
		k.results[s.ID] = value
		k.name(s.ID, value)
	}
	if s.Schema.Gives != "" {
		k.give(s, taken, value)
	}
}

// give makes a step's result the fact that it becomes, and what it is about the one at hand. A card
// that could be neither found nor created is none: a step behind it must not take the event's own
// for it.
func (k *walk) give(s *rules.Step, taken *journal.Step, value any) {
	fact := s.Schema.Gives
	selects := fact == "card" && s.Schema.Needs != fact
	if value == nil && taken.State != journal.StepDone && !(selects && taken.State == journal.StepFailed) {
		return
	}
	k.facts.set(fact, value)
	k.eval.SetFact(fact, value)
	id := idOf(value)
	switch about := &k.run.About; {
	case fact == "card" && (selects || id != ""):
		about.Card, k.facts.selected, k.facts.cardless = id, true, value == nil
	case fact == "attendance" && id != "":
		about.Attendance = id
	}
}

// forgetAfter makes facts be fetched afresh behind a step that waited, or made a call.
func (k *walk) forgetAfter(taken *journal.Step) {
	switch {
	case slept(taken):
		k.facts.forget()
	case taken.Attempts > 0:
		k.facts.refetch()
		k.facts.stale = true
	default:
		return
	}
	k.eval.Forget()
}

// slept reports whether a step was a wait. One that was skipped was none.
func slept(taken *journal.Step) bool {
	return (taken.Verb == "wait" || taken.Verb == "wait_for") && taken.State != journal.StepSkipped
}

// idOf returns the id of an object; empty where there is none.
func idOf(value any) string {
	object, _ := value.(map[string]any)
	id, _ := object["id"].(string)
	return id
}

// name gives a value the name by which later steps see it.
func (k *walk) name(name string, value any) {
	put(&k.names, name, value)
	k.eval.Set(name, value)
}

// lend gives another evaluation the names that this walk has given.
func (k *walk) lend(eval *rules.Evaluation) {
	eval.Set("steps", k.results)
	for name, value := range k.names {
		eval.Set(name, value)
	}
}

// simple takes a step that only looks or notes.
func (k *walk) simple(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	switch s.Verb {
	case "stop_if":
		met, err := k.eval.True(s.Condition)
		if err != nil {
			return k.trouble(ctx, s, taken, rec, err)
		}
		rec.Values = named(k.eval.Values(s.Condition))
		if _, err := k.end(ctx, s, taken, rec, journal.StepDone, met, nil); err != nil || !met {
			return onward, err
		}
		k.finish(k.run, journal.Stopped, phrases.Text(s.Condition.Text))
		return over, nil
	case "set":
		values := make(map[string]any, len(s.Assignment))
		for _, a := range s.Assignment {
			value, err := k.eval.Render(a.Value)
			if err != nil {
				return k.trouble(ctx, s, taken, rec, err)
			}
			values[a.Name] = value
			k.name(a.Name, value) // the next may use it
		}
		return k.end(ctx, s, taken, rec, journal.StepDone, values, nil)
	}
	args, err := k.render(s)
	if err != nil {
		return k.trouble(ctx, s, taken, rec, err)
	}
	text, _ := args["text"].(string)
	if s.Verb == "stop" {
		text, _ = args["reason"].(string)
	}
	if _, err := k.end(ctx, s, taken, rec, journal.StepDone, nil, phrases.Text(text)); err != nil || s.Verb == "log" {
		return onward, err
	}
	k.finish(k.run, journal.Stopped, phrases.Text(text))
	return over, nil
}

// render works out a step's arguments.
func (k *walk) render(s *rules.Step) (map[string]any, error) {
	args := make(map[string]any, len(s.Args))
	for name, value := range s.Args {
		v, err := k.eval.Render(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		args[name] = v
	}
	return args, nil
}
