package postgres

import (
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// addSteps notes the steps of a run that changed.
func (l *ledger) addSteps(run int64, steps []*journal.Step) {
	for _, st := range steps {
		l.steps[stepKey{run, st.N}] = st
	}
}

// changeRuns records runs that went on. When all of them are recorded, those that waited for finished ones begin.
func (s *saving) changeRuns(l *ledger) {
	for i, c := range s.change.Runs {
		s.changeRun(l, c, s.form.Runs[i])
	}
	for _, c := range s.change.Runs {
		if c.Run.State.Finished() {
			s.promote(l, c.Run)
		}
	}
}

func (s *saving) changeRun(l *ledger, c *journal.RunChange, texts stored.Run) {
	r := l.runs[c.Run.ID]
	rule := journal.RuleName{Workspace: c.Run.Workspace, Rule: c.Run.Rule}
	if c.Run.State.Finished() && !r.state.Finished() {
		l.tally.Ended(s.at, rule, c.Run.Stage, c.Run.State)
	}
	if c.Effects > 0 {
		l.tally.Count(s.at, rule, journal.CountEffects, "", c.Effects)
	}
	r.state, r.lane, r.reason, r.about = c.Run.State, c.Run.Lane, c.Run.Reason, texts.About
	r.wake, r.finished = stored.Micros(c.Run.WakeAt), 0
	if r.state.Finished() {
		r.wake, r.finished = 0, stored.EndOf(c.Run, s.at)
	}
	// What was asked after the holder looked is not answered.
	if c.Answered && r.asked != nil && (texts.Asked == nil || *texts.Asked == *r.asked) {
		r.asked = nil
	}
	l.change(r)
	l.addSteps(r.id, c.Steps)
	s.away(l, r)
}

// away asks for the attention of the lane where an unfinished run is, unless it is the claimed one. What held a run may have been lifted
// before the run was recorded as held: then nobody else would ask.
func (s *saving) away(l *ledger, r *runRow) {
	if r.state.Finished() {
		return
	}
	if r.workspace == s.lane.Workspace && r.lane == s.lane.Name && (r.state != journal.Held || l.holdOn(r)) {
		return
	}
	l.due(r.workspace, r.lane, s.at)
}

// holdOn reports whether something holds a run.
func (l *ledger) holdOn(r *runRow) bool {
	return slices.ContainsFunc(l.holds, func(h journal.Hold) bool { return h.Covers(r.workspace, r.rule, r.lane) })
}

// promote lets the oldest unfinished run of the same workspace, rule and by begin, if it is one that waits for its turn.
func (s *saving) promote(l *ledger, done *journal.Run) {
	ids := l.open[kind{done.Workspace, done.Rule, done.By}]
	if len(ids) == 0 || l.runs[ids[0]].state != journal.Queued {
		return
	}
	r := l.runs[ids[0]]
	r.state, r.wake = journal.Running, s.at
	l.change(r)
	l.due(r.workspace, r.lane, s.at)
}
