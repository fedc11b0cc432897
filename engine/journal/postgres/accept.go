package postgres

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// Accept records events and makes their lanes due.
func (j *Journal) Accept(ctx context.Context, events []rules.Event) ([]bool, error) {
	if len(events) == 0 {
		return nil, nil
	}
	data, err := stored.AllData(events)
	if err != nil {
		return nil, err
	}
	fresh := make([]bool, len(events))
	err = j.accepts.write(ctx, &operation{weight: len(events),
		want: func(r *reading) {
			for i, e := range events {
				r.wantEvent(e, data[i])
			}
		},
		decide: func(l *ledger) error {
			for i, e := range events {
				k := eventKey{e.Workspace, e.ID}
				if fresh[i] = l.fresh[k]; !fresh[i] {
					continue
				}
				l.fresh[k] = false // for whoever has told of it too
				l.due(e.Workspace, e.Lane, stored.Micros(e.ReceivedAt))
			}
			return nil
		},
	})
	if err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	return fresh, nil
}
