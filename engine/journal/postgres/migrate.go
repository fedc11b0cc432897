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

	"github.com/quandohq/quando/engine/journal/migrations"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrationLock is the advisory lock for migrations.
const migrationLock = 0x7175616e646f // quando

const versionTable = "quando.goose_db_version"

// migrate migrates a journal to the newest schema of this program. If attached to an engine's
// journal it only checks the schema.
//
// During a rolling update engines of two versions share the database, so a schema that is one ahead
// is accepted: a migration must leave everything in place that the previous version needs.
func migrate(ctx context.Context, pool *pgxpool.Pool, attached bool) error {
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return err
	}
	all, err := migrations.Read(folder)
	if err != nil {
		return fmt.Errorf("migrations: %w", err)
	}
	db := stdlib.OpenDBFromPool(pool)
	p, err := goose.NewProvider(goose.DialectPostgres, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithTableName(versionTable), goose.WithGoMigrations(all...))
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
	case attached && version == 0:
		return errors.New("there is no journal in this database: quando run makes it")
	case attached:
		return fmt.Errorf("an older version of this program wrote it (schema %d, this one needs %d): run the engine of this version once, which brings it up to date", version, newest)
	}
	return withMigrationLock(ctx, pool, func() error {
		if _, err := pool.Exec(ctx, `CREATE SCHEMA IF NOT EXISTS quando`); err != nil {
			return err
		}
		if _, err := p.Up(ctx); err != nil {
			return fmt.Errorf("migrate: %w", err)
		}
		return nil
	})
}

// withMigrationLock runs do while no other engine migrates. The lock is a transaction's, because a
// pooler in transaction mode may give every transaction another connection.
func withMigrationLock(ctx context.Context, pool *pgxpool.Pool, do func() error) error {
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

// schema returns the number of the journal's newest migration; 0 if there is none.
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
