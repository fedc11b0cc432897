package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/batch"
	"github.com/quandohq/quando/engine/stored"
)

// A draft is a run that is not among the runs yet. Most runs begin and end while their lane is in the same hands, and until then nobody asks for them: so they are put among the runs, which are in many
// indexes, once and not at every call. Until then all drafts of a transaction share one row, which is what an engine that starts finds of one that died.
//
// Whoever asks for a draft, as somebody who looks at runs or a run of the same rule that may have to wait for it, has it placed first, and what nobody asks for is placed after a while: who reads the file
// itself sees a run as late as that.
type draft struct {
	run    engine.Run // as it is recorded, without its steps
	texts  stored.Run
	steps  []engine.Step // that are not over; the others are among the steps
	opened bool          // its lane has no row
	since  time.Time     // when it was begun
	row    int64         // that holds it
}

// draftPatience is how long a run stays a draft, and up to as long again.
const draftPatience = 250 * time.Millisecond

// drafts are those that are recorded. Only the writer changes them, and may look at them without the lock.
type drafts struct {
	mu     sync.Mutex
	runs   map[int64]*draft
	rows   map[int64]int // how many of them each row holds
	newest int64         // of the rows
	timed  bool          // somebody will see to those that become old
	stay   time.Duration // how long they stay
	form   []byte        // of the newest row, whose memory the next one takes
}

// drafted reports whether a run is to be a draft: somebody works on it where it belongs.
func (s *saving) drafted(r *engine.Run) bool {
	return !s.change.Release && r.State == engine.Running && r.Workspace == s.lane.Workspace && r.Home == s.lane.Name && r.Lane == s.lane.Name
}

// draft begins a run as a draft.
func (s *saving) draft(t *tx, r *engine.Run, texts stored.Run) error {
	d := &draft{run: *r, texts: texts, opened: s.claim.opened, since: time.Now()}
	d.run.Steps = nil
	if d.run.StartedAt.IsZero() {
		d.run.StartedAt = s.change.At
	}
	t.drafts[r.ID] = d
	s.drafts = append(s.drafts, r.ID)
	return t.draftSteps(d, r.Steps)
}

// draftSteps takes steps over as they are. Those that are over stay as they are, and are recorded for good.
func (t *tx) draftSteps(d *draft, steps []*engine.Step) error {
	open := slices.Clone(d.steps)
	for _, s := range steps {
		open = slices.DeleteFunc(open, func(before engine.Step) bool { return before.N == s.N })
		if !s.State.Finished() {
			open = append(open, *s)
		} else if err := t.step(d.run.ID, s); err != nil {
			return err
		}
	}
	d.steps = open
	return nil
}

// changeDraft takes a draft further, and places it where it is not to be one any more.
func (s *saving) changeDraft(t *tx, before *draft, c *engine.RunChange, texts stored.Run) error {
	d := *before
	d.run, d.texts = *c.Run, texts
	d.run.Steps, d.run.StartedAt = nil, before.run.StartedAt
	if err := t.draftSteps(&d, c.Steps); err != nil {
		return err
	}
	if s.drafted(&d.run) {
		t.drafts[d.run.ID] = &d
		return nil
	}
	s.rooted = s.rooted || !d.run.State.Finished()
	return t.place(&d, s.at)
}

// draftOf returns a run that is a draft; nil where it is none.
func (t *tx) draftOf(run int64) *draft {
	if d, changed := t.drafts[run]; changed {
		return d
	}
	return t.w.drafts.runs[run]
}

// allDrafts are those of this moment.
func (t *tx) allDrafts() iter.Seq[*draft] {
	return func(yield func(*draft) bool) {
		for id, d := range t.w.drafts.runs {
			if _, changed := t.drafts[id]; !changed && !yield(d) {
				return
			}
		}
		for _, d := range t.drafts {
			if d != nil && !yield(d) {
				return
			}
		}
	}
}

