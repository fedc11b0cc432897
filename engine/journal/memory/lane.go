package memory

import (
	"cmp"
	"container/heap"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A lane is the state of a lane.
type lane struct {
	ledger.LaneKey
	due  time.Time // the zero time if it is not due
	news int64     // how often it was made due

	claim     int64 // the epoch of its claim; 0 if it is not claimed
	claimed   int64 // news at the time of the claim
	opened    bool  // claimed for an event that was not recorded yet, with nothing pending in it
	events    []int64
	undecided []int64
	runs      map[int64]bool // unfinished runs that are in this lane or have it as home, and runs with a request
}

// lane returns a lane by its name, and creates it if it does not exist.
func (j *Journal) lane(k ledger.LaneKey) *lane {
	l := j.lanes[k]
	if l == nil {
		l = &lane{LaneKey: k, runs: make(map[int64]bool)}
		j.lanes[k] = l
	}
	return l
}

// wake makes a lane due. The worker that has claimed the lane finds out when it releases it.
func (j *Journal) wake(k ledger.LaneKey, d *ledger.Due) {
	l := j.lane(k)
	l.news += d.News
	if at := stored.Moment(d.At); l.due.IsZero() || at.Before(l.due) {
		l.due = at
		j.enqueue(l)
	}
}

// lease returns the claim as a ledger needs it.
func (l *lane) lease() ledger.Lease {
	return ledger.Lease{Epoch: l.claim, News: l.claimed, Opened: l.opened, Woken: !l.due.IsZero()}
}

// Open claims the lane of an event that is about to be recorded.
func (j *Journal) Open(workspace, name string) *journal.Lane {
	j.mu.Lock()
	defer j.mu.Unlock()
	k := ledger.LaneKey{Workspace: workspace, Lane: name}
	l := j.lane(k)
	if l.claim != 0 || !j.isVacant(k) {
		return nil
	}
	j.claims[workspace]++
	j.epoch++
	l.claim, l.claimed, l.opened = j.epoch, l.news, true
	return &journal.Lane{Workspace: workspace, Name: name, Epoch: l.claim}
}

// Drop releases a lane that was opened.
func (j *Journal) Drop(of *journal.Lane) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.lanes[ledger.KeyOf(of)]; l != nil && l.claim == of.Epoch {
		j.endClaim(l)
	}
}

// endClaim ends a claim. A lane that was made due in the meantime is queued.
func (j *Journal) endClaim(l *lane) {
	l.claim, l.opened = 0, false
	j.claims[l.Workspace]--
	if !l.due.IsZero() {
		j.enqueue(l)
	}
}

// isVacant reports whether nothing is pending in a lane.
func (j *Journal) isVacant(k ledger.LaneKey) bool {
	l := j.lane(k)
	if !l.due.IsZero() || len(l.undecided) > 0 {
		return false
	}
	for id := range l.runs {
		if r := j.run(id); r != nil && !r.State.Finished() {
			return false
		}
	}
	return true
}

// A queue is a heap of the lanes of a workspace that are due, the earliest first. Outdated entries,
// of lanes that are claimed or have another time, are skipped.
type queue []entry

