package backtest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/memory"
	"github.com/quandohq/quando/rules"
)

// A replayJournal is the journal of a replay. It reads the events caused by own effects from the
// recorded journal.
type replayJournal struct {
	*memory.Journal
	from *bench

	used map[int64]bool   // of what own calls caused: the event has come again
	runs map[string]int64 // of the replay, by their keys
	keys map[int64]string // of the recorded runs

	coming  map[string]int64 // the recorded numbers of events that are about to come, by their ids
	numbers []numbered       // of those that have arrived, in order
}

// numbered is an event with its number in the record and in the replay.
type numbered struct{ recorded, replayed int64 }

func newReplayJournal(b *bench) *replayJournal {
	return &replayJournal{Journal: memory.New(), from: b, used: make(map[int64]bool), runs: make(map[string]int64), keys: make(map[int64]string), coming: make(map[string]int64)}
}

// Accept records events of the replay.
func (t *replayJournal) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	number := t.Newest()
	fresh, err := t.Journal.Accept(ctx, events)
	for i := range fresh {
		if !fresh[i] {
			continue
		}
		number++
		if recorded, ok := t.coming[events[i].ID]; ok {
			t.numbers = append(t.numbers, numbered{recorded, number})
			delete(t.coming, events[i].ID)
		}
	}
	return fresh, err
}

// number returns the number in the replay of the last event that has come of those up to a recorded
// one.
func (t *replayJournal) number(recorded int64) int64 {
	i, _ := slices.BinarySearchFunc(t.numbers, recorded+1, func(n numbered, want int64) int { return cmp.Compare(n.recorded, want) })
	if i == 0 {
		return 0
	}
	return t.numbers[i-1].replayed
}

// Caused returns what the recorded calls caused, as it stands in the replay.
func (t *replayJournal) Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error) {
	list, err := t.from.Journal.Caused(ctx, workspace, typ, objects, since)
	kept := list[:0]
	for _, c := range list {
		if c.Object == unanswered {
			continue // its answer carries the same
		}
		key, err := t.keyOf(ctx, c.Run)
		if err != nil {
			return nil, err
		}
		c.Used, c.Run, c.After = t.used[c.ID], t.runs[key], t.number(c.After)
		kept = append(kept, c)
	}
	return kept, err
}

// unanswered stands for the object of a call that had no answer yet.
const unanswered = "?"

// keyOf returns the key of a recorded run, or "" if it is gone.
func (t *replayJournal) keyOf(ctx context.Context, id int64) (string, error) {
	if key, ok := t.keys[id]; ok {
		return key, nil
	}
	r, err := t.from.Journal.FindRun(ctx, id)
	key := ""
	switch {
	case err == nil:
		key = r.Key
	case !isNoRun(err):
		return "", err
	}
	t.keys[id] = key
	return key, nil
}

// Save records a change of the replay.
func (t *replayJournal) Save(ctx context.Context, lane *journal.Lane, change *journal.Change) error {
	own := *change
	own.Used, own.Gone = nil, nil // they are the recorded journal's
	if err := t.Journal.Save(ctx, lane, &own); err != nil {
		return err
	}
	for _, id := range change.Used {
		t.used[id] = true
	}
	for _, s := range change.Starts {
		t.runs[s.Run.Key] = s.Run.ID
	}
	return nil
}

// Holds returns none: nothing stops a replay.
func (*replayJournal) Holds(context.Context) ([]journal.Hold, error) { return nil, nil }
