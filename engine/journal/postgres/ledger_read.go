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
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// A readBatch locks and reads the rows that operations need to decide. Every transaction locks in
// the same order, so that there are no deadlocks: the advisory locks that cross everything, the
// writer's number, leases, names, runs, events, and when it writes, lanes.
type readBatch struct {
	ledger.Wants
	engine int64
	brief  bool // it has a short lock timeout
	extra  []func(*pgx.Batch)
}

// hasIdentity reports whether one of the events may match a found event.
func (r *readBatch) hasIdentity() bool {
	return slices.ContainsFunc(r.Accept, func(e ledger.NewEvent) bool { return e.Identity != "" }) ||
		slices.ContainsFunc(r.Openings, func(e *rules.Event) bool { return e.Identity != "" })
}

// lockKey is the advisory lock of a name.
func lockKey(name string) int64 {
	h := fnv.New64a()
	h.Write([]byte("quando\x00" + name + "\x00"))
	return int64(h.Sum64())
}

// eventRows are events to record.
type eventRows struct {
	workspace, id, typ, rule, tenant, lane, identity texts
	created, received                                []int64
	data                                             []string
}

func (r *eventRows) add(e *rules.Event, data string) {
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
func (r *readBatch) read(ctx context.Context, conn *pgxpool.Conn, w *writer) (*ledger.Ledger, error) {
	l := &ledger.Ledger{Shared: true}
	b := &pgx.Batch{}
	b.Queue(`BEGIN`)
	switch identified := r.hasIdentity(); {
	case identified && r.Calls:
		b.Queue(limitsAndFoundLock+`, pg_advisory_xact_lock_shared($2)`, int64(foundLock), int64(holdLock))
	case identified:
		b.Queue(limitsAndFoundLock, int64(foundLock))
	case r.Calls:
		b.Queue(limits+`, pg_advisory_xact_lock_shared($1)`, int64(holdLock))
	default:
		b.Queue(limits)
	}
	if r.brief {
		b.Queue(briefLockTimeout)
	}
	b.Queue(insertCommit, w.name, w.n)
	r.readLeases(b, l)
	if len(r.Locks) > 0 {
		var keys []int64
		for name := range r.Locks {
			keys = append(keys, lockKey(name))
		}
		slices.Sort(keys)
		b.Queue(`SELECT pg_advisory_xact_lock(k) FROM unnest($1::bigint[]) k`, slices.Compact(keys))
	}
	r.readOpenings(b, l)
	r.readRuns(b, l)
	r.readSlots(b, l)
	r.readGathers(b, l)
	r.readRest(b, l)
	r.readNumbers(b, l)
	r.insertEvents(b, l)
	for _, queue := range r.extra {
		queue(b)
	}
	return l, conn.SendBatch(ctx, b).Close()
}

func (r *readBatch) readLeases(b *pgx.Batch, l *ledger.Ledger) {
	if len(r.Leases) == 0 {
		return
	}
	workspaces, lanes := laneColumns(r.Leases)
	each(b.Queue(`SELECT d.workspace, d.lane, d.engine, d.epoch, d.news FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.leases d ON d.workspace = k.w AND d.lane = k.l
		ORDER BY d.workspace, d.lane FOR UPDATE OF d`, workspaces, lanes), func(rows pgx.Rows) error {
		var k ledger.LaneKey
		var engine int64
		var lease ledger.Lease
		err := rows.Scan(text{&k.Workspace}, text{&k.Lane}, &engine, &lease.Epoch, &lease.News)
		if engine == r.engine {
			l.AddLease(k, lease)
		}
		return err
	})
}

// laneColumns returns the columns of lanes, in the order in which lanes are locked.
func laneColumns[V any](set map[ledger.LaneKey]V) (workspaces, lanes texts) {
	for _, k := range sortedLanes(set) {
		workspaces.add(k.Workspace)
		lanes.add(k.Lane)
	}
	return workspaces, lanes
}

func sortedLanes[V any](set map[ledger.LaneKey]V) []ledger.LaneKey {
	return slices.SortedFunc(maps.Keys(set), func(a, b ledger.LaneKey) int {
		return cmp.Or(cmp.Compare(a.Workspace, b.Workspace), cmp.Compare(a.Lane, b.Lane))
	})
}

func (r *readBatch) readRuns(b *pgx.Batch, l *ledger.Ledger) {
	wanted := maps.Clone(r.Unfinished)
	for k, finish := range r.Next {
		if wanted == nil {
			wanted = map[ledger.RunKey]int{}
		}
		wanted[k] += finish + 1
	}
	if len(r.Runs)+len(wanted) > 0 {
		var workspaces, names, bys, stages texts
		var limits []int64
		for k, n := range wanted {
			workspaces.add(k.Workspace)
			names.add(k.Rule)
			bys.add(k.By)
			stages.add(string(k.Stage))
			limits = append(limits, int64(n))
		}
		each(b.Queue(`WITH k (id) AS (SELECT unnest($1::bigint[]) UNION SELECT o.id FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[]) k (w, r, b, s, n)
				CROSS JOIN LATERAL (SELECT u.id FROM quando.runs u WHERE u.workspace = k.w AND u.rule = k.r AND u.by = k.b AND u.stage = k.s AND NOT u.finished ORDER BY u.id LIMIT k.n) o)
			SELECT r.id, r.workspace, r.rule, r.by, r.stage, r.lane, r.state, r.wake_at, r.finished_at, r.reason, r.about, r.asked FROM k JOIN quando.runs r ON r.id = k.id ORDER BY r.id FOR UPDATE OF r`,
			slices.Sorted(maps.Keys(r.Runs)), workspaces, names, bys, stages, limits), func(rows pgx.Rows) error {
			row := &ledger.Run{}
			var asked *string
			if err := rows.Scan(&row.ID, text{&row.Workspace}, text{&row.Rule}, text{&row.By}, &row.Stage, text{&row.Lane}, &row.State, &row.Wake, &row.Finished, text{&row.Reason}, &row.Texts.About, &asked); err != nil {
				return err
			}
			err := stored.Decode(asked, &row.Asked)
			l.AddRun(row)
			return err
		})
	}
	if len(r.Known) > 0 {
		each(b.Queue(`SELECT id, key, state FROM quando.runs WHERE key = ANY($1::text[])`, encodeTexts(slices.Sorted(maps.Keys(r.Known)))), func(rows pgx.Rows) error {
			row := &ledger.Run{}
			err := rows.Scan(&row.ID, text{&row.Key}, &row.State)
			l.AddKnown(row)
			return err
		})
	}
}

func (r *readBatch) readSlots(b *pgx.Batch, l *ledger.Ledger) {
	if len(r.Slots) == 0 {
		return
	}
	var workspaces, keys texts
	var times, counts []int64
	for k, slots := range r.Slots {
		for n := range slots.Times {
			workspaces.add(k.Workspace)
			keys.add(k.Key)
			times = append(times, int64(n))
			counts = append(counts, int64(slots.Count))
		}
	}
	each(b.Queue(`SELECT k.w, k.k, m.n, s.n, s.at FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) k (w, k, times, count)
		CROSS JOIN LATERAL (SELECT n FROM quando.slots WHERE workspace = k.w AND key = k.k ORDER BY n DESC LIMIT 1) m
		LEFT JOIN quando.slots s ON s.workspace = k.w AND s.key = k.k AND s.n BETWEEN m.n + 1 - k.times AND m.n + k.count - k.times`, workspaces, keys, times, counts), func(rows pgx.Rows) error {
		var k ledger.SlotKey
		var newest int64
		var n, at *int64
		err := rows.Scan(text{&k.Workspace}, text{&k.Key}, &newest, &n, &at)
		l.AddSlots(k, newest)
		if n != nil {
			l.AddTaking(k, *n, *at)
		}
		return err
	})
}

func (r *readBatch) readGathers(b *pgx.Batch, l *ledger.Ledger) {
	read := func(rows pgx.Rows) error {
		g, err := scanGather(rows)
		if err == nil {
			l.AddGather(g)
		}
		return err
	}
	if len(r.Gathers) > 0 {
		var workspaces, names, bys texts
		for k := range r.Gathers {
			workspaces.add(k.Workspace)
			names.add(k.Rule)
			bys.add(k.By)
		}
		each(b.Queue(`SELECT `+gatherColumns+` FROM unnest($1::text[], $2::text[], $3::text[]) k (w, r, b) JOIN quando.gathers g ON g.workspace = k.w AND g.rule = k.r AND g.by = k.b`,
			workspaces, names, bys), read)
	}
	if len(r.Lanes) > 0 {
		workspaces, lanes := laneColumns(r.Lanes)
		each(b.Queue(`SELECT `+gatherColumns+` FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.gathers g ON g.workspace = k.w AND g.lane = k.l`, workspaces, lanes), read)
	}
}

// readRest reads holds, mutes and the versions whose sources are recorded, which stay locked until
// the end of the transaction, and the verdicts of decided events.
func (r *readBatch) readRest(b *pgx.Batch, l *ledger.Ledger) {
	switch {
	case r.KeepHolds:
		each(b.Queue(selectHolds+` FOR KEY SHARE`), addHold(&l.Holds))
	case r.Holds || r.Calls:
		each(b.Queue(selectHolds), addHold(&l.Holds))
	}
	if len(r.Mutes) > 0 {
		workspaces, lanes := laneColumns(r.Mutes)
		each(b.Queue(selectMutes+` JOIN unnest($1::text[], $2::text[]) k (w, l) ON m.workspace = k.w AND m.lane = k.l`, workspaces, lanes), eachMute(l.AddMute))
	}
	if len(r.Versions) > 0 {
		each(b.Queue(`SELECT hash FROM quando.rule_versions WHERE hash = ANY($1::text[]) FOR KEY SHARE`, encodeTexts(slices.Sorted(maps.Keys(r.Versions)))), func(rows pgx.Rows) error {
			var hash string
			err := rows.Scan(text{&hash})
			l.AddVersion(hash)
			return err
		})
	}
	if len(r.Decided) > 0 {
		each(b.Queue(`SELECT seq, verdicts FROM quando.events WHERE seq = ANY($1::bigint[]) AND decided`, slices.Sorted(maps.Keys(r.Decided))), func(rows pgx.Rows) error {
			var seq int64
			var recorded *string
			if err := rows.Scan(&seq, &recorded); err != nil {
				return err
			}
			var verdicts []journal.Verdict
			err := stored.Decode(recorded, &verdicts)
			l.AddJudged(seq, verdicts)
			return err
		})
	}
}

// readNumbers reserves numbers for new rows.
func (r *readBatch) readNumbers(b *pgx.Batch, l *ledger.Ledger) {
	numbers := func(sequence string, n int) func() int64 {
		var list []int64
		if n > 0 {
			each(b.Queue(`SELECT nextval($1::regclass) FROM generate_series(1, $2::bigint)`, sequence, n), func(rows pgx.Rows) error {
				var id int64
				err := rows.Scan(&id)
				list = append(list, id)
				return err
			})
		}
		return func() int64 {
			id := list[0]
			list = list[1:]
			return id
		}
	}
	l.NextEvent = numbers("quando.events_seq", r.NewEvents)
	l.NextRun = numbers("quando.runs_id", r.NewRuns)
	l.NextCaused = numbers("quando.caused_id", r.NewCaused)
}

// insertEvents records events. They are numbered in the order of arrival, and written in the order
// in which they are locked. An event that matches a found one is not recorded: its id is set in the
// row of the found event. While there are no found events, that costs one lookup.
func (r *readBatch) insertEvents(b *pgx.Batch, l *ledger.Ledger) {
	if len(r.Accept) == 0 {
		return
	}
	var e eventRows
	for i := range r.Accept {
		e.add(&r.Accept[i].Event, r.Accept[i].Data)
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
		var k ledger.EventKey
		var seq int64
		err := rows.Scan(text{&k.Workspace}, text{&k.ID}, &seq)
		l.AddNew(k, seq)
		return err
	})
}
