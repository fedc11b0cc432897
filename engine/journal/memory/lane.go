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

// A lane is everything that there is in a lane.
type lane struct {
	ledger.LaneKey
	due  time.Time // the zero time is when somebody asks for it
	news int64     // how often somebody asked for its attention

	claim     int64 // which claim it is in the hands of; 0 is none
	claimed   int64 // the news of then
	opened    bool  // for an event that was not recorded yet, and nothing waits in it
	events    []int64
	undecided []int64
	runs      map[int64]bool // unfinished ones that are here or belong here, and those of which something is asked
}

// lane returns a lane by its name.
func (j *Journal) lane(k ledger.LaneKey) *lane {
	l := j.lanes[k]
	if l == nil {
		l = &lane{LaneKey: k, runs: make(map[int64]bool)}
		j.lanes[k] = l
	}
	return l
}

// wake asks for a lane's attention. Who has claimed the lane finds out when it is released.
func (j *Journal) wake(k ledger.LaneKey, d *ledger.Due) {
	l := j.lane(k)
	l.news += d.News
	if at := stored.Moment(d.At); l.due.IsZero() || at.Before(l.due) {
		l.due = at
		j.enqueue(l)
	}
}

// lease is what a ledger has to know of a claim.
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

// Drop gives back a lane that was opened.
func (j *Journal) Drop(of *journal.Lane) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if l := j.lanes[ledger.KeyOf(of)]; l != nil && l.claim == of.Epoch {
		j.free(l)
	}
}

// free ends a claim. A lane that became due meanwhile is found.
func (j *Journal) free(l *lane) {
	l.claim, l.opened = 0, false
	j.claims[l.Workspace]--
	if !l.due.IsZero() {
		j.enqueue(l)
	}
}

// isVacant reports whether nothing waits in a lane.
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

// A queue holds the lanes of a workspace that are due, the longest due first. One that has another
// time by now, or is claimed, is passed over.
type queue []entry

type entry struct {
	lane *lane
	due  time.Time
}

func (q queue) Len() int { return len(q) }
func (q queue) Less(a, b int) bool { // in the order of a file: of what is due at one time, by their names
	return cmp.Or(q[a].due.Compare(q[b].due), cmp.Compare(q[a].lane.Lane, q[b].lane.Lane)) < 0
}
func (q queue) Swap(a, b int) { q[a], q[b] = q[b], q[a] }

// Push is for container/heap.
func (q *queue) Push(x any) { *q = append(*q, x.(entry)) }

// Pop is for container/heap.
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// first returns the lane that is due first; nil is none.
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

// enqueue puts a lane where it will be found when it is due.
func (j *Journal) enqueue(l *lane) {
	q := j.due[l.Workspace]
	if q == nil {
		q = &queue{}
		j.due[l.Workspace] = q
	}
	heap.Push(q, entry{l, l.due})
}

// next returns the first lane in the workspaces that are not among some; nil is none. Each
// workspace has the one that is due first, and before says whose comes before the other's.
func (j *Journal) next(except []string, before func(a, b *lane) bool) (next *lane) {
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
	if l := j.next(except, func(a, b *lane) bool { return a.due.Before(b.due) }); l != nil {
		return l.due, nil
	}
	return time.Time{}, nil
}

// Claim takes lanes that are due.
func (j *Journal) Claim(ctx context.Context, now time.Time, max int, except []string) ([]*journal.Lane, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	// Workspaces take turns, and those have had turns whose lanes are claimed.
	inTurn := func(a, b *lane) bool {
		if late := a.due.After(now); late != b.due.After(now) {
			return !late
		}
		return cmp.Or(cmp.Compare(j.claims[a.Workspace], j.claims[b.Workspace]), a.due.Compare(b.due)) < 0
	}
	var out []*journal.Lane
	for len(out) < max {
		l := j.next(except, inTurn)
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

// fill returns a claimed lane with what waits in it.
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
		out.Runs = append(out.Runs, keptOf(r))
	}
	out.Gathers = j.gathersIn(l)
	return out
}

// gathersIn returns what is being gathered in a lane, what ends first first.
func (j *Journal) gathersIn(l *lane) (list []*journal.Gather) {
	for _, g := range j.gathers {
		if g.Workspace == l.Workspace && g.Lane == l.Lane {
			twin := *g
			twin.Events = slices.Clone(g.Events)
			list = append(list, &twin)
		}
	}
	slices.SortFunc(list, func(a, b *journal.Gather) int {
		return cmp.Or(a.Until.Compare(b.Until), cmp.Compare(a.Rule, b.Rule), cmp.Compare(a.By, b.By))
	})
	return list
}

// release gives a lane back, and reports whether nothing is due in it.
func (j *Journal) release(l *lane, r ledger.Release) (calm bool) {
	next := r.Next
	if l.news != r.News {
		next = r.Soon
	}
	l.due = stored.Moment(next)
	j.free(l)
	return next == 0
}

// keptOf returns a run with the steps that it keeps.
func keptOf(r *journal.Run) *journal.Run {
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

// copyRun returns a run with steps of its own.
func copyRun(r *journal.Run) *journal.Run {
	twin := *r
	twin.Gathered, twin.Ancestry, twin.Kept.Also = slices.Clone(r.Gathered), slices.Clone(r.Ancestry), slices.Clone(r.Kept.Also)
	if r.Asked != nil {
		asked := *r.Asked
		twin.Asked = &asked
	}
	twin.Steps = make([]*journal.Step, len(r.Steps))
	for i, s := range r.Steps {
		step := *s
		twin.Steps[i] = &step
	}
	return &twin
}

// copyEvent returns an event with verdicts and answers of its own.
func copyEvent(e *journal.Event) *journal.Event {
	twin := *e
	twin.Verdicts, twin.Answers = slices.Clone(e.Verdicts), maps.Clone(e.Answers)
	return &twin
}
