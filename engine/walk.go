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

// A walk takes the steps of a run, beginning with the first. Of steps that have ended, it only
// restores the results, so a resumed run takes the same way as before.
type walk struct {
	*visit
	run   *journal.Run
	rule  *rules.Rule
	facts *facts
	eval  *rules.Evaluation

	steps        map[string]*journal.Step // steps reached before, by path
	passed       map[string]int           // how many items of a for_each are finished for good, by its path
	results      map[string]any           // by step id
	names        map[string]any           // values of results, of set and of for_each, by name
	indexes      []int                    // of the for_each loops that the walk is in
	ended        time.Time                // when the last step ended
	last         question                 // the question of a wait_for that comes next
	callError    error                    // the error of the step's last call; nil if it is not known
	callDeadline time.Time                // when the next call must be over, by this machine's clock
	taking       *taking                  // the event that a wait_for may take; nil if the walk takes steps
}

// noResults are the results of a walk before there are any. It is never written to.
var noResults = map[string]any{}

// A flow says how a walk continues after a step.
type flow int

const (
	onward flow = iota
	parked      // the run waits for something
	over        // the run is finished
)

// walk takes a run as far as it can go now. f are the facts of its event; nil makes new ones.
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
		v.holdRun(r)
		return nil
	}
	if f == nil {
		if f, err = v.factsOfRun(ctx, r); err != nil {
			return err
		}
		if f == nil {
			v.finish(r, journal.FailedRun, phrases.New(phrases.EventGone))
			return nil
		}
	}
	k := v.newWalk(ctx, r, rule, f)
	defer k.close()
	if fresh || len(r.Steps) == 0 {
		end, err := v.endedBeforeStart(ctx, r, rule, f.event)
		if err == nil {
			err = k.facts.pinAttendance(ctx, rule)
		}
		if err != nil {
			return k.postponeRun(ctx, err)
		}
		if end.state != "" {
			v.finish(r, end.state, end.reason)
			return nil
		}
	}
	r.State, r.WakeAt = journal.Running, v.now()
	r.Because(nil)
	v.touch(r)
	switch flow, err := k.takeSteps(ctx, rule.Do); {
	case err != nil:
		return err
	case flow == onward:
		v.finish(r, journal.Done, nil)
	}
	if r.ID != 0 && !r.State.Finished() {
		r.Kept = v.stepsToKeep(r)
	}
	return nil
}

// factsOfRun returns the facts of the event that a run began with; nil if it has been pruned.
func (v *visit) factsOfRun(ctx context.Context, r *journal.Run) (*facts, error) {
	events, err := v.eventsOf(ctx, append([]int64{r.Event}, r.Gathered...)...)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	f := v.factsOf(events[0])
	f.gathered, f.about = events[1:], &r.About
	f.run, f.trigger = r, f.event
	return f, nil
}

// newWalk returns a walk of a run, before its first step. It has the visit's evaluation for itself
// until it is closed.
func (v *visit) newWalk(ctx context.Context, r *journal.Run, rule *rules.Rule, f *facts) *walk {
	k := &walk{visit: v, run: r, rule: rule, facts: f, results: noResults}
	if len(r.Steps) > 0 {
		k.steps = make(map[string]*journal.Step, len(r.Steps))
	}
	for _, s := range r.Steps {
		k.steps[s.Path] = s
	}
	k.passed = passedItems(r.Steps)
	k.eval, v.evaluation = v.evaluate(ctx, rule, f), nil
	k.eval.Set("steps", k.results)
	return k
}

// close returns the evaluation to the visit.
func (k *walk) close() { k.evaluation = k.eval }

// postponeRun lets a run wait that could not begin because the desk did not answer. It returns any
// other error.
func (k *walk) postponeRun(ctx context.Context, err error) error {
	missing, ok := errors.AsType[*deskError](err)
	if !ok {
		return err
	}
	if halted, err := k.pauseWorkspace(ctx, missing); halted || err != nil {
		k.holdRun(k.run)
		return err
	}
	if actions.IsDenied(missing) {
		k.holdForScope(missing)
		return nil
	}
	pause, givenUp := retryDelay(missing, k.now().Sub(k.run.StartedAt))
	if givenUp {
		k.finish(k.run, journal.FailedRun, phrases.Of(missing))
		return nil
	}
	k.run.WakeAt = k.now().Add(pause)
	k.touch(k.run)
	return nil
}

// holdForScope holds a run, and no other, until the key has the scope that the call needs. The call
// is retried regularly.
func (k *walk) holdForScope(err error) {
	k.run.State, k.run.WakeAt = journal.Held, k.now().Add(probeEvery)
	k.run.Because(phrases.Of(err))
	k.touch(k.run)
	k.engine.log.Error("a run is held because the key lacks a scope", "workspace", k.run.Workspace, "rule", k.run.Rule, "run", k.run.ID, "error", Discreet(err))
}

