package memory

import (
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// start begins a run, or says what stands in its way.
func (j *Journal) start(l *lane, s *journal.Start, at time.Time) {
	verdict := &journal.Verdict{}
	if s.Verdict != nil {
		verdict = s.Verdict
	}
	if id := j.byKey[s.Run.Key]; id != 0 {
		s.Run.ID, s.Run.State, s.Begun, verdict.Run = id, j.runs[id].State, false, s.Run.Key
		return
	}
	others := j.open[sort{s.Run.Workspace, s.Run.Rule, s.Run.By}]
	if outcome, why := s.Refused(j.stopped(), others); outcome != "" {
		verdict.Outcome, verdict.Error = outcome, why
		return
	}
	if s.Limit != nil {
		slots := j.slotsOf(l.workspace, *s.Limit)
		if !slots.free(*s.Limit, at, 0) {
			verdict.Outcome, verdict.Error = journal.Limited, s.Limit.String()
			return
		}
		slots.take(*s.Limit, at)
	}
	if s.Mode == rules.Restart {
		others = j.replace(others, at)
	}
	j.insert(l, s, len(others) > 0 && (s.Mode == rules.Queued || s.Mode == rules.Restart), at)
	verdict.Run = s.Run.Key
}

// replace asks runs to make way, and returns those that it asked. One that has not begun is ended at once: else those that come together
// would all be asked by each other.
func (j *Journal) replace(runs []int64, at time.Time) (asked []int64) {
	for _, id := range slices.Clone(runs) {
		if r := j.runs[id]; r.State == journal.Queued {
			r.State, r.WakeAt, r.FinishedAt, r.Reason = journal.Cancelled, time.Time{}, soonest(at), journal.Replaced
			j.place(r)
			continue
		}
		j.ask(at, id, journal.Ask{What: journal.AskCancel, Reason: journal.Replaced, At: at})
		asked = append(asked, id)
	}
	return asked
}

// insert records a run, and its steps unless it has to wait for another.
func (j *Journal) insert(l *lane, s *journal.Start, wait bool, at time.Time) {
	if _, ok := j.versions[s.Run.Version]; !ok && s.Source != "" {
		j.versions[s.Run.Version] = version{s.Source, true}
	}
	if wait {
		s.Run.State = journal.Queued
	}
	s.Begun = !wait
	s.Run.ID = int64(len(j.runs))
	r := copyRun(s.Run)
	r.Steps, r.Asked = nil, nil
	r.StartedAt, r.WakeAt, r.FinishedAt = moment(r.StartedAt), moment(r.WakeAt), time.Time{}
	if r.StartedAt.IsZero() {
		r.StartedAt = at
	}
	if r.State.Finished() {
		r.WakeAt, r.FinishedAt = time.Time{}, endOf(s.Run, at)
	}
	j.runs = append(j.runs, r)
	j.byKey[r.Key] = r.ID
	j.place(r)
	if wait {
		return
	}
	putSteps(r, s.Run.Steps)
	j.away(l, r, at)
}

// A taking is a slot that a rule has taken.
type taking struct {
	at   time.Time
	rule string
}

// slots are the takings of one key, which are numbered.
type slots struct {
	n     int64 // the newest one's number
	times map[int64]taking
	over  time.Time // when all are outside of every window
}

func (j *Journal) slotsOf(workspace string, slot journal.Slot) *slots {
	key := place{workspace, slot.Key}
	s := j.slots[key]
	if s == nil {
		s = &slots{times: make(map[int64]taking)}
		j.slots[key] = s
	}
	return s
}

// wrongClock is how far ahead of now a taking must be to be taken for the fault of a clock that was wrong, and not to count.
const wrongClock = time.Hour

// free reports whether a slot is free; so many that are not recorded yet come before it. One is free when the taking Times before it
// is at least Per away.
func (s *slots) free(slot journal.Slot, now time.Time, ahead int64) bool {
	before := s.n + 1 + ahead - int64(slot.Times)
	if before > s.n {
		return false
	}
	t, ok := s.times[before]
	return !ok || !t.at.After(now.Add(-slot.Per)) || !t.at.Before(now.Add(slot.Per+wrongClock))
}

// full says that a slot is not free, by whom, and until when.
func (s *slots) full(slot journal.Slot, now time.Time) error {
	bound := &journal.BoundError{Slot: slot}
	if t, ok := s.times[s.n+1-int64(slot.Times)]; ok {
		bound.Free = t.at.Add(slot.Per)
	}
	for _, t := range s.times {
		bound.Own = bound.Own || t.rule == slot.Rule && t.at.After(now.Add(-slot.Per))
	}
	return bound
}

// take records a taking and forgets those that nobody will ask for.
func (s *slots) take(slot journal.Slot, now time.Time) {
	s.n++
	s.times[s.n] = taking{now, slot.Rule}
	if over := now.Add(slot.Per); over.After(s.over) {
		s.over = over
	}
	for n := range s.times {
		if n <= s.n-int64(slot.Times) {
			delete(s.times, n)
		}
	}
}
