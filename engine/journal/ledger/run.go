package ledger

import (
	"cmp"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// changeRuns records changed runs. After all of them it begins the queued runs that waited for
// finished ones.
func (s *Save) changeRuns(l *Ledger) {
	for i, c := range s.change.Runs {
		var texts stored.Run
		if s.texts != nil {
			texts = s.texts.Runs[i]
		}
		s.changeRun(l, c, texts)
	}
	for _, c := range s.change.Runs {
		if c.Run.State.Finished() {
			s.promote(l, c.Run)
		}
	}
}

func (s *Save) changeRun(l *Ledger, c *journal.RunChange, texts stored.Run) {
	r := l.runs[c.Run.ID]
	rule := journal.RuleName{Workspace: c.Run.Workspace, Rule: c.Run.Rule}
	if c.Run.State.Finished() && !r.State.Finished() {
		l.Tally.Ended(s.at, rule, c.Run.Stage, c.Run.State)
	}
	if c.Effects > 0 {
		l.Tally.Count(s.at, rule, journal.CountEffects, "", c.Effects)
	}
	before := *r
	r.State, r.Lane, r.Reason, r.Why = c.Run.State, c.Run.Lane, c.Run.Reason, c.Run.Why
	r.Wake, r.Finished = stored.Micros(c.Run.WakeAt), 0
	r.Given, r.Texts = c.Run, texts
	if r.State.Finished() {
		r.Wake, r.Finished = 0, stored.EndOf(c.Run, s.at)
	}
	// A request that was made after the worker read the run is not answered.
	if c.Answered && r.Asked != nil && (c.Run.Asked == nil || c.Run.Asked.Equal(*r.Asked)) {
		r.Asked = nil
	}
	// Between two calls only the steps change. Do not write the run then: its row is in many indexes.
	if !r.equalRow(&before) {
		l.markChanged(r)
	}
	l.addSteps(r.ID, c.Steps)
	s.wakeRunLane(l, r)
}

// equalRow reports whether both have the same row.
func (r *Run) equalRow(before *Run) bool {
	return r.Texts.About != "" && r.Texts.About == before.Texts.About && r.State == before.State && r.Lane == before.Lane &&
		r.Reason == before.Reason && r.Wake == before.Wake && r.Finished == before.Finished && r.Asked == before.Asked
}

// isHeld reports whether a hold covers a run.
func (l *Ledger) isHeld(r *Run) bool {
	return slices.ContainsFunc(l.Holds, func(h journal.Hold) bool { return h.Covers(r.Workspace, r.Rule, r.Lane) })
}

// promote begins the oldest unfinished run of the same key, if it is queued.
func (s *Save) promote(l *Ledger, done *journal.Run) {
	ids := l.unfinished[RunKeyOf(done)]
	if len(ids) == 0 || l.runs[ids[0]].State != journal.Queued {
		return
	}
	r := l.runs[ids[0]]
	r.State, r.Wake = journal.Running, s.at
	l.markChanged(r)
	l.Due(LaneKey{r.Workspace, r.Lane}, s.at)
}

// A startResult is the result of a Start.
type startResult struct {
	id      int64
	state   journal.State
	begun   bool
	verdict journal.Verdict
}

// startRuns begins the runs of the change, or records why they do not begin.
func (s *Save) startRuns(l *Ledger) {
	for i, st := range s.change.Starts {
		r := startResult{state: st.Run.State}
		if st.Verdict != nil {
			r.verdict = *st.Verdict
		}
		var texts stored.Run
		if s.texts != nil {
			texts = s.texts.Starts[i]
		}
		s.startRun(l, st, texts, &r)
		s.started = append(s.started, r)
	}
}

func (s *Save) startRun(l *Ledger, st *journal.Start, texts stored.Run, r *startResult) {
	if known := l.runsByKey[st.Run.Key]; known != nil {
		r.id, r.state, r.verdict.Run = known.ID, known.State, st.Run.Key
		return
	}
	others := l.unfinished[RunKeyOf(st.Run)]
	if outcome, why := st.Refused(l.Holds, others); outcome != "" {
		r.verdict.Because(outcome, why)
		return
	}
	if st.Limit != nil {
		slots := l.slotsOf(SlotKey{s.lane.Workspace, st.Limit.Key})
		if !slots.isFree(*st.Limit, s.at, 0) {
			r.verdict.Because(journal.Limited, st.Limit.Limit())
			return
		}
		slots.takeSlot(*st.Limit, s.at)
	}
	if st.Mode == rules.Restart {
		others = s.replaceRuns(l, st.Run, others)
	}
	if len(others) > 0 && (st.Mode == rules.Queued || st.Mode == rules.Restart) {
		r.state = journal.Queued
	}
	s.insertRun(l, st, texts, r)
}

// insertRun adds a run, and its steps unless it is queued.
func (s *Save) insertRun(l *Ledger, st *journal.Start, texts stored.Run, r *startResult) {
	run := st.Run
	if st.Source != "" && !l.versions[run.Version] {
		l.AddVersion(run.Version)
		put(&l.Sources, run.Version, Source{run.Rule, st.Source})
	}
	row := &Run{
		ID: l.NextRun(), Key: run.Key, RunKey: RunKeyOf(run), Lane: run.Lane, State: r.state, Wake: stored.Micros(run.WakeAt), Reason: run.Reason, Why: run.Why,
		Given: run, Texts: texts, New: true, Event: cmp.Or(run.Event, s.seq), Started: stored.Micros(run.StartedAt),
	}
	if row.Started == 0 {
		row.Started = s.at
	}
	if row.State.Finished() {
		row.Finished, row.Wake = stored.EndOf(run, s.at), 0
		l.Tally.Ended(s.at, journal.RuleName{Workspace: row.Workspace, Rule: row.Rule}, run.Stage, row.State)
	}
	l.AddRun(row)
	l.AddKnown(row)
	r.id, r.begun, r.verdict.Run = row.ID, r.state != journal.Queued, row.Key
	if r.begun {
		l.addSteps(row.ID, run.Steps)
		s.wakeRunLane(l, row)
	} else {
		s.hasWaiting = true
	}
}

// replaceRuns asks runs to make way for a new run of their rule, and returns those that it asked.
// It cancels a queued run at once: else runs that start together would each be asked by the others.
func (s *Save) replaceRuns(l *Ledger, by *journal.Run, runs []int64) (asked []int64) {
	for _, id := range slices.Clone(runs) {
		if r := l.runs[id]; r.State == journal.Queued {
			r.State, r.Wake, r.Finished = journal.Cancelled, 0, max(s.at, 1)
			r.Reason, r.Why = journal.Replaced.String(), journal.Replaced
			r.Texts.About = stored.WithWhy(r.Texts.About, r.Why)
			l.markChanged(r)
			l.Tally.Ended(s.at, journal.RuleName{Workspace: by.Workspace, Rule: by.Rule}, by.Stage, journal.Cancelled)
			continue
		}
		l.askRun(s.at, id, journal.AskCancel.Because(journal.Replaced, s.change.At))
		asked = append(asked, id)
	}
	return asked
}