type entry struct {
	lane *lane
	due  time.Time
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool { // lanes that are due at the same time by name, as in all journals
	return cmp.Or(q[a].due.Compare(q[b].due), cmp.Compare(q[a].lane.Lane, q[b].lane.Lane)) < 0
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }

// Push implements heap.Interface.
func (q *queue) Push(x any) { *q = append(*q, x.(entry)) }

// Pop implements heap.Interface.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// first returns the lane that is due first; nil if there is none.
func (q *queue) first() *lane {
	for len(*q) > 0 {
		e := (*q)[0]
		if e.lane.claim == 0 && e.lane.due.Equal(e.due) {
			return e.lane
		}
		heap.Pop(q)
	}
	return nil
}

// enqueue adds a lane to the queue of its workspace.
func (j *Journal) enqueue(l *lane) {
	q := j.due[l.Workspace]
	if q == nil {
		q = &queue{}
		j.due[l.Workspace] = q
	}
	heap.Push(q, entry{l, l.due})
}

// nextLane returns the first lane of the workspaces that are not in except; nil if there is none.
// It compares the first lanes of the workspaces with before.
func (j *Journal) nextLane(except []string, before func(a, b *lane) bool) (next *lane) {
	for workspace, q := range j.due {
		if slices.Contains(except, workspace) {
			continue
		}
		if l := q.first(); l != nil && (next == nil || before(l, next)) {
			next = l
		}
	}
	return next
}

// Due returns when the next lane is due.
func (j *Journal) Due(ctx context.Context, except []string) (time.Time, error) {
	if err := j.lock(ctx); err != nil {
		return time.Time{}, err
	}
	defer j.mu.Unlock()
	if l := j.nextLane(except, func(a, b *lane) bool { return a.due.Before(b.due) }); l != nil {
		return l.due, nil
	}
	return time.Time{}, nil
}

// Claim claims lanes that are due.
func (j *Journal) Claim(ctx context.Context, now time.Time, max int, except []string) ([]*journal.Lane, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	// Workspaces take turns, where each claimed lane of a workspace counts as a turn.
	roundRobin := func(a, b *lane) bool {
		if late := a.due.After(now); late != b.due.After(now) {
			return !late
		}
		return cmp.Or(cmp.Compare(j.claims[a.Workspace], j.claims[b.Workspace]), a.due.Compare(b.due)) < 0
	}
	var out []*journal.Lane
	for len(out) < max {
		l := j.nextLane(except, roundRobin)
		if l == nil || l.due.After(now) {
			break
		}
		j.claims[l.Workspace]++
		j.epoch++
		l.claim, l.claimed = j.epoch, l.news
		out = append(out, j.fill(l))
	}
	return out, nil
}

// fill returns a claimed lane with what is pending in it.
func (j *Journal) fill(l *lane) *journal.Lane {
	out := &journal.Lane{Workspace: l.Workspace, Name: l.Lane, Epoch: l.claim, News: l.news}
	for _, seq := range l.undecided[:min(len(l.undecided), journal.MostEvents+1)] {
		out.Add(copyEvent(j.events[seq]))
	}
	for _, id := range slices.Sorted(maps.Keys(l.runs)) {
		r := j.runs[id]
		here := r != nil && (r.Lane == l.Lane || r.Home == l.Lane)
		if !here || r.State.Finished() && (r.Asked == nil || r.Lane != l.Lane) {
			delete(l.runs, id)
			continue
		}
		out.Runs = append(out.Runs, withKeptSteps(r))
	}
	out.Gathers = j.gathersIn(l)
	return out
}

// gathersIn returns the gathers of a lane, the one that ends first first.
func (j *Journal) gathersIn(l *lane) (list []*journal.Gather) {
	for _, g := range j.gathers {
		if g.Workspace == l.Workspace && g.Lane == l.Lane {
			clone := *g
			clone.Events = slices.Clone(g.Events)
			list = append(list, &clone)
		}
	}
	slices.SortFunc(list, func(a, b *journal.Gather) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.By, b.By))
	})
	return list
}

// release releases a lane, and reports whether it is not due.
func (j *Journal) release(l *lane, r ledger.Release) (calm bool) {
	next := r.Next
	if l.news != r.News {
		next = r.Soon
	}
	l.due = stored.Moment(next)
	j.endClaim(l)
	return next == 0
}

// withKeptSteps returns a copy of a run with the steps that it still needs.
func withKeptSteps(r *journal.Run) *journal.Run {
	if r.Kept.All() {
		return copyRun(r)
	}
	kept := *r
	kept.Steps = nil
	find := func(n int) (at int, found bool) {
		return slices.BinarySearchFunc(r.Steps, n, func(s *journal.Step, n int) int { return s.N - n })
	}
	for _, n := range r.Kept.Also {
		if at, found := find(n); found {
			kept.Steps = append(kept.Steps, r.Steps[at])
		}
	}
	from, _ := find(r.Kept.From)
	kept.Steps = append(kept.Steps, r.Steps[from:]...)
	return copyRun(&kept)
}

// copyRun returns a deep copy of a run.
func copyRun(r *journal.Run) *journal.Run {
	clone := *r
	clone.Gathered, clone.Ancestry, clone.Kept.Also = slices.Clone(r.Gathered), slices.Clone(r.Ancestry), slices.Clone(r.Kept.Also)
	if r.Asked != nil {
		asked := *r.Asked
		clone.Asked = &asked
	}
	clone.Steps = make([]*journal.Step, len(r.Steps))
	for i, s := range r.Steps {
		step := *s
		clone.Steps[i] = &step
	}
	return &clone
}

// copyEvent returns a copy of an event with its own verdicts and answers.
func copyEvent(e *journal.Event) *journal.Event {
	clone := *e
	clone.Verdicts, clone.Answers = slices.Clone(e.Verdicts), maps.Clone(e.Answers)
	return &clone
}

// Vacant is true: no other engine has the memory, and Open has looked.
func (j *Journal) Vacant(context.Context, *journal.Lane) (bool, error) { return true, nil }
