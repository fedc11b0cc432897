package ledger

import (
	"fmt"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// A Save records a change of a claimed lane. It sets the journal's decisions in the change after
// the commit, not before.
type Save struct {
	lane   *journal.Lane
	change *journal.Change
	texts  *stored.Change // nil for a journal that stores no texts
	data   string         // of the fresh event
	at     int64

	// The result of the transaction.
	Lost       bool // the caller no longer holds the lane
	Left       bool // something is pending in the lane
	Listed     bool // the opened lane has a row from now on
	lease      *Lease
	seq        int64 // of the fresh event
	makesDue   bool  // the change makes a lane due
	hasWaiting bool  // a run of the lane waits for something
	started    []startResult
	causedIDs  []int64 // the ids of change.Caused
}

// NewSave prepares to record a change.
func NewSave(lane *journal.Lane, change *journal.Change) *Save {
	return &Save{lane: lane, change: change, at: stored.Micros(change.At)}
}

// Encode encodes everything into its stored form, so that the transaction does not spend time on
// it.
func (s *Save) Encode() (err error) {
	if s.texts, err = stored.ChangeOf(s.change); err == nil && s.change.Fresh != nil {
		s.data, err = stored.Data(s.change.Fresh.Event)
	}
	return err
}

// Operation returns the operation that records the change.
func (s *Save) Operation() *Operation {
	c := s.change
	return &Operation{
		Want: s.want, Decide: s.decide, Kept: s.setResults, Fresh: c.Fresh != nil,
		Weight: len(c.Decided) + len(c.Starts) + len(c.Runs) + len(c.Caused),
	}
}

func (s *Save) laneKey() LaneKey { return KeyOf(s.lane) }

// want names the rows that the change needs.
func (s *Save) want(w *Wants) {
	c := s.change
	if c.Fresh != nil {
		w.wantLock("lane", c.Fresh.Workspace, c.Fresh.Lane)
		w.Openings = append(w.Openings, &c.Fresh.Event)
		w.NewEvents++
	} else {
		put(&w.Leases, s.laneKey(), true)
	}
	w.Calls = w.Calls || c.Call != nil
	if c.Message {
		w.wantMute(s.laneKey())
	}
	for _, m := range c.Mutes {
		w.wantMute(LaneKey{m.Workspace, m.Lane})
	}
	for _, slot := range c.Take {
		w.wantSlot(s.lane.Workspace, slot)
	}
	for _, st := range c.Starts {
		s.wantStart(w, st)
	}
	for _, g := range c.Ended {
		w.wantGather(GatherKey{g.Workspace, g.Rule, g.By})
	}
	for _, g := range c.Gather {
		w.wantGather(GatherKey{g.Workspace, g.Rule, g.By})
	}
	for _, changed := range c.Runs {
		run := changed.Run
		put(&w.Runs, run.ID, true)
		w.KeepHolds = w.KeepHolds || run.State == journal.Held
		if run.State.Finished() {
			w.wantNext(RunKeyOf(run))
		}
	}
	for _, a := range c.Asks {
		put(&w.Runs, a.Run, true)
	}
	for _, e := range c.Decided {
		if e != c.Fresh {
			put(&w.Decided, e.Seq, true)
		}
	}
	w.NewCaused += len(c.Caused)
	if c.Release {
		put(&w.Lanes, s.laneKey(), true)
	}
}

// unlimited is more than the number of unfinished runs can be.
const unlimited = 1 << 30

func (s *Save) wantStart(w *Wants, st *journal.Start) {
	run := st.Run
	w.NewRuns++
	w.Holds = true
	w.KeepHolds = w.KeepHolds || run.State == journal.Held
	put(&w.Versions, run.Version, true)
	if s.change.Fresh == nil || run.Event != 0 { // a fresh event cannot have runs yet
		put(&w.Known, run.Key, run.Event)
	}
	if st.Limit != nil {
		w.wantSlot(s.lane.Workspace, *st.Limit)
	}
	k := RunKeyOf(run)
	switch {
	case st.Mode == rules.Parallel && st.Max <= 0:
	case st.Mode == rules.Single:
		w.wantUnfinished(k, 1)
	case st.Mode == rules.Restart:
		w.wantUnfinished(k, unlimited)
	default:
		w.wantUnfinished(k, max(st.Max, 1))
	}
}

// decide changes the ledger. All checks that may refuse the change come first.
func (s *Save) decide(l *Ledger) error {
	s.started, s.causedIDs, s.Lost, s.Listed, s.hasWaiting = nil, nil, false, false, false
	if err := s.checkChange(l); err != nil {
		return err
	}
	wokenBefore := l.Wakes
	l.Wakes = false
	if fresh := s.change.Fresh; fresh != nil {
		s.seq = l.NextEvent()
		l.Newest = max(l.Newest, s.seq)
		put(&l.New, EventKey{fresh.Workspace, fresh.ID}, false) // the same event again in this transaction is not new
	}
	s.changeRuns(l)
	s.startRuns(l)
	if s.change.Calls(func(start int) bool { return s.started[start].begun }) {
		for _, slot := range s.change.Take {
			l.slotsOf(SlotKey{s.lane.Workspace, slot.Key}).takeSlot(slot, s.at)
		}
	}
	s.decideEvents(l)
	s.changeGathers(l)
	l.changeMutes(s.change.Mutes)
	s.recordCaused(l)
	for _, a := range s.change.Asks {
		l.askRun(s.at, a.Run, a.Ask) // a run that was deleted needs no request
	}
	s.makesDue = l.Wakes
	l.Wakes = l.Wakes || wokenBefore
	if s.change.Release {
		s.releaseLane(l)
	} else {
		s.keepLane(l)
	}
	return nil
}

// checkChange returns why the change cannot be recorded.
func (s *Save) checkChange(l *Ledger) error {
	s.lease = l.Leases[s.laneKey()]
	if fresh := s.change.Fresh; fresh != nil {
		if _, accepted := l.New[EventKey{fresh.Workspace, fresh.ID}]; accepted || !l.Vacant[s.laneKey()] {
			return journal.ErrOccupied
		}
		if s.lease == nil {
			s.lease = &Lease{Epoch: s.lane.Epoch, Opened: true}
		}
	} else if s.Lost = s.lease == nil || s.lease.Epoch != s.lane.Epoch || s.lease.released; s.Lost {
		return journal.ErrLost
	}
	if s.change.Call != nil {
		if h := journal.StopsCall(l.Holds, s.change.Call, s.change.At); h != nil {
			return &journal.HeldError{Hold: *h}
		}
	}
	if m, muted := l.Mutes[s.laneKey()]; muted && s.change.Message && m.Covers(s.change.At) {
		return &journal.MutedError{Mute: m}
	}
	ahead := map[string]int64{}
	for _, slot := range s.change.Take {
		if slots := l.slotsOf(SlotKey{s.lane.Workspace, slot.Key}); !slots.isFree(slot, s.at, ahead[slot.Key]) {
			return slots.boundError(slot)
		}
		ahead[slot.Key]++
	}
	for _, e := range s.change.Ended {
		if g := l.gathers[GatherKey{e.Workspace, e.Rule, e.By}]; g == nil || !slices.Equal(g.Events, e.Events) {
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

// decideEvents records verdicts, with the results of starts, and counts those that are new.
func (s *Save) decideEvents(l *Ledger) {
	if s.isUndecided() {
		s.hasWaiting = true
		l.Events = append(l.Events, Recording{Seq: s.seq, Data: s.data, Decision: Decision{Event: s.change.Fresh}})
	}
	for i, e := range s.change.Decided {
		given, changed := s.verdictsOn(e)
		d := Decision{Event: e, Verdicts: given}
		if s.texts != nil {
			d.VerdictsText, d.AnswersText = s.texts.Verdicts(i, changed, given), s.texts.Answers[i]
		}
		if e == s.change.Fresh {
			l.Events = append(l.Events, Recording{s.seq, s.data, true, d})
			for _, v := range given {
				l.Tally.Verdict(s.at, e, s.seq, v)
			}
			continue
		}
		put(&l.Decided, e.Seq, &d)
		for _, v := range newVerdicts(l.decidedVerdicts[e.Seq], given) {
			l.Tally.Verdict(s.at, e, e.Seq, v)
		}
		put(&l.decidedVerdicts, e.Seq, given)
	}
}

// isUndecided reports whether the change records an event without deciding on it.
func (s *Save) isUndecided() bool {
	return s.change.Fresh != nil && !slices.Contains(s.change.Decided, s.change.Fresh)
}

// verdictsOn returns the verdicts on an event, with the results of starts. Most runs start as
// intended, and then the verdicts are the event's own.
func (s *Save) verdictsOn(e *journal.Event) (given []journal.Verdict, changed bool) {
	given = e.Verdicts
	for i, st := range s.change.Starts {
		k := 0
		for k < len(e.Verdicts) && &e.Verdicts[k] != st.Verdict {
			k++
		}
		if k == len(e.Verdicts) {
			continue
		}
		// The journal decides only the outcome, the error and the run of a verdict.
		if v, result := st.Verdict, &s.started[i].verdict; result.Outcome != v.Outcome || result.Error != v.Error || result.Run != v.Run {
			if !changed {
				given, changed = slices.Clone(e.Verdicts), true // do not modify the change before the commit
			}
			given[k] = *result
		}
	}
	return given, changed
}

// recordCaused records the expected events of own calls, and which of them have arrived.
func (s *Save) recordCaused(l *Ledger) {
	for i := range s.change.Caused {
		row := Caused{ID: l.NextCaused(), Caused: &s.change.Caused[i], At: s.at}
		if s.texts != nil {
			row.Texts = s.texts.Caused[i]
		}
		s.causedIDs = append(s.causedIDs, row.ID)
		l.Caused = append(l.Caused, row)
	}
	l.Gone = append(l.Gone, s.change.Gone...)
	l.Used = append(l.Used, s.change.Used...)
}

// setResults sets the journal's decisions in the change.
func (s *Save) setResults(l *Ledger) {
	if s.change.Fresh != nil {
		s.change.Fresh.Seq = s.seq
	}
	if s.change.Release {
		s.Left = !l.Calm[s.laneKey()]
		s.lane.Calm = !s.Left && !s.makesDue
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
		s.change.Caused[i].ID = s.causedIDs[i]
	}
}
