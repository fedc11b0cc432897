package postgres

import (
	"context"
	"fmt"

	"github.com/quandohq/quando/engine/journal/ledger"
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
	err = j.accepts.write(ctx, &operation{Operation: ledger.Accept(events, data, fresh)})
	if err != nil {
		return nil, fmt.Errorf("accept: %w", err)
	}
	return fresh, nil
}