// place puts a draft among the runs.
func (t *tx) place(d *draft, at int64) error {
	t.drafts[d.run.ID] = nil
	if err := t.insertRun(&d.run, d.texts, at); err != nil {
		return err
	}
	for i := range d.steps {
		if err := t.step(d.run.ID, &d.steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// placeAsked places the drafts that somebody asks for. Where their lane has no row it is given one: by that they are found if nobody finishes what was begun.
func (t *tx) placeAsked(at int64, asked func(*draft) bool) error {
	for d := range t.allDrafts() {
		if !asked(d) {
			continue
		}
		if err := t.place(d, at); err != nil {
			return err
		}
		if !d.opened {
			continue
		}
		if err := t.due(d.run.Workspace, d.run.Lane, at); err != nil {
			return err
		}
	}
	return nil
}

// writeDrafts records the drafts of a transaction, and forgets rows that hold none any more.
func (t *tx) writeDrafts() error {
	if len(t.drafts) == 0 {
		return nil
	}
	all, row := &t.w.drafts, t.w.drafts.newest+1
	form := coder{bytes: all.form[:0]}
	less := map[int64]int{}
	var first, last int64
	for id, d := range t.drafts {
		if before := all.runs[id]; before != nil {
			less[before.row]++
		}
		if d == nil {
			continue
		}
		if first == 0 || id < first {
			first = id
		}
		last, d.row = max(last, id), row
		form.draft(d)
	}
	all.form = form.bytes
	for row, n := range less {
		if n < all.rows[row] {
			continue
		}
		if _, err := t.exec(`DELETE FROM drafts WHERE id = ?`, row); err != nil {
			return err
		}
	}
	if first == 0 {
		return nil
	}
	_, err := t.exec(`INSERT INTO drafts (id, first, last, runs) VALUES (?, ?, ?, ?)`, row, first, last, form.bytes)
	return err
}

// keepDrafts takes over what a transaction has made of drafts, when it is recorded.
func (w *writer) keepDrafts(changed map[int64]*draft) {
	if len(changed) == 0 {
		return
	}
	all := &w.drafts
	all.mu.Lock()
	defer all.mu.Unlock()
	for id, after := range changed {
		if before := all.runs[id]; before != nil {
			if all.rows[before.row]--; all.rows[before.row] == 0 {
				delete(all.rows, before.row)
			}
		}
		if after == nil {
			delete(all.runs, id)
			continue
		}
		all.runs[id], all.newest = after, max(all.newest, after.row)
		all.rows[after.row]++
	}
	if len(all.runs) > 0 && !all.timed {
		all.timed = true
		time.AfterFunc(all.stay, w.placeOld)
	}
}

// placeOld places the drafts that nobody has asked for and whose lane is still in somebody's hands. It comes back as long as there are any.
func (w *writer) placeOld() {
	now := time.Now()
	err := w.place(context.Background(), func(d *draft) bool { return now.Sub(d.since) >= w.drafts.stay })
	w.drafts.mu.Lock()
	defer w.drafts.mu.Unlock()
	if w.drafts.timed = len(w.drafts.runs) > 0 && !errors.Is(err, batch.ErrClosed); w.drafts.timed {
		time.AfterFunc(w.drafts.stay, w.placeOld)
	}
}

// place places drafts, where there are any.
func (w *writer) place(ctx context.Context, asked func(*draft) bool) error {
	w.drafts.mu.Lock()
	n := len(w.drafts.runs)
	w.drafts.mu.Unlock()
	if n == 0 {
		return nil
	}
	return w.write(ctx, &operation{weight: n, do: func(t *tx) error { return t.placeAsked(stored.Micros(time.Now()), asked) }})
}

func every(*draft) bool { return true }

// showDrafts lets somebody who looks at runs see those that are drafts. What cannot be recorded at the moment is no reason not to look.
func (j *Journal) showDrafts(ctx context.Context) { _ = j.writer.place(ctx, every) }

// leftDrafts reads the drafts that are in the file, by the numbers of their runs.
func (t *tx) leftDrafts() (map[int64]*draft, error) {
	left := map[int64]*draft{}
	err := t.each(`SELECT runs FROM drafts ORDER BY id`, nil, func(rows *sql.Rows) error {
		c := coder{reading: true}
		if err := rows.Scan(&c.bytes); err != nil {
			return err
		}
		for len(c.bytes) > 0 {
			d := &draft{opened: true}
			c.draft(d)
			left[d.run.ID] = d // what came later is in a later row
		}
		return c.failed()
	})
	if err != nil {
		return nil, err
	}
	for id := range left {
		placed, _, err := t.number(`SELECT EXISTS (SELECT 1 FROM runs WHERE id = ?)`, id)
		if err != nil {
			return nil, err
		}
		if placed != 0 { // and the row has others that are not
			delete(left, id)
		}
	}
	return left, nil
}

// settleDrafts places what an engine that is gone has left, and makes it due.
func (w *writer) settleDrafts(ctx context.Context) error {
	return w.write(ctx, &operation{do: func(t *tx) error {
		left, err := t.leftDrafts()
		if err != nil {
			return err
		}
		for id, d := range left {
			t.drafts[id], t.run = d, max(t.run, id)
		}
		if err := t.placeAsked(stored.Micros(time.Now()), every); err != nil {
			return err
		}
		_, err = t.exec(`DELETE FROM drafts`)
		return err
	}})
}

// settleLeft places what an engine that is gone has left in a file, for somebody who is not an engine. While one uses the file, it sees to that itself.
func settleLeft(ctx context.Context, db *sql.DB, path string) error {
	left := false
	if err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM drafts)`).Scan(&left); err != nil || !left {
		return err
	}
	f, err := exclusive(path + ".lock")
	if errors.Is(err, errInUse) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(settleFile(ctx, path), unlock(f))
}

// settleFile places what an engine that is gone has left in a file that no engine uses.
func settleFile(ctx context.Context, path string) error {
	db, err := sql.Open("sqlite3", source(path, "_txlock=immediate"))
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(1)
	w, err := newWriter(ctx, db, Options{})
	if err == nil {
		err = errors.Join(w.settleDrafts(ctx), w.close())
	}
	return errors.Join(err, db.Close())
}
