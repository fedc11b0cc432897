package ledger

import (
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// Wants are the rows that operations need before they can decide, and what a shared store has to
// lock for them.
type Wants struct {
	Leases     map[LaneKey]bool
	Locks      map[string]bool  // names of what has no row, or no row yet
	Runs       map[int64]bool   // by id
	Unfinished map[RunKey]int   // so many of the oldest unfinished runs
	Next       map[RunKey]int   // the unfinished run that follows so many that finish
	Known      map[string]int64 // runs by key, with the event of each
	Slots      map[SlotKey]*WantSlots
	Gathers    map[GatherKey]bool
	Lanes      map[LaneKey]bool // all gathers in these lanes
	Mutes      map[LaneKey]bool
	Decided    map[int64]bool  // the verdicts on these events, if they are decided already
	Versions   map[string]bool // whether their sources are recorded

	Holds     bool // all holds
	KeepHolds bool // and no hold may be lifted before the commit
	Calls     bool // and no hold may be placed before the commit

	NewEvents, NewRuns, NewCaused int // how many numbers may be needed

	Accept   []NewEvent     // events to record unless they are recorded already
	Openings []*rules.Event // events whose lanes are to be opened for them

	accepts map[EventKey]bool
}

// WantSlots say which taken slots of a key are needed: those Times before the newest, and the Count
// slots from each of these on.
type WantSlots struct {
	Count int
	Times map[int]bool
}

// A NewEvent is an event to record, with the stored form of its data.
type NewEvent struct {
	rules.Event
	Data string
}

// wantLock asks for an exclusive lock until the commit. Engines of another version may share the
// journal, so never change the names.
func (w *Wants) wantLock(what string, names ...string) {
	for _, name := range names {
		what += "\x00" + name
	}
	put(&w.Locks, what, true)
}

// wantUnfinished asks for n more of the oldest unfinished runs of a key.
func (w *Wants) wantUnfinished(k RunKey, n int) {
	w.wantLock("kind", k.Workspace, k.Rule, k.By)
	put(&w.Unfinished, k, w.Unfinished[k]+n)
}

// wantNext asks for the run that follows one that has finished.
func (w *Wants) wantNext(k RunKey) {
	w.wantLock("kind", k.Workspace, k.Rule, k.By)
	put(&w.Next, k, w.Next[k]+1)
}

// LockSlots asks for an exclusive lock on the slots of a key.
func (w *Wants) LockSlots(k SlotKey) { w.wantLock("slot", k.Workspace, k.Key) }

// wantSlot asks for the slots that decide whether one more is free.
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

// wantGather asks for the gather of a key.
func (w *Wants) wantGather(k GatherKey) {
	w.wantLock("gather", k.Workspace, k.Rule, k.By)
	put(&w.Gathers, k, true)
}

// wantMute asks for the mute of a conversation, which nobody else changes before the commit.
func (w *Wants) wantMute(k LaneKey) {
	w.wantLock("mutes", k.Workspace, k.Lane)
	put(&w.Mutes, k, true)
}

// wantEvent asks for an event to be recorded unless it is recorded already.
func (w *Wants) wantEvent(e NewEvent) {
	k := EventKey{e.Workspace, e.ID}
	if !w.accepts[k] {
		put(&w.accepts, k, true)
		w.Accept = append(w.Accept, e)
	}
}
