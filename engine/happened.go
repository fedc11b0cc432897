package engine

import (
	"context"
	"github.com/quandohq/quando/engine/journal"
	"iter"
	"time"
)

// happenedAtOnce is how many events of a lane are read at a time.
const happenedAtOnce = 100

// happened goes through the events of a lane with one of these types, created at or after since,
// oldest first: all of them, however many there are, a part at a time. What the journal gets
// meanwhile may be left out.
func (e *Engine) happened(ctx context.Context, workspace, lane string, types []string, since time.Time) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		seen := map[int64]bool{} // of those that were created at since
		for most := happenedAtOnce; ; {
			list, err := e.journal.Happened(ctx, workspace, lane, types, since, most)
			if err != nil {
				yield(nil, err)
				return
			}
			from := since
			for _, event := range list {
				if event.CreatedAt.After(since) {
					since = event.CreatedAt
					clear(seen)
				}
				if seen[event.Seq] {
					continue
				}
				seen[event.Seq] = true
				if !yield(event, nil) {
					return
				}
			}
			switch {
			case len(list) < most:
				return
			case since.After(from):
				most = happenedAtOnce
			default: // all are of one moment
				most *= 2
			}
		}
	}
}
