package memory

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// numbersFrom returns a function that counts from a number on.
func numbersFrom(next int) func() int64 {
	return func() int64 {
		next++
		return int64(next - 1)
	}
}

// read reads what an operation needs to decide.
func (j *Journal) read(w *ledger.Wants) *ledger.Ledger {
	l := &ledger.Ledger{NextEvent: numbersFrom(len(j.events)), NextRun: numbersFrom(len(j.runs)), NextCaused: numbersFrom(len(j.caused)), Holds: j.sortedHolds()}
	for k := range w.Leases {
		if lane := j.lanes[k]; lane != nil && lane.claim != 0 {
			l.AddLease(k, lane.lease())
		}
	}
	for _, e := range w.Openings {
		if k := (ledger.LaneKey{Workspace: e.Workspace, Lane: e.Lane}); j.isVacant(k) && j.byID[ledger.EventKey{Workspace: e.Workspace, ID: e.ID}] == 0 {
			l.AddVacant(k)
		}
	}
	j.accept(w, l)
	j.readRuns(w, l)
	for k, wanted := range w.Slots {
		s := j.slots[k]
		if s == nil {
			continue
		}
		l.AddSlots(k, s.newest)
		for times := range wanted.Times {
			for n := s.newest + 1 - int64(times); n <= s.newest+int64(wanted.Count-times); n++ {
				if t, ok := s.takings[n]; ok {
					l.AddTaking(k, n, t.At)
				}
			}
		}
	}
	for k, g := range j.gathers {
		if w.Gathers[k] || w.Lanes[ledger.LaneKey{Workspace: g.Workspace, Lane: g.Lane}] {
			l.AddGather(g)
		}
	}
	for k := range w.Mutes {
		if m, muted := j.mutes[k]; muted {
			l.AddMute(m)
		}
	}
	for seq := range w.Decided {
		if e := j.event(seq); e != nil && e.Decided {
			l.AddJudged(seq, e.Verdicts)
		}
	}
	for hash := range w.Versions {
		if _, ok := j.versions[hash]; ok {
			l.AddVersion(hash)
		}
	}
	return l
}

// accept records events unless they are recorded already.
func (j *Journal) accept(w *ledger.Wants, l *ledger.Ledger) {
	for _, e := range w.Accept {
		id := ledger.EventKey{Workspace: e.Workspace, ID: e.ID}
		if j.byID[id] == 0 {
			l.AddNew(id, j.record(e.Event))
		}
	}
}

// record adds an undecided event, and returns its number.
func (j *Journal) record(e rules.Event) int64 {
	seq := int64(len(j.events))
	e.CreatedAt, e.ReceivedAt = moment(e.CreatedAt), moment(e.ReceivedAt)
	j.events = append(j.events, &journal.Event{Event: e, Seq: seq})
	j.byID[ledger.EventKey{Workspace: e.Workspace, ID: e.ID}] = seq
	lane := j.lane(ledger.LaneKey{Workspace: e.Workspace, Lane: e.Lane})
	lane.events = append(lane.events, seq)
	lane.undecided = append(lane.undecided, seq)
	return seq
}

func (j *Journal) readRuns(w *ledger.Wants, l *ledger.Ledger) {
	add := func(id int64) {
		if r := j.run(id); r != nil {
			l.AddRun(rowOf(r))
		}
	}
	for id := range w.Runs {
		add(id)
	}
	for k, n := range w.Unfinished {
		ids := j.unfinished[k]
		for _, id := range ids[:min(len(ids), n+w.Next[k])] {
			add(id)
		}
	}
	for k, finish := range w.Next {
		ids := j.unfinished[k]
		for _, id := range ids[:min(len(ids), finish+1)] {
			add(id)
		}
	}
	for key := range w.Known {
		if id := j.byKey[key]; id != 0 {
			l.AddKnown(rowOf(j.runs[id]))
		}
	}
}

// rowOf returns the row of a run.
func rowOf(r *journal.Run) *ledger.Run {
	return &ledger.Run{
		ID: r.ID, Key: r.Key, RunKey: ledger.RunKeyOf(r), Lane: r.Lane, State: r.State,
		Wake: stored.Micros(r.WakeAt), Finished: stored.Micros(r.FinishedAt), Reason: r.Reason, Why: r.Why, Asked: r.Asked,
	}
}

// write writes the decisions of an operation.
func (j *Journal) write(l *ledger.Ledger) {
	for i := range l.Events {
		e := &l.Events[i]
		if j.record(e.Event.Event); e.Decided {
			j.decide(e.Seq, &e.Decision)
		}
	}
	for hash, source := range l.Sources {
		j.versions[hash] = version{source.Text, true}
	}
	j.writeRuns(l)
	for _, s := range l.Steps {
		putStep(j.runs[s.Run], s.Step)
	}
	for seq, d := range l.Decided {
		j.decide(seq, d)
	}
	for k, s := range l.Slots() {
		j.takeSlots(k, s)
	}
	for k := range l.Gathers {
		if g := l.Gather(k); g != nil {
			j.gathers[k] = g
		} else {
			delete(j.gathers, k)
		}
	}
	for k := range l.Muted {
		if m, muted := l.Mutes[k]; muted {
			j.mutes[k] = m
		} else {
			delete(j.mutes, k)
		}
	}
	j.writeCaused(l)
	for k, d := range l.Dues {
		j.wake(k, d)
	}
	for k, r := range l.Releases {
		if lane := j.lanes[k]; j.release(lane, r) {
			l.AddCalm(k)
		}
	}
}

