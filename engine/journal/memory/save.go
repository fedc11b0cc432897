package memory

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
)

// Save records a change of a claimed lane: first everything that may refuse it is looked at, then all of it is written.
func (j *Journal) Save(ctx context.Context, of *journal.Lane, c *journal.Change) error {
	if err := j.lock(ctx); err != nil {
		return err
	}
	defer j.mu.Unlock()
	l := j.lanes[place{of.Workspace, of.Name}]
	if l == nil || l.claim == 0 || l.claim != of.Epoch {
		return fmt.Errorf("save lane %s: %w", of.Name, journal.ErrLost)
	}
	if err := j.refuse(of, c); err != nil {
		return fmt.Errorf("save lane %s: %w", of.Name, err)
	}
	at := moment(c.At)
	for _, change := range c.Runs {
		j.changeRun(l, change, at)
	}
	for _, change := range c.Runs {
		if change.Run.State.Finished() {
			j.promote(change.Run, at)
		}
	}
	for _, s := range c.Starts {
		j.start(l, s, at)
	}
	if c.Calls(func(start int) bool { return c.Starts[start].Begun }) {
		for _, slot := range c.Take {
			j.slotsOf(of.Workspace, slot).take(slot, at)
		}
	}
	for _, e := range c.Decided {
		j.decide(e)
	}
	for _, g := range c.Ended {
		delete(j.gathers, sort{g.Workspace, g.Rule, g.By})
	}
	for _, g := range c.Gather {
		j.gather(l, g, at)
	}
	for i := range c.Caused {
		j.cause(&c.Caused[i], at)
	}
	for _, id := range c.Gone {
		if id > 0 && id < int64(len(j.caused)) {
			j.caused[id] = nil
		}
	}
	for _, id := range c.Used {
		if id > 0 && id < int64(len(j.caused)) && j.caused[id] != nil {
			j.caused[id].Used = true
		}
	}
	for _, a := range c.Asks {
		j.ask(at, a.Run, a.Ask) // a run that is gone has nothing to be asked
	}
	if c.Release {
		j.release(l, c.At, c.Next)
	}
	return nil
}

// refuse says why a change cannot be recorded.
func (j *Journal) refuse(of *journal.Lane, c *journal.Change) error {
	if c.Call != nil {
		if h := journal.StopsCall(j.stopped(), c.Call, c.At); h != nil {
			return &journal.HeldError{Hold: *h}
		}
	}
	ahead := make(map[string]int64)
	for _, slot := range c.Take {
		if !j.slotsOf(of.Workspace, slot).free(slot, moment(c.At), ahead[slot.Key]) {
			return j.slotsOf(of.Workspace, slot).full(slot, moment(c.At))
		}
		ahead[slot.Key]++
	}
	for _, g := range c.Ended {
		if is := j.gathers[sort{g.Workspace, g.Rule, g.By}]; is == nil || !slices.Equal(is.Events, g.Events) {
			return fmt.Errorf("gather of %s: %w", g.Rule, journal.ErrChanged)
		}
	}
	for _, change := range c.Runs {
		if j.run(change.Run.ID) == nil {
			return fmt.Errorf("run %d: %w", change.Run.ID, journal.ErrNoRun)
		}
	}
	return nil
}

// changeRun records a run that went on.
func (j *Journal) changeRun(l *lane, c *journal.RunChange, at time.Time) {
	r := j.runs[c.Run.ID]
	r.State, r.Lane, r.Reason, r.About, r.Kept = c.Run.State, c.Run.Lane, c.Run.Reason, c.Run.About, c.Run.Kept
	r.WakeAt, r.FinishedAt = moment(c.Run.WakeAt), time.Time{}
	if r.State.Finished() {
		r.WakeAt, r.FinishedAt = time.Time{}, endOf(c.Run, at)
	}
	// What was asked after the holder looked is not answered.
	if c.Answered && r.Asked != nil && (c.Run.Asked == nil || *c.Run.Asked == *r.Asked) {
		r.Asked = nil
	}
	putSteps(r, c.Steps)
	j.place(r)
	j.away(l, r, at)
}

// endOf is when a finished run ended.
func endOf(r *journal.Run, at time.Time) time.Time {
	if r.FinishedAt.IsZero() {
		return at
	}
	return moment(r.FinishedAt)
}

// putSteps puts steps into their places.
func putSteps(r *journal.Run, steps []*journal.Step) {
	for _, s := range steps {
		step := *s
		step.Record = slices.Clone(s.Record)
		i, found := slices.BinarySearchFunc(r.Steps, s.N, func(have *journal.Step, n int) int { return have.N - n })
		if found {
			r.Steps[i] = &step
		} else {
			r.Steps = slices.Insert(r.Steps, i, &step)
		}
	}
}

