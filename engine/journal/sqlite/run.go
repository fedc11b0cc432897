package sqlite

import (
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// nextRun returns the number of the next run, which is the caller's.
func (t *tx) nextRun() int64 {
	t.run++
	return t.run
}

// insertRun puts a run among the runs.
func (t *tx) insertRun(r *journal.Run, texts stored.Run, at int64) error {
	started, finished, wake := stored.Micros(r.StartedAt), int64(0), stored.Micros(r.WakeAt)
	if started == 0 {
		started = at
	}
	if r.State.Finished() {
		finished, wake = stored.EndOf(r, at), 0
	}
	_, err := t.exec(`INSERT INTO runs (id, key, workspace, rule, version, event, gathered, home, lane, by, state, finished, stage, ancestry, about,
			started_at, wake_at, finished_at, reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		r.ID, r.Key, r.Workspace, r.Rule, r.Version, r.Event, texts.Gathered, r.Home, r.Lane, r.By, string(r.State), r.State.Finished(), string(r.Stage), texts.Ancestry, texts.About,
		started, wake, finished, r.Reason)
	if err == nil && r.State.Finished() {
		t.tally.Ended(at, journal.RuleName{Workspace: r.Workspace, Rule: r.Rule}, r.Stage, r.State)
	}
	return err
}

// steps records the steps of a run that changed.
func (t *tx) steps(run int64, steps []*journal.Step) error {
	for _, s := range steps {
		if err := t.step(run, s); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) step(run int64, s *journal.Step) error {
	var record any
	if s.Record != nil {
		record = []byte(s.Record) // as it is: a text would be a copy
	}
	_, err := t.exec(`INSERT INTO steps (run, n, path, verb, key, state, attempts, error, record) VALUES (?, ?, ?, ?, ?, ?, ?, ?, CAST(? AS TEXT))
		ON CONFLICT (run, n) DO UPDATE SET path = excluded.path, verb = excluded.verb, key = excluded.key, state = excluded.state, attempts = excluded.attempts,
			error = excluded.error, record = excluded.record`,
		run, s.N, s.Path, s.Verb, s.Key, string(s.State), s.Attempts, s.Error, record)
	return err
}

// changeRuns records runs that went on. When all of them are recorded, those that waited for finished ones begin.
func (s *saving) changeRuns(t *tx) error {
	for i, c := range s.change.Runs {
		if err := s.changeRun(t, c, s.form.Runs[i]); err != nil {
			return err
		}
	}
	for _, c := range s.change.Runs {
		if c.Run.State.Finished() {
			if err := s.promote(t, c.Run); err != nil {
				return err
			}
		}
	}
	return nil
}

// A runState is what of a run changes. Only who has claimed its lane changes it, and so knows how it is recorded.
type runState struct {
	id                  int64
	state               journal.State
	wake                int64
	lane, reason, about string
}

func stateOf(r *journal.Run, texts stored.Run) runState {
	return runState{r.ID, r.State, stored.Micros(r.WakeAt), r.Lane, r.Reason, texts.About}
}

// remember notes how runs are recorded.
func (c *claim) remember(runs []runState) {
	for _, r := range runs {
		c.runs = append(slices.DeleteFunc(c.runs, func(before runState) bool { return before.id == r.id }), r)
	}
}

func (s *saving) changeRun(t *tx, c *journal.RunChange, texts stored.Run) error {
	// Between two calls nothing changes but the steps, while a run is in many indexes.
	if state := stateOf(c.Run, texts); c.Answered || state.state.Finished() || !slices.Contains(s.claim.runs, state) {
		if err := s.updateRun(t, c, texts); err != nil {
			return err
		}
		s.runs = append(s.runs, state)
	}
	if err := t.steps(c.Run.ID, c.Steps); err != nil {
		return err
	}
	s.noteWait(c.Run)
	if c.Effects > 0 {
		t.tally.Count(s.at, journal.RuleName{Workspace: c.Run.Workspace, Rule: c.Run.Rule}, journal.CountEffects, "", c.Effects)
	}
	return s.away(t, c.Run)
}

// noteWait notes that a run waits for something. The lane of a claim that was opened needs a row
// then.
func (s *saving) noteWait(r *journal.Run) {
	s.waits = s.waits || !r.State.Finished() && r.State != journal.Running
}

// updateRun records a run itself.
func (s *saving) updateRun(t *tx, c *journal.RunChange, texts stored.Run) error {
	r := c.Run
	wake, finished := stored.Micros(r.WakeAt), int64(0)
	if r.State.Finished() {
		wake, finished = 0, stored.EndOf(r, s.at)
	}
	// What was asked after the holder looked is not answered.
	const update = `UPDATE runs SET state = ?, finished = ?, lane = ?, wake_at = ?, finished_at = ?, reason = ?, about = ?,
		asked = CASE WHEN ? AND coalesce(?, asked) = asked THEN NULL ELSE asked END WHERE id = ?`
	args := []any{string(r.State), r.State.Finished(), r.Lane, wake, finished, r.Reason, texts.About, c.Answered, texts.Asked, r.ID}
	n, err := t.changed(update+` AND finished = 0`, args...)
	ended := n > 0 && r.State.Finished()
	if err == nil && n == 0 { // it has ended before, and changes all the same
		n, err = t.changed(update, args...)
	}
	if err != nil {
		return err
	}
	if n == 0 {
		return fmt.Errorf("run %d: %w", r.ID, journal.ErrNoRun)
	}
	if ended {
		t.tally.Ended(s.at, journal.RuleName{Workspace: r.Workspace, Rule: r.Rule}, r.Stage, r.State)
	}
	return nil
}

// away asks for the attention of the lane where an unfinished run is, unless it is the claimed one. What held a run may have been lifted
// before the run was recorded as held: then nobody else would ask.
func (s *saving) away(t *tx, r *journal.Run) error {
	if r.State.Finished() {
		return nil
	}
	if r.Workspace == s.lane.Workspace && r.Lane == s.lane.Name {
		if r.State != journal.Held {
			return nil
		}
		holds, err := t.stopped()
		if err != nil || slices.ContainsFunc(holds, func(h journal.Hold) bool { return h.Covers(r.Workspace, r.Rule, r.Lane) }) {
			return err
		}
	}
	return t.due(r.Workspace, r.Lane, s.at)
}

// promote lets the oldest unfinished run of the same workspace, rule and by begin, if it is one that waits for its turn.
func (s *saving) promote(t *tx, done *journal.Run) error {
	if !t.w.queued {
		return nil
	}
	var id int64
	var state journal.State
	var lane string
	found, err := t.get(`SELECT id, state, lane FROM runs INDEXED BY runs_by WHERE workspace = ? AND rule = ? AND by = ? AND finished = 0 ORDER BY id LIMIT 1`,
		[]any{done.Workspace, done.Rule, done.By}, &id, &state, &lane)
	if err != nil || !found || state != journal.Queued {
		return err
	}
	if _, err := t.exec(`UPDATE runs SET state = ?, wake_at = ? WHERE id = ?`, string(journal.Running), s.at, id); err != nil {
		return err
	}
	return t.due(done.Workspace, lane, s.at)
}

// cause records what own calls cause, and which of it has come.
func (s *saving) cause(t *tx) error {
	for i, c := range s.change.Caused {
		result, err := t.exec(`INSERT INTO caused (workspace, lane, event, object, stage, fields, run, rule, ancestry, after_event, from_at, to_at, used, at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			c.Workspace, c.Lane, c.Event, c.Object, c.Stage, s.form.Caused[i].Fields, c.Run, c.Rule, s.form.Caused[i].Ancestry, c.After, stored.Micros(c.From), stored.Micros(c.To), c.Used, s.at)
		if err != nil {
			return err
		}
		id, err := result.LastInsertId()
		if err != nil {
			return err
		}
		s.made = append(s.made, id)
	}
	for _, id := range s.change.Gone {
		if _, err := t.exec(`DELETE FROM caused WHERE id = ?`, id); err != nil {
			return err
		}
	}
	for _, id := range s.change.Used {
		if _, err := t.exec(`UPDATE caused SET used = 1 WHERE id = ?`, id); err != nil {
			return err
		}
	}
	return nil
}
