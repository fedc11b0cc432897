package postgres

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A writeBatch writes the decisions of operations.
type writeBatch struct {
	*ledger.Ledger
	engine int64
}

// write queues everything that has changed: one statement for each table and kind of change,
// whatever the number of rows.
func (w writeBatch) write(b *pgx.Batch) error {
	w.writeEvents(b)
	w.writeLeases(b)
	w.writeVersions(b)
	if err := w.writeRuns(b); err != nil {
		return err
	}
	w.writeSteps(b)
	w.writeDecided(b)
	w.writeSlots(b)
	w.writeGathers(b)
	w.writeMutes(b)
	w.writeCaused(b)
	w.writeTally(b)
	w.writeLanes(b)
	return nil
}

func (w writeBatch) writeMutes(b *pgx.Batch) {
	for _, k := range sortedLanes(w.Muted) {
		m, muted := w.Mutes[k]
		if !muted {
			b.Queue(`DELETE FROM quando.mutes WHERE workspace = $1 AND lane = $2`, encodeText(k.Workspace), encodeText(k.Lane))
			continue
		}
		b.Queue(`INSERT INTO quando.mutes (workspace, lane, rule, run, since, until) VALUES ($1, $2, $3, $4, $5, $6)
			ON CONFLICT (workspace, lane) DO UPDATE SET rule = excluded.rule, run = excluded.run, since = excluded.since, until = excluded.until`,
			encodeText(m.Workspace), encodeText(m.Lane), encodeText(m.Rule), m.Run, stored.Micros(m.Since), stored.Micros(m.Until))
	}
}

func (w writeBatch) writeVersions(b *pgx.Batch) {
	if len(w.Sources) == 0 {
		return
	}
	var hashes, names, sources texts
	for _, hash := range slices.Sorted(maps.Keys(w.Sources)) {
		hashes.add(hash)
		names.add(w.Sources[hash].Rule)
		sources.add(w.Sources[hash].Text)
	}
	b.Queue(`INSERT INTO quando.rule_versions (hash, rule, source) SELECT * FROM unnest($1::text[], $2::text[], $3::text[]) ON CONFLICT (hash) DO NOTHING`, hashes, names, sources)
}

// runArrays are the columns of changed or new runs.
type runArrays struct {
	id, event, started, wake, finishedAt                                []int64
	key, workspace, rule, version, home, lane, by, stage, reason, state texts
	finished                                                            []bool
	about                                                               []string
	gathered, ancestry, asked                                           []*string
}

func (c *runArrays) add(r *ledger.Run) error {
	asked, err := stored.Ask(r.Asked)
	c.id = append(c.id, r.ID)
	c.state.add(string(r.State))
	c.finished = append(c.finished, r.State.Finished())
	c.lane.add(r.Lane)
	c.wake = append(c.wake, r.Wake)
	c.finishedAt = append(c.finishedAt, r.Finished)
	c.reason.add(r.Reason)
	c.about = append(c.about, r.Texts.About)
	c.asked = append(c.asked, asked)
	if !r.New {
		return err
	}
	c.key.add(r.Key)
	c.workspace.add(r.Workspace)
	c.rule.add(r.Rule)
	c.version.add(r.Given.Version)
	c.event = append(c.event, r.Event)
	c.gathered = append(c.gathered, r.Texts.Gathered)
	c.home.add(r.Given.Home)
	c.by.add(r.By)
	c.stage.add(string(r.Given.Stage))
	c.ancestry = append(c.ancestry, r.Texts.Ancestry)
	c.started = append(c.started, r.Started)
	return err
}

func (w writeBatch) writeRuns(b *pgx.Batch) error {
	var fresh, changed runArrays
	begun, continued := w.Runs()
	for _, r := range begun {
		if err := fresh.add(r); err != nil {
			return err
		}
	}
	for _, r := range continued {
		if err := changed.add(r); err != nil {
			return err
		}
	}
	if c := &changed; len(c.id) > 0 {
		b.Queue(`UPDATE quando.runs r SET state = k.state, finished = k.finished, lane = k.Lane, wake_at = k.wake, finished_at = k.ended, reason = k.reason, about = k.about, asked = k.asked
			FROM unnest($1::bigint[], $2::text[], $3::boolean[], $4::text[], $5::bigint[], $6::bigint[], $7::text[], $8::text[], $9::text[]) k (id, state, finished, lane, wake, ended, reason, about, asked)
			WHERE r.id = k.id`, c.id, c.state, c.finished, c.lane, c.wake, c.finishedAt, c.reason, c.about, c.asked)
	}
	if c := &fresh; len(c.id) > 0 {
		b.Queue(`INSERT INTO quando.runs (id, key, workspace, rule, version, event, gathered, home, lane, by, state, finished, stage, ancestry, about, started_at, wake_at, finished_at, reason, asked)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[], $12::boolean[], $13::text[],
				$14::text[], $15::text[], $16::bigint[], $17::bigint[], $18::bigint[], $19::text[], $20::text[])`,
			c.id, c.key, c.workspace, c.rule, c.version, c.event, c.gathered, c.home, c.lane, c.by, c.state, c.finished, c.stage, c.ancestry, c.about, c.started, c.wake, c.finishedAt, c.reason, c.asked)
	}
	return nil
}

