// Package ledger decides what a transaction of a journal writes. A store reads the rows that
// operations want, lets the operations decide on those rows in memory, and writes what has changed;
// the store itself decides nothing.
package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// An Operation is one caller's part of a transaction. A store may retry a transaction that failed,
// so Want and Decide may be called more than once.
type Operation struct {
	Want   func(*Wants)        // names the rows that Decide needs; nil if none
	Decide func(*Ledger) error // returns an error before it changes the ledger, or changes it; nil if there is nothing to decide
	Kept   func(*Ledger)       // runs after the commit; may be nil
	Fresh  bool                // it records an event together with its verdicts
	Weight int
}

// A LaneKey names a lane.
type LaneKey struct{ Workspace, Lane string }

// KeyOf names a claimed lane.
func KeyOf(l *journal.Lane) LaneKey { return LaneKey{l.Workspace, l.Name} }

// A RunKey groups the runs that exclude each other. Shadow runs exclude only shadow runs.
type RunKey struct {
	Workspace, Rule, By string
	Stage               rules.Stage
}

// RunKeyOf returns the key of a run.
func RunKeyOf(r *journal.Run) RunKey { return RunKey{r.Workspace, r.Rule, r.By, r.Stage} }

// A GatherKey identifies a gather.
type GatherKey struct{ Workspace, Rule, By string }

// A SlotKey identifies a rate limit.
type SlotKey struct{ Workspace, Key string }

// An EventKey is an event's id with its workspace.
type EventKey struct{ Workspace, ID string }

// A Ledger is the working set of a transaction: the rows that it has read, and those that it will
// write. A store fills the first part, and writes the second. Times are in microseconds; 0 is none.
type Ledger struct {
	// Shared says that engines share the journal. A claimed lane has a row then, so that another
	// engine finds it should this one crash.
	Shared bool

	NextEvent, NextRun, NextCaused func() int64 // assign the numbers of new rows

	Leases map[LaneKey]*Lease
	Vacant map[LaneKey]bool  // lanes that can be opened
	New    map[EventKey]bool // events that this transaction records; false once an operation was told that its event is new
	Newest int64             // the highest event number that this transaction assigns
	Holds  []journal.Hold
	Mutes  map[LaneKey]journal.Mute

	runs            map[int64]*Run
	unfinished      map[RunKey][]int64 // ids of unfinished runs, ascending, as far as they were wanted
	runsByKey       map[string]*Run
	slots           map[SlotKey]*Slots // as far as they were wanted
	gathers         map[GatherKey]*journal.Gather
	versions        map[string]bool             // versions whose source is recorded
	decidedVerdicts map[int64][]journal.Verdict // of events that are decided already

	Events   []Recording
	Decided  map[int64]*Decision
	Steps    []Step
	Sources  map[string]Source // sources of rules, by the hash of the version
	Opened   map[LaneKey]int64 // lanes that this engine holds from now on, with the epoch
	Dues     map[LaneKey]*Due  // lanes to make due
	Releases map[LaneKey]Release
	Gathers  map[GatherKey]bool // gathers that have changed
	Muted    map[LaneKey]bool   // mutes that have changed; one that is not in Mutes any more is deleted
	Caused   []Caused
	Used     []int64
	Gone     []int64
	Tally    Tally

	Calm  map[LaneKey]bool // set when the rows are written: lanes that were released and have no row
	Wakes bool             // a lane is due that is not claimed, or a claimed lane was made due
}

// A Lease is this engine's claim of a lane.
type Lease struct {
	Epoch, News int64
	Opened      bool // claimed for an event that was not recorded yet: the lane has no row
	Woken       bool // a lane without a row was made due
	released    bool
}

// A Due makes a lane due: the earliest time, and how often it was made due.
type Due struct{ At, News int64 }

// A Release releases a lane: it is due at Next if the row still has this News, and at Soon if the
// lane was made due since.
type Release struct{ News, Next, Soon int64 }

// A Run is the row of a run.
type Run struct {
	ID  int64
	Key string // of a new run, or of one that was found by its key
	RunKey
	Lane           string
	State          journal.State
	Wake, Finished int64
	Reason         string
	Why            *phrases.Phrase
	Asked          *journal.Ask

	// Given is the run as the caller has it: complete for a new run, and for a continued run what it
	// is about. It is nil if neither changes. Texts is the stored form.
	Given *journal.Run
	Texts stored.Run

	New     bool
	Event   int64 // of a new run
	Started int64 // of a new run
	Changed bool
}

// A Step is a step of a run to write.
type Step struct {
	Run int64
	*journal.Step
}

// A Decision is the recorded verdicts on an event.
type Decision struct {
	Event    *journal.Event
	Verdicts []journal.Verdict

	VerdictsText, AnswersText *string // the stored form
}

// A Recording is a fresh event, usually with its verdicts.
type Recording struct {
	Seq     int64
	Data    string
	Decided bool
	Decision
}

// A Caused is an expected event of an own call.
type Caused struct {
	ID int64
	*journal.Caused
	Texts stored.Caused
	At    int64
}

// A Source is the source of a rule.
type Source struct{ Rule, Text string }

