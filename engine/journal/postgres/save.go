package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// Save records a change of a claimed lane. What the journal decides is set in the change when it is recorded, not before.
func (j *Journal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	if j.beside {
		return errBeside
	}
	formed, err := stored.ChangeOf(change)
	s := &saving{journal: j, lane: lane, change: change, form: formed, at: stored.Micros(change.At)}
	w := j.changes
	if err == nil && change.Fresh != nil {
		w = j.accepts
		s.data, err = stored.Data(change.Fresh.Event)
	}
	if err == nil {
		weight := len(change.Decided) + len(change.Starts) + len(change.Runs) + len(change.Caused)
		if err = w.write(ctx, &operation{weight: weight, fresh: change.Fresh != nil, want: s.want, decide: s.decide, kept: s.kept}); s.lost || err == nil && change.Release {
			j.claims.release(lane, s.lost || s.left)
		}
	}
	if bound, full := errors.AsType[*journal.BoundError](err); full {
		var unknown error
		if bound.Own, unknown = j.takenBy(ctx, lane.Workspace, bound.Slot, s.at); unknown != nil {
			err = unknown
		}
	}
	if err != nil {
		return fmt.Errorf("save lane %s: %w", lane.Name, err)
	}
	return nil
}

// A saving is a change on its way into the database.
type saving struct {
	journal *Journal
	lane    *journal.Lane
	change  *journal.Change
	form    *stored.Change
	at      int64
	data    string // of the fresh event

	// What the transaction came to.
	lost    bool  // the lane is somebody else's
	left    bool  // something is left in it
	seq     int64 // of the fresh event
	started []started
	made    []int64 // the ids of what was caused
}

// want says what the change has to do with.
func (s *saving) want(r *reading) {
	c := s.change
	here := laneKey{s.lane.Workspace, s.lane.Name}
	if c.Fresh != nil {
		r.wantOpen(&c.Fresh.Event)
		r.newEvents++
	} else {
		r.leases[here] = true
	}
	r.calls = r.calls || c.Call != nil
	for _, slot := range c.Take {
		r.wantSlot(s.lane.Workspace, slot)
	}
	for _, st := range c.Starts {
		s.wantStart(r, st)
	}
	for _, g := range c.Ended {
		r.wantGather(kind{g.Workspace, g.Rule, g.By})
	}
	for _, g := range c.Gather {
		r.wantGather(kind{g.Workspace, g.Rule, g.By})
	}
	for _, changed := range c.Runs {
		run := changed.Run
		r.runs[run.ID] = true
		r.holds = r.holds || run.State == journal.Held
		if run.State.Finished() {
			r.wantKind(kind{run.Workspace, run.Rule, run.By}, 2) // itself and the one that follows
		}
	}
	for _, a := range c.Asks {
		r.runs[a.Run] = true
	}
	for _, e := range c.Decided {
		if e != c.Fresh {
			r.decided[e.Seq] = true
		}
	}
	r.caused += len(c.Caused)
	if c.Release {
		r.lanes[here] = true
	}
}

// all is more than there ever are.
const all = 1 << 30

func (s *saving) wantStart(r *reading, st *journal.Start) {
	run := st.Run
	r.keys[run.Key] = true
	r.newRuns++
	r.stopped = true
	r.holds = r.holds || run.State == journal.Held
	r.versions[run.Version] = true
	if st.Limit != nil {
		r.wantSlot(s.lane.Workspace, *st.Limit)
	}
	k := kind{run.Workspace, run.Rule, run.By}
	switch {
	case st.Mode == rules.Parallel && st.Max <= 0:
	case st.Mode == rules.Single:
		r.wantKind(k, 1)
	case st.Mode == rules.Restart:
		r.wantKind(k, all)
	default:
		r.wantKind(k, max(st.Max, 1))
	}
}

// decide changes the ledger: first everything that may refuse the change is looked at.
func (s *saving) decide(l *ledger) error {
	s.started, s.made, s.lost = nil, nil, false
	here := laneKey{s.lane.Workspace, s.lane.Name}
	mine := l.leases[here]
	if fresh := s.change.Fresh; fresh != nil {
		if _, recorded := l.fresh[eventKey{fresh.Workspace, fresh.ID}]; recorded || !l.vacant[here] {
			return journal.ErrOccupied
		}
	} else if s.lost = mine == nil || mine.engine != l.engine || mine.epoch != s.lane.Epoch || mine.released; s.lost {
		return journal.ErrLost
	}
	if err := s.refuse(l); err != nil {
		return err
	}
	if fresh := s.change.Fresh; fresh != nil {
		s.seq, l.eventSeqs = l.eventSeqs[0], l.eventSeqs[1:]
		l.newest = max(l.newest, s.seq)
		l.fresh[eventKey{fresh.Workspace, fresh.ID}] = false // for whoever has told of it too
	}
	s.changeRuns(l)
	if err := s.start(l); err != nil {
		return err
	}
	if s.change.Calls(func(start int) bool { return s.started[start].begun }) {
		for _, slot := range s.change.Take {
			l.slotsOf(slotKey{here.workspace, slot.Key}).take(slot, s.at)
		}
	}
	if err := s.judge(l); err != nil {
		return err
	}
	for _, g := range s.change.Ended {
		k := kind{g.Workspace, g.Rule, g.By}
		delete(l.gathers, k)
		l.changed[k] = true
	}
	for _, g := range s.change.Gather {
		s.gather(l, g)
	}
	s.cause(l)
	for i, a := range s.change.Asks {
		l.ask(s.at, a.Run, s.form.Asks[i]) // a run that is gone has nothing to be asked
	}
	switch {
	case s.change.Fresh != nil:
		s.settleIn(l, here)
	case s.change.Release:
		s.release(l, mine)
	}
	return nil
}

