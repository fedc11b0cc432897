package sqlite

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine/journal/ledger"
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
	if err := j.writer.write(ctx, &operation{Operation: ledger.Accept(events, data, fresh)}); err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	return fresh, nil
}

// insertEvent inserts an event, and reports whether it is new.
func (t *tx) insertEvent(e *rules.Event, data string) (bool, error) {
	result, err := t.exec(`INSERT INTO events (workspace, id, type, rule, tenant, lane, created_at, received_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (workspace, id) DO NOTHING`,
		e.Workspace, e.ID, e.Type, e.Rule, e.Tenant, e.Lane, stored.Micros(e.CreatedAt), stored.Micros(e.ReceivedAt), data)
	if err != nil {
		return false, err
	}
	if n, err := result.RowsAffected(); err != nil || n == 0 {
		return false, err
	}
	t.event, err = result.LastInsertId()
	return err == nil, err
}
