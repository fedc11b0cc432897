// Package journal says what an engine records, and what it needs of whoever keeps that: to
// record, to look, to sum up, to find, to keep.
package journal

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
)

// A Journal keeps everything that the engine must not forget: events, verdicts, runs, steps, holds.
// What a method has returned is on disk. Times are kept to the microsecond.
//
// The unit of work is a lane: whoever has claimed it works on it alone until it is released, and
// hands in what happened as Changes. Everything that crosses lanes, such as a limit or a rule's
// mode with a `by` of its own, is decided by the journal inside of a commit.
type Journal interface {
	// Accept records events and makes their lanes due as of their ReceivedAt. An event whose workspace
	// and id are known records nothing.
	Accept(ctx context.Context, events []rules.Event) (fresh []bool, err error)

	// Claim takes up to max lanes that are due, with everything that waits in them, and of the steps
	// of runs those that they keep. Workspaces take turns, each with its longest due lane first, and a
	// lane that somebody works on counts as a turn: much that is due in one workspace does not keep
	// the others waiting. Lanes of the workspaces in except stay where they are.
	Claim(ctx context.Context, now time.Time, max int, except []string) ([]*Lane, error)

	// Open claims the lane of an event that is about to be recorded; nil where somebody works on the
	// lane, or something is thought to wait in it. The lane is empty. Its first Save has the event as
	// Change.Fresh. Drop gives back a lane that was opened and of which nothing was recorded.
	Open(workspace, lane string) *Lane
	Drop(lane *Lane)

	// Save records a change of a claimed lane, all of it or nothing. It fails with ErrLost when the
	// lane is not the caller's any more, with a *HeldError when the rule or the workspace of its Call
	// is stopped, with a *BoundError when a slot that the change must have is not free, and with
	// ErrChanged when a gather that the change ends has grown meanwhile. When it has returned, the
	// change is the caller's again.
	Save(ctx context.Context, lane *Lane, change *Change) error

	// Due returns when the next lane is due; the zero time when none is. Claimed lanes and those of
	// the workspaces in except are left out.
	Due(ctx context.Context, except []string) (time.Time, error)

	// Ask asks something of a run from outside of its lane: its lane is due, and whoever works on it
	// will see. It returns ErrNoRun when there is none.
	Ask(ctx context.Context, now time.Time, run int64, ask Ask) error

	// Hold stops a rule or a workspace; a hold of the same name is replaced. It returns the calls of
	// what it stops that were under way: when it has returned, Save has recorded the Call of each of
	// them, and refuses every other, in whatever process or on whatever machine. Lift ends it, and
	// makes the lanes due whose runs were held by it. One at a safety bound ends with the slots that
	// filled the bound: what goes on is counted anew.
	Hold(ctx context.Context, h Hold) (underWay []UnderWay, err error)
	Lift(ctx context.Context, now time.Time, h Hold) (lifted bool, err error)
	Holds(ctx context.Context) ([]Hold, error)

	// Cursor returns a position that was kept with SetCursor; empty when there is none.
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error

	// SwapCursor keeps a position only where the one before it is still old, and reports whether it
	// did: of many who change the same, one does. Empty is none.
	SwapCursor(ctx context.Context, name, old, value string) (swapped bool, err error)

	// Newest returns the number of the newest event that this journal knows it has; 0 is none. Every
	// event that is recorded after that has a higher one. Other engines may have recorded newer ones
	// already.
	Newest() int64

	// Events returns events by their sequence numbers, in that order; those that are gone are left
	// out.
	Events(ctx context.Context, seqs ...int64) ([]*Event, error)

	// Happened returns the events of a lane with one of these types, created at or after since, oldest
	// first, at most max.
	Happened(ctx context.Context, workspace, lane string, types []string, since time.Time, max int) ([]*Event, error)

	// Count returns how many events of a type a lane has had, created at or after since.
	Count(ctx context.Context, workspace, lane, typ string, since time.Time) (int, error)

	// Caused returns what own calls caused that has one of these objects: what the engine will hear,
	// or has heard, of its own doing. typ is the event's type; empty is any.
	Caused(ctx context.Context, workspace, typ string, objects []string) ([]Caused, error)

	// Version returns the source of a rule by the hash of its version, or ErrNoVersion.
	Version(ctx context.Context, hash string) (source string, err error)

	// Prune forgets what is older than keep, a bounded part at a time, and reports whether there is
	// more. The ids of events outlive their content by 15 days, so that a late duplicate is still
	// known. What unfinished runs need stays.
	Prune(ctx context.Context, now time.Time, keep time.Duration) (more bool, err error)
}

// A Notifier is a journal that hears of it when another process has put something into it. News has
// something then. Who does not wait for it looks by itself.
type Notifier interface{ News() <-chan struct{} }

