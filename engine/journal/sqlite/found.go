package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// AcceptFound records found events, except those that describe the same as a recorded event.
func (j *Journal) AcceptFound(ctx context.Context, found []rules.Finding) ([]bool, error) {
	if j.attached {
		return nil, errAttached
	}
	data, err := stored.DataOfFindings(found)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	fresh := make([]bool, len(found))
	err = j.writer.write(ctx, directOperation(len(found), func(t *tx) error {
		for i := range found {
			var err error
			if fresh[i], err = t.acceptFound(&found[i], data[i]); err != nil {
				return err
			}
			t.anyFound = t.anyFound || fresh[i]
		}
		return nil
	}, nil))
	if err != nil {
		return nil, fmt.Errorf("accept what was found: %w", err)
	}
	return fresh, nil
}

// acceptFound records one event, and reports whether it is new.
func (t *tx) acceptFound(f *rules.Finding, data string) (fresh bool, err error) {
	for _, lane := range f.Lanes {
		known := false
		err := t.each(`SELECT e.id, e.created_at, e.data FROM events e INDEXED BY events_lane WHERE e.lane = ? AND e.workspace = ? AND e.created_at >= ? AND e.type = ?`,
			[]any{lane, f.Workspace, stored.Micros(f.Since), f.Type}, func(rows *sql.Rows) error {
				e := rules.Event{Workspace: f.Workspace, Type: f.Type, Lane: lane}
				var created int64
				var content *string
				if err := rows.Scan(&e.ID, &created, &content); err != nil {
					return err
				}
				e.CreatedAt = stored.Moment(created)
				err := stored.Decode(content, &e.Data)
				known = known || f.Tells(e)
				return err
			})
		if known || err != nil {
			return false, err
		}
	}
	if fresh, err = t.insertEvent(&f.Event, data); err != nil || !fresh {
		return false, err
	}
	if err := t.makeLaneDue(ledger.LaneKey{Workspace: f.Workspace, Lane: f.Lane}, stored.Micros(f.ReceivedAt), 1); err != nil {
		return false, err
	}
	_, err = t.exec(`INSERT INTO found (seq, workspace, type, identity, since, until, told, at) SELECT seq, workspace, type, ?, ?, ?, '', received_at FROM events WHERE workspace = ? AND id = ?`,
		f.Identity, stored.Micros(f.Since), stored.Until(f.Until), f.Workspace, f.ID)
	return err == nil, err
}

// matchAndMarkFound reports whether a delivered event describes a found event, and then records its
// id: only one delivered event matches, however often it is delivered.
func (t *tx) matchAndMarkFound(e *rules.Event) (bool, error) {
	known, seq, err := t.matchFound(e)
	if seq == 0 || err != nil {
		return known, err
	}
	_, err = t.exec(`UPDATE found SET told = ? WHERE seq = ?`, e.ID, seq)
	return true, err
}

// matchFound reports whether an event describes a found event. It returns the found event's number
// if no delivered event has matched it yet.
func (t *tx) matchFound(e *rules.Event) (known bool, seq int64, err error) {
	if e.Identity == "" || !t.w.anyFound && !t.anyFound {
		return false, 0, nil
	}
	var told string
	known, err = t.get(`SELECT seq, told FROM found INDEXED BY found_identity WHERE workspace = ?1 AND type = ?2 AND identity = ?3 AND since <= ?4 AND until >= ?4 AND told IN ('', ?5)
		ORDER BY told DESC, seq LIMIT 1`, []any{e.Workspace, e.Type, e.Identity, stored.Micros(e.CreatedAt), e.ID}, &seq, &told)
	if told != "" {
		seq = 0
	}
	return known, seq, err
}

// loadAnyFound reads whether there are found events: while there are none, delivered events need no
// lookup.
func (w *writer) loadAnyFound(ctx context.Context) error {
	return w.conn.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM found)`).Scan(&w.anyFound)
}

// CountFound returns how many events were found since a time.
func (j *Journal) CountFound(ctx context.Context, workspace string, since time.Time) (map[string]int, error) {
	counts := map[string]int{}
	err := j.each(ctx, `SELECT type, count(*) FROM found INDEXED BY found_at WHERE at >= ? AND workspace = ? GROUP BY type`, []any{stored.Micros(since), workspace}, func(rows *sql.Rows) error {
		var typ string
		var n int
		err := rows.Scan(&typ, &n)
		counts[typ] = n
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("count what was found: %w", err)
	}
	return counts, nil
}

// Seen returns the last seen values of a kind.
func (j *Journal) Seen(ctx context.Context, workspace, kind string) (map[string]string, error) {
	seen := map[string]string{}
	err := j.each(ctx, `SELECT id, value FROM seen WHERE workspace = ? AND kind = ?`, []any{workspace, kind}, func(rows *sql.Rows) error {
		var id, value string
		err := rows.Scan(&id, &value)
		seen[id] = value
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("what was seen: %w", err)
	}
	return seen, nil
}

// SetSeen stores seen values of a kind.
func (j *Journal) SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error {
	err := j.writer.write(ctx, directOperation(len(values), func(t *tx) error {
		for id, value := range values {
			query, args := `INSERT OR REPLACE INTO seen (workspace, kind, id, value, at) VALUES (?, ?, ?, ?, ?)`, []any{workspace, kind, id, value, stored.Micros(now)}
			if value == "" {
				query, args = `DELETE FROM seen WHERE workspace = ? AND kind = ? AND id = ?`, args[:3]
			}
			if _, err := t.exec(query, args...); err != nil {
				return err
			}
		}
		return nil
	}, nil))
	if err != nil {
		return fmt.Errorf("keep what was seen: %w", err)
	}
	return nil
}
