package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"math"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

var (
	fillNews   = chunkOf + `SELECT k.i, d.news FROM k CROSS JOIN lanes d ON d.workspace = k.w AND d.lane = k.l`
	fillEvents = chunkOf + `SELECT k.i, ` + eventColumns + ` FROM k CROSS JOIN events e ON e.seq IN (SELECT u.seq FROM events u INDEXED BY events_undecided
		WHERE u.workspace = k.w AND u.lane = k.l AND u.decided = 0 ORDER BY u.seq LIMIT ` + fmt.Sprint(journal.MostEvents+1) + `) ORDER BY e.seq`
	fillGathers = chunkOf + `SELECT k.i, ` + gatherColumns + ` FROM k CROSS JOIN gathers g INDEXED BY gathers_lane ON g.workspace = k.w AND g.lane = k.l ORDER BY g.until, g.rule, g.by`
	fillRuns    = chunkOf + `, found (i, id) AS (
		SELECT k.i, r.id FROM k CROSS JOIN runs r INDEXED BY runs_lane ON r.workspace = k.w AND r.lane = k.l AND r.finished = 0
		UNION SELECT k.i, r.id FROM k CROSS JOIN runs r INDEXED BY runs_away ON r.workspace = k.w AND r.home = k.l AND r.finished = 0 AND r.home <> r.lane
		UNION SELECT k.i, r.id FROM k CROSS JOIN runs r INDEXED BY runs_asked ON r.workspace = k.w AND r.lane = k.l AND r.asked IS NOT NULL)
		SELECT found.i, ` + runColumns + ` FROM found CROSS JOIN runs r ON r.id = found.id ORDER BY r.id`
)

// fill loads what is pending in a chunk of lanes.
func (r *readTx) fill(lanes []*journal.Lane) error {
	args := make([]any, 2*chunkSize)
	for i, l := range lanes {
		args[2*i], args[2*i+1] = l.Workspace, l.Name
	}
	err := r.each(fillNews, args, func(rows *sql.Rows) error {
		var i int
		var news int64
		if err := rows.Scan(&i, &news); err != nil {
			return err
		}
		lanes[i].News = news
		return nil
	})
	if err != nil {
		return err
	}
	err = r.each(fillEvents, args, func(rows *sql.Rows) error {
		var i int
		e, err := scanEvent(rows, &i)
		if err == nil {
			lanes[i].Add(e)
		}
		return err
	})
	if err != nil {
		return err
	}
	err = r.each(fillGathers, args, func(rows *sql.Rows) error {
		var i int
		g, err := scanGather(rows.Scan, &i)
		if err == nil {
			lanes[i].Gathers = append(lanes[i].Gathers, g)
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.fillRuns(lanes, args)
}

// fillRuns loads the runs of a chunk of lanes with their steps. A run whose lane is not its home
// may be loaded into two lanes, each with its own copy.
func (r *readTx) fillRuns(lanes []*journal.Lane, args []any) error {
	runs := map[int64][]*journal.Run{}
	err := r.each(fillRuns, args, func(rows *sql.Rows) error {
		var i int
		run, err := scanRun(rows, &i)
		if err == nil {
			lanes[i].Runs = append(lanes[i].Runs, run)
			runs[run.ID] = append(runs[run.ID], run)
		}
		return err
	})
	if err != nil || len(runs) == 0 {
		return err
	}
	var complete []int64
	var ranges [][3]int64
	for id, copies := range runs {
		if kept := copies[0].Kept; kept.All() {
			complete = append(complete, id)
		} else {
			for _, n := range kept.Also {
				ranges = append(ranges, [3]int64{id, int64(n), int64(n)})
			}
			ranges = append(ranges, [3]int64{id, int64(kept.From), math.MaxInt32})
		}
	}
	read := func(query string, n int, keys any) error {
		if n == 0 {
			return nil
		}
		text, err := stored.Text(keys)
		if err != nil {
			return err
		}
		return r.each(query, []any{text}, func(rows *sql.Rows) error {
			id, s, err := scanStep(rows)
			if err != nil {
				return err
			}
			for _, run := range runs[id] {
				step := *s
				run.Steps = append(run.Steps, &step)
			}
			return nil
		})
	}
	return errors.Join(read(selectSteps, len(complete), complete), read(selectKept, len(ranges), ranges))
}
