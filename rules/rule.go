package rules

import (
	"iter"
	"regexp"
	"slices"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/quandohq/quando/rules/calendar"
	"github.com/quandohq/quando/rules/duration"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/rules/source"
)

// A Stage says how far a rule may go.
type Stage string

// The stages.
const (
	Draft  Stage = "draft"  // checked, never evaluated
	Shadow Stage = "shadow" // evaluated and journaled; what it would change is only recorded
	Live   Stage = "live"   // acts
)

// A Mode says what happens when a rule fires for the same thing while a run of it is unfinished.
type Mode string

// The modes.
const (
	Queued   Mode = "queued"   // the new run starts after the old one
	Single   Mode = "single"   // the new one is skipped
	Restart  Mode = "restart"  // the old one is cancelled
	Parallel Mode = "parallel" // both run
)

// A Rule is one compiled rule.
type Rule struct {
	ID          string
	Name        string
	Description string
	Tags        []string
	Stage       Stage
	Sample      float64 // the share of keys that a live rule takes, 0 to 1
	Split       *Split  // its part in a group of rules that share the keys; nil if it is in none
	When        Trigger
	If          []*Expression
	By          *Expression // nil is the lane
	Mode        Mode
	Gather      *Gather
	Limit       *Limit
	Late        Late
	CancelOn    []EventMatch
	Do          []*Step
	OnError     []*Step
	FromAny     bool // events that the engine itself caused start it too
	Max         int  // unfinished runs of the same key

	TakesClaimed  bool // events that a wait_for of another run took start it too
	TakesInternal bool // events in chats of the company's own start it too

	Version string // the hash of everything that decides what the rule does
	File    string
	Line    int

	Scopes []string // that the steps' own calls need
	Reads  []string // also needed to look up names and facts, and to check whether a retry is safe
	Facts  []string // that its expressions and steps may read, in order

	ordinal   int
	column    int
	text      string // the line it begins in
	emits     []string
	counts    []string // events that its expressions count
	vars      map[string]any
	calendars map[string]*calendar.Calendar
	names     []NameUse
	addresses []NameUse
	people    []string // whom it writes to by name
	when      string   // as its file has it
	data      []DataUse
	source    string
}

// A Trigger is what starts a rule: events, a person, or a schedule.
type Trigger struct {
	Events   []string
	Manual   bool
	Schedule *Schedule
}

// A Schedule starts a rule by the clock. One of Every, Cron and At is set.
type Schedule struct {
	Every    time.Duration // at whole multiples of it in UTC
	Cron     string
	At       []time.Duration // since local midnight
	On       []time.Weekday
	Timezone string // empty is the workspace's
	Each     string // attendances, conversations, contacts or cards: one run for each item found
	Where    []Setting

	spec *cron.SpecSchedule // of Cron
}

// A Gather collects events into one run.
type Gather struct {
	Quiet  time.Duration
	AtMost time.Duration
}

// A Limit bounds the runs of a rule.
type Limit struct {
	Times int
	Per   time.Duration
	By    *Expression // nil is the rule's own By
}

// Late says what happens to events and ticks that come late.
type Late struct {
	SkipAfter time.Duration // of an event's age; 0 is never
	Run       string        // of missed ticks: last, all or none
}

// An EventMatch is an event that cancels a run or ends a wait.
type EventMatch struct {
	Event string
	If    *Expression // nil takes every one
}

// claims reports whether the rule has a wait_for whose event starts no other rule.
func (r *Rule) claims() bool {
	for s := range r.Steps() {
		if s.Claims && r.Stage == Live {
			return true
		}
	}
	return false
}

// A Step is one step of a rule.
type Step struct {
	Path    string // 2, 2.else.1, 4[].1: part of the idempotency key
	Verb    string
	ID      string
	If      *Expression
	Retry   Retry
	OnError string // stop or continue
	Args    map[string]*Value
	Line    int

	EvenIfMuted bool // its message is sent to muted conversations too
	Off         bool // it is switched off: it is skipped

	Schema     *Schema
	Condition  *Expression   // of stop_if and wait_for; of wait, the time of its until
	Events     []string      // of wait_for
	Claims     bool          // of wait_for: the event that it takes starts no other rule
	Span       duration.Span // of wait and wait_for
	Branches   []Branch      // of choose
	In         *Expression   // of for_each
	As         string        // of for_each
	Do         []*Step       // of for_each
	MaxItems   int           // of for_each
	Assignment []Setting     // of set
}

