// Package ledger decides what a transaction of a journal writes. A store reads the rows that
// operations want, lets them decide on those rows in memory, and writes what has changed; it
// decides nothing itself.
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

// An Operation is one call's part of a transaction. A transaction that came to nothing may be
// carried out again, so Want and Decide may be called more than once.
type Operation struct {
	Want   func(*Wants)        // names the rows that Decide needs; nil wants none
	Decide func(*Ledger) error // refuses before it has changed the ledger, or changes it; nil decides nothing
	Kept   func(*Ledger)       // runs after the commit; may be nil
	Fresh  bool                // it records an event together with what was decided on it
	Weight int
}

// A LaneKey names a lane.
type LaneKey struct{ Workspace, Lane string }

// KeyOf names a claimed lane.
func KeyOf(l *journal.Lane) LaneKey { return LaneKey{l.Workspace, l.Name} }

// A RunKey groups the runs that exclude each other. What a rule would have done as a shadow keeps
// nothing from being done.
type RunKey struct {
	Workspace, Rule, By string
	Stage               rules.Stage
}

// RunKeyOf names the group of a run.
func RunKeyOf(r *journal.Run) RunKey { return RunKey{r.Workspace, r.Rule, r.By, r.Stage} }

// A GatherKey names what is gathered together.
type GatherKey struct{ Workspace, Rule, By string }

// A SlotKey names what slots are taken of.
type SlotKey struct{ Workspace, Key string }

// An EventKey is an event's id with its workspace.
type EventKey struct{ Workspace, ID string }

// A Ledger is what a transaction knows of the journal: the rows that it has read, and those that
// it is about to write. A store fills the first part, and writes the second. Times are in
// microseconds; 0 is none.
type Ledger struct {
	// Shared says that engines share the journal. A lane in which work goes on has a row then, so
	// that another engine finds it should this one die.
	Shared bool

	NextEvent, NextRun, NextCaused func() int64 // give numbers to what is new

	Leases map[LaneKey]*Lease
	Vacant map[LaneKey]bool  // lanes that can be opened
	New    map[EventKey]bool // events that this transaction has accepted; false when that was told
	Newest int64             // the highest number of an event that this transaction gives
	Holds  []journal.Hold    // what is stopped

	runs     map[int64]*Run
	open     map[RunKey][]int64 // unfinished runs, the oldest first, as far as they were wanted
	known    map[string]*Run    // runs by their keys
	slots    map[SlotKey]*Slots // as far as they were wanted
	gathers  map[GatherKey]*journal.Gather
	versions map[string]bool             // whose source is recorded
	judged   map[int64][]journal.Verdict // on events that are decided

	Events   []Recording
	Decided  map[int64]*Decision
	Steps    []Step
	Sources  map[string]Source // of rules, by the hash of the version
	Opened   map[LaneKey]int64 // lanes that belong to this engine from now on, by the epoch
	Dues     map[LaneKey]*Due  // what asks for a lane's attention
	Releases map[LaneKey]Release
	Gathers  map[GatherKey]bool // that have changed
	Caused   []Caused
	Used     []int64
	Gone     []int64
	Tally    Tally

	Calm  map[LaneKey]bool // set when the rows are written: lanes that were given back and have no row
	Wakes bool             // a lane is due that nobody works on, or that has news
}

// A Lease is the claim of a lane by this engine.
type Lease struct {
	Epoch, News int64
	Opened      bool // for an event that was not recorded yet: the lane has no row
	Woken       bool // somebody asked for the attention of a lane without a row
	released    bool
}

// A Due asks for a lane's attention: when at the earliest, and how often it was asked.
type Due struct{ At, News int64 }

// A Release gives a lane back: when it is due if its news is still this, and when if there was
// more.
type Release struct{ News, Next, Soon int64 }

// A Run is the row of a run.
type Run struct {
	ID  int64
	Key string // of one that begins or was looked for by it
	RunKey
	Lane           string
	State          journal.State
	Wake, Finished int64
	Reason         string
	Why            *phrases.Phrase
	Asked          *journal.Ask

	// Given is the run as its caller has it: all of one that begins, and of one that goes on what
	// it is about. It is nil where neither changes. Texts are how a database keeps that.
	Given *journal.Run
	Texts stored.Run

	New     bool
	Event   int64 // of a new one
	Started int64 // of a new one
	Changed bool
}

