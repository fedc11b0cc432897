package ledger

import (
	"cmp"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// changeRuns records runs that went on. When all of them are recorded, those that waited for
// finished ones begin.
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
	// What was asked after the holder looked is not answered.
	if c.Answered && r.Asked != nil && (c.Run.Asked == nil || c.Run.Asked.Equal(*r.Asked)) {
		r.Asked = nil
	}
	// Between two calls nothing changes but the steps, while a run is in many indexes.
	if !r.isLike(&before) {
		l.change(r)
	}
	l.addSteps(r.ID, c.Steps)
	s.wakeRunLane(l, r)
}

// isLike reports whether nothing of a run has changed that a database keeps.
func (r *Run) isLike(before *Run) bool {
	return r.Texts.About != "" && r.Texts.About == before.Texts.About && r.State == before.State && r.Lane == before.Lane &&
		r.Reason == before.Reason && r.Wake == before.Wake && r.Finished == before.Finished && r.Asked == before.Asked
}

// isHeld reports whether something holds a run.
func (l *Ledger) isHeld(r *Run) bool {
	return slices.ContainsFunc(l.Holds, func(h journal.Hold) bool { return h.Covers(r.Workspace, r.Rule, r.Lane) })
}

// promote lets the oldest unfinished run of the same key begin, if it is one that waits for its
// turn.
func (s *Save) promote(l *Ledger, done *journal.Run) {
	ids := l.open[RunKeyOf(done)]
	if len(ids) == 0 || l.runs[ids[0]].State != journal.Queued {
		return
	}
	r := l.runs[ids[0]]
	r.State, r.Wake = journal.Running, s.at
	l.change(r)
	l.Due(LaneKey{r.Workspace, r.Lane}, s.at)
}

// started is what came of a start.
type started struct {
	id      int64
	state   journal.State
	begun   bool
	verdict journal.Verdict
}

// start begins the runs that the change asks for, or says what stands in their way.
func (s *Save) start(l *Ledger) {
	for i, st := range s.change.Starts {
		r := started{state: st.Run.State}
		if st.Verdict != nil {
			r.verdict = *st.Verdict
		}
		var texts stored.Run
		if s.texts != nil {
			texts = s.texts.Starts[i]
		}
		s.startOne(l, st, texts, &r)
		s.started = append(s.started, r)
	}
}

func (s *Save) startOne(l *Ledger, st *journal.Start, texts stored.Run, r *started) {
	if known := l.known[st.Run.Key]; known != nil {
		r.id, r.state, r.verdict.Run = known.ID, known.State, st.Run.Key
		return
	}
	others := l.open[RunKeyOf(st.Run)]
	if outcome, why := st.Refused(l.Holds, others); outcome != "" {
		r.verdict.Because(outcome, why)
		return
	}
	if st.Limit != nil {
		slots := l.slotsOf(SlotKey{s.lane.Workspace, st.Limit.Key})
		if !slots.free(*st.Limit, s.at, 0) {
			r.verdict.Because(journal.Limited, st.Limit.Limit())
			return
		}
		slots.take(*st.Limit, s.at)
	}
	if st.Mode == rules.Restart {
		others = s.replace(l, st.Run, others)
	}
	if len(others) > 0 && (st.Mode == rules.Queued || st.Mode == rules.Restart) {
		r.state = journal.Queued
	}
	s.insert(l, st, texts, r)
}

// insert records a run, and its steps unless it is queued.
func (s *Save) insert(l *Ledger, st *journal.Start, texts stored.Run, r *started) {
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
		s.waits = true
	}
}

// replace asks runs to make way for another of their rule, and returns those that it asked. One
// that has not begun is ended at once: else those that come together would all be asked by each
// other.
func (s *Save) replace(l *Ledger, by *journal.Run, runs []int64) (asked []int64) {
	for _, id := range slices.Clone(runs) {
		if r := l.runs[id]; r.State == journal.Queued {
			r.State, r.Wake, r.Finished = journal.Cancelled, 0, max(s.at, 1)
			r.Reason, r.Why = journal.Replaced.String(), journal.Replaced
			r.Texts.About = stored.WithWhy(r.Texts.About, r.Why)
			l.change(r)
			l.Tally.Ended(s.at, journal.RuleName{Workspace: by.Workspace, Rule: by.Rule}, by.Stage, journal.Cancelled)
			continue
		}
		l.ask(s.at, id, journal.AskCancel.Because(journal.Replaced, s.change.At))
		asked = append(asked, id)
	}
	return asked
}
