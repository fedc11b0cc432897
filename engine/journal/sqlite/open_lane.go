package sqlite

import (
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

var _ journal.Opener = (*Journal)(nil)

// Open claims the lane of an event that is about to be recorded.
func (j *Journal) Open(workspace, lane string) *journal.Lane {
	c, key := &j.claims, laneKey{workspace, lane}
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.beside || c.held[key] != nil || c.occupied.Is(stored.LaneKey{Workspace: workspace, Lane: lane}) {
		return nil
	}
	c.epoch++
	c.held[key] = &claim{epoch: c.epoch, opened: true}
	return &journal.Lane{Workspace: workspace, Name: lane, Epoch: c.epoch}
}

// Drop gives back a lane that was opened.
func (j *Journal) Drop(lane *journal.Lane) {
	j.claims.release(lane, true) // whatever kept it from being of use may do so again
}

// vacant returns an error where a lane was not opened for an event, the event is known, or something waits in its lane.
func (s *saving) vacant(t *tx, e *rules.Event) error {
	if !s.claim.opened {
		return journal.ErrOccupied
	}
	// What is gathered in a lane gives it a row.
	n, _, err := t.number(`SELECT EXISTS (SELECT 1 FROM events WHERE workspace = ?1 AND id = ?3) OR EXISTS (SELECT 1 FROM lanes WHERE workspace = ?1 AND lane = ?2)
		OR EXISTS (SELECT 1 FROM runs INDEXED BY runs_lane WHERE workspace = ?1 AND lane = ?2 AND finished = 0)
		OR EXISTS (SELECT 1 FROM runs INDEXED BY runs_away WHERE workspace = ?1 AND home = ?2 AND finished = 0 AND home <> lane)`, e.Workspace, e.Lane, e.ID)
	known := n != 0
	if err == nil && !known {
		known, _, err = t.found(e)
	}
	if err == nil && known {
		err = journal.ErrOccupied
	}
	return err
}

// insertDecided records an event with its verdicts.
func (t *tx) insertDecided(seq int64, e *journal.Event, data string, verdicts, answers any) error {
	_, err := t.exec(`INSERT INTO events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, decided, data, verdicts, answers) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, 1, ?, ?, ?)`,
		seq, e.Workspace, e.ID, e.Type, e.Rule, e.Tenant, e.Lane, stored.Micros(e.CreatedAt), stored.Micros(e.ReceivedAt), data, verdicts, answers)
	if err == nil {
		t.event = seq
	}
	return err
}

// nextEvent returns the number of the next event, which is the caller's.
func (t *tx) nextEvent() (int64, error) {
	if t.seq == 0 {
		last, _, err := t.number(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`)
		if err != nil {
			return 0, err
		}
		t.seq = last
	}
	t.seq++
	return t.seq, nil
}