func (j *Journal) writeRuns(l *ledger.Ledger) {
	begun, changed := l.Runs()
	for _, row := range begun {
		r := copyRun(row.Given)
		r.ID, r.Event, r.StartedAt, r.Steps = row.ID, row.Event, stored.Moment(row.Started), nil
		j.runs = append(j.runs, r)
		j.byKey[r.Key] = r.ID
		j.updateRun(r, row)
	}
	for _, row := range changed {
		r := j.runs[row.ID]
		if row.Given != nil {
			r.About, r.Kept = row.Given.About, row.Given.Kept
			r.Kept.Also = slices.Clone(r.Kept.Also)
		}
		j.updateRun(r, row)
	}
}

// updateRun sets what the row of a run says, and updates the indexes.
func (j *Journal) updateRun(r *journal.Run, row *ledger.Run) {
	r.State, r.Lane, r.Reason, r.Why, r.Asked = row.State, row.Lane, row.Reason, row.Why, row.Asked
	r.WakeAt, r.FinishedAt = stored.Moment(row.Wake), stored.Moment(row.Finished)
	j.indexRun(r)
}

// putStep inserts or replaces a step.
func putStep(r *journal.Run, s *journal.Step) {
	step := *s
	step.Record = slices.Clone(s.Record)
	i, found := slices.BinarySearchFunc(r.Steps, s.N, func(have *journal.Step, n int) int { return have.N - n })
	if found {
		r.Steps[i] = &step
	} else {
		r.Steps = slices.Insert(r.Steps, i, &step)
	}
}

// indexRun adds a run to its lanes, and to the unfinished runs of its key, or removes it there.
func (j *Journal) indexRun(r *journal.Run) {
	key := ledger.RunKeyOf(r)
	i, found := slices.BinarySearch(j.unfinished[key], r.ID)
	switch finished := r.State.Finished(); {
	case finished && found:
		if j.unfinished[key] = slices.Delete(j.unfinished[key], i, i+1); len(j.unfinished[key]) == 0 {
			delete(j.unfinished, key)
		}
	case !finished && !found:
		j.unfinished[key] = slices.Insert(j.unfinished[key], i, r.ID)
	}
	if !r.State.Finished() || r.Asked != nil {
		j.lane(ledger.LaneKey{Workspace: r.Workspace, Lane: r.Lane}).runs[r.ID] = true
		j.lane(ledger.LaneKey{Workspace: r.Workspace, Lane: r.Home}).runs[r.ID] = true
	}
}

// decide records the verdicts on an event.
func (j *Journal) decide(seq int64, d *ledger.Decision) {
	own := j.event(seq)
	if own == nil {
		return
	}
	if !own.Decided {
		own.Decided = true
		lane := j.lane(ledger.LaneKey{Workspace: own.Workspace, Lane: own.Lane})
		lane.undecided = slices.DeleteFunc(lane.undecided, func(other int64) bool { return other == seq })
	}
	own.Verdicts, own.Answers = slices.Clone(d.Verdicts), maps.Clone(d.Event.Answers)
	for i := range own.Verdicts {
		own.Verdicts[i].Values = roundTrip(own.Verdicts[i].Values)
	}
}

// roundTrip returns values as they come back from JSON, like those of a journal in a database. A
// value that JSON cannot represent becomes a text.
func roundTrip(values map[string]any) map[string]any {
	out := make(map[string]any, len(values))
	for name, value := range values {
		switch value := value.(type) {
		case nil, string, bool:
			out[name] = value
			continue
		}
		raw, err := json.Marshal(value)
		var back any
		if err != nil || json.Unmarshal(raw, &back) != nil {
			back = fmt.Sprint(value)
		}
		out[name] = back
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// slots are the taken slots of one key, by their numbers.
type slots struct {
	newest  int64
	takings map[int64]ledger.Taking
	until   int64 // when the last of them leaves its window
}

// takeSlots records taken slots and deletes those that no check needs any more.
func (j *Journal) takeSlots(k ledger.SlotKey, taken *ledger.Slots) {
	s := j.slots[k]
	if s == nil {
		s = &slots{takings: make(map[int64]ledger.Taking)}
		j.slots[k] = s
	}
	for _, t := range taken.Taken {
		s.takings[t.N] = t
		s.until = max(s.until, t.Until)
	}
	s.newest = taken.Newest()
	maps.DeleteFunc(s.takings, func(n int64, _ ledger.Taking) bool { return n <= taken.Over })
}

// writeCaused records the expected events of own calls, and which of them have arrived.
func (j *Journal) writeCaused(l *ledger.Ledger) {
	for _, c := range l.Caused {
		row := *c.Caused
		row.ID, row.From, row.To = c.ID, moment(c.From), moment(c.To)
		row.Ancestry, row.Set = slices.Clone(c.Ancestry), slices.Clone(c.Set)
		j.caused, j.causedAt = append(j.caused, &row), append(j.causedAt, stored.Moment(c.At))
		object := object{c.Workspace, c.Object}
		j.byObject[object] = append(j.byObject[object], c.ID)
	}
	for _, id := range l.Gone {
		if id > 0 && id < int64(len(j.caused)) {
			j.caused[id] = nil
		}
	}
	for _, id := range l.Used {
		if id > 0 && id < int64(len(j.caused)) && j.caused[id] != nil {
			j.caused[id].Used = true
		}
	}
}