// A Finder is a journal that takes events which nobody told of, and knows them again when
// somebody does.
type Finder interface {
	// AcceptFound records events that were found, unless one that tells of the same is recorded
	// already. An event that is accepted afterwards and tells of the same is taken for a
	// duplicate. Among events that were told, only their ids count.
	AcceptFound(ctx context.Context, found []rules.Finding) (fresh []bool, err error)

	// CountFound returns how many events were found since a time, by their types.
	CountFound(ctx context.Context, workspace string, since time.Time) (map[string]int, error)

	// Seen returns what was last seen of things of a kind, by their ids. SetSeen keeps that, and
	// forgets those with an empty value. What has not been set for as long as the ids of events
	// are kept is forgotten.
	Seen(ctx context.Context, workspace, kind string) (map[string]string, error)
	SetSeen(ctx context.Context, now time.Time, workspace, kind string, values map[string]string) error
}

// Errors of a journal.
var (
	ErrLost      = errors.New("the lane is not ours any more")
	ErrChanged   = errors.New("what the change was made for has changed meanwhile")
	ErrOccupied  = errors.New("the event is recorded already, or something waits in its lane")
	ErrNoRun     = errors.New("there is no such run")
	ErrNoEvent   = errors.New("there is no such event")
	ErrNoVersion = errors.New("the journal has no rule of this version")
)

// A BoundError says that a slot was not free.
type BoundError struct {
	Slot Slot
	Own  bool      // the slot's rule has taken some of those that fill the window
	Free time.Time // when one will be free, unless another takes it
}

// Error names the bound.
func (e *BoundError) Error() string {
	return fmt.Sprintf("%s: at most %d in %s", e.Slot.Key, e.Slot.Times, duration.Format(e.Slot.Per))
}

// An Event is a recorded event.
type Event struct {
	rules.Event
	Seq      int64 // in the order of recording
	Decided  bool
	Verdicts []Verdict
	Answers  Answers // to what the rules asked when it was decided
}

// Answers are what the desk told rules, by what was asked, in the form that a recorded value has:
// with them a decision can be looked into, and made again, when the desk would tell something else.
type Answers map[string]json.RawMessage

// AnswerNow is the question under which the time of a decision is recorded.
const AnswerNow = "now()"

// GatherNow is the question under which the time is recorded when a rule decided on what it had
// gathered.
func GatherNow(rule string) string { return Gathering(rule, AnswerNow) }

// Gathering is the question under which an answer is recorded that a rule had when it decided on
// what it had gathered, where the rules that decided at once had another.
func Gathering(rule, question string) string { return question + " of " + rule }

// With adds the answers that a rule had when it decided on what it had gathered. Those that
// others had before stay as they are.
func (a Answers) With(rule string, later Answers) Answers {
	if a == nil {
		a = make(Answers, len(later))
	}
	for question, raw := range later {
		if first, ok := a[question]; ok && !bytes.Equal(first, raw) {
			question = Gathering(rule, question)
		}
		a[question] = raw
	}
	return a
}

// An Outcome says what became of an event for one rule.
type Outcome string

// The outcomes of a verdict.
const (
	Fired    Outcome = "fired"
	False    Outcome = "false"
	Failed   Outcome = "error"
	Late     Outcome = "late"
	Limited  Outcome = "limited"
	Skipped  Outcome = "skipped"  // by the rule's mode
	Gathered Outcome = "gathered" // with others; the last of them is decided on
	Own      Outcome = "own"      // caused by the engine
	Paused   Outcome = "paused"
	Looped   Outcome = "looped" // the rule is among those that caused the event
)

// A Verdict says what became of an event for one rule, and why.
type Verdict struct {
	Rule    string         `json:"rule"`
	Outcome Outcome        `json:"outcome"`
	Clause  string         `json:"clause,omitempty"` // the first that was not true
	Values  map[string]any `json:"values,omitempty"` // of the names and calls in it
	Error   string         `json:"error,omitempty"`  // why the clause could not be evaluated, or what stood in the way
	// Why is the Error as a phrase; nil where others wrote it.
	Why     *phrases.Phrase `json:"why,omitempty"`
	Run     string          `json:"run,omitempty"` // the key of the run that came of it
	Version string          `json:"version,omitempty"`
	Stage   rules.Stage     `json:"stage,omitempty"` // Shadow where nothing is changed; empty is Live
}

// Because sets the outcome and what led to it.
func (v *Verdict) Because(o Outcome, why *phrases.Phrase) {
	v.Outcome, v.Error, v.Why = o, why.String(), why.Coded()
}

// MostEvents is how many events of a lane are worked on in one visit. What waits in a lane may be
// long, and lanes are many: neither memory nor who comes next should depend on it.
const MostEvents = 4

