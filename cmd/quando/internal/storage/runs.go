package storage

import (
	"slices"

	"github.com/quandohq/quando/engine/journal"
)

// Unfinished are the states of unfinished runs.
var Unfinished = []journal.State{journal.Queued, journal.Running, journal.Waiting, journal.Held, journal.Uncertain}

// LastStep returns the newest step in one of the states, or nil.
func LastStep(r *journal.Run, states ...journal.StepState) *journal.Step {
	for _, s := range slices.Backward(r.Steps) {
		if slices.Contains(states, s.State) {
			return s
		}
	}
	return nil
}
