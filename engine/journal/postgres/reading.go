package postgres

import (
	"cmp"
	"context"
	"hash/fnv"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// A reading is what operations must have locked and read before they can decide. Every transaction locks in the same order, so that no two wait
// for each other: what crosses everything, the writer's number, leases, keys, runs, events, and when it writes, lanes.
type reading struct {
	engine int64
	brief  bool // it does not wait long for a lock

	leases  map[laneKey]bool
	locks   map[int64]bool  // keys of what crosses lanes
	runs    map[int64]bool  // by their ids
	kinds   map[kind]int    // of the unfinished runs of each kind, so many of the oldest
	keys    map[string]bool // of runs that may exist
	slots   map[slotKey]int // how many are asked for
	times   map[slotTimes]bool
	gathers map[kind]bool
	lanes   map[laneKey]bool // whose gathers matter
	stopped bool             // what is stopped matters
	holds   bool             // nor is it lifted meanwhile
	calls   bool             // nor is anything stopped meanwhile
	decided map[int64]bool   // events that are to be decided

	versions  map[string]bool
	newEvents int // ids that are needed
	newRuns   int
	caused    int

	events     eventRows
	openings   eventRows // that are to be recorded with what was decided on them, if their lanes are empty
	identified bool      // one of the events may have been found before
	known      map[eventKey]bool

	also []func(*pgx.Batch, *ledger)
}

type eventKey struct{ workspace, id string }

// A slotTimes is a bound on the slots of a key.
type slotTimes struct {
	slotKey
	times int
}

func newReading(engine int64) *reading {
	return &reading{
		engine: engine, leases: map[laneKey]bool{}, locks: map[int64]bool{}, runs: map[int64]bool{}, kinds: map[kind]int{}, keys: map[string]bool{},
		slots: map[slotKey]int{}, times: map[slotTimes]bool{}, gathers: map[kind]bool{}, lanes: map[laneKey]bool{}, versions: map[string]bool{}, decided: map[int64]bool{}, known: map[eventKey]bool{},
	}
}

// lock asks for something of which there is no row, or none yet, to be this transaction's alone.
func (r *reading) lock(what ...string) {
	h := fnv.New64a()
	for _, part := range append([]string{"quando"}, what...) {
		h.Write([]byte(part))
		h.Write([]byte{0})
	}
	r.locks[int64(h.Sum64())] = true
}

// wantKind asks for the oldest unfinished runs of a kind, so many more than others have asked for.
func (r *reading) wantKind(k kind, n int) {
	r.lock("kind", k.workspace, k.rule, k.by)
	r.kinds[k] += n
}

// wantSlot asks for what decides whether one more slot is free.
func (r *reading) wantSlot(workspace string, s journal.Slot) {
	k := slotKey{workspace, s.Key}
	r.lock("slot", k.workspace, k.key)
	r.slots[k]++
	r.times[slotTimes{k, s.Times}] = true
}

// wantGather asks for what is being gathered for a rule and a by.
func (r *reading) wantGather(k kind) {
	r.lock("gather", k.workspace, k.rule, k.by)
	r.gathers[k] = true
}

// wantEvent asks for an event to be recorded unless it is known.
func (r *reading) wantEvent(e rules.Event, data string) {
	k := eventKey{e.Workspace, e.ID}
	if r.known[k] {
		return
	}
	r.known[k] = true
	r.identified = r.identified || e.Identity != ""
	r.events.add(e, data)
}

// eventRows are events to record.
type eventRows struct {
	workspace, id, typ, rule, tenant, lane, identity texts
	created, received                                []int64
	data                                             []string
}

func (r *eventRows) add(e rules.Event, data string) {
	r.workspace.add(e.Workspace)
	r.id.add(e.ID)
	r.typ.add(e.Type)
	r.rule.add(e.Rule)
	r.tenant.add(e.Tenant)
	r.lane.add(e.Lane)
	r.identity.add(e.Identity)
	r.created = append(r.created, stored.Micros(e.CreatedAt))
	r.received = append(r.received, stored.Micros(e.ReceivedAt))
	r.data = append(r.data, data)
}

// read begins the transaction, locks and reads.
func (r *reading) read(ctx context.Context, conn *pgxpool.Conn, w *writer) (*ledger, error) {
	l := newLedger(r.engine)
	b := &pgx.Batch{}
	b.Queue(`BEGIN`)
	switch {
	case r.identified && r.calls:
		b.Queue(heedFound+`, pg_advisory_xact_lock_shared($2)`, int64(foundLock), int64(holdLock))
	case r.identified:
		b.Queue(heedFound, int64(foundLock))
	case r.calls:
		b.Queue(limits+`, pg_advisory_xact_lock_shared($1)`, int64(holdLock))
	default:
		b.Queue(limits)
	}
	if r.brief {
		b.Queue(briefly)
	}
	b.Queue(insertCommit, w.name, w.n)
	r.readLeases(b, l)
	if len(r.locks) > 0 {
		b.Queue(`SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) k`, slices.Sorted(maps.Keys(r.locks)))
	}
	r.readOpenings(b, l)
	r.readRuns(b, l)
	r.readSlots(b, l)
	r.readGathers(b, l)
	r.readRest(b, l)
	r.insertEvents(b, l)
	for _, queue := range r.also {
		queue(b, l)
	}
	return l, conn.SendBatch(ctx, b).Close()
}

func (r *reading) readLeases(b *pgx.Batch, l *ledger) {
	if len(r.leases) == 0 {
		return
	}
	workspaces, lanes := laneColumns(r.leases)
	each(b.Queue(`SELECT d.workspace, d.lane, d.engine, d.epoch, d.news FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.leases d ON d.workspace = k.w AND d.lane = k.l
		ORDER BY d.workspace, d.lane FOR UPDATE OF d`, workspaces, lanes), func(rows pgx.Rows) error {
		var k laneKey
		d := &lease{}
		err := rows.Scan(text{&k.workspace}, text{&k.lane}, &d.engine, &d.epoch, &d.news)
		l.leases[k] = d
		return err
	})
}

// laneColumns are the columns of lanes, in the order in which lanes are locked.
func laneColumns[V any](set map[laneKey]V) (workspaces, lanes texts) {
	for _, k := range sortedLanes(set) {
		workspaces.add(k.workspace)
		lanes.add(k.lane)
	}
	return workspaces, lanes
}

func sortedLanes[V any](set map[laneKey]V) []laneKey {
	return slices.SortedFunc(maps.Keys(set), func(a, b laneKey) int {
		return cmp.Or(cmp.Compare(a.workspace, b.workspace), cmp.Compare(a.lane, b.lane))
	})
}

func (r *reading) readRuns(b *pgx.Batch, l *ledger) {
	if len(r.runs)+len(r.kinds) > 0 {
		var workspaces, names, bys texts
		var limits []int64
		for k, n := range r.kinds {
			workspaces.add(k.workspace)
			names.add(k.rule)
			bys.add(k.by)
			limits = append(limits, int64(n))
		}
		each(b.Queue(`WITH k (id) AS (SELECT unnest($1::bigint[]) UNION SELECT o.id FROM unnest($2::text[], $3::text[], $4::text[], $5::bigint[]) k (w, r, b, n)
				CROSS JOIN LATERAL (SELECT u.id FROM quando.runs u WHERE u.workspace = k.w AND u.rule = k.r AND u.by = k.b AND NOT u.finished ORDER BY u.id LIMIT k.n) o)
			SELECT r.id, r.workspace, r.rule, r.by, r.lane, r.state, r.wake_at, r.finished_at, r.reason, r.about, r.asked FROM k JOIN quando.runs r ON r.id = k.id ORDER BY r.id FOR UPDATE OF r`,
			slices.Sorted(maps.Keys(r.runs)), workspaces, names, bys, limits), func(rows pgx.Rows) error {
			row := &runRow{}
			err := rows.Scan(&row.id, text{&row.workspace}, text{&row.rule}, text{&row.by}, text{&row.lane}, &row.state, &row.wake, &row.finished, text{&row.reason}, &row.about, &row.asked)
			l.addRun(row)
			return err
		})
	}
	if len(r.keys) > 0 {
		each(b.Queue(`SELECT id, key, state FROM quando.runs WHERE key = ANY($1::text[])`, keepAll(slices.Sorted(maps.Keys(r.keys)))), func(rows pgx.Rows) error {
			row := &runRow{}
			err := rows.Scan(&row.id, text{&row.key}, &row.state)
			l.known[row.key] = row
			return err
		})
	}
}

func (r *reading) readSlots(b *pgx.Batch, l *ledger) {
	if len(r.times) == 0 {
		return
	}
	var workspaces, keys texts
	var times, counts []int64
	for k := range r.times {
		workspaces.add(k.workspace)
		keys.add(k.key)
		times = append(times, int64(k.times))
		counts = append(counts, int64(r.slots[k.slotKey]))
	}
	each(b.Queue(`SELECT k.w, k.k, m.n, s.n, s.at FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) k (w, k, times, count)
		CROSS JOIN LATERAL (SELECT n FROM quando.slots WHERE workspace = k.w AND key = k.k ORDER BY n DESC LIMIT 1) m
		LEFT JOIN quando.slots s ON s.workspace = k.w AND s.key = k.k AND s.n BETWEEN m.n + 1 - k.times AND m.n + k.count - k.times`, workspaces, keys, times, counts), func(rows pgx.Rows) error {
		var k slotKey
		var newest int64
		var n, at *int64
		err := rows.Scan(text{&k.workspace}, text{&k.key}, &newest, &n, &at)
		s := l.slotsOf(k)
		s.n = newest
		if n != nil {
			s.at[*n] = *at
		}
		return err
	})
}

func (r *reading) readGathers(b *pgx.Batch, l *ledger) {
	read := func(rows pgx.Rows) error {
		g, err := scanGather(rows)
		if err == nil {
			l.gathers[kind{g.Workspace, g.Rule, g.By}] = g
		}
		return err
	}
	if len(r.gathers) > 0 {
		var workspaces, names, bys texts
		for k := range r.gathers {
			workspaces.add(k.workspace)
			names.add(k.rule)
			bys.add(k.by)
		}
		each(b.Queue(`SELECT `+gatherColumns+` FROM unnest($1::text[], $2::text[], $3::text[]) k (w, r, b) JOIN quando.gathers g ON g.workspace = k.w AND g.rule = k.r AND g.by = k.b`,
			workspaces, names, bys), read)
	}
	if len(r.lanes) > 0 {
		workspaces, lanes := laneColumns(r.lanes)
		each(b.Queue(`SELECT `+gatherColumns+` FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.gathers g ON g.workspace = k.w AND g.lane = k.l`, workspaces, lanes), read)
	}
}

// readRest reads what holds and which sources of rules are recorded, which nobody takes away until the transaction is over, and what was decided before. It takes ids for what is new.
func (r *reading) readRest(b *pgx.Batch, l *ledger) {
	switch {
	case r.holds:
		each(b.Queue(selectHolds+` FOR KEY SHARE`), addHold(&l.holds))
	case r.stopped || r.calls:
		each(b.Queue(selectHolds), addHold(&l.holds))
	}
	if len(r.versions) > 0 {
		each(b.Queue(`SELECT hash FROM quando.rule_versions WHERE hash = ANY($1::text[]) FOR KEY SHARE`, keepAll(slices.Sorted(maps.Keys(r.versions)))), func(rows pgx.Rows) error {
			var hash string
			err := rows.Scan(text{&hash})
			l.versions[hash] = true
			return err
		})
	}
	if len(r.decided) > 0 {
		each(b.Queue(`SELECT seq, verdicts FROM quando.events WHERE seq = ANY($1::bigint[]) AND decided`, slices.Sorted(maps.Keys(r.decided))), func(rows pgx.Rows) error {
			var seq int64
			var kept *string
			if err := rows.Scan(&seq, &kept); err != nil {
				return err
			}
			var verdicts []journal.Verdict
			err := stored.Decode(kept, &verdicts)
			l.judged[seq] = verdicts
			return err
		})
	}
	ids := func(sequence string, n int, into *[]int64) {
		if n == 0 {
			return
		}
		each(b.Queue(`SELECT nextval($1::regclass) FROM generate_series(1, $2::bigint)`, sequence, n), func(rows pgx.Rows) error {
			var id int64
			err := rows.Scan(&id)
			*into = append(*into, id)
			return err
		})
	}
	ids("quando.events_seq", r.newEvents, &l.eventSeqs)
	ids("quando.runs_id", r.newRuns, &l.runIDs)
	ids("quando.caused_id", r.caused, &l.causedIDs)
}

// insertEvents records events. They are numbered in the order in which they came, and written in the order in which they are locked. One that tells of what was found
// before is not: it is noted as the one that tells of it. While nothing was found, that costs one look.
func (r *reading) insertEvents(b *pgx.Batch, l *ledger) {
	e := &r.events
	if len(e.id) == 0 {
		return
	}
	each(b.Queue(`WITH told AS (UPDATE quando.found f SET told = k.i FROM unnest($1::text[], $2::text[], $3::text[], $7::bigint[], $10::text[]) k (w, i, t, c, x)
			WHERE EXISTS (SELECT 1 FROM quando.found) AND k.x <> '' AND f.workspace = k.w AND f.type = k.t AND f.identity = k.x AND f.since <= k.c AND f.until >= k.c AND f.told IN ('', k.i)
			RETURNING k.w, k.i)
		INSERT INTO quando.events (seq, workspace, id, type, rule, tenant, lane, created_at, received_at, data)
		SELECT n.seq, n.w, n.i, n.t, n.r, n.te, n.l, n.c, n.re, n.d FROM (
			SELECT nextval('quando.events_seq') AS seq, k.* FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], $9::text[])
				WITH ORDINALITY k (w, i, t, r, te, l, c, re, d, place) WHERE NOT EXISTS (SELECT 1 FROM told WHERE told.w = k.w AND told.i = k.i) ORDER BY k.place) n
		ORDER BY n.w COLLATE "C", n.i COLLATE "C" ON CONFLICT (workspace, id) DO NOTHING RETURNING workspace, id, seq`,
		e.workspace, e.id, e.typ, e.rule, e.tenant, e.lane, e.created, e.received, e.data, e.identity), func(rows pgx.Rows) error {
		var k eventKey
		var seq int64
		err := rows.Scan(text{&k.workspace}, text{&k.id}, &seq)
		l.fresh[k], l.newest = true, max(l.newest, seq)
		return err
	})
}
