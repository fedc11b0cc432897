package postgres

import (
	"cmp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// started is what came of a start.
type started struct {
	id      int64
	state   journal.State
	begun   bool
	verdict journal.Verdict
}

// start begins the runs that the change asks for, or says what stands in their way.
func (s *saving) start(l *ledger) error {
	for i, st := range s.change.Starts {
		r := started{state: st.Run.State}
		if st.Verdict != nil {
			r.verdict = *st.Verdict
		}
		if err := s.startOne(l, st, s.form.Starts[i], &r); err != nil {
			return err
		}
		s.started = append(s.started, r)
	}
	return nil
}

func (s *saving) startOne(l *ledger, st *journal.Start, texts stored.Run, r *started) error {
	if known := l.known[st.Run.Key]; known != nil {
		r.id, r.state, r.verdict.Run = known.id, known.state, st.Run.Key
		return nil
	}
	others := l.open[kind{st.Run.Workspace, st.Run.Rule, st.Run.By}]
	if outcome, why := st.Refused(l.holds, others); outcome != "" {
		r.verdict.Outcome, r.verdict.Error = outcome, why
		return nil
	}
	if st.Limit != nil {
		slots := l.slotsOf(slotKey{s.lane.Workspace, st.Limit.Key})
		if !slots.free(*st.Limit, s.at, 0) {
			r.verdict.Outcome, r.verdict.Error = journal.Limited, st.Limit.String()
			return nil
		}
		slots.take(*st.Limit, s.at)
	}
	if st.Mode == rules.Restart {
		var err error
		if others, err = s.replace(l, st.Run, others); err != nil {
			return err
		}
	}
	if len(others) > 0 && (st.Mode == rules.Queued || st.Mode == rules.Restart) {
		r.state = journal.Queued
	}
	s.insert(l, st, texts, r)
	return nil
}

// insert records a run, and its steps unless it is queued.
func (s *saving) insert(l *ledger, st *journal.Start, texts stored.Run, r *started) {
	run := st.Run
	if st.Source != "" && !l.versions[run.Version] {
		l.versions[run.Version] = true
		l.sources[run.Version] = versionRow{run.Rule, st.Source}
	}
	row := &runRow{
		id: l.runID(), key: run.Key, workspace: run.Workspace, rule: run.Rule, version: run.Version, event: cmp.Or(run.Event, s.seq), gathered: texts.Gathered, home: run.Home, lane: run.Lane, by: run.By,
		state: r.state, stage: string(run.Stage), ancestry: texts.Ancestry, about: texts.About, started: stored.Micros(run.StartedAt), wake: stored.Micros(run.WakeAt), reason: run.Reason, fresh: true,
	}
	if row.started == 0 {
		row.started = s.at
	}
	if row.state.Finished() {
		row.finished, row.wake = stored.EndOf(run, s.at), 0
		l.tally.Ended(s.at, journal.RuleName{Workspace: row.workspace, Rule: row.rule}, run.Stage, row.state)
	}
	l.addRun(row)
	l.known[row.key] = row
	r.id, r.begun, r.verdict.Run = row.id, r.state != journal.Queued, row.key
	if r.begun {
		l.addSteps(row.id, run.Steps)
		s.away(l, row)
	}
}

// replace asks runs to make way for another of their rule, and returns those that it asked. One that has not begun is ended at once: else those that come together
// would all be asked by each other.
func (s *saving) replace(l *ledger, by *journal.Run, runs []int64) (asked []int64, err error) {
	if len(runs) == 0 {
		return nil, nil
	}
	ask, err := stored.Ask(journal.Ask{What: journal.AskCancel, Reason: journal.Replaced, At: s.change.At})
	if err != nil {
		return nil, err
	}
	for _, id := range append([]int64(nil), runs...) {
		if r := l.runs[id]; r.state == journal.Queued {
			r.state, r.wake, r.finished, r.reason = journal.Cancelled, 0, max(s.at, 1), journal.Replaced
			l.change(r)
			l.tally.Ended(s.at, journal.RuleName{Workspace: by.Workspace, Rule: by.Rule}, by.Stage, journal.Cancelled)
			continue
		}
		l.ask(s.at, id, ask)
		asked = append(asked, id)
	}
	return asked, nil
}
