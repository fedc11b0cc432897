package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/journal/stored"
)

// readSource returns the data source of a read-only file: nothing in it is changed, not even
// whether it has a write-ahead log.
func readSource(path string) string {
	escaped := (&url.URL{Path: filepath.ToSlash(path)}).EscapedPath()
	return "file:" + escaped + "?mode=ro&_query_only=true&_busy_timeout=5000"
}

// checkSchema refuses a journal with a schema that this program does not know.
func checkSchema(ctx context.Context, db *sql.DB) error {
	version, err := schema(ctx, db)
	if err != nil {
		return err
	}
	newest, err := newestSchema(db)
	if err != nil {
		return err
	}
	switch {
	case version > newest:
		return fmt.Errorf("a newer version of this program wrote it (schema %d, this one knows %d): use that version or a later one", version, newest)
	case version == 0:
		return unsound{errors.New("there is nothing in this file: it is no journal")}
	}
	return nil
}

// partialIndexTerm matches conditions for which SQLite has partial indexes, which it uses only for
// the form "= 0".
var partialIndexTerm = regexp.MustCompile(`NOT (\w+)\.(finished|decided)`)

// adaptQuery adapts a query that all databases share. An engine makes the lanes of running runs due
// when it opens the file, so the query must not expect that of them. In files of the schemas 5 to 8
// an engine that crashed may have left steps whose runs are drafts.
func (k *Keeper) adaptQuery(query string) string {
	query = strings.ReplaceAll(query, `r.state IN ('running', 'waiting')`, `r.state = 'waiting'`)
	if slices.Contains(k.tables, "drafts") {
		query = strings.ReplaceAll(query, `FROM steps s WHERE`, `FROM steps s WHERE NOT EXISTS (SELECT 1 FROM drafts d WHERE s.run BETWEEN d.first AND d.last) AND`)
	}
	return partialIndexTerm.ReplaceAllString(query, "$1.$2 = 0")
}

// Check looks for damage in the file and in its rows.
func (k *Keeper) Check(ctx context.Context, progress func(string)) (*stored.Report, error) {
	r := &stored.Report{Schema: k.schema, Rows: map[string]int64{}, Findings: []string{}}
	err := k.check(ctx, r, progress)
	if !errors.Is(err, stored.ErrUnsound) {
		err = explain(err)
	}
	if errors.Is(err, stored.ErrUnsound) { // SQLite could not read on
		r.Findings, err = append(r.Findings, err.Error()), nil
	}
	return r, err
}

func (k *Keeper) check(ctx context.Context, r *stored.Report, progress func(string)) error {
	progress("the file itself")
	broken, err := k.queryTexts(ctx, `PRAGMA integrity_check(20)`)
	if err != nil {
		return err
	}
	if !slices.Equal(broken, []string{"ok"}) {
		for _, text := range broken {
			r.Findings = append(r.Findings, "the file is damaged: "+text+"; put back a backup (quando journal restore)")
		}
		return nil // further findings would only follow from the damage
	}
	for _, t := range stored.Tables {
		if !slices.Contains(k.tables, t.Name) {
			continue
		}
		progress("the table " + t.Name)
		if err := r.Read(ctx, k, t); err != nil {
			return err
		}
	}
	for _, c := range stored.Consistencies {
		if !c.Looks(k.tables) {
			continue
		}
		progress(c.Name)
		rows, err := k.queryTexts(ctx, k.adaptQuery(c.Limited()))
		if err != nil {
			return fmt.Errorf("%s: %w", c.Name, err)
		}
		r.Add(c, rows)
	}
	return nil
}

// queryTexts returns the first column of a query.
func (k *Keeper) queryTexts(ctx context.Context, query string) (list []string, err error) {
	rows, err := k.db.QueryContext(ctx, query)
	if err != nil {
		return nil, explain(err)
	}
	err = scanAll(rows, func(rows *sql.Rows) error {
		var text string
		err := rows.Scan(&text)
		list = append(list, text)
		return err
	})
	return list, explain(err)
}
