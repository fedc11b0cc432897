// Package migrations reads how the tables of a journal came about. It knows no database.
package migrations

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"path"

	"github.com/pressly/goose/v3"
)

// Read returns the migrations of a folder. Each file is one; its statements are told apart by
// the database itself, which costs a small part of what it costs to read them before.
func Read(folder fs.FS) ([]*goose.Migration, error) {
	files, err := fs.Glob(folder, "*.sql")
	if err != nil {
		return nil, err
	}
	all := make([]*goose.Migration, len(files))
	for i, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path.Base(file), err)
		}
		text, err := fs.ReadFile(folder, file)
		if err != nil {
			return nil, err
		}
		all[i] = goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, t *sql.Tx) error {
			_, err := t.ExecContext(ctx, string(text))
			return err
		}}, nil)
	}
	return all, nil
}
