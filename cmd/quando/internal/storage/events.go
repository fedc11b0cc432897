package storage

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine/journal"
)

// EachEvent iterates over the newest events, at most so many.
func EachEvent(ctx context.Context, j journal.Reader, filter journal.EventFilter, most int, take func(*journal.Event)) error {
	for most > 0 {
		filter.Limit = min(500, most)
		events, err := j.ListEvents(ctx, filter)
		if err != nil {
			return fmt.Errorf("list events: %w", err)
		}
		for _, e := range events {
			take(e)
		}
		if len(events) < filter.Limit {
			return nil
		}
		most -= len(events)
		filter.Before = events[len(events)-1].Seq
	}
	return nil
}
