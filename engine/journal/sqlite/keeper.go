package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A Keeper looks after a journal's file beside an engine that may be using it.
type Keeper struct {
	path   string
	tables []string // that the file has
	schema int64
	db     *sql.DB
}

var _ stored.Keeper = (*Keeper)(nil)

// OpenKeeper opens a journal to look after it. One that is only read stays as it is to the last
// byte, and may be of any version up to this program's: it may be a backup.
func OpenKeeper(ctx context.Context, file string, readOnly bool) (*Keeper, error) {
	if !usable {
		return nil, errNoSQLite
	}
	k := &Keeper{}
	if err := k.open(ctx, file, readOnly); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, explain(err)), k.Close())
	}
	return k, nil
}

func (k *Keeper) open(ctx context.Context, file string, readOnly bool) (err error) {
	if k.path, err = (&Journal{beside: true}).locate(file); err != nil {
		return err
	}
	// What is overwritten or deleted is to be gone from the file.
	address := source(k.path, "_txlock=immediate&_secure_delete=on")
	if readOnly {
		address = readSource(k.path)
	}
	if k.db, err = sql.Open("sqlite3", address); err != nil {
		return err
	}
	k.db.SetMaxOpenConns(1)
	if readOnly {
		err = known(ctx, k.db)
	} else {
		err = migrate(ctx, k.db, true)
	}
	if err != nil {
		return err
	}
	if k.schema, err = schema(ctx, k.db); err != nil {
		return err
	}
	rows, err := k.db.QueryContext(ctx, `SELECT name FROM sqlite_master WHERE type = 'table'`)
	if err != nil {
		return err
	}
	return scanAll(rows, func(rows *sql.Rows) error {
		var name string
		err := rows.Scan(&name)
		k.tables = append(k.tables, name)
		return err
	})
}

// Close gives the file back.
func (k *Keeper) Close() error {
	if k.db == nil {
		return nil
	}
	return k.db.Close()
}

// whySchema is the first schema in which holds have a why: a keeper that only reads may find an
// older one, as in a backup.
const whySchema = 10

// Rows returns rows of a table in the order of its key.
func (k *Keeper) Rows(ctx context.Context, t *stored.Table, after []any, limit int) ([][]any, error) {
	if !slices.Contains(k.tables, t.Name) {
		return nil, nil
	}
	names := stored.Names(t.Columns)
	if t.Name == "holds" && k.schema < whySchema {
		names[t.Index("why")] = "NULL"
	}
	return readRows(ctx, k.db, t, names, `true`, after, limit)
}

// Edit gives rows to a function and records what it makes of them.
func (k *Keeper) Edit(ctx context.Context, t *stored.Table, keys [][]any, edit func([]any) ([]any, error)) (changed int, err error) {
	err = k.transact(ctx, func(x *sql.Tx) error {
		changed = 0
		if t.Name != "audit" {
			changed, err = editRows(ctx, x, t, keys, edit)
			return err
		}
		return unguarded(ctx, x, t, func() error {
			changed, err = editRows(ctx, x, t, keys, edit)
			return err
		})
	})
	return changed, explain(err)
}

func editRows(ctx context.Context, x *sql.Tx, t *stored.Table, keys [][]any, edit func([]any) ([]any, error)) (changed int, err error) {
	names := stored.Names(t.Columns)
	where := ` WHERE (` + strings.Join(names[:t.Key], ", ") + `) = (` + marks(t.Key) + `)`
	for _, key := range keys {
		rows, err := x.QueryContext(ctx, `SELECT `+strings.Join(names, ", ")+` FROM `+t.Name+where, key...)
		if err != nil {
			return 0, err
		}
		var row []any
		if err := scanAll(rows, func(rows *sql.Rows) error { row, err = scanRow(rows, t); return err }); err != nil {
			return 0, err
		}
		if row == nil {
			continue
		}
		after, err := edit(slices.Clone(row))
		if err != nil {
			return 0, err
		}
		switch {
		case after == nil:
			_, err = x.ExecContext(ctx, `DELETE FROM `+t.Name+where, key...)
		case slices.Equal(after, row):
			continue
		default:
			set := strings.Join(names[t.Key:], " = ?, ") + " = ?"
			_, err = x.ExecContext(ctx, `UPDATE `+t.Name+` SET `+set+where, append(slices.Clone(after[t.Key:]), key...)...)
		}
		if err != nil {
			return 0, err
		}
		changed++
	}
	return changed, nil
}

