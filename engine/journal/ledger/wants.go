package ledger

import (
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// Wants are the rows that operations need before they can decide, and what a store that others
// write to has to lock for them.
type Wants struct {
	Leases     map[LaneKey]bool
	Locks      map[string]bool  // names of what has no row, or none yet
	Runs       map[int64]bool   // by their ids
	Unfinished map[RunKey]int   // of the unfinished runs, so many of the oldest
	Next       map[RunKey]int   // the unfinished run that follows as many that finish
	Known      map[string]int64 // runs by their keys, with the event of each
	Slots      map[SlotKey]*WantSlots
	Gathers    map[GatherKey]bool
	Lanes      map[LaneKey]bool // all that is gathered in them
	Decided    map[int64]bool   // the verdicts on these events, of those that are decided
	Versions   map[string]bool  // whether their sources are recorded

	Holds     bool // what is stopped
	KeepHolds bool // and nothing is lifted before the commit
	Calls     bool // and nothing else is stopped before the commit

	NewEvents, NewRuns, NewCaused int // how many numbers may be needed

	Accept   []NewEvent     // to record unless they are known
	Openings []*rules.Event // whose lanes are to be opened for them

	accepts map[EventKey]bool
}

// WantSlots say which takings of a key matter: those so many before the newest, and as many after
// each as slots are wanted.
type WantSlots struct {
	Count int
	Times map[int]bool
}

// A NewEvent is an event to record with how its data is kept.
type NewEvent struct {
	rules.Event
	Data string
}

// lock asks for something to be this transaction's alone. Engines of another version may share the
// journal, so names stay as they are.
func (w *Wants) lock(what string, names ...string) {
	for _, name := range names {
		what += "\x00" + name
	}
	put(&w.Locks, what, true)
}

// wantUnfinished asks for the oldest unfinished runs of a key, so many more than others asked for.
func (w *Wants) wantUnfinished(k RunKey, n int) {
	w.lock("kind", k.Workspace, k.Rule, k.By)
	put(&w.Unfinished, k, w.Unfinished[k]+n)
}

// wantNext asks for the run that follows one that has finished.
func (w *Wants) wantNext(k RunKey) {
	w.lock("kind", k.Workspace, k.Rule, k.By)
	put(&w.Next, k, w.Next[k]+1)
}

// LockSlots asks that nobody else takes slots of a key.
func (w *Wants) LockSlots(k SlotKey) { w.lock("slot", k.Workspace, k.Key) }

// wantSlot asks for what decides whether one more slot is free.
func (w *Wants) wantSlot(workspace string, s journal.Slot) {
	k := SlotKey{workspace, s.Key}
	w.LockSlots(k)
	slots := w.Slots[k]
	if slots == nil {
		slots = &WantSlots{}
		put(&w.Slots, k, slots)
	}
	slots.Count++
	put(&slots.Times, s.Times, true)
}

// wantGather asks for what is being gathered under a key.
func (w *Wants) wantGather(k GatherKey) {
	w.lock("gather", k.Workspace, k.Rule, k.By)
	put(&w.Gathers, k, true)
}

// wantEvent asks for an event to be recorded unless it is known.
func (w *Wants) wantEvent(e NewEvent) {
	k := EventKey{e.Workspace, e.ID}
	if !w.accepts[k] {
		put(&w.accepts, k, true)
		w.Accept = append(w.Accept, e)
	}
}