// Needs returns the fact that the step works on; empty if it needs none, or an argument replaces
// it.
func (s *Step) Needs() string {
	if slices.ContainsFunc(s.Schema.Unless, func(arg string) bool { return s.Args[arg] != nil }) {
		return ""
	}
	return s.Schema.Needs
}

// A Branch is one way of a choose. Its If is nil in the last one, the else.
type Branch struct {
	If *Expression
	Do []*Step
}

// A Retry bounds the attempts of a step. Zero values leave it to the engine.
type Retry struct {
	Times int
	For   time.Duration
}

// A NameUse is a name of something of the service that a rule names: a label, a sector, a board.
type NameUse struct {
	Kind  string // label, sector, person, channel, board or stage; address of another system
	Name  string
	Board string // of a stage, where the step names it
	Field string // that an expression compares with the name, exactly as it is written

	place  Problem // where the name stands
	beside []Arg   // the arguments that may stand there
}

// Beside returns the argument beside the name that takes names of a kind; empty if there is none.
func (u NameUse) Beside(kind string) string {
	if i := slices.IndexFunc(u.beside, func(a Arg) bool { return a.Refers == kind }); i >= 0 {
		return u.beside[i].Name
	}
	return ""
}

// Problem returns a problem at the place of the name.
func (u NameUse) Problem(message, hint *phrases.Message) Problem {
	return u.place.Saying(message, hint)
}

// Problem returns a problem at the place where the rule begins.
func (r *Rule) Problem(severity source.Severity, message, hint *phrases.Message) Problem {
	return Problem{File: r.File, Line: r.Line, Column: r.column, Rule: r.ID, Severity: severity, Text: r.text}.Saying(message, hint)
}

// Steps goes through all steps: those of do, then those of on_error, each followed by the ones
// inside of it.
func (r *Rule) Steps() iter.Seq[*Step] {
	return func(yield func(*Step) bool) { _ = walkSteps(r.Do, yield) && walkSteps(r.OnError, yield) }
}

func walkSteps(steps []*Step, yield func(*Step) bool) bool {
	for _, s := range steps {
		if !yield(s) || !walkSteps(s.Do, yield) {
			return false
		}
		for _, b := range s.Branches {
			if !walkSteps(b.Do, yield) {
				return false
			}
		}
	}
	return true
}

// Calendar returns a calendar that the rule names, as it was when the rule was compiled, or nil.
func (r *Rule) Calendar(name string) *calendar.Calendar { return r.calendars[name] }

// Emits returns the names of the events that the service raises when the rule acts.
func (r *Rule) Emits() []string { return r.emits }

// SameTrigger reports whether two rules are started by the same: the same events, or the same times
// and items of a schedule.
func (r *Rule) SameTrigger(other *Rule) bool { return r.when == other.when }

// Source returns a rule file that holds this rule alone with all that it depends on. Compiling it
// gives the same rule with the same version, so a run can continue with the version that it began
// with.
func (r *Rule) Source() string { return r.source }

// ReadsAfter reports whether what comes after a step in the rule may read a name: that of a step's
// result, or of a fact that it gives. A step inside of a loop comes after itself.
func (r *Rule) ReadsAfter(step *Step, name string) bool {
	word := regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`)
	found, behind := false, false
	var loop *Step
	for s := range r.Steps() {
		if s.Verb == "for_each" && !behind {
			loop = s
		}
		if s == step {
			behind = true
			if loop != nil && inLoop(loop, step) {
				return r.ReadsAfter(loop, name) || stepsRead(loop.Do, word)
			}
			continue
		}
		found = found || behind && s.reads(word)
	}
	return found
}

func inLoop(loop, step *Step) bool {
	return !walkSteps(loop.Do, func(s *Step) bool { return s != step })
}

func stepsRead(list []*Step, word *regexp.Regexp) bool {
	return !walkSteps(list, func(s *Step) bool { return !s.reads(word) })
}

// reads reports whether an expression of the step contains a word.
func (s *Step) reads(word *regexp.Regexp) bool {
	found := false
	look := func(x *Expression) { found = found || x != nil && word.MatchString(x.Text) }
	for _, x := range []*Expression{s.If, s.Condition, s.In} {
		look(x)
	}
	for _, b := range s.Branches {
		look(b.If)
	}
	for _, v := range s.Args {
		v.expressions(look)
	}
	for _, a := range s.Assignment {
		a.Value.expressions(look)
	}
	return found
}

// expressions goes through the expressions of a value.
func (v *Value) expressions(look func(*Expression)) {
	look(v.whole)
	for _, p := range v.pieces {
		look(p.expression)
	}
	for _, item := range v.list {
		item.expressions(look)
	}
	for _, f := range v.fields {
		f.Value.expressions(look)
	}
}
