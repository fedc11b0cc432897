package sqlite

import (
	"database/sql"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// started is what came of a start.
type started struct {
	id      int64
	state   journal.State
	begun   bool
	sourced bool // its rule's source is recorded
	verdict journal.Verdict
}

// start begins the runs that the change asks for, or says what stands in their way.
func (s *saving) start(t *tx) error {
	for i, st := range s.change.Starts {
		r := started{state: st.Run.State}
		if st.Verdict != nil {
			r.verdict = *st.Verdict
		}
		if err := s.startOne(t, st, s.form.Starts[i], &r); err != nil {
			return err
		}
		s.started = append(s.started, r)
	}
	return nil
}

func (s *saving) startOne(t *tx, st *journal.Start, texts stored.Run, r *started) error {
	fresh := s.seq != 0 && st.Run.Event == 0 // nothing can have come of its event yet, and its lane is empty
	if !fresh {
		known, err := t.get(`SELECT id, state FROM runs INDEXED BY runs_event WHERE event = ? AND key = ?`, []any{st.Run.Event, st.Run.Key}, &r.id, &r.state)
		if err != nil {
			return err
		}
		if known {
			r.verdict.Run = st.Run.Key
			return nil
		}
	}
	if fresh && st.Run.By == s.lane.Name {
		return s.begin(t, st, texts, r, nil)
	}
	others, err := t.unfinished(st)
	if err != nil {
		return err
	}
	return s.begin(t, st, texts, r, others)
}

// begin begins a run beside those of the same workspace, rule and by, where they and the limit let it.
func (s *saving) begin(t *tx, st *journal.Start, texts stored.Run, r *started, others []int64) (err error) {
	holds, err := t.stopped()
	if err != nil {
		return err
	}
	if outcome, why := st.Refused(holds, others); outcome != "" {
		r.verdict.Outcome, r.verdict.Error = outcome, why
		return nil
	}
	if st.Limit != nil {
		taking, free, err := t.free(s.lane.Workspace, *st.Limit, s.at, 0)
		if err != nil {
			return err
		}
		if !free {
			r.verdict.Outcome, r.verdict.Error = journal.Limited, st.Limit.String()
			return nil
		}
		if err := t.take(s.lane.Workspace, taking, s.at); err != nil {
			return err
		}
	}
	if st.Mode == rules.Restart {
		if others, err = s.replace(t, st.Run, others); err != nil {
			return err
		}
	}
	if len(others) > 0 && (st.Mode == rules.Queued || st.Mode == rules.Restart) {
		r.state, t.w.queued = journal.Queued, true
	}
	return s.insert(t, st, texts, r)
}

// insert records a run, and its steps unless it is queued.
func (s *saving) insert(t *tx, st *journal.Start, texts stored.Run, r *started) error {
	var err error
	if r.sourced, err = t.version(st); err != nil {
		return err
	}
	run := *st.Run
	run.State = r.state
	if run.Event == 0 {
		run.Event = s.seq
	}
	run.ID = t.nextRun()
	r.id, r.begun, r.verdict.Run = run.ID, r.state != journal.Queued, run.Key
	s.noteWait(&run)
	if err := t.insertRun(&run, texts, s.at); err != nil || !r.begun {
		return err
	}
	s.runs = append(s.runs, stateOf(&run, texts))
	if err := t.steps(run.ID, run.Steps); err != nil {
		return err
	}
	return s.away(t, &run)
}

// unfinished returns the ids of the runs that a start has to do with, the oldest first; no more than matter.
func (t *tx) unfinished(st *journal.Start) (ids []int64, err error) {
	limit := -1
	switch {
	case st.Mode == rules.Parallel && st.Max <= 0:
		return nil, nil
	case st.Mode == rules.Single:
		limit = 1
	case st.Mode != rules.Restart:
		limit = max(st.Max, 1)
	}
	err = t.each(`SELECT id FROM runs INDEXED BY runs_by WHERE workspace = ? AND rule = ? AND by = ? AND finished = 0 ORDER BY id`,
		[]any{st.Run.Workspace, st.Run.Rule, st.Run.By}, func(rows *sql.Rows) error {
			var id int64
			err := rows.Scan(&id)
			if ids = append(ids, id); err == nil && len(ids) == limit {
				return errEnough
			}
			return err
		})
	return ids, err
}

// replace asks runs to make way for another of their rule, and returns those that it asked. One that has not begun is ended at once: else those that come together
// would all be asked by each other.
func (s *saving) replace(t *tx, by *journal.Run, runs []int64) (asked []int64, err error) {
	if len(runs) == 0 {
		return nil, nil
	}
	ask, err := stored.Ask(journal.Ask{What: journal.AskCancel, Reason: journal.Replaced, At: s.change.At})
	if err != nil {
		return nil, err
	}
	for _, id := range runs {
		n, err := t.changed(`UPDATE runs SET state = ?, finished = 1, wake_at = 0, finished_at = ?, reason = ? WHERE id = ? AND state = ?`,
			string(journal.Cancelled), max(s.at, 1), journal.Replaced, id, string(journal.Queued))
		if err != nil {
			return nil, err
		}
		if n > 0 {
			t.tally.Ended(s.at, journal.RuleName{Workspace: by.Workspace, Rule: by.Rule}, by.Stage, journal.Cancelled)
			continue
		}
		if _, err := t.ask(s.at, id, ask); err != nil {
			return nil, err
		}
		asked = append(asked, id)
	}
	return asked, nil
}

// version records the source of the rule that a run follows, and reports whether it is recorded.
func (t *tx) version(st *journal.Start) (bool, error) {
	t.versions[st.Run.Version] = true
	if t.w.versions[st.Run.Version] {
		return true, nil
	}
	if st.Source == "" {
		var hash string
		return t.get(`SELECT hash FROM rule_versions WHERE hash = ?`, []any{st.Run.Version}, &hash)
	}
	_, err := t.exec(`INSERT OR IGNORE INTO rule_versions (hash, rule, source) VALUES (?, ?, ?)`, st.Run.Version, st.Run.Rule, st.Source)
	return err == nil, err
}