func (w writeBatch) writeSteps(b *pgx.Batch) {
	if len(w.Steps) == 0 {
		return
	}
	var runs, ns, attempts []int64
	var paths, verbs, keys, states, problems texts
	var records []*string
	slices.SortFunc(w.Steps, func(a, b ledger.Step) int { return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.N, b.N)) })
	for _, s := range w.Steps {
		runs, ns, attempts = append(runs, s.Run), append(ns, int64(s.N)), append(attempts, int64(s.Attempts))
		paths.add(s.Path)
		verbs.add(s.Verb)
		keys.add(s.Key)
		states.add(string(s.State))
		problems.add(s.Error)
		records = append(records, recordOf(s.Step))
	}
	b.Queue(`INSERT INTO quando.steps (run, n, path, verb, key, state, attempts, error, record)
		SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[], $9::text[])
		ON CONFLICT (run, n) DO UPDATE SET path = excluded.path, verb = excluded.verb, key = excluded.key, state = excluded.state, attempts = excluded.attempts, error = excluded.error, record = excluded.record`,
		runs, ns, paths, verbs, keys, states, attempts, problems, records)
}

// recordOf returns the stored form of a step's record.
func recordOf(s *journal.Step) *string {
	if s.Record == nil {
		return nil
	}
	record := encodeText(string(s.Record))
	return &record
}

func (w writeBatch) writeDecided(b *pgx.Batch) {
	if len(w.Decided) == 0 {
		return
	}
	seqs := slices.Sorted(maps.Keys(w.Decided))
	var verdicts, answers, judges []*string
	for _, seq := range seqs {
		d := w.Decided[seq]
		verdicts, answers, judges = append(verdicts, d.VerdictsText), append(answers, d.AnswersText), append(judges, judgesOf(d))
	}
	b.Queue(`UPDATE quando.events e SET decided = true, verdicts = k.verdicts, answers = k.answers, judges = k.judges::text[]
		FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[]) k (seq, verdicts, answers, judges) WHERE e.seq = k.seq`, seqs, verdicts, answers, judges)
}

// judgesOf returns the rules that have a verdict on an event.
func judgesOf(d *ledger.Decision) *string {
	var judges []string
	for _, v := range d.Verdicts {
		judges = append(judges, v.Rule)
	}
	return arrayText(judges)
}

func (w writeBatch) writeSlots(b *pgx.Batch) {
	var workspaces, keys, by, overWorkspaces, overKeys texts
	var ns, ats, overs, untils []int64
	for k, s := range w.Slots() {
		overWorkspaces.add(k.Workspace)
		overKeys.add(k.Key)
		untils = append(untils, s.Over)
		for _, row := range s.Taken {
			if row.N <= s.Over {
				continue
			}
			workspaces.add(k.Workspace)
			keys.add(k.Key)
			by.add(row.Rule)
			ns, ats, overs = append(ns, row.N), append(ats, row.At), append(overs, row.Until)
		}
	}
	if len(untils) == 0 {
		return
	}
	b.Queue(`INSERT INTO quando.slots (workspace, key, n, at, over, rule) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[])`, workspaces, keys, ns, ats, overs, by)
	b.Queue(`DELETE FROM quando.slots s USING unnest($1::text[], $2::text[], $3::bigint[]) k (w, k, n) WHERE s.workspace = k.w AND s.key = k.k AND s.n <= k.n`, overWorkspaces, overKeys, untils)
}

func (w writeBatch) writeGathers(b *pgx.Batch) {
	var gone, current struct {
		workspace, rule, by, lane   texts
		events                      []string
		since, until, quiet, atMost []int64
	}
	for k := range w.Gathers {
		g := w.Gather(k)
		if g == nil {
			gone.workspace.add(k.Workspace)
			gone.rule.add(k.Rule)
			gone.by.add(k.By)
			continue
		}
		current.workspace.add(k.Workspace)
		current.rule.add(k.Rule)
		current.by.add(k.By)
		current.lane.add(g.Lane)
		current.events = append(current.events, numbersText(g.Events))
		current.since, current.until = append(current.since, stored.Micros(g.Since)), append(current.until, stored.Micros(g.Until))
		current.quiet, current.atMost = append(current.quiet, int64(g.Quiet)), append(current.atMost, int64(g.AtMost))
	}
	if len(gone.by) > 0 {
		b.Queue(`DELETE FROM quando.gathers g USING unnest($1::text[], $2::text[], $3::text[]) k (w, r, b) WHERE g.workspace = k.w AND g.rule = k.r AND g.by = k.b`, gone.workspace, gone.rule, gone.by)
	}
	if len(current.by) > 0 {
		b.Queue(`INSERT INTO quando.gathers (workspace, rule, by, lane, events, since, until, quiet, at_most)
			SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[])
			ON CONFLICT (workspace, rule, by) DO UPDATE SET lane = excluded.lane, events = excluded.events, since = excluded.since, until = excluded.until, quiet = excluded.quiet, at_most = excluded.at_most`,
			current.workspace, current.rule, current.by, current.lane, current.events, current.since, current.until, current.quiet, current.atMost)
	}
}

