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

// survivor returns what would be left if memory outlived the process: everything except claims.
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
	for key, ids := range j.unfinished {
		out.unfinished[key] = slices.Clone(ids)
	}
	for key, l := range j.lanes {
		clone := &lane{LaneKey: key, due: l.due, news: l.news, events: slices.Clone(l.events), undecided: slices.Clone(l.undecided), runs: maps.Clone(l.runs)}
		out.lanes[key] = clone
		if !clone.due.IsZero() {
			out.enqueue(clone)
		}
	}
	for _, r := range out.runs[1:] { // as other journals do when they are opened
		if r != nil && r.State == journal.Running {
			out.wake(ledger.LaneKey{Workspace: r.Workspace, Lane: r.Lane}, &ledger.Due{At: 1, News: 1})
		}
	}
	for key, s := range j.slots {
		out.slots[key] = &slots{newest: s.newest, takings: maps.Clone(s.takings), until: s.until}
	}
	for key, g := range j.gathers {
		clone := *g
		clone.Events = slices.Clone(g.Events)
		out.gathers[key] = &clone
	}
	for _, c := range j.caused[1:] {
		var clone *journal.Caused
		if c != nil {
			copied := *c
			clone = &copied
		}
		out.caused = append(out.caused, clone)
	}
	for hash, v := range j.versions {
		out.versions[hash] = version{source: v.source}
	}
	return out
}