// holdRun holds a run until the hold on it is lifted.
func (p *pending) holdRun(r *journal.Run) {
	r.State, r.WakeAt = journal.Held, time.Time{}
	if h := p.engine.holdOn(r.Workspace, r.Rule, r.Lane); h != nil {
		r.Because(h.Said())
	}
	p.touch(r)
}

// stopped reports whether the run may begin nothing more for now. There can be a hold on its rule
// alone, also between two of its calls.
func (k *walk) stopped() bool {
	if k.visit.stopped() {
		return true
	}
	if k.engine.holdOn(k.run.Workspace, k.run.Rule, k.run.Lane) == nil {
		return false
	}
	k.holdRun(k.run)
	return true
}

// takeSteps takes a list of steps in order.
func (k *walk) takeSteps(ctx context.Context, list []*rules.Step) (flow, error) {
	for _, s := range list {
		if flow, err := k.step(ctx, s); flow != onward || err != nil {
			return flow, err
		}
	}
	return onward, nil
}

// recordAnswers moves the desk's answers into the record of the step that asked. A step that is
// taken again may have had other answers before.
func (k *walk) recordAnswers(rec *record) {
	if rec.Answers == nil {
		rec.Answers = k.facts.answers
	} else {
		maps.Copy(rec.Answers, k.facts.answers)
	}
	k.facts.answers = nil
}

