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

// A Report is what a check of a journal has found.
type Report struct {
	Schema   int64            `json:"schema"`
	Rows     map[string]int64 `json:"rows"` // by table
	Findings []string         `json:"findings"`
}

// ErrUnsound is in the error of a file that can be read, and is no journal or a damaged one.
var ErrUnsound = errors.New("no sound journal")

// A Consistency is something that holds in every journal. Its query returns what it does not hold
// for, in the SQL that all databases share: a number or a text that names the row, at most
// mostNamed of them.
type Consistency struct {
	Name   string
	Tables []string // that it looks at
	Query  string
	Words  string // with %s for what it does not hold for
}

// mostNamed is how many rows a finding names.
const mostNamed = 20

// Consistencies are what holds in every journal, at every commit.
var Consistencies = []Consistency{
	{
		"every unfinished run has what it came of", []string{"runs", "events"},
		`SELECT r.id FROM runs r WHERE NOT r.finished AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = r.event AND e.data IS NOT NULL)`,
		"unfinished runs whose event is gone or has lost its data, so that they cannot go on: %s; end them with quando runs cancel",
	},
	{
		// An event's id is forgotten 15 days after its content, while a run that waited for long may end
		// later: only an event that is newer than others that are kept is missing.
		"every run's event is there, or was forgotten for its age", []string{"runs", "events"},
		`SELECT r.id FROM runs r WHERE r.finished AND NOT EXISTS (SELECT 1 FROM events e WHERE e.seq = r.event)
			AND r.started_at > (SELECT coalesce(min(e.received_at), 0) FROM events e) + 86400000000`,
		"runs whose event is not there although older ones are: %s",
	},
	{
		// A lane may be due later than its runs would be: a run that goes there was on its way until that
		// was recorded, and what could not be worked on is looked at again after a while.
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
		`SELECT r.id FROM runs r WHERE r.finished <> (r.state IN ('done', 'stopped', 'cancelled', 'failed'))`,
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

// Add puts into words for which rows something does not hold; nothing when for none.
func (r *Report) Add(c Consistency, rows []string) {
	if len(rows) == 0 {
		return
	}
	list := fmt.Sprint(rows[:min(len(rows), mostNamed)])
	if len(rows) > mostNamed {
		list += " and more"
	}
	r.Findings = append(r.Findings, fmt.Sprintf(c.Words, list))
}

// soon stands in a query for a moment that is further away than any pause after which an engine
// looks again at what it could not work on.
const soon = ":soon"

// Limited is the query as of now, with a bound on what it returns.
func (c Consistency) Limited() string {
	query := strings.ReplaceAll(c.Query, soon, fmt.Sprint(Micros(time.Now().Add(10*time.Minute))))
	return fmt.Sprintf("%s ORDER BY 1 LIMIT %d", query, mostNamed+1)
}

// Looks reports whether all its tables are among some.
func (c Consistency) Looks(tables []string) bool {
	return !slices.ContainsFunc(c.Tables, func(t string) bool { return !slices.Contains(tables, t) })
}

// Read goes through a table for how many rows it has, and which of them hold JSON that cannot be
// read.
func (r *Report) Read(ctx context.Context, k Keeper, t *Table) error {
	var bad []string
	r.Rows[t.Name] = 0
	err := EachRow(ctx, k, t, func(row []any) error {
		r.Rows[t.Name]++
		for i, c := range t.Columns {
			text, ok := row[i].(string)
			if ok && (c.Kind == JSON || t.Name == "steps" && c.Name == "record") && !json.Valid([]byte(text)) && len(bad) <= mostNamed {
				bad = append(bad, fmt.Sprintf("%v (%s)", row[:t.Key], c.Name))
			}
		}
		return nil
	})
	r.Add(Consistency{Words: t.Name + " that cannot be read: %s"}, bad)
	return err
}
