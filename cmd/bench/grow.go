package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// A growth multiplies the rows of one real event in a journal, so that a large journal takes
// minutes, not days. Quando itself created the file, and no process has it open.
type growth struct {
	file     string
	copies   int
	lanes    int           // conversations of the copies, in turn
	first    uint64        // the number of the first copy's event
	spread   time.Duration // over which the copies lie, back from the event itself
	progress func(done, all int)

	db               *sql.DB
	event, run       int64  // what is copied; run is 0 if there is none
	id, conversation string // of the event
	lastRun          int64
}

// grown are the tables with rows of an event.
var grown = []string{"events", "runs", "steps", "caused", "lanes"}

// grow makes the copies, and returns how many rows the journal has.
func (g *growth) grow(ctx context.Context) (rows int, err error) {
	if g.db, err = sql.Open("sqlite3", "file:"+g.file+"?_journal_mode=OFF&_synchronous=OFF&_cache_size=-200000"); err != nil {
		return 0, err
	}
	g.db.SetMaxOpenConns(1) // the templates belong to the connection
	defer func() { err = errors.Join(err, g.db.Close(), settleOnDisk(g.file)) }()
	if err := g.survey(ctx); err != nil {
		return 0, err
	}
	indexes, err := g.dropIndexes(ctx)
	if err != nil {
		return 0, err
	}
	const chunk = 50_000
	for done := 0; done < g.copies; done += chunk {
		until := min(done+chunk, g.copies)
		if err := g.copy(ctx, done, until); err != nil {
			return 0, err
		}
		g.progress(until, g.copies)
	}
	for _, text := range indexes {
		if err := g.exec(ctx, text); err != nil {
			return 0, err
		}
	}
	for _, table := range grown {
		var count int
		if err := g.db.QueryRowContext(ctx, `SELECT count(*) FROM `+table).Scan(&count); err != nil {
			return 0, err
		}
		rows += count
	}
	return rows, nil
}

// settleOnDisk syncs a file: otherwise the next process's first sync would have to.
func settleOnDisk(file string) error {
	f, err := os.OpenFile(file, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

func (g *growth) exec(ctx context.Context, query string, args ...any) error {
	if _, err := g.db.ExecContext(ctx, query, args...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

// survey reads the rows to copy.
func (g *growth) survey(ctx context.Context) error {
	err := g.db.QueryRowContext(ctx, `SELECT seq, id, json_extract(data, '$.conversation.id') FROM events ORDER BY seq DESC LIMIT 1`).Scan(&g.event, &g.id, &g.conversation)
	if err != nil {
		return fmt.Errorf("the event to copy: %w", err)
	}
	err = g.db.QueryRowContext(ctx, `SELECT coalesce(max(id), 0), coalesce(max(CASE event WHEN ? THEN id END), 0) FROM runs`, g.event).Scan(&g.lastRun, &g.run)
	if err != nil {
		return err
	}
	where := []string{
		fmt.Sprint(`seq = `, g.event), fmt.Sprint(`id = `, g.run), fmt.Sprint(`run = `, g.run), fmt.Sprint(`run = `, g.run), `lane = 'conversation:` + g.conversation + `'`,
	}
	for i, table := range grown {
		if err := g.exec(ctx, `CREATE TEMP TABLE template_`+table+` AS SELECT * FROM `+table+` WHERE `+where[i]); err != nil {
			return err
		}
	}
	return nil
}

// dropIndexes takes the indexes away while rows are added, and returns how to make them again.
func (g *growth) dropIndexes(ctx context.Context) (texts []string, err error) {
	names, err := g.texts(ctx, `SELECT name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`)
	if err != nil {
		return nil, err
	}
	if texts, err = g.texts(ctx, `SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name`); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := g.exec(ctx, `DROP INDEX `+name); err != nil {
			return nil, err
		}
	}
	return texts, nil
}

// texts reads a column.
func (g *growth) texts(ctx context.Context, query string, args ...any) (list []string, err error) {
	rows, err := g.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var s string
		if err := rows.Scan(&s); err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return list, rows.Err()
}

// copy adds the copies from one number up to another. In the statements i is the number of a copy.
func (g *growth) copy(ctx context.Context, from, to int) error {
	id := fmt.Sprintf(`printf('%s%%012x', %d + i)`, eventPrefix, g.first)
	conversation := fmt.Sprintf(`printf('0192f3a4-0000-7000-9000-%%012x', (%d + i) %% %d)`, g.first, g.lanes)
	back := fmt.Sprintf(`(%d - i) * %d`, g.copies, g.spread.Microseconds()/int64(g.copies)) // the oldest first
	named := func(column string) string {
		return fmt.Sprintf(`replace(replace("%s", '%s', %s), '%s', %s)`, column, g.id, id, g.conversation, conversation)
	}
	at := func(column string) string {
		return fmt.Sprintf(`CASE "%s" WHEN 0 THEN 0 ELSE "%s" - %s END`, column, column, back)
	}
	event, run := fmt.Sprintf(`%d + i`, g.event+1), fmt.Sprintf(`%d + i`, g.lastRun+1)
	changed := map[string]map[string]string{
		"events": {"seq": event, "id": id, "lane": named("lane"), "data": named("data"), "verdicts": named("verdicts"), "created_at": at("created_at"), "received_at": at("received_at")},
		"runs": {"id": run, "event": event, "key": named("key"), "home": named("home"), "lane": named("lane"), "by": named("by"), "about": named("about"),
			"started_at": at("started_at"), "finished_at": at("finished_at")},
		"steps":  {"run": run, "key": named("key"), "record": named("record")},
		"caused": {"id": "NULL", "run": run, "lane": named("lane"), "object": `"object" || i`, "from_at": at("from_at"), "to_at": at("to_at"), "at": at("at")},
		"lanes":  {"lane": named("lane")},
	}
	for _, table := range grown {
		columns, err := g.texts(ctx, `SELECT name FROM pragma_table_info(?)`, table)
		if err != nil {
			return err
		}
		values := make([]string, len(columns))
		for i, name := range columns {
			columns[i], values[i] = `"`+name+`"`, `"`+name+`"`
			if v, ok := changed[table][name]; ok {
				values[i] = v
			}
		}
		insert := `INSERT INTO `
		if table == "lanes" {
			insert = `INSERT OR IGNORE INTO ` // one row, however many of its events wait
		}
		err = g.exec(ctx, `WITH RECURSIVE k (i) AS (VALUES (?) UNION ALL SELECT i + 1 FROM k WHERE i < ?) `+insert+table+` (`+strings.Join(columns, ", ")+`) SELECT `+
			strings.Join(values, ", ")+` FROM k CROSS JOIN template_`+table, from, to-1)
		if err != nil {
			return err
		}
	}
	return nil
}
