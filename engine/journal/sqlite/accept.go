package sqlite

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// Accept records events and makes their lanes due.
func (j *Journal) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	if len(events) == 0 {
		return nil, nil
	}
	data, err := stored.AllData(events)
	if err != nil {
		return nil, err
	}
	fresh := make([]bool, len(events))
	err = j.writer.write(ctx, &operation{weight: len(events), do: func(t *tx) error {
		for i, e := range events {
			found, err := t.wasFound(&e)
			if fresh[i] = false; err == nil && !found {
				fresh[i], err = t.record(e, data[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	}})
	if err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	return fresh, nil
}

// record writes an event down, makes its lane due, and reports whether it is new.
func (t *tx) record(e rules.Event, data string) (bool, error) {
	result, err := t.exec(`INSERT INTO events (workspace, id, type, rule, tenant, lane, created_at, received_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (workspace, id) DO NOTHING`,
		e.Workspace, e.ID, e.Type, e.Rule, e.Tenant, e.Lane, stored.Micros(e.CreatedAt), stored.Micros(e.ReceivedAt), data)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	if t.seq, err = result.LastInsertId(); err != nil {
		return false, err
	}
	t.event = t.seq
	return true, t.due(e.Workspace, e.Lane, stored.Micros(e.ReceivedAt))
}

// due asks for a lane's attention at a time. Whoever has claimed the lane finds out when it is released. No time at all is long ago.
func (t *tx) due(workspace, lane string, at int64) error {
	t.stirs = true
	t.w.stir(laneKey{workspace, lane})
	_, err := t.exec(`INSERT INTO lanes (workspace, lane, due_at, news) VALUES (?, ?, ?, 1)
		ON CONFLICT (workspace, lane) DO UPDATE SET due_at = min(due_at, excluded.due_at), news = news + 1`, workspace, lane, max(at, 1))
	return err
}
