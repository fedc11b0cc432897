package memory

import (
	"maps"
	"slices"
	"testing"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/journaltest"
	"github.com/quandohq/quando/engine/journal/ledger"
)

func TestJournal(t *testing.T) {
	journaltest.Run(t, journaltest.Setup{
		Open:  func(*testing.T) journaltest.Journal { return New() },
		Crash: func(_ *testing.T, j journaltest.Journal) journaltest.Journal { return j.(*Journal).survivor() },
	})
}

// survivor is what would be left if memory outlived the process: everything but claims.
func (j *Journal) survivor() *Journal {
	out := New()
	out.empty, out.byID, out.byKey = maps.Clone(j.empty), maps.Clone(j.byID), maps.Clone(j.byKey)
	out.holds, out.cursors, out.causedAt, out.byObject = maps.Clone(j.holds), maps.Clone(j.cursors), slices.Clone(j.causedAt), maps.Clone(j.byObject)
	out.epoch = j.epoch
	for _, e := range j.events[1:] {
		if e != nil {
			e = copyEvent(e)
		}
		out.events = append(out.events, e)
	}
	for _, r := range j.runs[1:] {
		if r != nil {
			r = copyRun(r)
		}
		out.runs = append(out.runs, r)
	}
	for of, ids := range j.open {
		out.open[of] = slices.Clone(ids)
	}
	for at, l := range j.lanes {
		twin := &lane{LaneKey: at, due: l.due, news: l.news, events: slices.Clone(l.events), undecided: slices.Clone(l.undecided), runs: maps.Clone(l.runs)}
		out.lanes[at] = twin
		if !twin.due.IsZero() {
			out.enqueue(twin)
		}
	}
	for _, r := range out.runs[1:] { // as a journal does when it is opened
		if r != nil && r.State == journal.Running {
			out.wake(ledger.LaneKey{Workspace: r.Workspace, Lane: r.Lane}, &ledger.Due{At: 1, News: 1})
		}
	}
	for key, s := range j.slots {
		out.slots[key] = &slots{newest: s.newest, takings: maps.Clone(s.takings), until: s.until}
	}
	for key, g := range j.gathers {
		twin := *g
		twin.Events = slices.Clone(g.Events)
		out.gathers[key] = &twin
	}
	for _, c := range j.caused[1:] {
		var twin *journal.Caused
		if c != nil {
			copied := *c
			twin = &copied
		}
		out.caused = append(out.caused, twin)
	}
	for hash, v := range j.versions {
		out.versions[hash] = version{source: v.source}
	}
	return out
}
