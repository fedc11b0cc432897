package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// pending is what a visit has done and not yet handed to the journal.
type pending struct {
	*laneState
	change  journal.Change
	touched map[*journal.Run]*journal.RunChange
	ended   map[markedCall]bool // calls whose marks go with the next save
}

// touch notes that a run has changed. One that the journal has not begun is recorded whole when it
// does.
func (p *pending) touch(r *journal.Run, steps ...*journal.Step) {
	if r.ID == 0 {
		return
	}
	c := p.changed(r)
	for _, s := range steps {
		if !slices.Contains(c.Steps, s) {
			c.Steps = append(c.Steps, s)
		}
	}
}

// changed returns what has changed of a run that has begun.
func (p *pending) changed(r *journal.Run) *journal.RunChange {
	c := p.touched[r]
	if c == nil {
		c = &journal.RunChange{Run: r}
		put(&p.touched, r, c)
	}
	return c
}

// finish ends a run, and with it the call that it may be at.
func (p *pending) finish(r *journal.Run, s journal.State, why *phrases.Phrase) {
	if at := r.Current(); at != nil && at.State == journal.StepOpen {
		if rec, err := p.record(at); err == nil {
			p.endCall(r, at, rec)
		}
	}
	r.State, r.FinishedAt, r.WakeAt = s, p.now(), time.Time{}
	r.Because(why)
	p.touch(r)
}

// replace ends the runs of this lane in whose place another is to come. The journal has asked for
// it; they must not take a step before that is seen.
func (p *pending) replace(by *journal.Run) {
	for _, r := range p.lane.Runs {
		if r.Rule == by.Rule && r.By == by.By && r.Stage == by.Stage && r.Lane == p.lane.Name && !r.State.Finished() {
			p.finish(r, journal.Cancelled, journal.Replaced)
		}
	}
}

// seal writes the records of steps as the journal keeps them.
func (p *pending) seal(steps []*journal.Step) error {
	for _, s := range steps {
		if r := p.records[s]; r != nil {
			raw, err := written(r.appendJSON)
			if err != nil {
				r.Values = readable(r.Values)
				raw, err = written(r.appendJSON)
			}
			if err != nil {
				return fmt.Errorf("record step %s: %w", s.Path, err)
			}
			s.Record = raw
		}
	}
	return nil
}
