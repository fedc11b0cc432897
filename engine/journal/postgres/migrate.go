package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrationLock is the key under which one engine at a time changes the schema.
const migrationLock = 0x7175616e646f // quando

const versionTable = "quando.goose_db_version"

// migrate brings a journal to the schema that this program knows. One that is beside an engine is
// only checked.
//
// Engines of two versions may work at once while one is replaced by the next, so a schema that is
// one ahead is not refused: a migration must leave everything in place that the version before it
// needs.
func migrate(ctx context.Context, pool *pgxpool.Pool, beside bool) error {
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	db := stdlib.OpenDBFromPool(pool)
	p, err := goose.NewProvider(goose.DialectPostgres, db, folder, goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable))
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	sources := p.ListSources()
	newest := sources[len(sources)-1].Version
	version, err := schema(ctx, pool)
	if err != nil {
		return err
	}
	switch {
	case version > newest+1:
		return fmt.Errorf("a newer version of this program wrote it (schema %d, this one knows %d): use that version or a later one", version, newest)
	case version >= newest:
		return nil
	case beside && version == 0:
		return errors.New("there is no journal in this database: quando run makes it")
	case beside:
		return fmt.Errorf("an older version of this program wrote it (schema %d, this one needs %d): run the engine of this version once, which brings it up to date", version, newest)
	}
	return whileLocked(ctx, pool, func() error {
		if _, err := pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS quando`); err != nil {
			return err
		}
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	})
}

// whileLocked does something while no other engine does. The lock is a transaction's, because a
// pooler may give every transaction another connection.
func whileLocked(ctx context.Context, pool *pgxpool.Pool, do func() error) error {
	tx, err := pool.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(ctx) //nolint:errcheck // it has written nothing
	if _, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = 0`); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(migrationLock)); err != nil {
		return err
	}
	return do()
}

// schema returns the number of the journal's newest migration, 0 where there is none.
func schema(ctx context.Context, pool *pgxpool.Pool) (int64, error) {
	var known bool
	var others int
	err := pool.QueryRow(ctx, `SELECT to_regclass($1) IS NOT NULL, (SELECT count(*) FROM pg_tables WHERE schemaname = 'quando')`, versionTable).Scan(&known, &others)
	if err != nil {
		return 0, err
	}
	if !known {
		if others > 0 {
			return 0, errors.New("the schema quando of this database is something else's: give another database")
		}
		return 0, nil
	}
	var version int64
	err = pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+versionTable+` WHERE is_applied`).Scan(&version)
	return version, err
}
