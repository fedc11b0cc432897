// Package journal defines what an engine records, and the interfaces of a store for it: a Journal
// to record, a Reader and Statistics to look, a Finder for events that no webhook delivered, and an
// Auditor.
package journal

import (
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

// A Journal stores everything that the engine must not forget: events, verdicts, runs, steps,
// holds. What a method has returned is on disk. Times are stored to the microsecond.
//
// The unit of work is a lane: the worker that has claimed a lane has it exclusively until it
// releases it, and hands in what happened as Changes. The journal decides inside a transaction what
// crosses lanes, such as a limit, or a rule's mode with a `by` of its own.
type Journal interface {
	// Accept records events and makes their lanes due as of their ReceivedAt. It skips an event whose
	// workspace and id are recorded already.
	Accept(ctx context.Context, events []rules.Event) (fresh []bool, err error)

	// Claim claims up to max lanes that are due, with everything that is pending in them. It loads
	// those steps of runs that Run.Kept names. Workspaces take turns, each with the lane that has been
	// due longest, and a lane that is claimed already counts as a turn: a backlog in one workspace
	// does not delay the others. Lanes of the workspaces in except stay unclaimed.
	Claim(ctx context.Context, now time.Time, max int, except []string) ([]*Lane, error)

	// Open claims the lane of an event that is about to be recorded. It returns nil if the lane is
	// claimed, or if the journal believes that something is pending in it. The lane is empty. Its
	// first Save has the event as Change.Fresh. Drop releases a lane that was opened and for which
	// nothing was recorded.
	Open(workspace, lane string) *Lane
	Drop(lane *Lane)

	// Vacant reports whether nothing is pending in an opened lane, in any engine: what a call of
	// another engine has caused there is recorded, and can be read from now on. Save checks it again.
	Vacant(ctx context.Context, lane *Lane) (bool, error)

	// Save records a change of a claimed lane, all of it or nothing. It fails with ErrLost when the
	// caller no longer holds the lane, with a *HeldError when a hold covers its Call, with a
	// *MutedError when its Call sends to a muted conversation, with a *BoundError when a slot that the
	// change needs is not free, and with ErrChanged when a gather that the change ends has grown
	// since. The caller may reuse the change after Save has returned.
	Save(ctx context.Context, lane *Lane, change *Change) error

	// Due returns when the next lane is due; the zero time when none is. It ignores claimed lanes and
	// lanes of the workspaces in except.
	Due(ctx context.Context, except []string) (time.Time, error)

	// Ask makes a request to a run from outside of its lane. It makes the lane due, so that the worker
	// that holds or claims it sees the request. It returns ErrNoRun when there is no such run.
	Ask(ctx context.Context, now time.Time, run int64, ask Ask) error

	// Hold stops a rule or a workspace; it replaces a hold of the same name. It returns the calls
	// under way that the hold covers: when it has returned, Save has recorded the Call of each of
	// them, and refuses every other, in any process and on any machine. Lift removes a hold, and
	// makes the lanes due whose runs it held. Lifting a hold that a safety bound placed also
	// removes the slots that filled the bound: the count starts again. A hold with an Until is only
	// lifted while it still ends then: another engine may have prolonged it.
	Hold(ctx context.Context, h Hold) (underWay []UnderWay, err error)
	Lift(ctx context.Context, now time.Time, h Hold) (lifted bool, err error)
	Holds(ctx context.Context) ([]Hold, error)

	// Mute mutes and unmutes conversations. When it has returned, Save refuses every message to a
	// conversation that it has muted. Muted returns the mute of a conversation at a time, nil if there
	// is none, and Mutes returns all.
	Mute(ctx context.Context, changes ...MuteChange) error
	Muted(ctx context.Context, workspace, lane string, at time.Time) (*Mute, error)
	Mutes(ctx context.Context, at time.Time) ([]Mute, error)

	// Cursor returns a position that SetCursor stored; empty when there is none.
	Cursor(ctx context.Context, name string) (string, error)
	SetCursor(ctx context.Context, name, value string) error

	// SwapCursor is a compare-and-swap: it stores a position only if the stored one is still old, and
	// reports whether it did. Of several concurrent callers one succeeds. The empty string stands for
	// no position.
	SwapCursor(ctx context.Context, name, old, value string) (swapped bool, err error)

	// Newest returns the number of the newest event that this journal knows of; 0 is none. Every event
	// that is recorded after that has a higher number. Other engines may have recorded newer events
	// already.
	Newest() int64

	// Events returns events by their sequence numbers, in that order, without those that were pruned.
	Events(ctx context.Context, seqs ...int64) ([]*Event, error)

	// Happened returns the events of a lane with one of these types, created at or after since, oldest
	// first, at most max.
	Happened(ctx context.Context, workspace, lane string, types []string, since time.Time, max int) ([]*Event, error)

	// Count returns how many events of a type a lane has had, created at or after since.
	Count(ctx context.Context, workspace, lane, typ string, since time.Time) (int, error)

	// Caused returns the expected events of the engine's own calls that have one of these objects,
	// whether they have arrived or not. typ is the event's type; empty is any. Those whose To is
	// before since are left out; the zero time leaves out none.
	Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]Caused, error)

	// Version returns the source of a rule by the hash of its version, or ErrNoVersion.
	Version(ctx context.Context, hash string) (source string, err error)

	// Prune deletes what is older than keep, a bounded number of rows at a time, and reports whether
	// there is more. The ids of events outlive their content by 15 days, so that a late duplicate is
	// still recognised. What unfinished runs need stays.
	Prune(ctx context.Context, now time.Time, keep time.Duration) (more bool, err error)
}

