package ledger

import (
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
)

// Accept records events and makes their lanes due. Data is the stored form of each event's data, or
// nil; Decide sets fresh for each event that was new.
func Accept(events []rules.Event, data []string, fresh []bool) *Operation {
	return &Operation{
		Weight: len(events),
		Want: func(w *Wants) {
			for i, e := range events {
				n := NewEvent{Event: e}
				if data != nil {
					n.Data = data[i]
				}
				w.wantEvent(n)
			}
		},
		Decide: func(l *Ledger) error {
			for i, e := range events {
				k := EventKey{e.Workspace, e.ID}
				if fresh[i] = l.New[k]; fresh[i] {
					l.New[k] = false // the same event again in this transaction is not new
					l.Due(LaneKey{e.Workspace, e.Lane}, stored.Micros(e.ReceivedAt))
				}
			}
			return nil
		},
	}
}

// Ask records a request to a run.
func Ask(now time.Time, run int64, ask journal.Ask) *Operation {
	return &Operation{
		Want: func(w *Wants) { put(&w.Runs, run, true) },
		Decide: func(l *Ledger) error {
			if !l.askRun(stored.Micros(now), run, ask) {
				return journal.ErrNoRun
			}
			return nil
		},
	}
}
