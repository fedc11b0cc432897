package postgres

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/postgres/postgrestest"
	"github.com/quandohq/quando/rules"
)

// mention returns an event that mentions a name.
func mention(id, name string) rules.Event {
	now := time.Now()
	return rules.Event{Workspace: "default", ID: id, Type: "message.received", Lane: "conversation:" + id, CreatedAt: now, ReceivedAt: now, Data: map[string]any{"contact": map[string]any{"name": name}}}
}

// record records events.
func record(t *testing.T, j *Journal, events ...rules.Event) {
	t.Helper()
	if _, err := j.Accept(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// followAll follows to the end, or until a gap.
func followAll(t *testing.T, j *Journal) {
	t.Helper()
	for range 20 {
		more, err := j.follow(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !more {
			return
		}
	}
}

// finds reports whether a name is found.
func finds(t *testing.T, j *Journal, name string) bool {
	t.Helper()
	found, err := j.FindLanes(t.Context(), name, 10)
	if err != nil {
		t.Fatal(err)
	}
	return len(found) > 0
}

// TestFollowInOrder records an event whose number is lower than that of a recorded one: Follow
// waits for it, and skips numbers that no transaction has any more.
func TestFollowInOrder(t *testing.T) {
	t.Parallel()
	j := open(t, postgrestest.Shared(t).Database(t), Options{})
	record(t, j, mention("1", "Ana"))
	late, err := j.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer late.Rollback(t.Context()) // if the test fails before its commit
	_, err = late.Exec(t.Context(), `INSERT INTO quando.events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, data)
		VALUES (nextval('quando.events_seq'), 'default', '2', '', '', '', 'late', 1, 1, '{"contact":{"name":"Bia"}}')`)
	if err != nil {
		t.Fatal(err)
	}
	record(t, j, mention("3", "Carla"))
	followAll(t, j)
	if !finds(t, j, "ana") || finds(t, j, "carla") {
		t.Error("the event after one that is not recorded yet does not wait for it, or the one before it does")
	}
	if err := late.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	record(t, j, mention("3", "Carla"), mention("4", "Dora")) // one is a duplicate: its number is skipped
	for _, name := range []string{"bia", "carla", "dora"} {
		for began := time.Now(); !finds(t, j, name); time.Sleep(10 * time.Millisecond) {
			if time.Since(began) > 30*time.Second { // other databases of the server may have open transactions
				t.Fatalf("%s is not found", name)
			}
			followAll(t, j)
		}
	}
}

// TestFollowInTurns has two engines follow by turns: a name that one has recorded is the newest
// again when an event that the other follows mentions it.
func TestFollowInTurns(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	engines := []*Journal{open(t, address, Options{}), open(t, address, Options{})}
	for i, name := range []string{"Maria", "João", "Maria", "João"} {
		e := mention(fmt.Sprint(i), name)
		e.Lane = "lane"
		record(t, engines[0], e)
		j := engines[i%2]
		followAll(t, j)
		who, err := j.Who(t.Context(), "default", []string{"lane"})
		if err != nil || who["lane"].Name != name {
			t.Errorf("after %s: %v, %v", name, who, err)
		}
	}
	var names, keys int
	if err := engines[0].pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM quando.known), (SELECT count(*) FROM quando.mentions)`).Scan(&names, &keys); err != nil || names != 1 || keys != 2 {
		t.Errorf("%d lanes are known by %d keys, %v", names, keys, err)
	}
}

// TestCountsOfEngines has engines count the same while the counts of one of them are locked, as
// they are until a commit is on disk: the other does not wait, and the sums are those of both, also
// after the engines are gone.
func TestCountsOfEngines(t *testing.T) {
	t.Parallel()
	address := postgrestest.Shared(t).Database(t)
	first, second := open(t, address, Options{}), open(t, address, Options{})
	record(t, second, mention("1", "Ana"), mention("2", "Bia"))
	at := time.Date(2026, 11, 13, 12, 0, 0, 0, time.UTC)
	decide := func(j *Journal) {
		t.Helper()
		lanes, err := j.Claim(t.Context(), time.Now(), 1, nil)
		if err != nil || len(lanes) != 1 {
			t.Fatal(len(lanes), err)
		}
		lanes[0].Events[0].Verdicts = []journal.Verdict{{Rule: "r", Outcome: journal.Fired}, {Rule: "other", Outcome: journal.False, Clause: "x"}}
		if err := j.Save(t.Context(), lanes[0], &journal.Change{At: at, Decided: lanes[0].Events, Release: true}); err != nil {
			t.Fatal(err)
		}
	}
	decide(first)
	uncommitted, err := first.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer uncommitted.Rollback(t.Context())
	for _, table := range []string{"counts", "rule_counts", "reasons", "fired"} {
		if _, err := uncommitted.Exec(t.Context(), `SELECT 1 FROM quando.`+table+` FOR UPDATE`); err != nil {
			t.Fatal(err)
		}
	}
	decide(second)
	if err := uncommitted.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	countsSeen := func(j *Journal) (n []int) {
		t.Helper()
		for _, byRule := range []bool{false, true} {
			counts, err := j.Counts(t.Context(), journal.CountFilter{Rules: byRule})
			if err != nil || len(counts) != 1 {
				t.Fatalf("%v, %v", counts, err)
			}
			n = append(n, counts[0].N)
		}
		reasons, err := j.Reasons(t.Context(), "default", "other", time.Time{})
		if err != nil || len(reasons) != 1 {
			t.Fatalf("%v, %v", reasons, err)
		}
		fired, err := j.LastFired(t.Context())
		if err != nil || !fired[journal.RuleName{Workspace: "default", Rule: "r"}].Equal(at) {
			t.Errorf("%v, %v", fired, err)
		}
		return append(n, reasons[0].N, int(reasons[0].Event))
	}
	want := []int{2, 2, 2, 2}
	if diff := cmp.Diff(want, countsSeen(second)); diff != "" {
		t.Error(diff)
	}
	third := open(t, address, Options{})
	for _, j := range []*Journal{first, second} {
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := third.Prune(t.Context(), at, 24*time.Hour); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, countsSeen(third)); diff != "" {
		t.Error(diff)
	}
	var rows int
	err = third.pool.QueryRow(t.Context(), `SELECT (SELECT count(*) FROM quando.counts) + (SELECT count(*) FROM quando.rule_counts) + (SELECT count(*) FROM quando.reasons) + (SELECT count(*) FROM quando.fired)`).Scan(&rows)
	if err != nil || rows != 4 {
		t.Errorf("%d rows of engines that are gone, %v", rows, err)
	}
}

// TestAuditStays tries to change entries of the audit log.
func TestAuditStays(t *testing.T) {
	t.Parallel()
	j := open(t, postgrestest.Shared(t).Database(t), Options{})
	if err := j.Audit(t.Context(), journal.AuditEntry{Who: "ana", What: "pause"}); err != nil {
		t.Fatal(err)
	}
	for _, query := range []string{`UPDATE quando.audit SET who = 'bia'`, `DELETE FROM quando.audit`, `TRUNCATE quando.audit`} {
		if _, err := j.pool.Exec(t.Context(), query); err == nil {
			t.Errorf("%s is let through", query)
		}
	}
}