// place puts a run where it is found: in its lanes, and among the unfinished ones of its rule.
func (j *Journal) place(r *journal.Run) {
	of := sort{r.Workspace, r.Rule, r.By}
	i, found := slices.BinarySearch(j.open[of], r.ID)
	switch finished := r.State.Finished(); {
	case finished && found:
		if j.open[of] = slices.Delete(j.open[of], i, i+1); len(j.open[of]) == 0 {
			delete(j.open, of)
		}
	case !finished && !found:
		j.open[of] = slices.Insert(j.open[of], i, r.ID)
	}
	if !r.State.Finished() || r.Asked != nil {
		j.lane(r.Workspace, r.Lane).runs[r.ID] = true
		j.lane(r.Workspace, r.Home).runs[r.ID] = true
	}
}

// away asks for the attention of the lane where an unfinished run is, unless it is the claimed one. What held a run may have been lifted
// before the run was recorded as held: then nobody else would ask.
func (j *Journal) away(l *lane, r *journal.Run, at time.Time) {
	if r.State.Finished() {
		return
	}
	if r.Workspace == l.workspace && r.Lane == l.name && (r.State != journal.Held || j.holdOn(r)) {
		return
	}
	j.attend(r.Workspace, r.Lane, at)
}

// holdOn reports whether something holds a run.
func (j *Journal) holdOn(r *journal.Run) bool {
	for _, h := range j.holds {
		if h.Covers(r.Workspace, r.Rule, r.Lane) {
			return true
		}
	}
	return false
}

// promote lets the oldest unfinished run of the same workspace, rule and by begin, if it is one that waits for its turn.
func (j *Journal) promote(done *journal.Run, at time.Time) {
	ids := j.open[sort{done.Workspace, done.Rule, done.By}]
	if len(ids) == 0 || j.runs[ids[0]].State != journal.Queued {
		return
	}
	r := j.runs[ids[0]]
	r.State, r.WakeAt = journal.Running, at
	j.attend(r.Workspace, r.Lane, at)
}

// decide records the verdicts on an event.
func (j *Journal) decide(e *journal.Event) {
	own := j.events[e.Seq]
	if own == nil {
		return
	}
	if !own.Decided {
		own.Decided = true
		l := j.lane(own.Workspace, own.Lane)
		l.undecided = slices.DeleteFunc(l.undecided, func(seq int64) bool { return seq == e.Seq })
	}
	own.Verdicts, own.Answers = slices.Clone(e.Verdicts), maps.Clone(e.Answers)
	for i := range own.Verdicts {
		own.Verdicts[i].Values = plain(own.Verdicts[i].Values)
	}
}

// plain returns values as JSON would give them back, which is how a journal in a file has them. What JSON does not know is kept as a text.
func plain(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, value := range values {
		switch value := value.(type) {
		case nil, string, bool:
			out[name] = value
			continue
		}
		raw, err := json.Marshal(value)
		var back any
		if err != nil || json.Unmarshal(raw, &back) != nil {
			back = fmt.Sprint(value)
		}
		out[name] = back
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// gather adds events to those that are being gathered. The newest one's lane is where the gather ends.
func (j *Journal) gather(l *lane, add journal.Gather, at time.Time) {
	key := sort{add.Workspace, add.Rule, add.By}
	g := j.gathers[key]
	if g == nil {
		g = &journal.Gather{Workspace: add.Workspace, Rule: add.Rule, By: add.By, Since: at}
		j.gathers[key] = g
	}
	g.Lane, g.Quiet, g.AtMost = l.name, add.Quiet, add.AtMost
	g.Events = append(g.Events, add.Events...)
	g.Until = at.Add(add.Quiet)
	if end := g.Since.Add(add.AtMost); add.AtMost > 0 && end.Before(g.Until) {
		g.Until = end
	}
}

// cause records what an own call causes.
func (j *Journal) cause(c *journal.Caused, at time.Time) {
	c.ID = int64(len(j.caused))
	twin := *c
	twin.From, twin.To, twin.Ancestry = moment(c.From), moment(c.To), slices.Clone(c.Ancestry)
	twin.Set = slices.Clone(c.Set)
	j.caused, j.causedAt = append(j.caused, &twin), append(j.causedAt, at)
	object := place{c.Workspace, c.Object}
	j.byObject[object] = append(j.byObject[object], c.ID)
}
