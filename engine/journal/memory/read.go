package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/ledger"
)

// pageSize is the limit of a listing that has none.
const pageSize = 100

// event returns an event that has its content; nil if there is none.
func (j *Journal) event(seq int64) *journal.Event {
	if seq < 1 || seq >= int64(len(j.events)) || j.events[seq] == nil || j.empty[seq] {
		return nil
	}
	return j.events[seq]
}

// Events returns events by their sequence numbers.
func (j *Journal) Events(ctx context.Context, seqs ...int64) ([]*journal.Event, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	var out []*journal.Event
	for _, seq := range seqs {
		if e := j.event(seq); e != nil {
			out = append(out, copyEvent(e))
		}
	}
	return out, nil
}

// Happened returns events of a lane since a time.
func (j *Journal) Happened(ctx context.Context, workspace, name string, types []string, since time.Time, max int) ([]*journal.Event, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	l := j.lanes[ledger.LaneKey{Workspace: workspace, Lane: name}]
	if l == nil {
		return nil, nil
	}
	var out []*journal.Event
	for _, seq := range l.events {
		if e := j.event(seq); e != nil && slices.Contains(types, e.Type) && !e.CreatedAt.Before(moment(since)) {
			out = append(out, copyEvent(e))
		}
	}
	slices.SortStableFunc(out, func(a, b *journal.Event) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return out[:min(max, len(out))], nil
}

// Count returns how many events of a type a lane has had since a time.
func (j *Journal) Count(ctx context.Context, workspace, name, typ string, since time.Time) (int, error) {
	if err := j.lock(ctx); err != nil {
		return 0, err
	}
	defer j.mu.Unlock()
	n := 0
	if l := j.lanes[ledger.LaneKey{Workspace: workspace, Lane: name}]; l != nil {
		for _, seq := range l.events {
			if e := j.events[seq]; e != nil && e.Type == typ && !e.CreatedAt.Before(moment(since)) {
				n++
			}
		}
	}
	return n, nil
}

// Newest returns the number of the newest event.
func (j *Journal) Newest() int64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int64(len(j.events) - 1)
}

// Caused returns expected events of own calls.
func (j *Journal) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	var ids []int64
	for i, o := range objects {
		if !slices.Contains(objects[:i], o) {
			ids = append(ids, j.byObject[object{workspace, o}]...)
		}
	}
	slices.Sort(ids)
	var out []journal.Caused
	for _, id := range ids {
		if c := j.caused[id]; c != nil && (typ == "" || c.Event == typ) && !c.To.Before(since) {
			out = append(out, *c)
		}
	}
	return out, nil
}

// Version returns the source of a rule by the hash of its version.
func (j *Journal) Version(ctx context.Context, hash string) (string, error) {
	if err := j.lock(ctx); err != nil {
		return "", err
	}
	defer j.mu.Unlock()
	if v, ok := j.versions[hash]; ok {
		return v.source, nil
	}
	return "", fmt.Errorf("version %s: %w", hash, journal.ErrNoVersion)
}

// ListEvents returns events.
func (j *Journal) ListEvents(ctx context.Context, f journal.EventFilter) ([]*journal.Event, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	var out []*journal.Event
	for i := int64(1); i < int64(len(j.events)) && len(out) < cmp.Or(f.Limit, pageSize); i++ {
		seq := int64(len(j.events)) - i
		if f.Forward {
			seq = i
		}
		if e := j.event(seq); e != nil && matches(e, f) {
			out = append(out, copyEvent(e))
		}
	}
	return out, nil
}

func matches(e *journal.Event, f journal.EventFilter) bool {
	return (f.Workspace == "" || e.Workspace == f.Workspace) && (f.Type == "" || e.Type == f.Type) && (f.Lane == "" || e.Lane == f.Lane) &&
		!e.ReceivedAt.Before(moment(f.Since)) && (f.Until.IsZero() || e.ReceivedAt.Before(f.Until)) && (f.Before == 0 || e.Seq < f.Before) && e.Seq > f.After &&
		(f.Rule == "" || slices.ContainsFunc(e.Verdicts, func(v journal.Verdict) bool { return v.Rule == f.Rule }))
}

// FindEvent returns an event by its id.
func (j *Journal) FindEvent(ctx context.Context, workspace, id string) (*journal.Event, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	if e := j.event(j.byID[ledger.EventKey{Workspace: workspace, ID: id}]); e != nil {
		return copyEvent(e), nil
	}
	return nil, journal.ErrNoEvent
}

// ListRuns returns runs with their steps, the newest first.
func (j *Journal) ListRuns(ctx context.Context, f journal.RunFilter) ([]*journal.Run, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	var out []*journal.Run
	for id := len(j.runs) - 1; id > 0 && len(out) < cmp.Or(f.Limit, pageSize); id-- {
		r := j.runs[id]
		if r != nil && (f.Workspace == "" || r.Workspace == f.Workspace) && (f.Rule == "" || r.Rule == f.Rule) && (f.State == "" || r.State == f.State) &&
			(f.Lane == "" || r.Home == f.Lane) && (f.Event == 0 || r.Event == f.Event) &&
			(len(f.Events) == 0 || slices.Contains(f.Events, r.Event)) && !r.StartedAt.Before(moment(f.Since)) && (f.Until.IsZero() || r.StartedAt.Before(f.Until)) && (f.Before == 0 || r.ID < f.Before) {
			out = append(out, copyRun(r))
		}
	}
	return out, nil
}

// FindRun returns a run with its steps.
func (j *Journal) FindRun(ctx context.Context, id int64) (*journal.Run, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	if r := j.run(id); r != nil {
		return copyRun(r), nil
	}
	return nil, journal.ErrNoRun
}

// CountRuns returns how many unfinished runs there are in each state.
func (j *Journal) CountRuns(ctx context.Context) (map[journal.State]int, error) {
	if err := j.lock(ctx); err != nil {
		return nil, err
	}
	defer j.mu.Unlock()
	counts := make(map[journal.State]int)
	for _, r := range j.runs {
		if r != nil && !r.State.Finished() {
			counts[r.State]++
		}
	}
	return counts, nil
}
