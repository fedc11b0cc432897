package engine

import (
	"context"
	"github.com/quandohq/quando/engine/journal"
	"iter"
	"time"
)

// happenedBatch is how many events of a lane are read at a time.
const happenedBatch = 100

// eventsSince yields all events of a lane with one of these types that were created at or after
// since, oldest first. It reads them in batches. Events that are recorded meanwhile may be missing.
func (e *Engine) eventsSince(ctx context.Context, workspace, lane string, types []string, since time.Time) iter.Seq2[*journal.Event, error] {
	return func(yield func(*journal.Event, error) bool) {
		seen := map[int64]bool{} // events created at since, by sequence number
		for most := happenedBatch; ; {
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
				most = happenedBatch
			default: // the whole batch was created at one instant
				most *= 2
			}
		}
	}
}
