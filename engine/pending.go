package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/phrases"
)

// pending is what a visit has done and not yet saved in the journal.
type pending struct {
	*laneState
	change  journal.Change
	touched map[*journal.Run]*journal.RunChange
	ended   map[markedCall]bool // calls whose marks the next save removes
}

// touch records that a run has changed. A run that has not begun is saved as a whole when it
// begins.
func (p *pending) touch(r *journal.Run, steps ...*journal.Step) {
	if r.ID == 0 {
		return
	}
	c := p.runChange(r)
	for _, s := range steps {
		if !slices.Contains(c.Steps, s) {
			c.Steps = append(c.Steps, s)
		}
	}
}

// runChange returns the change of a run that has begun.
func (p *pending) runChange(r *journal.Run) *journal.RunChange {
	c := p.touched[r]
	if c == nil {
		c = &journal.RunChange{Run: r}
		put(&p.touched, r, c)
	}
	return c
}

// finish ends a run, and the call that it may be making.
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

// replaceRuns ends the runs of this lane that another run replaces. The journal has asked for this;
// they must not take another step before they see it.
func (p *pending) replaceRuns(by *journal.Run) {
	for _, r := range p.lane.Runs {
		if r.Rule == by.Rule && r.By == by.By && r.Stage == by.Stage && r.Lane == p.lane.Name && !r.State.Finished() {
			p.finish(r, journal.Cancelled, journal.Replaced)
		}
	}
}

// encodeRecords encodes the records of steps for the journal.
func (p *pending) encodeRecords(steps []*journal.Step) error {
	for _, s := range steps {
		if r := p.records[s]; r != nil {
			raw, err := encodeWith(r.appendJSON)
			if err != nil {
				r.Values = encodable(r.Values)
				raw, err = encodeWith(r.appendJSON)
			}
			if err != nil {
				return fmt.Errorf("record step %s: %w", s.Path, err)
			}
			s.Record = raw
		}
	}
	return nil
}
