package postgres

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// write queues everything that has changed: one statement for each table and kind of change, whatever the number of rows.
func (l *ledger) write(b *pgx.Batch) {
	l.writeEvents(b)
	l.writeLeases(b)
	l.writeVersions(b)
	l.writeRuns(b)
	l.writeSteps(b)
	l.writeDecided(b)
	l.writeSlots(b)
	l.writeGathers(b)
	l.writeCaused(b)
	l.writeTally(b)
	l.writeLanes(b)
}

func (l *ledger) writeVersions(b *pgx.Batch) {
	if len(l.sources) == 0 {
		return
	}
	var hashes, names, sources texts
	for _, hash := range slices.Sorted(maps.Keys(l.sources)) {
		hashes.add(hash)
		names.add(l.sources[hash].rule)
		sources.add(l.sources[hash].source)
	}
	b.Queue(`INSERT INTO quando.rule_versions (hash, rule, source) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT (hash) DO NOTHING`, hashes, names, sources)
}

// runColumnsOf are the columns of runs that change, or of new ones.
type runColumnsOf struct {
	id, event, started, wake, finishedAt                                []int64
	key, workspace, rule, version, home, lane, by, stage, reason, state texts
	finished                                                            []bool
	about                                                               []string
	gathered, ancestry, asked                                           []*string
}

func (c *runColumnsOf) add(r *runRow) {
	c.id = append(c.id, r.id)
	c.state.add(string(r.state))
	c.finished = append(c.finished, r.state.Finished())
	c.lane.add(r.lane)
	c.wake = append(c.wake, r.wake)
	c.finishedAt = append(c.finishedAt, r.finished)
	c.reason.add(r.reason)
	c.about = append(c.about, r.about)
	c.asked = append(c.asked, r.asked)
	if !r.fresh {
		return
	}
	c.key.add(r.key)
	c.workspace.add(r.workspace)
	c.rule.add(r.rule)
	c.version.add(r.version)
	c.event = append(c.event, r.event)
	c.gathered = append(c.gathered, r.gathered)
	c.home.add(r.home)
	c.by.add(r.by)
	c.stage.add(r.stage)
	c.ancestry = append(c.ancestry, r.ancestry)
	c.started = append(c.started, r.started)
}

func (l *ledger) writeRuns(b *pgx.Batch) {
	var fresh, changed runColumnsOf
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		switch r := l.runs[id]; {
		case r.fresh:
			fresh.add(r)
		case r.changed:
			changed.add(r)
		}
	}
	if c := &changed; len(c.id) > 0 {
		b.Queue(`UPDATE quando.runs r SET state = k.state, finished = k.finished, lane = k.lane, wake_at = k.wake, finished_at = k.ended, reason = k.reason, about = k.about, asked = k.asked
			FROM unnest($1::bigint[], $2::text[], $3::boolean[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[]) k (id, state, finished, lane, wake, ended, reason, about, asked)
			WHERE r.id = k.id`, c.id, c.state, c.finished, c.lane, c.wake, c.finishedAt, c.reason, c.about, c.asked)
	}
	if c := &fresh; len(c.id) > 0 {
		b.Queue(`INSERT INTO quando.runs (id, key, workspace, rule, version, event, gathered, home, lane, by, state, finished, stage, ancestry, about, started_at, wake_at, finished_at, reason, asked)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::boolean[], $13::text[],
				$14::text[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::text[])`,
			c.id, c.key, c.workspace, c.rule, c.version, c.event, c.gathered, c.home, c.lane, c.by, c.state, c.finished, c.stage, c.ancestry, c.about, c.started, c.wake, c.finishedAt, c.reason, c.asked)
	}
}