// A Lane is a claimed lane with what waits in it.
type Lane struct {
	Workspace string
	Name      string
	Epoch     int64 // which claim it is; a later one makes this one's changes refused
	News      int64 // how often somebody asked for the lane's attention, when it was claimed

	Events  []*Event // undecided, in the order of recording, MostEvents at most
	More    bool     // there are others behind them, for which the lane is due again when Next says so
	Runs    []*Run   // unfinished ones that are here or belong here, and those of which something is asked, by id
	Gathers []*Gather

	Calm bool // set by Save where it gives the lane back and nothing is due because of it
}

// Add adds an event to a lane that is being loaded, or notes that there are more.
func (l *Lane) Add(e *Event) {
	if l.More = len(l.Events) == MostEvents; !l.More {
		l.Events = append(l.Events, e)
	}
}

// A State is where a run stands.
type State string

// The states of a run.
const (
	Queued    State = "queued"    // waits for another run of its rule
	Running   State = "running"   // has steps to take, now or when a call is to be repeated
	Waiting   State = "waiting"   // in a wait or a wait_for
	Held      State = "held"      // until its rule is resumed or the workspace's key works again
	Uncertain State = "uncertain" // a person must say what became of a call
	Done      State = "done"
	Stopped   State = "stopped" // by stop or stop_if
	Cancelled State = "cancelled"
	FailedRun State = "failed"
)

// Finished reports whether the state is a last one.
func (s State) Finished() bool {
	return s == Done || s == Stopped || s == Cancelled || s == FailedRun
}

// A Run is a rule at work on what started it.
type Run struct {
	ID        int64 // given by the journal when the run starts
	Key       string
	Workspace string
	Rule      string
	Version   string
	Event     int64   // the sequence number of what started it; of gathered ones, the last
	Gathered  []int64 // all that were gathered, in order
	Home      string  // the lane that it belongs to
	Lane      string  // where its next step takes place
	By        string  // what counts as the same for the rule's mode
	State     State
	Stage     rules.Stage // Live or Shadow
	Ancestry  []string    // the rules whose effects led to it
	About     actions.Subject
	StartedAt time.Time
	// WakeAt is when there is something to do; the zero time is when somebody asks for it. It is kept
	// for unfinished runs.
	WakeAt     time.Time
	FinishedAt time.Time
	Reason     string          // why it was stopped, cancelled or held, or what failed
	Why        *phrases.Phrase // the Reason as a phrase; nil where others wrote it
	Asked      *Ask            // only the journal's Ask sets it, and Change.Answered takes it away

	Steps []*Step // that were reached, in that order; of a claimed run those that it keeps
	Kept  Kept    // which of its steps are loaded with its lane
}

// Because sets why the run stands where it does.
func (r *Run) Because(why *phrases.Phrase) { r.Reason, r.Why = why.String(), why.Coded() }

// Reached returns how many steps the run has reached.
func (r *Run) Reached() int {
	if len(r.Steps) == 0 {
		return 0
	}
	return r.Steps[len(r.Steps)-1].N + 1
}

// Kept are the steps of a run that it still needs to go on: those from a number on, and some before
// it. The zero value is all of them. Others are loaded only for somebody who looks.
type Kept struct {
	From int   `json:"from"`
	Also []int `json:"also,omitempty"` // in their order
}

// All reports whether every step is kept.
func (k Kept) All() bool { return k.From == 0 }

// Current returns the step that the run is at; nil when it has come to the end of all that it
// has reached.
func (r *Run) Current() *Step {
	for _, s := range slices.Backward(r.Steps) {
		if !s.State.Finished() {
			return s
		}
	}
	return nil
}

// A StepState is where a step stands.
type StepState string

// The states of a step.
const (
	StepOpen       StepState = "open"    // a call is under way, or to be repeated
	StepWaiting    StepState = "waiting" // in a wait
	StepDone       StepState = "done"
	StepSkipped    StepState = "skipped"
	StepSuperseded StepState = "superseded" // somebody else changed it meanwhile
	StepWould      StepState = "would"      // of a shadow run: what it would have done
	StepFailed     StepState = "failed"
	StepUncertain  StepState = "uncertain"
)

// Finished reports whether the step will not be taken again by itself.
func (s StepState) Finished() bool { return s != StepOpen && s != StepWaiting && s != StepUncertain }

// A Step is one step of a run as it was taken.
type Step struct {
	N        int    // its place in the run, from 0
	Path     string // 2, 2.else.1, 4[7].1
	Verb     string
	Key      string // its idempotency key
	State    StepState
	Attempts int
	Error    string
	Record   json.RawMessage // what the engine must know to go on; the journal does not look into it
}

// Calls reports whether the call begins, where begun says which of the starts did.
func (c *Change) Calls(begun func(start int) bool) bool {
	i := slices.IndexFunc(c.Starts, func(s *Start) bool { return s.Run == c.Call })
	return i < 0 || begun(i)
}

