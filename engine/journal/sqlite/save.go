package sqlite

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// Save records a change of a claimed lane. What the journal decides is set in the change when it is recorded, not before.
func (j *Journal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	if j.beside {
		return errBeside
	}
	formed, err := stored.ChangeOf(change)
	s := &saving{journal: j, lane: lane, change: change, form: formed, at: stored.Micros(change.At)}
	if err == nil && change.Fresh != nil {
		s.data, err = stored.Data(change.Fresh.Event)
	}
	if err == nil {
		weight := len(change.Decided) + len(change.Starts) + len(change.Runs) + len(change.Caused)
		err = j.writer.write(ctx, &operation{weight: weight, do: s.do, kept: s.kept})
	}
	if err != nil {
		return fmt.Errorf("save lane %s: %w", lane.Name, err)
	}
	return nil
}

// A saving is a change on its way into the file.
type saving struct {
	journal *Journal
	lane    *journal.Lane
	change  *journal.Change
	form    *stored.Change
	at      int64
	data    string // of the fresh event

	// What the transaction came to.
	claim   *claim
	seq     int64 // of the fresh event
	left    bool  // something is left in the lane
	stirs   bool  // something is due because of it
	waits   bool  // a run of the lane waits for something
	started []started
	made    []int64    // the ids of what was caused
	runs    []runState // that were recorded
}

// do records the change: first everything that may refuse it, then everything that writes.
func (s *saving) do(t *tx) error {
	s.claim, s.started, s.made, s.runs, s.left, s.stirs, s.waits = s.journal.claims.of(s.lane), nil, nil, nil, false, false, false
	if s.claim == nil || t.released[s.claim] {
		return journal.ErrLost
	}
	if fresh := s.change.Fresh; fresh != nil {
		if err := s.vacant(t, &fresh.Event); err != nil {
			return err
		}
	}
	if err := s.mayCall(t); err != nil {
		return err
	}
	takings, err := s.takings(t)
	if err != nil {
		return err
	}
	if err := s.ending(t); err != nil {
		return err
	}
	if s.change.Fresh != nil {
		if s.seq, err = t.nextEvent(); err != nil {
			return err
		}
	}
	take := func(t *tx) error {
		if !s.change.Calls(func(start int) bool { return s.started[start].begun }) {
			return nil
		}
		for _, k := range takings {
			if err := t.take(s.lane.Workspace, k, s.at); err != nil {
				return err
			}
		}
		return nil
	}
	for _, write := range []func(*tx) error{s.changeRuns, s.start, take, s.decide, s.end, s.gather, s.cause, s.ask, s.release} {
		if err := write(t); err != nil {
			return err
		}
	}
	return nil
}

// kept tells the caller what the journal decided, and lets go of the lane.
func (s *saving) kept() {
	if fresh := s.change.Fresh; fresh != nil {
		fresh.Seq = s.seq
	}
	for i, st := range s.change.Starts {
		r := s.started[i]
		st.Run.ID, st.Run.State, st.Begun = r.id, r.state, r.begun
		if st.Run.Event == 0 {
			st.Run.Event = s.seq
		}
		if st.Verdict != nil {
			*st.Verdict = r.verdict
		}
		if r.sourced {
			s.journal.writer.versions[st.Run.Version] = true
		}
	}
	for i := range s.change.Caused {
		s.change.Caused[i].ID = s.made[i]
	}
	if len(s.change.Gather) > 0 {
		s.claim.gathers = true
	}
	if s.change.Release {
		s.lane.Calm = !s.stirs
		s.journal.claims.release(s.lane, s.left)
		return
	}
	if s.claim.opened && s.waits {
		s.claim.opened, s.claim.news = false, 1
	}
	s.claim.remember(s.runs)
}

// decide records verdicts, those of starts as they came out, and counts them.
func (s *saving) decide(t *tx) error {
	for i, e := range s.change.Decided {
		verdicts, given, err := s.form.Verdicts(i, s.verdict)
		if err != nil {
			return err
		}
		seq := e.Seq
		if e == s.change.Fresh {
			seq, err = s.seq, t.insertDecided(s.seq, e, s.data, verdicts, s.form.Answers[i])
		} else {
			given, err = t.decide(seq, given, verdicts, s.form.Answers[i])
		}
		if err != nil {
			return err
		}
		for _, v := range given {
			t.tally.Verdict(s.at, e, seq, v)
		}
	}
	return nil
}

