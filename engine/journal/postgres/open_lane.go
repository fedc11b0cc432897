package postgres

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
)

// Open claims the lane of an event that is about to be recorded. Other engines see the claim when
// the event is recorded: the first commit gets the lane.
func (j *Journal) Open(workspace, lane string) *journal.Lane {
	if j.attached {
		return nil
	}
	c, key := j.claims, ledger.LaneKey{Workspace: workspace, Lane: lane}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held[key] != 0 || c.occupied.Is(key) {
		return nil
	}
	c.epoch++
	c.held[key] = c.epoch
	return &journal.Lane{Workspace: workspace, Name: lane, Epoch: c.epoch}
}

// Drop releases a lane that was opened.
func (j *Journal) Drop(lane *journal.Lane) {
	j.claims.release(lane, true) // what prevented its use may do so again
}

// isVacant is true of a lane k (w, l) in which nothing is pending. A gather needs no condition: its
// lane has a row.
const isVacant = `NOT EXISTS (SELECT 1 FROM quando.lanes d WHERE d.workspace = k.w AND d.lane = k.l)
		AND NOT EXISTS (SELECT 1 FROM quando.leases d WHERE d.workspace = k.w AND d.lane = k.l)
		AND NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.workspace = k.w AND r.lane = k.l AND NOT r.finished)
		AND NOT EXISTS (SELECT 1 FROM quando.runs r WHERE r.workspace = k.w AND r.home = k.l AND NOT r.finished AND r.home <> r.lane)`

// Vacant reports whether nothing is pending in an opened lane.
func (j *Journal) Vacant(ctx context.Context, lane *journal.Lane) (vacant bool, err error) {
	err = j.pool.QueryRow(ctx, `SELECT `+isVacant+` FROM (VALUES ($1::text, $2::text)) k (w, l)`, encodeText(lane.Workspace), encodeText(lane.Name)).Scan(&vacant)
	if err != nil {
		return false, fmt.Errorf("look into the lane: %w", explain(err))
	}
	return vacant, nil
}

// readOpenings finds out which lanes can be opened. What arrives in a lane after that counts as
// simultaneous with the event it is opened for: it makes the lane due, and is next.
func (r *readBatch) readOpenings(b *pgx.Batch, l *ledger.Ledger) {
	if len(r.Openings) == 0 {
		return
	}
	var o eventRows
	for _, e := range r.Openings {
		o.add(e, "")
	}
	each(b.Queue(`SELECT k.w, k.l FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) k (w, l, i, t, x, c)
		WHERE `+isVacant+`
		AND NOT EXISTS (SELECT 1 FROM quando.events e WHERE e.workspace = k.w AND e.id = k.i)
		AND NOT EXISTS (SELECT 1 FROM quando.found f WHERE k.x <> '' AND f.workspace = k.w AND f.type = k.t AND f.identity = k.x AND f.since <= k.c AND f.until >= k.c AND f.told IN ('', k.i))`,
		o.workspace, o.lane, o.id, o.typ, o.identity, o.created), func(rows pgx.Rows) error {
		var k ledger.LaneKey
		err := rows.Scan(text{&k.Workspace}, text{&k.Lane})
		l.AddVacant(k)
		return err
	})
}

// writeEvents inserts fresh events with their verdicts.
func (w writeBatch) writeEvents(b *pgx.Batch) {
	if len(w.Events) == 0 {
		return
	}
	var rows eventRows
	var seqs []int64
	var decided []bool
	var verdicts, answers, judges []*string
	for i := range w.Events {
		r := &w.Events[i]
		rows.add(&r.Event.Event, r.Data)
		seqs, decided = append(seqs, r.Seq), append(decided, r.Decided)
		verdicts, answers, judges = append(verdicts, r.VerdictsText), append(answers, r.AnswersText), append(judges, judgesOf(&r.Decision))
	}
	b.Queue(`INSERT INTO quando.events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, decided, data, verdicts, answers, judges)
		SELECT k.s, k.w, k.i, k.t, k.r, k.te, k.l, k.c, k.re, k.de, k.d, k.v, k.a, k.j::text[]
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[], $14::boolean[])
			k (s, w, i, t, r, te, l, c, re, d, v, a, j, de) ORDER BY k.w COLLATE "C", k.i COLLATE "C"`,
		seqs, rows.workspace, rows.id, rows.typ, rows.rule, rows.tenant, rows.lane, rows.created, rows.received, rows.data, verdicts, answers, judges, decided)
}

// writeLeases leases lanes that were opened.
func (w writeBatch) writeLeases(b *pgx.Batch) {
	if len(w.Opened) == 0 {
		return
	}
	workspaces, lanes := laneColumns(w.Opened)
	var epochs []int64
	for _, k := range sortedLanes(w.Opened) {
		epochs = append(epochs, w.Opened[k])
	}
	b.Queue(`INSERT INTO quando.leases (workspace, lane, engine, epoch, news) SELECT k.w, k.l, $1, k.e, 1 FROM unnest($2::text[], $3::text[], $4::bigint[]) k (w, l, e)`, w.engine, workspaces, lanes, epochs)
}
