package sqlite

import (
	"database/sql"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// readWants reads the rows that operations need to decide.
func (t *tx) readWants(w *ledger.Wants) (*ledger.Ledger, error) {
	l := &ledger.Ledger{NextRun: t.nextRun, NextCaused: t.nextCaused, NextEvent: t.nextEvent}
	for k := range w.Leases {
		if c := t.w.claims.get(k); c != nil {
			l.AddLease(k, c.lease())
		}
	}
	for _, read := range []func(*ledger.Wants, *ledger.Ledger) error{t.readOpenings, t.readEvents, t.readRuns, t.readSlots, t.readGathers, t.readRest} {
		if err := read(w, l); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// readOpenings finds out which lanes can be opened.
func (t *tx) readOpenings(w *ledger.Wants, l *ledger.Ledger) error {
	for _, e := range w.Openings {
		k := ledger.LaneKey{Workspace: e.Workspace, Lane: e.Lane}
		c := t.w.claims.get(k)
		if c == nil || !c.opened {
			continue
		}
		vacant, err := t.isVacant(e)
		if err != nil {
			return err
		}
		if vacant {
			l.AddVacant(k)
			l.AddLease(k, c.lease())
		}
	}
	return nil
}

// isVacant reports whether an event is not recorded and nothing is pending in its lane.
func (t *tx) isVacant(e *rules.Event) (bool, error) {
	// A gather needs no check: its lane has a row.
	n, _, err := t.number(`SELECT EXISTS (SELECT 1 FROM events WHERE workspace = ?1 AND id = ?3) OR EXISTS (SELECT 1 FROM lanes WHERE workspace = ?1 AND lane = ?2)
		OR EXISTS (SELECT 1 FROM runs INDEXED BY runs_lane WHERE workspace = ?1 AND lane = ?2 AND finished = 0)
		OR EXISTS (SELECT 1 FROM runs INDEXED BY runs_away WHERE workspace = ?1 AND home = ?2 AND finished = 0 AND home <> lane)`, e.Workspace, e.Lane, e.ID)
	if err != nil || n != 0 {
		return false, err
	}
	known, _, err := t.matchFound(e)
	return !known, err
}

// readEvents records accepted events, unless they are recorded already.
func (t *tx) readEvents(w *ledger.Wants, l *ledger.Ledger) error {
	for i := range w.Accept {
		e := &w.Accept[i]
		found, err := t.matchAndMarkFound(&e.Event)
		if err != nil {
			return err
		}
		if found {
			continue
		}
		fresh, err := t.insertEvent(&e.Event, e.Data)
		if err != nil {
			return err
		}
		if fresh {
			l.AddNew(ledger.EventKey{Workspace: e.Workspace, ID: e.ID}, t.event)
		}
	}
	if w.NewEvents == 0 || t.event != 0 {
		return nil
	}
	var err error
	t.event, _, err = t.number(`SELECT seq FROM sqlite_sequence WHERE name = 'events'`)
	return err
}

const (
	selectRow        = `SELECT id, workspace, rule, by, stage, lane, state, wake_at, finished_at, reason, about, asked FROM runs WHERE id = ?`
	selectUnfinished = `SELECT id, workspace, rule, by, stage, lane, state, wake_at, finished_at, reason, about, asked FROM runs INDEXED BY runs_by
		WHERE workspace = ? AND rule = ? AND by = ? AND finished = 0 AND stage = ? ORDER BY id`
)

func (t *tx) readRuns(w *ledger.Wants, l *ledger.Ledger) error {
	for id := range w.Runs {
		if err := t.each(selectRow, []any{id}, addRun(l, nil)); err != nil {
			return err
		}
	}
	for k, n := range w.Unfinished {
		n += w.Next[k] + 1
		if err := t.each(selectUnfinished, []any{k.Workspace, k.Rule, k.By, string(k.Stage)}, addRun(l, &n)); err != nil {
			return err
		}
	}
	for k, finish := range w.Next {
		if n := finish + 1; t.w.queued && w.Unfinished[k] == 0 {
			if err := t.each(selectUnfinished, []any{k.Workspace, k.Rule, k.By, string(k.Stage)}, addRun(l, &n)); err != nil {
				return err
			}
		}
	}
	for key, event := range w.Known {
		r := &ledger.Run{Key: key}
		found, err := t.get(`SELECT id, state FROM runs INDEXED BY runs_event WHERE event = ? AND key = ?`, []any{event, key}, &r.ID, &r.State)
		if err != nil {
			return err
		}
		if found {
			l.AddKnown(r)
		}
	}
	return nil
}

// addRun returns a function that adds rows of runs to a ledger, at most so many.
func addRun(l *ledger.Ledger, most *int) func(*sql.Rows) error {
	return func(rows *sql.Rows) error {
		r := &ledger.Run{}
		var asked *string
		err := rows.Scan(&r.ID, &r.Workspace, &r.Rule, &r.By, &r.Stage, &r.Lane, &r.State, &r.Wake, &r.Finished, &r.Reason, &r.Texts.About, &asked)
		if err == nil {
			err = stored.Decode(asked, &r.Asked)
		}
		if err != nil {
			return err
		}
		l.AddRun(r)
		if most != nil {
			if *most--; *most <= 0 {
				return errEnough
			}
		}
		return nil
	}
}

func (t *tx) readSlots(w *ledger.Wants, l *ledger.Ledger) error {
	for k, slots := range w.Slots {
		newest, err := t.newestSlot(k)
		if err != nil {
			return err
		}
		l.AddSlots(k, newest)
		for times := range slots.Times {
			last := newest + int64(slots.Count-times)
			if last < 1 { // fewer slots were ever taken
				continue
			}
			err := t.each(`SELECT n, at FROM slots WHERE workspace = ? AND key = ? AND n BETWEEN ? AND ?`, []any{k.Workspace, k.Key, newest + 1 - int64(times), last}, func(rows *sql.Rows) error {
				var n, at int64
				err := rows.Scan(&n, &at)
				l.AddTaking(k, n, at)
				return err
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// maxSlotKeys bounds for how many keys the writer caches the newest slot.
const maxSlotKeys = 20_000

// newestSlot returns the number of a key's newest taken slot. Only this writer takes slots, so it
// may cache the number.
func (t *tx) newestSlot(k ledger.SlotKey) (int64, error) {
	if n, ok := t.w.slots[k]; ok {
		return n, nil
	}
	n, _, err := t.number(`SELECT n FROM slots WHERE workspace = ? AND key = ? ORDER BY n DESC LIMIT 1`, k.Workspace, k.Key)
	return n, err
}

func (t *tx) readGathers(w *ledger.Wants, l *ledger.Ledger) error {
	add := func(rows *sql.Rows) error {
		g, err := scanGather(rows.Scan)
		if err == nil {
			l.AddGather(g)
		}
		return err
	}
	for k := range w.Gathers {
		if err := t.each(`SELECT `+gatherColumns+` FROM gathers g WHERE g.workspace = ? AND g.rule = ? AND g.by = ?`, []any{k.Workspace, k.Rule, k.By}, add); err != nil {
			return err
		}
	}
	for k := range w.Lanes {
		if c := t.w.claims.get(k); c == nil || !c.gathers {
			continue
		}
		if err := t.each(`SELECT `+gatherColumns+` FROM gathers g INDEXED BY gathers_lane WHERE g.workspace = ? AND g.lane = ?`, []any{k.Workspace, k.Lane}, add); err != nil {
			return err
		}
	}
	return nil
}

// readRest reads holds, mutes, verdicts of decided events, and which sources of rules are recorded.
func (t *tx) readRest(w *ledger.Wants, l *ledger.Ledger) error {
	if w.Holds || w.KeepHolds || w.Calls {
		// Other processes place holds too, so they cannot be cached. Usually there are none.
		_, any, err := t.number(`SELECT 1 FROM holds LIMIT 1`)
		if err == nil && any {
			err = t.each(selectHolds, nil, addHold(&l.Holds))
		}
		if err != nil {
			return err
		}
	}
	for k := range w.Mutes {
		if err := t.each(selectMutes+` WHERE workspace = ? AND lane = ?`, []any{k.Workspace, k.Lane}, eachMute(l.AddMute)); err != nil {
			return err
		}
	}
	for seq := range w.Decided {
		var recorded *string
		decided, err := t.get(`SELECT verdicts FROM events WHERE seq = ? AND decided = 1`, []any{seq}, &recorded)
		if err != nil {
			return err
		}
		if decided {
			var verdicts []journal.Verdict
			if err := stored.Decode(recorded, &verdicts); err != nil {
				return err
			}
			l.AddJudged(seq, verdicts)
		}
	}
	for hash := range w.Versions {
		known := t.w.versions[hash]
		if !known {
			var err error
			if _, known, err = t.number(`SELECT 1 FROM rule_versions WHERE hash = ?`, hash); err != nil {
				return err
			}
		}
		if known {
			l.AddVersion(hash)
		}
	}
	return nil
}

// nextEvent assigns the number of the next event.
func (t *tx) nextEvent() int64 {
	t.event++
	return t.event
}

// nextRun assigns the number of the next run.
func (t *tx) nextRun() int64 {
	t.run++
	return t.run
}

// nextCaused assigns the number of the next expected event.
func (t *tx) nextCaused() int64 {
	t.caused++
	return t.caused
}