// decide records the verdicts of an event, and returns those that are new.
func (t *tx) decide(seq int64, given []journal.Verdict, verdicts, answers any) (fresh []journal.Verdict, err error) {
	n, err := t.changed(`UPDATE events SET decided = 1, verdicts = ?, answers = ? WHERE seq = ? AND decided = 0`, verdicts, answers, seq)
	if err == nil && n == 0 {
		return t.decideAgain(seq, given, verdicts, answers)
	}
	return given, err
}

// decideAgain records the verdicts of an event that has some, as when a rule decides on the last of those that it has gathered. It returns those
// that are not what they were.
func (t *tx) decideAgain(seq int64, given []journal.Verdict, verdicts, answers any) (changed []journal.Verdict, err error) {
	var recorded *string
	var before []journal.Verdict
	if _, err := t.get(`SELECT verdicts FROM events WHERE seq = ?`, []any{seq}, &recorded); err != nil {
		return nil, err
	}
	if err := stored.Decode(recorded, &before); err != nil {
		return nil, err
	}
	_, err = t.exec(`UPDATE events SET verdicts = ?, answers = ? WHERE seq = ?`, verdicts, answers, seq)
	return stored.Changed(before, given), err
}

// verdict returns a start's verdict as it came out.
func (s *saving) verdict(v *journal.Verdict) journal.Verdict {
	for i, st := range s.change.Starts {
		if st.Verdict == v {
			return s.started[i].verdict
		}
	}
	return *v
}

// ask asks of runs what the change asks. A run that is gone has nothing to be asked.
func (s *saving) ask(t *tx) error {
	for i, a := range s.change.Asks {
		if _, err := t.ask(s.at, a.Run, s.form.Asks[i]); err != nil {
			return err
		}
	}
	return nil
}

// release gives the lane back. Whatever asked for its attention since it was claimed, the change itself included, makes it due at once.
func (s *saving) release(t *tx) error {
	if !s.change.Release {
		if s.claim.opened && s.waits {
			// Should the process die, this run is found by its lane; one that is running is
			// found by itself.
			return t.due(s.lane.Workspace, s.lane.Name, s.at)
		}
		return nil
	}
	t.released[s.claim] = true
	s.stirs = t.stirs || s.claim.stirred.Load()
	next := stored.Micros(s.change.Next)
	if s.claim.gathers || len(s.change.Gather) > 0 {
		var until, after int64
		if next != 0 {
			after = s.at // what is over already could not be decided, and Next says when it will be tried again
		}
		_, err := t.get(`SELECT coalesce(min(until), 0) FROM gathers INDEXED BY gathers_lane WHERE workspace = ? AND lane = ? AND until > ?`,
			[]any{s.lane.Workspace, s.lane.Name, after}, &until)
		if err != nil {
			return err
		}
		if until != 0 && (next == 0 || until < next) {
			next = until
		}
	}
	s.left = next != 0
	s.stirs = s.stirs || next != 0
	if s.claim.opened {
		if next == 0 {
			s.left = s.claim.stirred.Load() // which gave it a row
			return nil
		}
		return t.due(s.lane.Workspace, s.lane.Name, next)
	}
	soon := max(s.at, 1)
	if next == 0 {
		n, err := t.changed(`DELETE FROM lanes WHERE workspace = ? AND lane = ? AND news = ?`, s.lane.Workspace, s.lane.Name, s.claim.news)
		if err != nil || n > 0 {
			return err
		}
		next, s.stirs = soon, true
	}
	_, err := t.exec(`UPDATE lanes SET due_at = CASE news WHEN ? THEN ? ELSE ? END WHERE workspace = ? AND lane = ?`,
		s.claim.news, next, min(next, soon), s.lane.Workspace, s.lane.Name)
	return err
}
