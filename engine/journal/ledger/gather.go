package ledger

import (
	"slices"

	"github.com/quandohq/quando/engine/journal"
)

// AddGather adds a gather that was read.
func (l *Ledger) AddGather(g *journal.Gather) {
	put(&l.gathers, GatherKey{g.Workspace, g.Rule, g.By}, g)
}

// Gather returns the gather of a key; nil if there is none.
func (l *Ledger) Gather(k GatherKey) *journal.Gather { return l.gathers[k] }

// changeGathers ends gathers, and adds events to others.
func (s *Save) changeGathers(l *Ledger) {
	for _, g := range s.change.Ended {
		k := GatherKey{g.Workspace, g.Rule, g.By}
		delete(l.gathers, k)
		put(&l.Gathers, k, true)
	}
	for _, g := range s.change.Gather {
		s.addToGather(l, g)
	}
}

// addToGather adds events to a gather, or begins one. The gather ends in the lane of its newest
// event.
func (s *Save) addToGather(l *Ledger, add journal.Gather) {
	k := GatherKey{add.Workspace, add.Rule, add.By}
	at := truncate(s.change.At)
	g := journal.Gather{Workspace: add.Workspace, Rule: add.Rule, By: add.By, Since: at}
	if before := l.gathers[k]; before != nil {
		g.Since, g.Events = before.Since, before.Events
	}
	g.Lane, g.Quiet, g.AtMost = s.lane.Name, add.Quiet, add.AtMost
	g.Events = slices.Concat(g.Events, add.Events)
	g.Until = at.Add(add.Quiet)
	if end := g.Since.Add(add.AtMost); add.AtMost > 0 && end.Before(g.Until) {
		g.Until = end
	}
	put(&l.gathers, k, &g)
	put(&l.Gathers, k, true)
}
