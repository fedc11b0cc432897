package stored

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// A Report is the result of a check of a journal.
type Report struct {
	Schema   int64            `json:"schema"`
	Rows     map[string]int64 `json:"rows"` // by table
	Findings []string         `json:"findings"`
}

// ErrUnsound is in the error of a file that can be read, but is not a journal or is damaged.
var ErrUnsound = errors.New("no sound journal")

// A Consistency is an invariant of every journal. Its query returns the violations, in the SQL that
// all databases share: a number or a text that identifies the row, at most maxNamed of them.
type Consistency struct {
	Name   string
	Tables []string // the tables that it reads
	Query  string
	Words  string // the finding, with %s for the violations
}

// maxNamed is how many rows a finding names.
const maxNamed = 20

// Consistencies hold in every journal, after every commit.
var Consistencies = []Consistency{
	{
		"every unfinished run has what it came of", []string{"runs", "events"},
		`SELECT r.id FROM runs r WHERE NOT r.finished AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = r.event AND e.data IS NOT NULL)`,
		"unfinished runs whose event is gone or has lost its data, so that they cannot go on: %s; end them with quando runs cancel",
	},
	{
		// An event's id is deleted 15 days after its content, while a run that waited for long may end
		// later: an event is missing only if it is newer than others that are stored.
		"every run's event is there, or was forgotten for its age", []string{"runs", "events"},
		`SELECT r.id FROM runs r WHERE r.finished AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = r.event)
			AND r.started_at > (SELECT coalesce(min(e.received_at), 0) FROM events e) + 86400000000`,
		"runs whose event is not there although older ones are: %s",
	},
	{
		// A lane may be due later than the WakeAt of its runs: a run that moves to a lane gets there only
		// with its next commit, and the engine retries a lane that failed after a backoff.
		"every run that has something to do is in a lane that is due by then, or soon", []string{"runs", "lanes"},
		`SELECT r.id FROM runs r WHERE NOT r.finished AND r.state IN ('running', 'waiting') AND r.wake_at > 0
			AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.workspace = r.workspace AND l.lane = r.lane AND (l.due_at <= r.wake_at OR l.due_at <= ` + soon + `))`,
		"runs that nobody would wake, because their lanes are not due by then: %s; quando runs cancel ends them",
	},
	{
		"whatever was asked of a run is in a lane that is due", []string{"runs", "lanes"},
		`SELECT r.id FROM runs r WHERE r.asked IS NOT NULL AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.workspace = r.workspace AND l.lane = r.lane)`,
		"runs of which something was asked that nobody would see: %s; ask once more",
	},
	{
		"every queued run waits for another", []string{"runs"},
		`SELECT r.id FROM runs r WHERE r.state = 'queued' AND NOT EXISTS (SELECT 1 FROM runs o WHERE o.workspace = r.workspace AND o.rule = r.rule AND o.by = r.by AND NOT o.finished AND o.id < r.id)`,
		"queued runs that wait for nothing: %s; quando runs cancel ends them",
	},
	{
		"every undecided event is in a lane that is due", []string{"events", "lanes"},
		`SELECT e.seq FROM events e WHERE NOT e.decided AND NOT EXISTS (SELECT 1 FROM lanes l WHERE l.workspace = e.workspace AND l.lane = e.lane)`,
		"events that nobody would decide on, because their lanes are not due: %s",
	},
	{
		"a run is finished when its state is a last one", []string{"runs"},
		`SELECT r.id FROM runs r WHERE r.finished <> (r.state IN ('done', 'stopped', 'cancelled', 'failed', 'dealt'))`,
		"runs whose state and end disagree: %s",
	},
	{
		"every step is of a run", []string{"steps", "runs"},
		`SELECT DISTINCT s.run FROM steps s WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = s.run)`,
		"steps of runs that are not there: %s",
	},
	{
		"every unfinished run has the rule that it follows", []string{"runs", "rule_versions"},
		`SELECT r.id FROM runs r WHERE NOT r.finished AND NOT EXISTS (SELECT 1 FROM rule_versions v WHERE v.hash = r.version)`,
		"unfinished runs whose rule is not kept in the version that they began with: %s",
	},
	{
		"whatever finds a lane finds one that is known", []string{"mentions", "known"},
		`SELECT DISTINCT m.known FROM mentions m WHERE NOT EXISTS (SELECT 1 FROM known k WHERE k.id = m.known)`,
		"search keys that lead nowhere: %s",
	},
	{
		"counts are of something", []string{"counts"},
		`SELECT DISTINCT c.workspace FROM counts c WHERE c.n < 0`,
		"counts below zero, of workspaces: %s",
	},
}

// Add adds a finding for rows that violate something; nothing if there are no rows.
func (r *Report) Add(c Consistency, rows []string) {
	if len(rows) == 0 {
		return
	}
	list := fmt.Sprint(rows[:min(len(rows), maxNamed)])
	if len(rows) > maxNamed {
		list += " and more"
	}
	r.Findings = append(r.Findings, fmt.Sprintf(c.Words, list))
}

// soon is a placeholder in a query for a time that is further away than any backoff of an engine.
const soon = ":soon"

// Limited returns the query as of now, with a limit.
func (c Consistency) Limited() string {
	query := strings.ReplaceAll(c.Query, soon, fmt.Sprint(Micros(time.Now().Add(10*time.Minute))))
	return fmt.Sprintf("%s ORDER BY 1 LIMIT %d", query, maxNamed+1)
}

// Looks reports whether tables has all tables that it reads.
func (c Consistency) Looks(tables []string) bool {
	return !slices.ContainsFunc(c.Tables, func(t string) bool { return !slices.Contains(tables, t) })
}

// Read reads a table, counts its rows, and adds a finding for rows with invalid JSON.
func (r *Report) Read(ctx context.Context, k Keeper, t *Table) error {
	var bad []string
	r.Rows[t.Name] = 0
	err := EachRow(ctx, k, t, func(row []any) error {
		r.Rows[t.Name]++
		for i, c := range t.Columns {
			text, ok := row[i].(string)
			if ok && (c.Kind == JSON || t.Name == "steps" && c.Name == "record") && !json.Valid([]byte(text)) && len(bad) <= maxNamed {
				bad = append(bad, fmt.Sprintf("%v (%s)", row[:t.Key], c.Name))
			}
		}
		return nil
	})
	r.Add(Consistency{Words: t.Name + " that cannot be read: %s"}, bad)
	return err
}
