package ledger

import (
	"slices"

	"github.com/quandohq/quando/engine/journal"
)

// AddGather takes in what is being gathered under a key.
func (l *Ledger) AddGather(g *journal.Gather) {
	put(&l.gathers, GatherKey{g.Workspace, g.Rule, g.By}, g)
}

// Gather returns what is being gathered under a key; nil when nothing is.
func (l *Ledger) Gather(k GatherKey) *journal.Gather { return l.gathers[k] }

// changeGathers ends gathers, and adds events to others.
func (s *Save) changeGathers(l *Ledger) {
	for _, g := range s.change.Ended {
		k := GatherKey{g.Workspace, g.Rule, g.By}
		delete(l.gathers, k)
		put(&l.Gathers, k, true)
	}
	for _, g := range s.change.Gather {
		s.gather(l, g)
	}
}

// gather adds events to those that are being gathered. The newest one's lane is where the gather
// ends.
func (s *Save) gather(l *Ledger, add journal.Gather) {
	k := GatherKey{add.Workspace, add.Rule, add.By}
	at := kept(s.change.At)
	g := journal.Gather{Workspace: add.Workspace, Rule: add.Rule, By: add.By, Since: at}
	if is := l.gathers[k]; is != nil {
		g.Since, g.Events = is.Since, is.Events
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