func (l *ledger) writeSteps(b *pgx.Batch) {
	if len(l.steps) == 0 {
		return
	}
	var runs, ns, attempts []int64
	var paths, verbs, keys, states, problems texts
	var records []*string
	for _, k := range slices.SortedFunc(maps.Keys(l.steps), func(a, b stepKey) int { return cmp.Or(cmp.Compare(a.run, b.run), cmp.Compare(a.n, b.n)) }) {
		s := l.steps[k]
		runs, ns, attempts = append(runs, k.run), append(ns, int64(k.n)), append(attempts, int64(s.Attempts))
		paths.add(s.Path)
		verbs.add(s.Verb)
		keys.add(s.Key)
		states.add(string(s.State))
		problems.add(s.Error)
		records = append(records, recordOf(s))
	}
	b.Queue(`INSERT INTO quando.steps (run, n, path, verb, key, state, attempts, error, record)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[])
		ON CONFLICT (run, n) DO UPDATE SET path = excluded.path, verb = excluded.verb, key = excluded.key, state = excluded.state, attempts = excluded.attempts, error = excluded.error, record = excluded.record`,
		runs, ns, paths, verbs, keys, states, attempts, problems, records)
}

// recordOf is how a step's record is kept.
func recordOf(s *journal.Step) *string {
	if s.Record == nil {
		return nil
	}
	record := keep(string(s.Record))
	return &record
}

func (l *ledger) writeDecided(b *pgx.Batch) {
	if len(l.decided) == 0 {
		return
	}
	seqs := slices.Sorted(maps.Keys(l.decided))
	var verdicts, answers []*string
	var judges []*string
	for _, seq := range seqs {
		d := l.decided[seq]
		verdicts, answers = append(verdicts, d.verdicts), append(answers, d.answers)
		judges = append(judges, arrayText(d.judges))
	}
	b.Queue(`UPDATE quando.events e SET decided = true, verdicts = k.verdicts, answers = k.answers, judges = k.judges::text[]
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) k (seq, verdicts, answers, judges) WHERE e.seq = k.seq`, seqs, verdicts, answers, judges)
}

func (l *ledger) writeSlots(b *pgx.Batch) {
	var workspaces, keys, by, overWorkspaces, overKeys texts
	var ns, ats, overs, untils []int64
	for k, s := range l.slots {
		if len(s.taken) == 0 {
			continue
		}
		overWorkspaces.add(k.workspace)
		overKeys.add(k.key)
		untils = append(untils, s.until)
		for _, row := range s.taken {
			if row.n <= s.until {
				continue
			}
			workspaces.add(k.workspace)
			keys.add(k.key)
			by.add(row.rule)
			ns, ats, overs = append(ns, row.n), append(ats, row.at), append(overs, row.over)
		}
	}
	if len(untils) == 0 {
		return
	}
	b.Queue(`INSERT INTO quando.slots (workspace, key, n, at, over, rule) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])`, workspaces, keys, ns, ats, overs, by)
	b.Queue(`DELETE FROM quando.slots s USING unnest($1::text[], $2::text[], $3::bigint[]) k (w, k, n) WHERE s.workspace = k.w AND s.key = k.k AND s.n <= k.n`, overWorkspaces, overKeys, untils)
}

func (l *ledger) writeGathers(b *pgx.Batch) {
	var gone, is struct {
		workspace, rule, by, lane   texts
		events                      []string
		since, until, quiet, atMost []int64
	}
	for k := range l.changed {
		g := l.gathers[k]
		if g == nil {
			gone.workspace.add(k.workspace)
			gone.rule.add(k.rule)
			gone.by.add(k.by)
			continue
		}
		is.workspace.add(k.workspace)
		is.rule.add(k.rule)
		is.by.add(k.by)
		is.lane.add(g.Lane)
		is.events = append(is.events, numbers(g.Events))
		is.since, is.until = append(is.since, stored.Micros(g.Since)), append(is.until, stored.Micros(g.Until))
		is.quiet, is.atMost = append(is.quiet, int64(g.Quiet)), append(is.atMost, int64(g.AtMost))
	}
	if len(gone.by) > 0 {
		b.Queue(`DELETE FROM quando.gathers g USING unnest($1::text[], $2::text[], $3::text[]) k (w, r, b) WHERE g.workspace = k.w AND g.rule = k.r AND g.by = k.b`, gone.workspace, gone.rule, gone.by)
	}
	if len(is.by) > 0 {
		b.Queue(`INSERT INTO quando.gathers (workspace, rule, by, lane, events, since, until, quiet, at_most)
			SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
			ON CONFLICT (workspace, rule, by) DO UPDATE SET lane = excluded.lane, events = excluded.events, since = excluded.since, until = excluded.until, quiet = excluded.quiet, at_most = excluded.at_most`,
			is.workspace, is.rule, is.by, is.lane, is.events, is.since, is.until, is.quiet, is.atMost)
	}
}

