package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"

	"github.com/quandohq/quando/engine/journal/migrations"
	"github.com/quandohq/quando/engine/journal/stored"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migrate migrates a journal to the newest schema of this program. If attached to an engine's
// journal it only checks the schema.
func migrate(ctx context.Context, db *sql.DB, attached bool) error {
	p, err := provider(db)
	if err != nil {
		return err
	}
	sources := p.ListSources()
	newest := sources[len(sources)-1].Version
	version, err := schema(ctx, db)
	if err != nil {
		return err
	}
	switch {
	case version > newest:
		return fmt.Errorf("a newer version of this program wrote it (schema %d, this one knows %d): use that version or a later one", version, newest)
	case version == newest:
		return nil
	case attached:
		return fmt.Errorf("an older version of this program wrote it (schema %d, this one needs %d): run the engine of this version once, which brings it up to date", version, newest)
	}
	if _, err := p.Up(ctx); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	return nil
}

// provider returns the migrations of this program.
func provider(db *sql.DB) (*goose.Provider, error) {
	folder, err := fs.Sub(migrationFiles, "migrations")
	if err != nil {
		return nil, err
	}
	all, err := migrations.Read(folder)
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	p, err := goose.NewProvider(goose.DialectSQLite3, db, nil, goose.WithDisableGlobalRegistry(true), goose.WithGoMigrations(append(all, withoutDrafts)...))
	if err != nil {
		return nil, fmt.Errorf("migrations: %w", err)
	}
	return p, nil
}

// newestSchema returns the number of this program's newest migration.
func newestSchema(db *sql.DB) (int64, error) {
	p, err := provider(db)
	if err != nil {
		return 0, err
	}
	sources := p.ListSources()
	return sources[len(sources)-1].Version, nil
}

// schema returns the number of the journal's newest migration; 0 for an empty file.
func schema(ctx context.Context, db *sql.DB) (int64, error) {
	var tables, known int
	err := db.QueryRowContext(ctx, `SELECT count(*), coalesce(sum(name = ?), 0) FROM sqlite_master`, goose.DefaultTablename).Scan(&tables, &known)
	if err != nil || tables == 0 {
		return 0, err
	}
	if known == 0 {
		return 0, unsound{errors.New("this is the database of something else: give another file")}
	}
	var version int64
	err = db.QueryRowContext(ctx, `SELECT coalesce(max(version_id), 0) FROM `+goose.DefaultTablename+` WHERE is_applied = 1`).Scan(&version)
	return version, err
}

// unsound is the error of a file that is not a journal, or is damaged.
type unsound struct{ error }

// Is reports whether the target is ErrUnsound.
func (unsound) Is(target error) bool { return target == stored.ErrUnsound }

// Unwrap returns the error of SQLite.
func (e unsound) Unwrap() error { return e.error }