// put sets a value in a map that may be nil.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// AddLease adds a claim of this engine.
func (l *Ledger) AddLease(k LaneKey, lease Lease) { put(&l.Leases, k, &lease) }

// AddVacant adds a lane that can be opened.
func (l *Ledger) AddVacant(k LaneKey) { put(&l.Vacant, k, true) }

// AddNew adds an event that this transaction records.
func (l *Ledger) AddNew(k EventKey, seq int64) {
	put(&l.New, k, true)
	l.Newest = max(l.Newest, seq)
}

// AddCalm adds a lane that was released and has no row any more.
func (l *Ledger) AddCalm(k LaneKey) { put(&l.Calm, k, true) }

// AddKnown adds a run that was found by its key.
func (l *Ledger) AddKnown(r *Run) { put(&l.runsByKey, r.Key, r) }

// AddVersion adds a version whose source is recorded.
func (l *Ledger) AddVersion(hash string) { put(&l.versions, hash, true) }

// Versions returns the versions whose source is known to be recorded.
func (l *Ledger) Versions() []string { return slices.Collect(maps.Keys(l.versions)) }

// AddJudged adds the verdicts on an event that is decided already.
func (l *Ledger) AddJudged(seq int64, given []journal.Verdict) { put(&l.decidedVerdicts, seq, given) }

// AddMute adds the mute of a conversation.
func (l *Ledger) AddMute(m journal.Mute) { put(&l.Mutes, LaneKey{m.Workspace, m.Lane}, m) }

// changeMutes mutes and unmutes conversations.
func (l *Ledger) changeMutes(changes []journal.MuteChange) {
	for _, c := range changes {
		k := LaneKey{c.Workspace, c.Lane}
		put(&l.Muted, k, true)
		if c.Off {
			delete(l.Mutes, k)
			continue
		}
		c.Since, c.Until = truncate(c.Since), truncate(c.Until)
		l.AddMute(c.Mute)
	}
}

// Mute returns the operation that mutes and unmutes conversations.
func Mute(changes []journal.MuteChange) *Operation {
	return &Operation{
		Want: func(w *Wants) {
			for _, c := range changes {
				w.wantMute(LaneKey{c.Workspace, c.Lane})
			}
		},
		Decide: func(l *Ledger) error {
			l.changeMutes(changes)
			return nil
		},
		Weight: len(changes),
	}
}

// AddRun adds a run that was read, or a new one.
func (l *Ledger) AddRun(r *Run) {
	put(&l.runs, r.ID, r)
	l.updateUnfinished(r)
}

// updateUnfinished adds a run to the unfinished runs of its key, or removes it once it has
// finished.
func (l *Ledger) updateUnfinished(r *Run) {
	list := l.unfinished[r.RunKey]
	i, found := slices.BinarySearch(list, r.ID)
	switch finished := r.State.Finished(); {
	case finished && found:
		l.unfinished[r.RunKey] = slices.Delete(list, i, i+1)
	case !finished && !found:
		put(&l.unfinished, r.RunKey, slices.Insert(list, i, r.ID))
	}
}

// markChanged marks a run to be written.
func (l *Ledger) markChanged(r *Run) {
	r.Changed = true
	l.updateUnfinished(r)
}

// Runs returns the runs to write, by their ids.
func (l *Ledger) Runs() (fresh, changed []*Run) {
	for _, r := range l.runs {
		switch {
		case r.New:
			fresh = append(fresh, r)
		case r.Changed:
			changed = append(changed, r)
		}
	}
	byID := func(a, b *Run) int { return int(a.ID - b.ID) }
	slices.SortFunc(fresh, byID)
	slices.SortFunc(changed, byID)
	return fresh, changed
}

// Due makes a lane due at a time, where 0 is long ago. The worker that has claimed the lane finds
// out when it releases it.
func (l *Ledger) Due(k LaneKey, at int64) {
	l.Wakes = true
	l.dueWithoutWake(k, at)
}

// dueWithoutWake is Due without waking a worker.
func (l *Ledger) dueWithoutWake(k LaneKey, at int64) {
	at = max(at, 1)
	d := l.Dues[k]
	if d == nil {
		d = &Due{At: at}
		put(&l.Dues, k, d)
	}
	d.At = min(d.At, at)
	d.News++
}

// askRun records a request to a run, and makes its lane due. It reports whether the run exists.
func (l *Ledger) askRun(now, run int64, ask journal.Ask) bool {
	r := l.runs[run]
	if r == nil {
		return false
	}
	ask.At = truncate(ask.At)
	r.Asked = &ask
	l.markChanged(r)
	l.Due(LaneKey{r.Workspace, r.Lane}, now)
	return true
}

// addSteps adds the changed steps of a run. If a step changes twice, the last change counts.
func (l *Ledger) addSteps(run int64, steps []*journal.Step) {
	own := len(l.Steps)
	for _, st := range steps {
		i, found := slices.BinarySearchFunc(l.Steps[own:], st.N, func(s Step, n int) int { return s.N - n })
		if found {
			l.Steps[own+i].Step = st
			continue
		}
		l.Steps = slices.Insert(l.Steps, own+i, Step{run, st})
	}
}

// truncate truncates a time to the microsecond, as journals store it.
func truncate(t time.Time) time.Time { return stored.Moment(stored.Micros(t)) }