// step takes one step, or restores its result.
func (k *walk) step(ctx context.Context, s *rules.Step) (flow, error) {
	path := k.path(s.Path)
	k.facts.step = path
	taken := k.steps[path]
	if taken == nil {
		if k.taking != nil {
			return parked, nil
		}
		if k.settling == k.run || k.stopped() {
			k.touch(k.run)
			return parked, nil
		}
		taken = addStep(k.run, &journal.Step{Path: path, Verb: s.Verb, Key: k.run.Key + "/" + path, State: journal.StepOpen})
		put(&k.records, taken, &record{At: k.now()})
	}
	rec, err := k.record(taken)
	if err != nil {
		return over, err
	}
	if taken.State == journal.StepFailed {
		return k.afterFailure(ctx, s, taken, rec)
	}
	if taken.State.Finished() && (taken.State != journal.StepDone || !hasSubsteps(s)) {
		return onward, k.restore(s, taken, rec)
	}
	if s.Off {
		return k.end(ctx, s, taken, rec, journal.StepSkipped, nil, phrases.New(phrases.SwitchedOff))
	}
	if s.If != nil && !rec.Allowed {
		met, err := k.eval.True(s.If)
		if err != nil {
			return k.handleError(ctx, s, taken, rec, err)
		}
		if !met {
			rec.Values = named(k.eval.Values(s.If))
			return k.end(ctx, s, taken, rec, journal.StepSkipped, nil, phrases.New(phrases.If, s.If.Text))
		}
		rec.Allowed = true
	}
	if k.taking != nil && !hasSubsteps(s) {
		if s.Verb == "wait_for" {
			k.take(ctx, s, rec)
		}
		return parked, nil
	}
	flow, err := k.carryOut(ctx, s, taken, rec)
	if err == nil && len(k.facts.answers) > 0 {
		k.recordAnswers(rec) // of a step that waits for something
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

// end ends a step.
func (k *walk) end(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record, state journal.StepState, value any, reason *phrases.Phrase) (flow, error) {
	raw, err := encode(value)
	if err != nil {
		return k.fail(ctx, s, taken, rec, err)
	}
	taken.State, rec.Reason, rec.Why, rec.Ended = state, reason.String(), reason.Coded(), k.now()
	if !slept(taken) {
		k.recordNewest(rec)
	}
	k.recordAnswers(rec)
	k.touch(k.run, taken)
	if value != nil {
		rec.Value = raw
		if roundTrips(value) {
			k.addResult(s, taken, rec, value)
			return onward, nil
		}
	}
	return onward, k.restore(s, taken, rec)
}

// recordNewest records the newest event that is decided at the end of a step in the run's own lane:
// what was decided until then answers no wait_for behind the step. While a step is taken in another
// lane, an answer may come to the run's own.
func (k *walk) recordNewest(rec *record) {
	if k.run.Lane == k.run.Home && hasWaitFor(k.rule) {
		rec.Number = k.newestDecided()
	}
}

// restore makes a step's recorded result available to later steps.
func (k *walk) restore(s *rules.Step, taken *journal.Step, rec *record) error {
	value, err := decode(rec.Value)
	if err == nil {
		k.addResult(s, taken, rec, value)
	}
	return err
}

// addResult makes a step's result available to later steps, as it is recorded. A step that was not
// taken does not change the fact that its result would become.
func (k *walk) addResult(s *rules.Step, taken *journal.Step, rec *record, value any) {
	k.ended, k.callError = rec.Ended, nil
	k.last = k.last.next(k, s, taken, rec, value, k.steps[k.path(s.Path)] != nil)
	k.invalidateFacts(taken)
	if slept(taken) {
		k.facts.passed = k.passedAfter(rec, idOf(value))
	}
	if s.Verb == "set" {
		values, _ := value.(map[string]any)
		for _, a := range s.Assignment {
			k.setName(a.Name, values[a.Name])
		}
		return
	}
	if s.ID != "" {
		if len(k.results) == 0 {
			k.results = make(map[string]any)
			k.eval.Set("steps", k.results)
		}
		k.results[s.ID] = value
		k.setName(s.ID, value)
	}
	if s.Schema.Gives != "" {
		k.setFactFrom(s, taken, rec, value)
	}
}

// setFactFrom makes a step's result a fact, and its object the one that later steps work on. If the
// object was looked for in vain there is none: a later step must not use the event's own instead.
func (k *walk) setFactFrom(s *rules.Step, taken *journal.Step, rec *record, value any) {
	fact := s.Schema.Gives
	selects := fact == "card" && s.Schema.Needs != fact || (fact == "conversation" || fact == "attendance") && s.Needs() == ""
	if value == nil && taken.State != journal.StepDone && !(selects && taken.State == journal.StepFailed) {
		return
	}
	id := idOf(value)
	switch about := k.facts.about; {
	case fact == "card" && (selects || id != ""):
		about.Card, k.facts.selected, k.facts.cardless = id, true, value == nil
	case fact == "conversation" && selects:
		k.takeUp(value, rec)
	case fact == "attendance" && id != "":
		if of := textIn(value, "conversation_id"); of != "" && (selects || about.Conversation != "") && ObjectKey(of) != ObjectKey(about.Conversation) {
			k.facts.takeUp(of, textIn(value, "contact_id"), id)
			k.eval.Forget()
		}
		k.facts.about.Attendance, k.facts.attendanceless = id, false
	case fact == "attendance" && selects:
		about.Attendance, k.facts.attendanceless = "", true
	}
	k.facts.set(fact, value)
	k.eval.SetFact(fact, value)
}

// invalidateFacts makes facts be fetched again after a step that waited, or made a call.
func (k *walk) invalidateFacts(taken *journal.Step) {
	switch {
	case slept(taken):
		k.facts.invalidate()
	case taken.Attempts > 0:
		k.facts.invalidateChanged()
		k.facts.stale = true
	default:
		return
	}
	k.eval.Forget()
}

// slept reports whether a step was a wait that was not skipped.
func slept(taken *journal.Step) bool {
	return (taken.Verb == "wait" || taken.Verb == "wait_for") && taken.State != journal.StepSkipped
}

// idOf returns the id of an object; empty if there is none.
func idOf(value any) string { return textIn(value, "id") }

// textIn returns a text in a field of an object; empty if there is none.
func textIn(value any, field string) string {
	object, _ := value.(map[string]any)
	text, _ := object[field].(string)
	return text
}

// setName gives a value the name by which later steps see it.
func (k *walk) setName(name string, value any) {
	put(&k.names, name, value)
	k.eval.Set(name, value)
}

// copyNames gives another evaluation the names of this walk.
func (k *walk) copyNames(eval *rules.Evaluation) {
	eval.Set("steps", k.results)
	for name, value := range k.names {
		eval.Set(name, value)
	}
}

// simple takes a step that makes no call and does not wait.
func (k *walk) simple(ctx context.Context, s *rules.Step, taken *journal.Step, rec *record) (flow, error) {
	switch s.Verb {
	case "stop_if":
		met, err := k.eval.True(s.Condition)
		if err != nil {
			return k.handleError(ctx, s, taken, rec, err)
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
				return k.handleError(ctx, s, taken, rec, err)
			}
			values[a.Name] = value
			k.setName(a.Name, value) // the next assignment may use it
		}
		return k.end(ctx, s, taken, rec, journal.StepDone, values, nil)
	}
	args, err := k.render(s)
	if err != nil {
		return k.handleError(ctx, s, taken, rec, err)
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

// render evaluates a step's arguments, always in the same order: each may read from the service,
// and the first that fails is told.
func (k *walk) render(s *rules.Step) (map[string]any, error) {
	args := make(map[string]any, len(s.Args))
	for _, a := range s.Schema.Args {
		value := s.Args[a.Name]
		if value == nil {
			continue
		}
		v, err := k.eval.Render(value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Name, err)
		}
		args[a.Name] = v
	}
	return args, nil
}
