package backtest

import (
	"context"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/memory"
)

// A tape is the journal of a replay. What own effects caused is read from the recorded one: the events that came of them are there.
type tape struct {
	*memory.Journal
	from *bench

	used map[int64]bool   // of what own calls caused: the event has come again
	runs map[string]int64 // of the replay, by their keys
	keys map[int64]string // of the recorded runs
}

// Caused returns what the recorded calls caused, as it stands in the replay.
func (t *tape) Caused(ctx context.Context, workspace, typ string, objects []string) ([]engine.Caused, error) {
	list, err := t.from.Journal.Caused(ctx, workspace, typ, objects)
	kept := list[:0]
	for _, c := range list {
		if c.Object == unanswered {
			continue // what its answer told is there too
		}
		key, err := t.keyOf(ctx, c.Run)
		if err != nil {
			return nil, err
		}
		c.Used, c.Run = t.used[c.ID], t.runs[key]
		kept = append(kept, c)
	}
	return kept, err
}

// unanswered stands for the object of a call that had no answer yet.
const unanswered = "?"

// keyOf returns the key of a recorded run; empty when it is gone.
func (t *tape) keyOf(ctx context.Context, id int64) (string, error) {
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
func (t *tape) Save(ctx context.Context, lane *engine.Lane, change *engine.Change) error {
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

// Holds are none: nothing stops a replay.
func (*tape) Holds(context.Context) ([]engine.Hold, error) { return nil, nil }
