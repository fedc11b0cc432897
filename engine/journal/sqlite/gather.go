package sqlite

import (
	"database/sql"
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// gatherOf reads what is being gathered for a rule and a by; nil when nothing is.
func (t *tx) gatherOf(workspace, rule, by string) (g *journal.Gather, err error) {
	err = t.each(`SELECT `+gatherColumns+` FROM gathers g WHERE g.workspace = ? AND g.rule = ? AND g.by = ?`, []any{workspace, rule, by}, func(rows *sql.Rows) error {
		g, err = scanGather(rows.Scan)
		return err
	})
	return g, err
}

// ending refuses the change when a gather that it ends has grown, or is over.
func (s *saving) ending(t *tx) error {
	for _, e := range s.change.Ended {
		g, err := t.gatherOf(e.Workspace, e.Rule, e.By)
		if err != nil {
			return err
		}
		if g == nil || !slices.Equal(g.Events, e.Events) {
			return fmt.Errorf("gather of %s: %w", e.Rule, journal.ErrChanged)
		}
	}
	return nil
}

// end ends gathers.
func (s *saving) end(t *tx) error {
	for _, e := range s.change.Ended {
		if _, err := t.exec(`DELETE FROM gathers WHERE workspace = ? AND rule = ? AND by = ?`, e.Workspace, e.Rule, e.By); err != nil {
			return err
		}
	}
	return nil
}

// gather adds events to those that are being gathered. The newest one's lane is where the gather ends.
func (s *saving) gather(t *tx) error {
	for _, add := range s.change.Gather {
		g, err := t.gatherOf(add.Workspace, add.Rule, add.By)
		if err != nil {
			return err
		}
		if g == nil {
			g = &journal.Gather{Since: s.change.At}
		}
		events, err := stored.Text(append(g.Events, add.Events...))
		if err != nil {
			return err
		}
		until := s.change.At.Add(add.Quiet)
		if end := g.Since.Add(add.AtMost); add.AtMost > 0 && end.Before(until) {
			until = end
		}
		_, err = t.exec(`INSERT OR REPLACE INTO gathers (workspace, rule, by, lane, events, since, until, quiet, at_most) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			add.Workspace, add.Rule, add.By, s.lane.Name, events, stored.Micros(g.Since), stored.Micros(until), int64(add.Quiet), int64(add.AtMost))
		if err != nil {
			return err
		}
	}
	return nil
}
