package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
)

const (
	// claimed is a table k of the lanes of a claim: a number, a workspace and a name.
	claimed = `unnest($1::bigint[], $2::text[], $3::text[]) k (i, w, l)`

	fillGathers = `SELECT k.i, ` + gatherColumns + ` FROM ` + claimed + ` JOIN quando.gathers g ON g.workspace = k.w AND g.lane = k.l ORDER BY g.until, g.rule, g.by`

	// found are the runs of the lanes: those that are in the lane, those that have it as home, and
	// those with a request.
	found = `WITH found (i, id) AS (
		SELECT k.i, r.id FROM ` + claimed + ` JOIN quando.runs r ON r.workspace = k.w AND r.lane = k.l AND NOT r.finished
		UNION SELECT k.i, r.id FROM ` + claimed + ` JOIN quando.runs r ON r.workspace = k.w AND r.home = k.l AND NOT r.finished AND r.home <> r.lane
		UNION SELECT k.i, r.id FROM ` + claimed + ` JOIN quando.runs r ON r.workspace = k.w AND r.lane = k.l AND r.asked IS NOT NULL) `
	fillRuns = found + `SELECT found.i, ` + runColumns + ` FROM found JOIN quando.runs r ON r.id = found.id ORDER BY r.id`

	// fillSteps selects the steps that runs still need: those from a number on, and some before it.
	// The numbers are in the column about, unless a run needs all steps.
	fillSteps = found + `, kept AS MATERIALIZED (SELECT r.id, CASE WHEN r.about LIKE '%"kept":%' THEN r.about::json -> 'kept' END AS kept
			FROM (SELECT DISTINCT id FROM found) f JOIN quando.runs r ON r.id = f.id)
		SELECT ` + stepColumns + ` FROM kept k JOIN quando.steps s ON s.run = k.id AND s.n >= coalesce((k.kept ->> 'from')::bigint, 0)
		UNION ALL SELECT ` + stepColumns + ` FROM kept k CROSS JOIN LATERAL json_array_elements_text(k.kept -> 'also') a (n) JOIN quando.steps s ON s.run = k.id AND s.n = a.n::bigint
		ORDER BY 1, 2`
)

// fillEvents loads one event more than a visit handles, which shows that there are more.
var fillEvents = fmt.Sprintf(`SELECT k.i, `+eventColumns+` FROM `+claimed+` CROSS JOIN LATERAL (SELECT * FROM quando.events u WHERE u.workspace = k.w AND u.lane = k.l AND NOT u.decided
	ORDER BY u.seq LIMIT %d) e ORDER BY e.seq`, journal.MostEvents+1)

// fill loads what is pending in claimed lanes. Their news was read with the claim: what arrives in
// between is loaded now, and only makes the lane due once more.
func (j *Journal) fill(ctx context.Context, lanes []*journal.Lane) error {
	var places []int64
	var workspaces, names texts
	for i, l := range lanes {
		places = append(places, int64(i))
		workspaces.add(l.Workspace)
		names.add(l.Name)
	}
	b := &pgx.Batch{}
	b.Queue(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY`)
	b.Queue(`SELECT ` + forceIndexes)
	each(b.Queue(fillEvents, places, workspaces, names), func(rows pgx.Rows) error {
		var i int
		e, err := scanEvent(rows, &i)
		if err == nil {
			lanes[i].Add(e)
			j.sawEvent(e.Seq)
		}
		return err
	})
	each(b.Queue(fillGathers, places, workspaces, names), func(rows pgx.Rows) error {
		var i int
		g, err := scanGather(rows, &i)
		if err == nil {
			lanes[i].Gathers = append(lanes[i].Gathers, g)
		}
		return err
	})
	// A run whose lane is not its home may be loaded into two lanes, each with its own copy.
	runs := map[int64][]*journal.Run{}
	each(b.Queue(fillRuns, places, workspaces, names), func(rows pgx.Rows) error {
		var i int
		r, err := scanRun(rows, &i)
		if err == nil {
			lanes[i].Runs = append(lanes[i].Runs, r)
			runs[r.ID] = append(runs[r.ID], r)
		}
		return err
	})
	each(b.Queue(fillSteps, places, workspaces, names), func(rows pgx.Rows) error {
		id, s, err := scanStep(rows)
		for _, r := range runs[id] {
			step := *s
			r.Steps = append(r.Steps, &step)
		}
		return err
	})
	b.Queue(`COMMIT`)
	return j.send(ctx, b)
}