// A Change is what a claim's holder hands in: all of it is recorded, or nothing.
type Change struct {
	At time.Time

	// Fresh is an event that is not recorded yet, of a lane that was opened for it. It is recorded,
	// with its verdicts where it is one of Decided, and its Seq, and that of what it starts, is set.
	// The change is refused with ErrOccupied where the event is recorded already, or something waits
	// in the lane.
	Fresh *Event

	// Call is the run whose call begins when the change is recorded; nil is that none does. The change
	// is refused with a *HeldError where something stops the run.
	Call *Run

	// Take are slots that must be free, else the change is refused with a *BoundError. They are
	// left where the run of Call does not begin.
	Take    []Slot
	Decided []*Event
	Starts  []*Start
	Gather  []Gather // each with one event, which joins those of the same rule and by that are being gathered

	// Ended are gathers that are over. One that has grown since it was claimed makes the change
	// refused with ErrChanged.
	Ended []*Gather

	// Runs are unfinished runs, or ones just finished, with their steps that changed; they make way
	// for the Starts. A run that has another lane now makes that lane due, and so does one that is
	// held by nothing any more. One that is finished lets the next one queued behind it begin.
	Runs []*RunChange

	Caused []Caused
	Used   []int64 // the ids of Caused whose event has come
	Gone   []int64 // the ids of Caused that nothing is expected of any more, and that can be forgotten

	Asks []RunAsk

	// Release gives the lane back. It is due again at Next, which may be the zero time, when one of
	// its gathers ends, or at once where there was news. A gather that is over already makes it due
	// only where there is no Next.
	Release bool
	Next    time.Time
}

// A RunChange is a changed run with its changed steps.
type RunChange struct {
	Run      *Run
	Steps    []*Step
	Answered bool // what was asked of it is done
	Effects  int  // calls that had their effect
}

// A Start asks for a run to begin. The journal decides, by what is stopped, by the unfinished runs
// of the same workspace, rule and by, and by the limit. It sets Run.ID and Run.State, or the
// verdict's outcome where the run does not come about.
type Start struct {
	Run     *Run // with the Steps to record if it begins at once
	Mode    rules.Mode
	Max     int      // unfinished runs of the same by
	Limit   *Slot    // nil is none
	Source  string   // of the rule's version
	Verdict *Verdict // one of those of the change's Decided
	Begun   bool     // set by the journal: it exists and is not queued
}

// Refused says why a run does not begin while these holds are in place, beside these unfinished
// ones of the same workspace, rule and by, the oldest first. An empty outcome is that it may: also
// where the whole workspace is stopped, because then the run only waits, and where the run itself
// is held already.
func (s *Start) Refused(holds []Hold, others []int64) (outcome Outcome, why *phrases.Phrase) {
	paused := slices.IndexFunc(holds, func(h Hold) bool { return h.Rule != "" && h.Covers(s.Run.Workspace, s.Run.Rule, s.Run.Lane) })
	switch {
	case paused >= 0 && s.Run.State != Held:
		return Paused, holds[paused].Said()
	case s.Mode == rules.Single && len(others) > 0:
		return Skipped, phrases.New(phrases.ModeSingle, others[0])
	case (s.Mode == rules.Queued || s.Mode == rules.Parallel) && s.Max > 0 && len(others) >= s.Max:
		return Limited, phrases.New(phrases.MaxRuns, s.Max)
	}
	return "", nil
}

// A Slot is one of so many in any window of a length.
type Slot struct {
	Key   string // with the workspace
	Times int
	Per   time.Duration
	Rule  string // that takes it
}

// Limit says what a limit is.
func (s Slot) Limit() *phrases.Phrase {
	return phrases.New(phrases.Limit, s.Times, duration.Format(s.Per))
}

// A Gather collects events of a rule into one run.
type Gather struct {
	Workspace, Rule, By string
	Lane                string // of the newest event
	Events              []int64
	Since               time.Time // when the first came
	Until               time.Time // when it ends, unless another event comes
	Quiet, AtMost       time.Duration
}

// A Caused is an event that an own call causes: by it the engine knows its own effects when they
// come back.
type Caused struct {
	ID        int64 // given by the journal
	Workspace string
	Lane      string
	Event     string          // message.sent
	Object    string          // the key of the message, card, attendance or conversation, as ObjectKey makes it of the id, else the lane
	Stage     string          // of a moved card: where it went
	Set       json.RawMessage // what the call set, as a part of the object's facts
	Run       int64
	Rule      string
	Ancestry  []string  // of the run
	After     int64     // the newest event that was recorded when the call was planned: what the call caused has a higher number
	From, To  time.Time // when the event was created, where nothing in it identifies it
	Used      bool      // the event has come
}
