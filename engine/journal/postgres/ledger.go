package postgres

import (
	"slices"

	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/engine/journal/stored"
)

// A ledger is what a transaction knows of the journal: what it has read, and what it is about to write.
type ledger struct {
	engine int64

	leases   map[laneKey]*lease
	runs     map[int64]*runRow
	open     map[kind][]int64   // unfinished runs of a kind, the oldest first, as far as they were asked for
	known    map[string]*runRow // runs by their keys
	slots    map[slotKey]*slotRows
	gathers  map[kind]*journal.Gather
	holds    []journal.Hold // what is stopped
	versions map[string]bool
	fresh    map[eventKey]bool           // events that were recorded by this transaction
	newest   int64                       // the highest number of an event that it gives
	judged   map[int64][]journal.Verdict // on events that are decided

	vacant map[laneKey]bool // lanes that can be opened

	eventSeqs, runIDs, causedIDs []int64 // that are to be given

	recorded []recording
	opened   map[laneKey]int64 // lanes that are this engine's from now on, by the epoch
	calm     map[laneKey]bool  // lanes that were given back and in which nothing waits
	stirs    bool              // a lane is due that nobody works on, or that has news
	dues     map[laneKey]*due
	releases map[laneKey]*release
	steps    map[stepKey]*journal.Step
	decided  map[int64]*decision
	changed  map[kind]bool // gathers
	caused   []causedRow
	used     []int64
	gone     []int64
	sources  map[string]versionRow
	tally    stored.Tally
}

// A lease is a claim of a lane.
type lease struct {
	engine, epoch, news int64
	released            bool
}

// A due is what asks for a lane's attention: when at the earliest, and how often.
type due struct{ at, news int64 }

// A release is a lane that is given back: when it is due where there was no news, and where there was.
type release struct{ news, next, soon int64 }

type stepKey struct {
	run int64
	n   int
}

// A decision is what is recorded with an event that was decided.
type decision struct {
	verdicts, answers *string
	judges            []string
}

type causedRow struct {
	id int64
	journal.Caused
	fields, ancestry *string
	at               int64
}

type versionRow struct{ rule, source string }

// A runRow is a run as far as it matters to others, or all of one that is new.
type runRow struct {
	id                                  int64
	key, workspace, rule, version, home string
	lane, by, stage, reason, about      string
	event, started, wake, finished      int64
	state                               journal.State
	gathered, ancestry, asked           *string
	fresh, changed                      bool
}

func (r *runRow) kind() kind { return kind{r.workspace, r.rule, r.by} }

func newLedger(id int64) *ledger {
	return &ledger{
		engine: id, leases: map[laneKey]*lease{}, runs: map[int64]*runRow{}, open: map[kind][]int64{}, known: map[string]*runRow{}, slots: map[slotKey]*slotRows{},
		gathers: map[kind]*journal.Gather{}, versions: map[string]bool{}, fresh: map[eventKey]bool{}, vacant: map[laneKey]bool{}, opened: map[laneKey]int64{}, calm: map[laneKey]bool{}, judged: map[int64][]journal.Verdict{}, dues: map[laneKey]*due{}, releases: map[laneKey]*release{},
		steps: map[stepKey]*journal.Step{}, decided: map[int64]*decision{}, changed: map[kind]bool{}, sources: map[string]versionRow{},
	}
}

// addRun takes in a run that was read or begins.
func (l *ledger) addRun(r *runRow) {
	l.runs[r.id] = r
	l.place(r)
}

// place puts a run among the unfinished ones of its kind, or takes it away.
func (l *ledger) place(r *runRow) {
	list := l.open[r.kind()]
	i, found := slices.BinarySearch(list, r.id)
	switch finished := r.state.Finished(); {
	case finished && found:
		l.open[r.kind()] = slices.Delete(list, i, i+1)
	case !finished && !found:
		l.open[r.kind()] = slices.Insert(list, i, r.id)
	}
}

// change notes that a run is to be written.
func (l *ledger) change(r *runRow) {
	r.changed = true
	l.place(r)
}

// due asks for a lane's attention at a time. Whoever has claimed the lane finds out when it is released. No time at all is long ago.
func (l *ledger) due(workspace, lane string, at int64) {
	l.stirs = true
	l.dueLater(laneKey{workspace, lane}, at)
}

// dueLater is due for a lane of which nobody needs to hear at once.
func (l *ledger) dueLater(k laneKey, at int64) {
	at = max(at, 1)
	d := l.dues[k]
	if d == nil {
		d = &due{at: at}
		l.dues[k] = d
	}
	d.at = min(d.at, at)
	d.news++
}

// ask asks something of a run, and for the attention of the lane that it is in. It reports whether there is such a run.
func (l *ledger) ask(now, run int64, what string) bool {
	r := l.runs[run]
	if r == nil {
		return false
	}
	r.asked = &what
	l.change(r)
	l.due(r.workspace, r.lane, now)
	return true
}

// runID gives a run its id.
func (l *ledger) runID() int64 {
	id := l.runIDs[0]
	l.runIDs = l.runIDs[1:]
	return id
}
