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

// A Keeper maintains a journal's file while an engine may be using it.
type Keeper struct {
	path   string
	tables []string // the tables of the file
	schema int64
	db     *sql.DB
}

var _ stored.Keeper = (*Keeper)(nil)

// OpenKeeper opens a journal to maintain it. A read-only keeper changes no byte of the file, and
// accepts every version up to this program's: the file may be a backup.
func OpenKeeper(ctx context.Context, file string, readOnly bool) (*Keeper, error) {
	if !hasSQLite {
		return nil, errNoSQLite
	}
	k := &Keeper{}
	if err := k.open(ctx, file, readOnly); err != nil {
		return nil, errors.Join(fmt.Errorf("journal %s: %w", file, explain(err)), k.Close())
	}
	return k, nil
}

func (k *Keeper) open(ctx context.Context, file string, readOnly bool) (err error) {
	if k.path, err = (&Journal{attached: true}).locate(file); err != nil {
		return err
	}
	// Overwrite deleted content in the file.
	address := source(k.path, "_txlock=immediate&_secure_delete=on")
	if readOnly {
		address = readSource(k.path)
	}
	if k.db, err = sql.Open("sqlite3", address); err != nil {
		return err
	}
	k.db.SetMaxOpenConns(1)
	if readOnly {
		err = checkSchema(ctx, k.db)
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

// Close closes the file.
func (k *Keeper) Close() error {
	if k.db == nil {
		return nil
	}
	return k.db.Close()
}

// whySchema is the first schema in which holds have a why: a read-only keeper may have an older
// one, as in a backup.
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

// Edit passes rows to a function and writes the result.
func (k *Keeper) Edit(ctx context.Context, t *stored.Table, keys [][]any, edit func([]any) ([]any, error)) (changed int, err error) {
	err = k.transact(ctx, func(x *sql.Tx) error {
		changed = 0
		if t.Name != "audit" {
			changed, err = editRows(ctx, x, t, keys, edit)
			return err
		}
		return withoutTriggers(ctx, x, t, func() error {
			changed, err = editRows(ctx, x, t, keys, edit)
			return err
		})
	})
	return changed, explain(err)
}

func editRows(ctx context.Context, x *sql.Tx, t *stored.Table, keys [][]any, edit func([]any) ([]any, error)) (changed int, err error) {
	names := stored.Names(t.Columns)
	where := ` WHERE (` + strings.Join(names[:t.Key], ", ") + `) = (` + placeholders(t.Key) + `)`
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

// withoutTriggers runs do while a table's triggers, which reject changes of its rows, are dropped.
func withoutTriggers(ctx context.Context, x *sql.Tx, t *stored.Table, do func() error) error {
	triggers := map[string]string{}
	rows, err := x.QueryContext(ctx, `SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?`, t.Name)
	if err == nil {
		err = scanAll(rows, func(rows *sql.Rows) error {
			var name, text string
			err := rows.Scan(&name, &text)
			triggers[name] = text
			return err
		})
	}
	for name := range triggers {
		if err == nil {
			_, err = x.ExecContext(ctx, `DROP TRIGGER `+name)
		}
	}
	if err == nil {
		err = do()
	}
	for _, text := range triggers {
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

	// beginNext begins the oldest unfinished run of a key, if it is queued.
	beginNext = `UPDATE runs SET state = 'running', wake_at = ?1 WHERE state = 'queued' AND id = (SELECT id FROM runs INDEXED BY runs_by WHERE workspace = ?2 AND rule = ?3 AND by = ?4 AND finished = 0 ORDER BY id LIMIT 1)
		RETURNING workspace, lane`
	makeDue = `INSERT INTO lanes (workspace, lane, due_at, news) VALUES (?, ?, max(?, 1), 1) ON CONFLICT (workspace, lane) DO UPDATE SET due_at = min(due_at, excluded.due_at), news = news + 1`
)

// Cancel cancels those of the runs that are unfinished.
func (k *Keeper) Cancel(ctx context.Context, now time.Time, runs []int64, reason string) error {
	at := stored.Micros(now)
	err := k.transact(ctx, func(x *sql.Tx) error {
		type runKey struct{ workspace, rule, by string }
		var keys []runKey
		for _, id := range runs {
			var key runKey
			err := x.QueryRowContext(ctx, cancelRun, at, reason, id).Scan(&key.workspace, &key.rule, &key.by)
			if errors.Is(err, sql.ErrNoRows) {
				continue
			}
			if err != nil {
				return err
			}
			keys = append(keys, key)
		}
		for _, key := range keys { // after all are cancelled: one of them may be queued behind another
			var workspace, lane string
			err := x.QueryRowContext(ctx, beginNext, at, key.workspace, key.rule, key.by).Scan(&workspace, &lane)
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

// EngineOf names the engine that uses a journal's file; empty if none does.
func EngineOf(path string) (string, error) {
	path += ".lock"
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", nil
	}
	f, err := openExclusive(path)
	if errors.Is(err, errInUse) {
		pid, _ := os.ReadFile(path) // if it cannot be read, the engine is named without its pid
		return strings.TrimSpace("process " + strings.TrimSpace(string(pid))), nil
	}
	if err != nil {
		return "", fmt.Errorf("find out whether an engine is using it: %w", err)
	}
	return "", unlock(f)
}

// Newest returns the newest event that the journal has recorded; nil if there is none.
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