func (l *ledger) writeCaused(b *pgx.Batch) {
	if len(l.caused) > 0 {
		var ids, runs, afters, froms, tos, ats []int64
		var workspaces, lanes, events, objects, stages, names texts
		var fields, ancestries []*string
		var used []bool
		for _, c := range l.caused {
			ids, runs, ats = append(ids, c.id), append(runs, c.Run), append(ats, c.at)
			afters, froms, tos = append(afters, c.After), append(froms, stored.Micros(c.From)), append(tos, stored.Micros(c.To))
			workspaces.add(c.Workspace)
			lanes.add(c.Lane)
			events.add(c.Event)
			objects.add(c.Object)
			stages.add(c.Stage)
			names.add(c.Rule)
			fields, ancestries, used = append(fields, c.fields), append(ancestries, c.ancestry), append(used, c.Used)
		}
		b.Queue(`INSERT INTO quando.caused (id, workspace, lane, event, object, stage, fields, run, rule, ancestry, from_at, to_at, used, at, after_event)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::boolean[], $14::bigint[], $15::bigint[])`,
			ids, workspaces, lanes, events, objects, stages, fields, runs, names, ancestries, froms, tos, used, ats, afters)
	}
	if len(l.gone) > 0 {
		b.Queue(`DELETE FROM quando.caused WHERE id = ANY($1::bigint[])`, l.gone)
	}
	if len(l.used) > 0 {
		b.Queue(`UPDATE quando.caused SET used = true WHERE id = ANY($1::bigint[])`, l.used)
	}
}

// writeLanes makes lanes due and gives claimed ones back. The first statement touches every row, in one order, so that no two transactions wait for each other.
func (l *ledger) writeLanes(b *pgx.Batch) {
	touched := maps.Clone(l.dues)
	for k := range l.releases {
		if touched[k] == nil {
			touched[k] = &due{at: math.MaxInt64}
		}
	}
	workspaces, lanes := laneColumns(touched)
	switch {
	case len(l.dues) > 0:
		var ats, news []int64
		for _, k := range sortedLanes(touched) {
			ats, news = append(ats, touched[k].at), append(news, touched[k].news)
		}
		b.Queue(`INSERT INTO quando.lanes AS d (workspace, lane, due_at, news) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
			ON CONFLICT (workspace, lane) DO UPDATE SET due_at = least(d.due_at, excluded.due_at), news = d.news + excluded.news`, workspaces, lanes, ats, news)
	case len(l.releases) > 0:
		b.Queue(`SELECT 1 FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.lanes d ON d.workspace = k.w AND d.lane = k.l ORDER BY d.workspace, d.lane FOR UPDATE OF d`, workspaces, lanes)
	}
	if len(l.releases) == 0 {
		return
	}
	workspaces, lanes = laneColumns(l.releases)
	var news, nexts, soons []int64
	for _, k := range sortedLanes(l.releases) {
		r := l.releases[k]
		news, nexts, soons = append(news, r.news), append(nexts, r.next), append(soons, r.soon)
	}
	each(b.Queue(`DELETE FROM quando.lanes d USING unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) k (w, l, news, next)
		WHERE d.workspace = k.w AND d.lane = k.l AND d.news = k.news AND k.next = 0 RETURNING d.workspace, d.lane`, workspaces, lanes, news, nexts), func(rows pgx.Rows) error {
		var k laneKey
		err := rows.Scan(text{&k.workspace}, text{&k.lane})
		l.calm[k] = true
		return err
	})
	b.Queue(`UPDATE quando.lanes d SET due_at = CASE WHEN d.news = k.news THEN k.next ELSE k.soon END FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) k (w, l, news, next, soon)
		WHERE d.workspace = k.w AND d.lane = k.l`, workspaces, lanes, news, nexts, soons)
	b.Queue(`DELETE FROM quando.leases d USING unnest($1::text[], $2::text[]) k (w, l) WHERE d.workspace = k.w AND d.lane = k.l`, workspaces, lanes)
}