func (w writeBatch) writeCaused(b *pgx.Batch) {
	if len(w.Caused) > 0 {
		var ids, runs, afters, froms, tos, ats []int64
		var workspaces, lanes, events, objects, stages, names texts
		var fields, ancestries []*string
		var used []bool
		for _, c := range w.Caused {
			ids, runs, ats = append(ids, c.ID), append(runs, c.Run), append(ats, c.At)
			afters, froms, tos = append(afters, c.After), append(froms, stored.Micros(c.From)), append(tos, stored.Micros(c.To))
			workspaces.add(c.Workspace)
			lanes.add(c.Lane)
			events.add(c.Event)
			objects.add(c.Object)
			stages.add(c.Stage)
			names.add(c.Rule)
			fields, ancestries, used = append(fields, c.Texts.Fields), append(ancestries, c.Texts.Ancestry), append(used, c.Used)
		}
		b.Queue(`INSERT INTO quando.caused (id, workspace, lane, event, object, stage, fields, run, rule, ancestry, from_at, to_at, used, at, after_event)
			SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[], $9::text[], $10::text[], $11::bigint[], $12::bigint[], $13::boolean[], $14::bigint[], $15::bigint[])`,
			ids, workspaces, lanes, events, objects, stages, fields, runs, names, ancestries, froms, tos, used, ats, afters)
	}
	if len(w.Gone) > 0 {
		b.Queue(`DELETE FROM quando.caused WHERE id = ANY($1::bigint[])`, w.Gone)
	}
	if len(w.Used) > 0 {
		b.Queue(`UPDATE quando.caused SET used = true WHERE id = ANY($1::bigint[])`, w.Used)
	}
}

// writeLanes makes lanes due and releases claimed ones. The first statement locks every row, in one
// order, so that there are no deadlocks.
func (w writeBatch) writeLanes(b *pgx.Batch) {
	touched := map[ledger.LaneKey]*ledger.Due{}
	maps.Copy(touched, w.Dues)
	for k := range w.Releases {
		if touched[k] == nil {
			touched[k] = &ledger.Due{At: math.MaxInt64}
		}
	}
	workspaces, lanes := laneColumns(touched)
	switch {
	case len(w.Dues) > 0:
		var ats, news []int64
		for _, k := range sortedLanes(touched) {
			ats, news = append(ats, touched[k].At), append(news, touched[k].News)
		}
		b.Queue(`INSERT INTO quando.lanes AS d (workspace, lane, due_at, news) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[])
			ON CONFLICT (workspace, lane) DO UPDATE SET due_at = least(d.due_at, excluded.due_at), news = d.news + excluded.news`, workspaces, lanes, ats, news)
	case len(w.Releases) > 0:
		b.Queue(`SELECT 1 FROM unnest($1::text[], $2::text[]) k (w, l) JOIN quando.lanes d ON d.workspace = k.w AND d.lane = k.l ORDER BY d.workspace, d.lane FOR UPDATE OF d`, workspaces, lanes)
	}
	if len(w.Releases) == 0 {
		return
	}
	workspaces, lanes = laneColumns(w.Releases)
	var news, nexts, soons []int64
	for _, k := range sortedLanes(w.Releases) {
		r := w.Releases[k]
		news, nexts, soons = append(news, r.News), append(nexts, r.Next), append(soons, r.Soon)
	}
	each(b.Queue(`DELETE FROM quando.lanes d USING unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[]) k (w, l, news, next)
		WHERE d.workspace = k.w AND d.lane = k.l AND d.news = k.news AND k.next = 0 RETURNING d.workspace, d.lane`, workspaces, lanes, news, nexts), func(rows pgx.Rows) error {
		var k ledger.LaneKey
		err := rows.Scan(text{&k.Workspace}, text{&k.Lane})
		w.AddCalm(k)
		return err
	})
	b.Queue(`UPDATE quando.lanes d SET due_at = CASE WHEN d.news = k.news THEN k.next ELSE k.soon END FROM unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::bigint[]) k (w, l, news, next, soon)
		WHERE d.workspace = k.w AND d.lane = k.l`, workspaces, lanes, news, nexts, soons)
	b.Queue(`DELETE FROM quando.leases d USING unnest($1::text[], $2::text[]) k (w, l) WHERE d.workspace = k.w AND d.lane = k.l`, workspaces, lanes)
}