// settleIn gives back the lane that was opened, or makes it this engine's: while somebody works on its runs a lane has a row, so that another finds it due should he come to nothing.
func (s *saving) settleIn(l *ledger, here laneKey) {
	l.vacant[here] = false
	next := stored.Micros(s.change.Next)
	switch {
	case !s.change.Release:
		l.opened[here] = s.lane.Epoch
		l.dueLater(here, s.at)
	case next != 0:
		l.dueLater(here, next)
	default:
		l.calm[here] = l.dues[here] == nil
	}
}

// refuse says why the change cannot be recorded.
func (s *saving) refuse(l *ledger) error {
	if s.change.Call != nil {
		if h := journal.StopsCall(l.holds, s.change.Call, s.change.At); h != nil {
			return &journal.HeldError{Hold: *h}
		}
	}
	ahead := map[string]int64{}
	for _, slot := range s.change.Take {
		if rows := l.slotsOf(slotKey{s.lane.Workspace, slot.Key}); !rows.free(slot, s.at, ahead[slot.Key]) {
			return rows.full(slot)
		}
		ahead[slot.Key]++
	}
	for _, e := range s.change.Ended {
		if g := l.gathers[kind{e.Workspace, e.Rule, e.By}]; g == nil || !slices.Equal(g.Events, e.Events) {
			return fmt.Errorf("gather of %s: %w", e.Rule, journal.ErrChanged)
		}
	}
	for _, c := range s.change.Runs {
		if l.runs[c.Run.ID] == nil {
			return fmt.Errorf("run %d: %w", c.Run.ID, journal.ErrNoRun)
		}
	}
	return nil
}

// kept tells the caller what the journal decided.
func (s *saving) kept(l *ledger) {
	if s.change.Fresh != nil {
		s.change.Fresh.Seq = s.seq
	}
	if s.change.Release {
		s.left = !l.calm[laneKey{s.lane.Workspace, s.lane.Name}]
		s.lane.Calm = !s.left && !l.stirs
	}
	for i, st := range s.change.Starts {
		r := s.started[i]
		st.Run.ID, st.Run.State, st.Begun = r.id, r.state, r.begun
		if st.Run.Event == 0 {
			st.Run.Event = s.seq
		}
		if st.Verdict != nil {
			*st.Verdict = r.verdict
		}
	}
	for i := range s.change.Caused {
		s.change.Caused[i].ID = s.made[i]
	}
}

// judge records verdicts, those of starts as they came out, and counts those that an event did not have.
func (s *saving) judge(l *ledger) error {
	for i, e := range s.change.Decided {
		verdicts, given, err := s.form.Verdicts(i, s.verdict)
		if err != nil {
			return err
		}
		d := &decision{verdicts: verdicts, answers: s.form.Answers[i]}
		for _, v := range e.Verdicts {
			d.judges = append(d.judges, v.Rule)
		}
		if e == s.change.Fresh {
			l.recorded = append(l.recorded, recording{s.seq, e, s.data, *d})
			for _, v := range given {
				l.tally.Verdict(s.at, e, s.seq, v)
			}
			continue
		}
		l.decided[e.Seq] = d
		for _, v := range stored.Changed(l.judged[e.Seq], given) {
			l.tally.Verdict(s.at, e, e.Seq, v)
		}
		l.judged[e.Seq] = given
	}
	return nil
}

// verdict returns a start's verdict as it came out.
func (s *saving) verdict(v *journal.Verdict) journal.Verdict {
	for i, st := range s.change.Starts {
		if st.Verdict == v {
			return s.started[i].verdict
		}
	}
	return *v
}

// gather adds events to those that are being gathered. The newest one's lane is where the gather ends.
func (s *saving) gather(l *ledger, add journal.Gather) {
	k := kind{add.Workspace, add.Rule, add.By}
	g := journal.Gather{Workspace: add.Workspace, Rule: add.Rule, By: add.By, Since: s.change.At}
	if is := l.gathers[k]; is != nil {
		g.Since, g.Events = is.Since, is.Events
	}
	g.Lane, g.Quiet, g.AtMost = s.lane.Name, add.Quiet, add.AtMost
	g.Events = append(slices.Clone(g.Events), add.Events...)
	g.Until = s.change.At.Add(add.Quiet)
	if end := g.Since.Add(add.AtMost); add.AtMost > 0 && end.Before(g.Until) {
		g.Until = end
	}
	l.gathers[k] = &g
	l.changed[k] = true
}

// cause records what own calls cause, and which of it has come.
func (s *saving) cause(l *ledger) {
	for i, c := range s.change.Caused {
		id := l.causedIDs[0]
		l.causedIDs = l.causedIDs[1:]
		s.made = append(s.made, id)
		l.caused = append(l.caused, causedRow{id, c, s.form.Caused[i].Fields, s.form.Caused[i].Ancestry, s.at})
	}
	l.gone = append(l.gone, s.change.Gone...)
	l.used = append(l.used, s.change.Used...)
}

// release gives the lane back. Whatever asked for its attention since it was claimed, the change itself included, makes it due at once.
func (s *saving) release(l *ledger, mine *lease) {
	mine.released = true
	next := stored.Micros(s.change.Next)
	after := int64(0)
	if next != 0 {
		after = s.at // what is over already could not be decided, and Next says when it will be tried again
	}
	for _, g := range l.gathers {
		if until := stored.Micros(g.Until); g.Workspace == s.lane.Workspace && g.Lane == s.lane.Name && until > after && (next == 0 || until < next) {
			next = until
		}
	}
	soon := max(s.at, 1)
	if next != 0 {
		soon = min(next, soon)
	}
	l.releases[laneKey{s.lane.Workspace, s.lane.Name}] = &release{news: mine.news, next: next, soon: soon}
}