// unguarded does something while a table's triggers, which keep its rows as they are, are away.
func unguarded(ctx context.Context, x *sql.Tx, t *stored.Table, do func() error) error {
	guards := map[string]string{}
	rows, err := x.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?`, t.Name)
	if err == nil {
		err = scanAll(rows, func(rows *sql.Rows) error {
			var name, text string
			err := rows.Scan(&name, &text)
			guards[name] = text
			return err
		})
	}
	for name := range guards {
		if err == nil {
			_, err = x.ExecContext(ctx, `DROP TRIGGER `+name)
		}
	}
	if err == nil {
		err = do()
	}
	for _, text := range guards {
		if err == nil {
			_, err = x.ExecContext(ctx, text)
		}
	}
	return err
}

func (k *Keeper) transact(ctx context.Context, do func(*sql.Tx) error) error {
	x, err := k.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(x); err != nil {
		return errors.Join(err, x.Rollback())
	}
	return x.Commit()
}

const (
	cancelRun = `UPDATE runs SET state = 'cancelled', finished = 1, wake_at = 0, finished_at = max(?, 1), reason = ?, asked = NULL WHERE id = ? AND finished = 0 RETURNING workspace, rule, by`

	// The oldest unfinished run of its kind begins, if it is one that waits for its turn.
	beginNext = `UPDATE runs SET state = 'running', wake_at = ?1 WHERE state = 'queued' AND id = (SELECT id FROM runs INDEXED BY runs_by WHERE workspace = ?2 AND rule = ?3 AND by = ?4 AND finished = 0 ORDER BY id LIMIT 1)
		RETURNING workspace, lane`
	makeDue = `INSERT INTO lanes (workspace, lane, due_at, news) VALUES (?, ?, max(?, 1), 1) ON CONFLICT (workspace, lane) DO UPDATE SET due_at = min(due_at, excluded.due_at), news = news + 1`
)

// Cancel ends runs that are not finished.
func (k *Keeper) Cancel(ctx context.Context, now time.Time, runs []int64, reason string) error {
	at := stored.Micros(now)
	err := k.transact(ctx, func(x *sql.Tx) error {
		type kind struct{ workspace, rule, by string }
		var kinds []kind
		for _, id := range runs {
			var of kind
			err := x.QueryRowContext(ctx, cancelRun, at, reason, id).Scan(&of.workspace, &of.rule, &of.by)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			kinds = append(kinds, of)
		}
		for _, of := range kinds { // when all are ended: one of them may have waited for another
			var workspace, lane string
			err := x.QueryRowContext(ctx, beginNext, at, of.workspace, of.rule, of.by).Scan(&workspace, &lane)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err == nil {
				_, err = x.ExecContext(ctx, makeDue, workspace, lane, at)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("cancel runs: %w", explain(err))
	}
	return nil
}

// Engine names the engine that uses the file.
func (k *Keeper) Engine(context.Context) (string, error) { return EngineOf(k.path) }

// EngineOf names the engine that uses a journal's file; empty is that none does.
func EngineOf(path string) (string, error) {
	path += ".lock"
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	f, err := exclusive(path)
	if errors.Is(err, errInUse) {
		pid, _ := os.ReadFile(path) // without it, it is one that nobody knows by name
		return strings.TrimSpace("process " + strings.TrimSpace(string(pid))), nil
	}
	if err != nil {
		return "", fmt.Errorf("find out whether an engine is using it: %w", err)
	}
	return "", unlock(f)
}

// Newest returns the newest event that the journal has recorded; nil when there is none.
func (k *Keeper) Newest(ctx context.Context) (*journal.Event, error) {
	var e journal.Event
	var received int64
	err := k.db.QueryRowContext(ctx, `SELECT seq, workspace, id, received_at FROM events ORDER BY seq DESC LIMIT 1`).Scan(&e.Seq, &e.Workspace, &e.ID, &received)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	e.ReceivedAt = stored.Moment(received)
	return &e, explain(err)
}