// A Step is a step of a run that is written.
type Step struct {
	Run int64
	*journal.Step
}

// A Decision is what is recorded of an event that was decided.
type Decision struct {
	Event    *journal.Event
	Verdicts []journal.Verdict

	VerdictsText, AnswersText *string // how a database keeps them
}

// A Recording is a fresh event, most often with what was decided on it.
type Recording struct {
	Seq     int64
	Data    string
	Decided bool
	Decision
}

// A Caused is what an own call causes.
type Caused struct {
	ID int64
	*journal.Caused
	Texts stored.Caused
	At    int64
}

// A Source is the source of a rule.
type Source struct{ Rule, Text string }

// put sets a value in a map that may not be there yet.
func put[K comparable, V any](m *map[K]V, k K, v V) {
	if *m == nil {
		*m = map[K]V{}
	}
	(*m)[k] = v
}

// AddLease takes in a claim of this engine.
func (l *Ledger) AddLease(k LaneKey, lease Lease) { put(&l.Leases, k, &lease) }

// AddVacant notes that a lane can be opened.
func (l *Ledger) AddVacant(k LaneKey) { put(&l.Vacant, k, true) }

// AddNew notes that this transaction has accepted an event.
func (l *Ledger) AddNew(k EventKey, seq int64) {
	put(&l.New, k, true)
	l.Newest = max(l.Newest, seq)
}

// AddCalm notes that a lane was given back and has no row any more.
func (l *Ledger) AddCalm(k LaneKey) { put(&l.Calm, k, true) }

// AddKnown takes in a run that was found by its key.
func (l *Ledger) AddKnown(r *Run) { put(&l.known, r.Key, r) }

// AddVersion notes that the source of a version is recorded.
func (l *Ledger) AddVersion(hash string) { put(&l.versions, hash, true) }

// Versions returns the versions of which the source is known to be recorded.
func (l *Ledger) Versions() []string { return slices.Collect(maps.Keys(l.versions)) }

// AddJudged takes in the verdicts on an event that is decided already.
func (l *Ledger) AddJudged(seq int64, given []journal.Verdict) { put(&l.judged, seq, given) }

// AddRun takes in a run that was read or begins.
func (l *Ledger) AddRun(r *Run) {
	put(&l.runs, r.ID, r)
	l.arrange(r)
}

// arrange puts a run among the unfinished ones of its key, or takes it away.
func (l *Ledger) arrange(r *Run) {
	list := l.open[r.RunKey]
	i, found := slices.BinarySearch(list, r.ID)
	switch finished := r.State.Finished(); {
	case finished && found:
		l.open[r.RunKey] = slices.Delete(list, i, i+1)
	case !finished && !found:
		put(&l.open, r.RunKey, slices.Insert(list, i, r.ID))
	}
}

// change notes that a run is to be written.
func (l *Ledger) change(r *Run) {
	r.Changed = true
	l.arrange(r)
}

// Runs returns the runs that are to be written, by their ids.
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

// Due asks for a lane's attention at a time. Who has claimed the lane finds out when it is
// released. No time at all is long ago.
func (l *Ledger) Due(k LaneKey, at int64) {
	l.Wakes = true
	l.dueLater(k, at)
}

// dueLater is Due for a lane of which nobody needs to hear at once.
func (l *Ledger) dueLater(k LaneKey, at int64) {
	at = max(at, 1)
	d := l.Dues[k]
	if d == nil {
		d = &Due{At: at}
		put(&l.Dues, k, d)
	}
	d.At = min(d.At, at)
	d.News++
}

// ask asks something of a run, and for the attention of its lane. It reports whether there is
// such a run.
func (l *Ledger) ask(now, run int64, ask journal.Ask) bool {
	r := l.runs[run]
	if r == nil {
		return false
	}
	ask.At = kept(ask.At)
	r.Asked = &ask
	l.change(r)
	l.Due(LaneKey{r.Workspace, r.Lane}, now)
	return true
}

// addSteps notes the steps of a run that changed. Of a step that changes twice the last counts.
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

// kept is a time as journals keep it.
func kept(t time.Time) time.Time { return stored.Moment(stored.Micros(t)) }
