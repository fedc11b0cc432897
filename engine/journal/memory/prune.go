package memory

import (
	"context"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

const pruneSize = 500 // runs or events that one call deletes

// Prune deletes what is older than keep; nothing if keep is 0.
func (j *Journal) Prune(ctx context.Context, now time.Time, keep time.Duration) (bool, error) {
	if err := j.lock(ctx); err != nil {
		return false, err
	}
	defer j.mu.Unlock()
	if keep <= 0 {
		return false, nil
	}
	old, older := moment(now.Add(-keep)), moment(now.Add(-keep-stored.IDRetention))
	if j.pruneRuns(old) || j.pruneEvents(old, older) {
		return true, nil
	}
	for id, c := range j.caused {
		if c != nil && j.causedAt[id].Before(older) {
			j.caused[id] = nil
		}
	}
	for key, s := range j.slots {
		if s.until < stored.Micros(now.Add(-stored.SlotRetention)) {
			delete(j.slots, key)
		}
	}
	for k, m := range j.mutes {
		if !m.Covers(old) {
			delete(j.mutes, k)
		}
	}
	used := make(map[string]bool)
	for _, r := range j.runs {
		if r != nil {
			used[r.Version] = true
		}
	}
	for hash, v := range j.versions {
		if !used[hash] && !v.fresh {
			delete(j.versions, hash)
		}
	}
	return false, nil
}

// pruneRuns deletes finished runs. A run with a request stays until the request is answered.
func (j *Journal) pruneRuns(old time.Time) (more bool) {
	n := 0
	for id, r := range j.runs {
		if r == nil || !r.State.Finished() || !r.FinishedAt.Before(old) || r.Asked != nil {
			continue
		}
		if n++; n > pruneSize {
			return true
		}
		j.runs[id] = nil
		delete(j.byKey, r.Key)
	}
	return false
}

// pruneEvents deletes the contents of events, and later the events, except of those that are
// undecided, being gathered, or needed by an unfinished run.
func (j *Journal) pruneEvents(old, older time.Time) (more bool) {
	needed := make(map[int64]bool)
	for _, ids := range j.unfinished {
		for _, id := range ids {
			needed[j.runs[id].Event] = true
			for _, seq := range j.runs[id].Gathered {
				needed[seq] = true
			}
		}
	}
	for _, g := range j.gathers {
		for _, seq := range g.Events {
			needed[seq] = true
		}
	}
	n := 0
	for i, e := range j.events {
		seq := int64(i)
		if e == nil || !e.Decided || needed[seq] || !e.ReceivedAt.Before(old) || j.empty[seq] && !e.ReceivedAt.Before(older) {
			continue
		}
		if n++; n > pruneSize {
			return true
		}
		if !e.ReceivedAt.Before(older) {
			j.events[i] = &journal.Event{Event: e.Event, Seq: seq, Decided: true}
			j.events[i].Data, j.empty[seq] = nil, true
			continue
		}
		j.events[i] = nil
		delete(j.empty, seq)
		delete(j.byID, ledger.EventKey{Workspace: e.Workspace, ID: e.ID})
		l := j.lane(ledger.LaneKey{Workspace: e.Workspace, Lane: e.Lane})
		l.events = slices.DeleteFunc(l.events, func(other int64) bool { return other == seq })
	}
	return false
}