// A Notifier is a journal that is notified when another process has written to it; News then
// receives a value. A caller that does not use it has to poll.
type Notifier interface{ News() <-chan struct{} }

// A Finder is a journal that accepts events which a poll found, because no webhook delivered them,
// and that recognises such an event when a webhook delivers it after all.
type Finder interface {
	// AcceptFound records found events, except those that describe the same as a recorded event. An
	// event that is accepted later and describes the same counts as a duplicate. Among delivered
	// events only the ids are compared.
	AcceptFound(ctx context.Context, found []rules.Finding) (fresh []bool, err error)

	// CountFound returns how many events were found since a time, by type.
	CountFound(ctx context.Context, workspace string, since time.Time) (map[string]int, error)

	// Seen returns the last seen value of each thing of a kind, by id. SetSeen stores such values, and
	// deletes those that are empty. A value that is not set for as long as ids of events are stored is
	// deleted.
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

// A BoundError says that a slot is not free.
type BoundError struct {
	Slot Slot
	Own  bool      // the slot's own rule took some of the slots that fill the window
	Free time.Time // when a slot will be free, unless another run takes it
}

// Error names the bound.
func (e *BoundError) Error() string {
	return fmt.Sprintf("%s: at most %d in %s", e.Slot.Key, e.Slot.Times, duration.Format(e.Slot.Per))
}

// An Event is a recorded event.
type Event struct {
	rules.Event
	Seq      int64 // increases in the order of recording
	Decided  bool
	Verdicts []Verdict
	Answers  Answers // to the rules' questions when it was decided
}

// An Outcome is the result of an event for one rule.
type Outcome string

// The outcomes of a verdict.
const (
	Fired    Outcome = "fired"
	False    Outcome = "false"
	Failed   Outcome = "error"
	Late     Outcome = "late"
	Limited  Outcome = "limited"
	Skipped  Outcome = "skipped"  // by the rule's mode
	Gathered Outcome = "gathered" // with other events; the rule decides on the last of them
	Own      Outcome = "own"      // caused by the engine
	Paused   Outcome = "paused"
	Looped   Outcome = "looped"   // the rule is in the ancestry of the event
	Claimed  Outcome = "claimed"  // a wait_for took it, or what caused it
	Internal Outcome = "internal" // in a chat of the company's own
)

// A Verdict is the result of an event for one rule, and the reason.
type Verdict struct {
	Rule    string         `json:"rule"`
	Outcome Outcome        `json:"outcome"`
	Clause  string         `json:"clause,omitempty"` // the first clause that was not true
	Values  map[string]any `json:"values,omitempty"` // of the names and calls in the clause
	Error   string         `json:"error,omitempty"`  // why the clause could not be evaluated, or what prevented the run
	// Why is the Error as a phrase; nil if the Error is not one of quando's phrases.
	Why     *phrases.Phrase `json:"why,omitempty"`
	Run     string          `json:"run,omitempty"` // the key of the run that the rule started
	Version string          `json:"version,omitempty"`
	Stage   rules.Stage     `json:"stage,omitempty"` // Shadow makes no changes; empty is Live
}

// Because sets the outcome and its reason.
func (v *Verdict) Because(o Outcome, why *phrases.Phrase) {
	v.Outcome, v.Error, v.Why = o, why.String(), why.Coded()
}

// MostEvents is how many events of a lane one visit handles. A lane may have a long backlog, and
// there are many lanes: this bounds the memory of a visit, and how long other lanes wait.
const MostEvents = 4

// A Lane is a claimed lane with everything that is pending in it.
type Lane struct {
	Workspace string
	Name      string
	Epoch     int64 // the number of the claim; changes of an earlier claim are refused
	News      int64 // how often the lane had been made due when it was claimed

	Events  []*Event // undecided, in the order of recording, at most MostEvents
	More    bool     // more events are pending, for which the lane is due again at Next
	Runs    []*Run   // unfinished runs that are in this lane or have it as Home, and runs with a request, by id
	Gathers []*Gather

	Calm bool // set by Save when it releases the lane with nothing pending in it, and makes no other lane due
}

// Add adds an event to a lane that is being loaded, or sets More.
func (l *Lane) Add(e *Event) {
	if l.More = len(l.Events) == MostEvents; !l.More {
		l.Events = append(l.Events, e)
	}
}

// A State is the state of a run.
type State string

// The states of a run.
const (
	Queued    State = "queued"    // waits for another run of its rule
	Running   State = "running"   // has steps to take, now or when it repeats a call
	Waiting   State = "waiting"   // in a wait or wait_for step
	Held      State = "held"      // until its rule is resumed, or the workspace's key works again
	Uncertain State = "uncertain" // a person must say whether a call had its effect
	Done      State = "done"
	Stopped   State = "stopped" // by a stop or stop_if step
	Cancelled State = "cancelled"
	FailedRun State = "failed"
	Dealt     State = "dealt" // it failed, and a person has dealt with that
)

// Finished reports whether the state is final.
func (s State) Finished() bool {
	return s == Done || s == Stopped || s == Cancelled || s == FailedRun || s == Dealt
}

// A Run is one execution of a rule for an event.
type Run struct {
	ID        int64 // assigned by the journal when the run starts
	Key       string
	Workspace string
	Rule      string
	Version   string
	Event     int64   // the sequence number of the event that started it; of gathered events, the last
	Gathered  []int64 // all gathered events, in order
	Home      string  // the lane that it belongs to
	Lane      string  // where its next step runs
	By        string  // groups runs for the rule's mode
	State     State
	Stage     rules.Stage // Live or Shadow
	Ancestry  []string    // the rules whose effects led to it
	About     actions.Subject
	StartedAt time.Time
	// WakeAt is when the run has something to do; the zero time means that it waits for a request. It
	// is stored for unfinished runs.
	WakeAt     time.Time
	FinishedAt time.Time
	Reason     string          // why it was stopped, cancelled or held, or the error
	Why        *phrases.Phrase // the Reason as a phrase; nil if the Reason is not one of quando's phrases
	Asked      *Ask            // set by the journal's Ask, cleared by RunChange.Answered

	Steps []*Step // the steps it has reached, in that order; of a claimed run those in Kept
	Kept  Kept    // which of its steps are loaded with its lane
}

// Because sets the reason of the run's state.
func (r *Run) Because(why *phrases.Phrase) { r.Reason, r.Why = why.String(), why.Coded() }

// Reached returns how many steps the run has reached.
func (r *Run) Reached() int {
	if len(r.Steps) == 0 {
		return 0
	}
	return r.Steps[len(r.Steps)-1].N + 1
}

// Kept names the steps that a run still needs: all from a number on, and some before it. The zero
// value is all steps. Other steps are loaded only for readers.
type Kept struct {
	From int   `json:"from"`
	Also []int `json:"also,omitempty"` // in ascending order
}

// All reports whether the run needs every step.
func (k Kept) All() bool { return k.From == 0 }

// Current returns the step that the run is at; nil when all steps that it has reached are finished.
func (r *Run) Current() *Step {
	for _, s := range slices.Backward(r.Steps) {
		if !s.State.Finished() {
			return s
		}
	}
	return nil
}

// A StepState is the state of a step.
type StepState string

// The states of a step.
const (
	StepOpen       StepState = "open"    // a call is under way, or will be repeated
	StepWaiting    StepState = "waiting" // in a wait step
	StepDone       StepState = "done"
	StepSkipped    StepState = "skipped"
	StepSuperseded StepState = "superseded" // a person or another program changed the same object in the meantime
	StepWould      StepState = "would"      // of a shadow run: what the step would have done
	StepFailed     StepState = "failed"
	StepUncertain  StepState = "uncertain"
)

// Finished reports whether the step is not taken again unless a person asks for it.
func (s StepState) Finished() bool { return s != StepOpen && s != StepWaiting && s != StepUncertain }

// A Step is a step that a run has reached.
type Step struct {
	N        int    // its position in the run, from 0
	Path     string // 2, 2.else.1, 4[7].1
	Verb     string
	Key      string // its idempotency key
	State    StepState
	Attempts int
	Error    string
	Record   json.RawMessage // the engine's state of the step; opaque to the journal
}

// Calls reports whether the call begins; begun reports which of the Starts begin.
func (c *Change) Calls(begun func(start int) bool) bool {
	i := slices.IndexFunc(c.Starts, func(s *Start) bool { return s.Run == c.Call })
	return i < 0 || begun(i)
}

// A Change is what the holder of a claim hands in: all of it is recorded, or nothing.
type Change struct {
	At time.Time

	// Fresh is an event that is not recorded yet, of a lane that was opened for it. Save records it,
	// with its verdicts if it is one of Decided, and sets its Seq, and the Event of runs that it
	// starts. Save fails with ErrOccupied if the event is recorded already, or something is pending in
	// the lane.
	Fresh *Event

	// Call is the run whose call begins when the change is recorded; nil if none does. Save fails with
	// a *HeldError if a hold covers the run.
	Call *Run

	// Message says that the Call sends a message to the lane's conversation. Save fails with a
	// *MutedError if the conversation is muted.
	Message bool

	Mutes []MuteChange

	// Take are slots that must be free, else Save fails with a *BoundError. They are not taken if the
	// run of Call does not begin.
	Take    []Slot
	Decided []*Event
	Starts  []*Start
	Gather  []Gather // each with one event, which joins the gathered events of the same rule and by

	// Ended are gathers that are over. Save fails with ErrChanged if one of them has grown since the
	// lane was claimed.
	Ended []*Gather

	// Runs are unfinished runs, or runs that have just finished, with their changed steps. They are
	// recorded before the Starts, which may take their place. A run that is in another lane now makes
	// that lane due, and so does a held run that no hold covers any more. A finished run lets the next
	// queued run of its key begin.
	Runs []*RunChange

	Caused []Caused
	Used   []int64 // the ids of Caused whose event has arrived
	Gone   []int64 // the ids of Caused for which no event is expected any more; they can be deleted

	Asks []RunAsk

	// Release releases the lane. It is due again at Next, which may be the zero time, when one of its
	// gathers ends, or at once if it was made due since it was claimed. A gather that is over already
	// makes it due only if Next is zero.
	Release bool
	Next    time.Time
}

// A RunChange is a changed run with its changed steps.
type RunChange struct {
	Run      *Run
	Steps    []*Step
	Answered bool // the request to the run is done
	Effects  int  // the number of calls that had their effect
}

// A Start asks for a run to begin. The journal decides, by the holds, by the unfinished runs of the
// same workspace, rule and by, and by the limit. It sets Run.ID and Run.State, or the verdict's
// outcome if the run does not come about.
type Start struct {
	Run     *Run // with the Steps to record if it begins at once
	Mode    rules.Mode
	Max     int      // bounds the unfinished runs of the same by
	Limit   *Slot    // nil is none
	Source  string   // of the rule's version
	Verdict *Verdict // one of the verdicts on the change's Decided
	Begun   bool     // set by the journal: it exists and is not queued
}

// Refused says why a run does not begin, given the holds and the ids of the unfinished runs of the
// same workspace, rule and by, the oldest first. An empty outcome means that it may begin. It also
// may if a hold stops the whole workspace, because then the run only waits, and if the run itself
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

// A Slot is a unit of a rate limit: at most Times slots of a Key in any window of length Per.
type Slot struct {
	Key   string // identifies the limit within the workspace
	Times int
	Per   time.Duration
	Rule  string // the rule that takes the slot
}

// Limit describes the limit.
func (s Slot) Limit() *phrases.Phrase {
	return phrases.New(phrases.Limit, s.Times, duration.Format(s.Per))
}

// A Gather collects events of a rule into one run.
type Gather struct {
	Workspace, Rule, By string
	Lane                string // of the newest event
	Events              []int64
	Since               time.Time // when the first event arrived
	Until               time.Time // when it ends, unless another event arrives
	Quiet, AtMost       time.Duration
}

// A Caused is an event that the engine expects of one of its own calls: it lets the engine
// recognise its own effects.
type Caused struct {
	ID        int64 // assigned by the journal
	Workspace string
	Lane      string
	Event     string          // message.sent
	Object    string          // the key of the message, card, attendance or conversation, as ObjectKey derives it from the id, else the lane
	Stage     string          // of a moved card: its new stage
	Set       json.RawMessage // the values that the call set, as a subset of the object's facts
	Run       int64
	Rule      string
	Ancestry  []string  // of the run
	After     int64     // the newest recorded event when the call was planned: the events that the call causes have higher numbers
	From, To  time.Time // when the event was created, if nothing in it identifies it
	Used      bool      // the event has arrived
}
