// Package explain explains why rules did or did not fire, from the journal.
//
// The recorded verdict of a rule is shown as it was. For a rule that was not evaluated it computes
// the verdict from the recorded facts. It does not guess unrecorded facts, and does not call the
// service.
package explain

import (
	"context"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/phrases"
)

// A Journal is the part of a journal that explain reads.
type Journal interface {
	journal.Reader
	Events(ctx context.Context, seqs ...int64) ([]*journal.Event, error)
	Version(ctx context.Context, hash string) (source string, err error)
}

// A Desk reads what events carry. It must not call the service.
type Desk interface {
	Carried(ctx context.Context, e rules.Event) (facts map[string]any, about actions.Subject, err error)
	HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error)
	// LabelNames fails if a label is unknown.
	LabelNames(ctx context.Context, fact map[string]any) ([]any, error)
}

// Options configure an Explainer. Journal, Desk and Rules are required; every other zero value
// works.
type Options struct {
	Journal Journal
	Desk    Desk
	Rules   *rules.Set     // that the workspace has at present
	Only    []*rules.Rule  // to be explained instead, as if they had been there: they are in no set
	Catalog *rules.Catalog // of the verbs, for rules as they were; without it they cannot be read

	Language rules.Language            // of the words; recorded texts stay as they are
	Location *time.Location            // of the workspace; nil is UTC
	Stamp    stampFunc                 // how times are written; nil is to the second
	Standing func(*journal.Run) string // says where a run stands and why; nil is its reason
}

type stampFunc = func(time.Time) string

// An Explainer explains the events and runs of one workspace. It is for one goroutine.
type Explainer struct {
	o        Options
	versions map[string]*rules.Rule            // compiled ones; nil if one cannot be compiled
	runs     map[int64]map[string]*journal.Run // of events, by rule
}

// New returns an Explainer.
func New(o Options) *Explainer {
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Stamp == nil {
		location, layout := o.Location, phrases.Say(o.Language, "explain.stamp")
		o.Stamp = func(t time.Time) string { return t.In(location).Format(layout) }
	}
	if o.Standing == nil {
		language := o.Language
		o.Standing = func(r *journal.Run) string { return phrases.Told(language, r.Reason, r.Why) }
	}
	return &Explainer{o: o, versions: make(map[string]*rules.Rule), runs: make(map[int64]map[string]*journal.Run)}
}

// t returns one of the texts.
func (x *Explainer) t(code phrases.Code, args ...any) string {
	return phrases.Say(x.o.Language, code, args...)
}

// A Basis is how a rule's decision is known.
type Basis string

// The bases of an explanation.
const (
	Did   Basis = "did"   // its verdict is recorded
	Would Basis = "would" // it was not evaluated; this is computed from the recorded facts
)

// Outcomes of rules that have no verdict, beside those of a verdict.
const (
	NotForIt journal.Outcome = "not_for_it" // something else starts the rule
	Unknown  journal.Outcome = "unknown"    // the record does not show it
	Broken   journal.Outcome = "broken"     // the rule cannot be compiled
)

// NotKnown is the result of a clause whose facts are not recorded.
const NotKnown rules.ClauseResult = "not known"

// An Event is an event with the decision of each rule.
type Event struct {
	ID         string          `json:"id"`
	Workspace  string          `json:"workspace"`
	Type       string          `json:"type"`
	Lane       string          `json:"lane"`
	CreatedAt  time.Time       `json:"created_at"`
	ReceivedAt time.Time       `json:"received_at"`
	DecidedAt  *time.Time      `json:"decided_at"` // null if it is not decided, or not recorded
	Decided    bool            `json:"decided"`
	About      actions.Subject `json:"about"`
	Contact    string          `json:"contact"` // the customer's name, where the event carries it
	Words      string          `json:"words"`   // why it is not decided, or what cannot be read of it
	Rules      []Rule          `json:"rules"`
}

// A Rule is what an event meant to one rule, and why.
type Rule struct {
	Rule    string          `json:"rule"`
	Name    string          `json:"name"`
	Stage   rules.Stage     `json:"stage"`
	Sample  float64         `json:"sample"` // the share of keys that a live rule takes
	Basis   Basis           `json:"basis"`
	Outcome journal.Outcome `json:"outcome"`
	Words   string          `json:"words"`
	Clause  string          `json:"clause"` // the first that was not true
	Values  map[string]any  `json:"values"` // of the names and calls in it
	Error   string          `json:"error"`
	Why     *phrases.Phrase `json:"why,omitempty"` // the Error as a phrase
	Clauses []Clause        `json:"clauses"`
	Run     *Run            `json:"run"`
	Version string          `json:"version"`
	Changed bool            `json:"changed"` // the rule is another one today, or there is none
}

// A Clause is one condition of a rule, and its result.
type Clause struct {
	Clause string             `json:"clause"`
	Result rules.ClauseResult `json:"result"`
	Basis  Basis              `json:"basis"`
	Values map[string]any     `json:"values"`
	Words  string             `json:"words"`
	Error  string             `json:"error"`
	Part   string             `json:"-"` // of a clause that is false: the part that made it so
}

// A Run is the run of a rule that fired.
type Run struct {
	ID         int64         `json:"id,string"`
	Key        string        `json:"key"`
	State      journal.State `json:"state"`
	Stage      rules.Stage   `json:"stage"`
	StartedAt  time.Time     `json:"started_at"`
	FinishedAt *time.Time    `json:"finished_at"`
	Words      string        `json:"words"` // its state, or how it ended, and why
}
