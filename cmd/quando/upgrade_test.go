package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/clitest"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/service/sandbox"
)

const journalsFolder = "testdata/journals"

// oldJournals puts the journals of earlier versions where an engine can have them. make.sh beside
// them says how they were made.
var oldJournals = map[string]func(t *testing.T) string{
	"schema1": func(t *testing.T) string { return oldFile(t, "schema1") },
	"schema2": func(t *testing.T) string { return oldFile(t, "schema2") },
	"schema3": func(t *testing.T) string { return oldFile(t, "schema3") },
	"schema4": func(t *testing.T) string { return oldFile(t, "schema4") },
	"schema5": func(t *testing.T) string { return oldFile(t, "schema5") },
	"schema2 in PostgreSQL": func(t *testing.T) string {
		where := postgrestest.Shared(t).Database(t)
		conn, err := pgx.Connect(t.Context(), where)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		if _, err := conn.PgConn().Exec(t.Context(), readFile(t, filepath.Join(journalsFolder, "schema2.sql"))).ReadAll(); err != nil {
			t.Fatal(err)
		}
		return where
	},
}

func oldFile(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join(journalsFolder, name+".db.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "quando.db")
	clitest.WriteFile(t, file, string(text))
	return file
}

// TestUpgrade opens journals that earlier versions wrote, and goes on with them: what was finished
// is not done again, what waited wakes up, what was not decided on is, and what was known is still
// known.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it takes long")
	}
	for name, old := range oldJournals {
		t.Run(name, func(t *testing.T) {
			where := old(t)
			o := oldOffice(t, strings.Fields(name)[0])
			o.write("rules/r.yaml", readFile(t, filepath.Join(journalsFolder, "rules.yaml")))
			before := len(o.sandbox.Effects())
			o.start(fmt.Sprintf("service: { base_url: %q, api_key: %q, webhook: { secrets: [s] } }\nkeep: 3650d\njournal: %q", o.address.BaseURL, o.address.APIKey, where))
			config := filepath.Join(o.folder, "quando.yaml")
			clitest.Eventually(t, func() (bool, string) {
				_, out, errOut := quando(t, "runs", "--config", config, "--state", "done", "--output", "json")
				return strings.Count(out, `"rule": "hello"`) == 2 && strings.Count(out, `"rule": "later"`) == 1, out + errOut + o.log.String()
			})
			sent := []string{}
			for _, e := range o.sandbox.Effects()[before:] {
				if e.Operation == "POST /conversations/{id}/messages" {
					sent = append(sent, string(e.Request))
				}
			}
			if all := strings.Join(sent, "\n"); len(sent) != 2 || strings.Count(all, "Hello Ana") != 1 || strings.Count(all, "Are you still there?") != 1 {
				t.Errorf("sent: %s", all)
			}
			if code, out, errOut := quando(t, "journal", "verify", "--config", config); code != 0 {
				t.Errorf("%d %s %s", code, out, errOut)
			}
			j, err := storage.Open(t.Context(), where, true)
			if err != nil {
				t.Fatal(err)
			}
			defer j.Close()
			events, err := j.ListEvents(t.Context(), journal.EventFilter{})
			if err != nil || len(events) < 3 {
				t.Fatalf("%d events, %v", len(events), err)
			}
			for _, e := range events {
				body := fmt.Sprintf(`{"id":%q,"type":%q,"created_at":"2026-11-15T11:00:00Z","data":{}}`, e.ID, e.Type)
				if got, text := o.asks("POST", o.public+"/webhook", signed("s", body), body); got != 200 {
					t.Errorf("%s is taken for a new event: %d %s", e.ID, got, text)
				}
			}
			if code := o.stop(); code != 0 {
				t.Errorf("%d %s", code, o.log)
			}
		})
	}
}

// oldOffice is an office whose service is as it was when a journal was made.
func oldOffice(t *testing.T, name string) *office {
	t.Helper()
	state := readFile(t, filepath.Join(journalsFolder, name+".json"))
	s, err := sandbox.New(sandbox.Options{Seed: 7, AllowLoopback: true, State: bytes.NewReader([]byte(state))})
	if err != nil {
		t.Fatal(err)
	}
	o := &office{t: t, sandbox: s, folder: t.TempDir()}
	if o.address, err = s.Start(t.Context(), "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if o.end != nil {
			o.stop()
		}
		s.Close()
	})
	return o
}

// TestDowngrade shows that a journal which a newer version wrote is refused, by engines and by
// commands, and that people are told what to do.
func TestDowngrade(t *testing.T) {
	for name, newer := range map[string]func(t *testing.T) string{
		"SQLite": func(t *testing.T) string {
			where := filepath.Join(t.TempDir(), "quando.db")
			if err := fillJournal(t.Context(), where); err != nil {
				t.Fatal(err)
			}
			inFile(t, where, `INSERT INTO goose_db_version (version_id, is_applied) VALUES (901, 1)`)
			return where
		},
		"PostgreSQL": func(t *testing.T) string {
			where := postgrestest.Shared(t).Database(t)
			if err := fillJournal(t.Context(), where); err != nil {
				t.Fatal(err)
			}
			conn, err := pgx.Connect(t.Context(), where)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close(context.Background())
			if _, err := conn.Exec(t.Context(), `INSERT INTO quando.goose_db_version (version_id, is_applied) VALUES (901, true)`); err != nil {
				t.Fatal(err)
			}
			return where
		},
	} {
		t.Run(name, func(t *testing.T) {
			where := newer(t)
			o := newOffice(t)
			config := o.config(o.service() + fmt.Sprintf("\njournal: %q\nconsole: { listen: \"127.0.0.1:0\" }", where))
			for _, args := range [][]string{{"run"}, {"events"}, {"journal", "verify"}, {"journal", "forget", "--contact", "x"}, {"journal", "prune"}} {
				code, out, errOut := quando(t, append(args, "--config", config)...)
				if code != cli.ExitError || !strings.Contains(errOut, "a newer version of this program wrote it (schema 901") || !strings.Contains(errOut, "use that version or a later one") {
					t.Errorf("%v: %d %s %s", args, code, out, errOut)
				}
			}
			code, out, _ := quando(t, "doctor", "--config", config, "--test=false")
			if code != cli.ExitNo || !strings.Contains(out, "fail  journal") || !strings.Contains(out, "a newer version of this program wrote it") {
				t.Errorf("%d %s", code, out)
			}
		})
	}
}

// TestSlowUpgrade shows that somebody who waits for a journal that is brought up to date is told
// so.
func TestSlowUpgrade(t *testing.T) {
	t.Parallel()
	where := oldFile(t, "schema5")
	db := openFile(t, where)
	defer db.Close()
	x, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	if _, err := x.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	o := newOffice(t)
	config := o.config(o.service() + fmt.Sprintf("\njournal: %q\nconsole: { listen: \"127.0.0.1:0\" }", where))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log, ended := &clitest.Buffer{}, make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"run", "--config", config}, strings.NewReader(""), io.Discard, log)
	}()
	logged := func(text string) func() (bool, string) {
		return func() (bool, string) { return log.Contains(text), log.String() }
	}
	clitest.Eventually(t, logged("is brought up to date first"))
	if _, err := x.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	clitest.Eventually(t, logged(`"msg":"listening"`))
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("it ends with %d: %s", code, log)
	}
}
