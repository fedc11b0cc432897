// Package backtest computes what rules would have done on recorded events, and how that differs
// from what was done.
//
// It runs the real engine on the recorded events, at the times at which they came, with a journal
// of its own. Facts come from the record; effects are only noted. It cannot reach the service:
// there is no client.
package backtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quandohq/quando/actions"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
)

// A Journal is the recorded journal. It is only read.
type Journal interface {
	journal.Reader
	Caused(ctx context.Context, workspace, typ string, objects []string, since time.Time) ([]journal.Caused, error)
	Version(ctx context.Context, hash string) (source string, err error)
}

// A Desk reads what recorded events carry. It must make no calls. An error marked as permanent
// means that nothing can be read from an event; any other means that the record could not be read,
// and ends the backtest.
type Desk interface {
	Carried(ctx context.Context, e rules.Event) (facts map[string]any, about actions.Subject, err error)
	// HasLabel fails if the label is unknown.
	HasLabel(ctx context.Context, fact map[string]any, label string) (bool, error)
	// LabelNames fails if a label is unknown.
	LabelNames(ctx context.Context, fact map[string]any) ([]any, error)
}

// Options configure a backtest. Journal, Desk and Schemas are required; every other zero value
// works.
type Options struct {
	Journal   Journal
	Desk      Desk
	Schemas   []rules.Schema // of the verbs
	Workspace string         // empty is "default"
	Location  *time.Location // the workspace's zone; nil is UTC

	// Since and Until bound the results: events received, and effects, in between. The replay starts
	// earlier, as far back as limits and waits reach. A zero Since is everything, a zero Until the
	// present.
	Since, Until time.Time

	// Only ignores recorded rules that are not among the given ones. Otherwise they count as removed.
	Only bool

	Progress func(what string, done, of int) // called with the number of events processed; may be nil
}

// A Result is what rules would have done.
type Result struct {
	Since, Until time.Time
	Events       int // that were received in between
	Effects      []Effect
	Differences  []Difference
	NotRecorded  []Gap
	Rules        []RuleNote
}

// An Effect is a step that would have changed something outside or, for a rule in shadow, would
// have been noted as such.
type Effect struct {
	Rule      string
	Event     string
	At        time.Time
	Verb      string
	Arguments map[string]any
	Stage     rules.Stage
	About     actions.Subject
	Who       string // the customer's name, if known

	elsewhere bool   // a step took up another conversation than the event's own
	args      string // as they are recorded, to compare them
	seq       int64  // of the event: the order at one time
}

// A Difference is an event that a rule would have treated differently.
type Difference struct {
	Rule  string
	Event string
	At    time.Time // when the event was received
	Who   string
	Was   Treatment
	Would Treatment

	seq int64
}

// A Treatment is the result of an event for one rule.
type Treatment struct {
	Outcome journal.Outcome // of the verdict; empty if the rule was not evaluated
	Reason  string          // why it did not fire, or why its run ended early
	State   journal.State   // of the run; empty if there is none
	Stage   rules.Stage     // of the run
	Effects []Effect

	// NotRecorded is the missing fact; what would have followed from it is unknown.
	NotRecorded string

	ended time.Time // of the run
}

// A Gap is a fact that was not read at the time, so that it is not recorded.
type Gap struct {
	Rule     string
	Event    string // empty if it is about the rule as a whole
	At       time.Time
	Question string
}

// A RuleNote says how a rule was replayed.
type RuleNote struct {
	ID      string
	Stage   rules.Stage // as it was tried: a draft is tried as if it were live
	Changed bool        // against what was recorded, or, in Diff, against the other rules
	Removed bool
	Waiting int // runs that still wait at the end
}

// Run computes what rules would have done, and how that differs from what was done.
//
// If a rule is unchanged, or its change makes no difference, the recorded result stands: the
// influence of people, outages and the service is no difference of the rules.
func Run(ctx context.Context, o Options, set *rules.Set) (*Result, error) {
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	set = tried(set)
	b.reach(set)
	if err := b.survey(ctx, set); err != nil {
		return nil, fmt.Errorf("backtest: %w", err)
	}
	changed := b.changed(set)
	then, err := b.recordedRules(ctx, changed)
	if err != nil {
		return nil, fmt.Errorf("backtest: %w", err)
	}
	base, cand, err := b.both(ctx, then, b.givenRules(set, changed))
	if err != nil {
		return nil, fmt.Errorf("backtest: %w", err)
	}
	r, err := b.compareWithRecord(ctx, set, changed, base, cand)
	if err != nil {
		return nil, fmt.Errorf("backtest: %w", err)
	}
	return r, nil
}

// Diff computes the differences between two rule sets. Was is what the old ones would have done.
func Diff(ctx context.Context, o Options, before, after *rules.Set) (*Result, error) {
	b, err := newBench(o)
	if err != nil {
		return nil, err
	}
	before, after = tried(before), tried(after)
	b.reach(before)
	b.reach(after)
	if err := b.survey(ctx, after); err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	changed := compareSets(before, after)
	old, fresh, err := b.both(ctx, b.givenRules(before, changed), b.givenRules(after, changed))
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	r, err := b.compareReplays(ctx, changed, after, old, fresh)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	return r, nil
}

// both replays two rule sets at once.
func (b *bench) both(ctx context.Context, one, other timeline) (x, y *outcomes, err error) {
	var errs [2]error
	var replays sync.WaitGroup
	replays.Go(func() { x, errs[0] = b.replay(ctx, one, nil) })
	replays.Go(func() { y, errs[1] = b.replay(ctx, other, b.Progress) })
	replays.Wait()
	return x, y, errors.Join(errs[:]...)
}

// A bench is one backtest.
type bench struct {
	Options
	catalog *rules.Catalog
	from    time.Time // where the replay begins; the zero time is the first event
	warmUp  time.Duration
	seen    map[string]*seenRule
	pairs   map[pair]*recorded
	events  int // in the window
	total   int // events to replay
	memory  eventCache
	names   map[string]string // of customers, by their lanes

	compiling sync.Mutex // guards what follows
	versions  map[string]*rules.Rule

	unreadable map[string]bool // rules with a recorded version that cannot be compiled any more
}

func newBench(o Options) (*bench, error) {
	if o.Journal == nil || o.Desk == nil || len(o.Schemas) == 0 {
		return nil, errors.New("backtest: a journal, a desk and the verbs are required")
	}
	if o.Workspace == "" {
		o.Workspace = "default"
	}
	if o.Location == nil {
		o.Location = time.UTC
	}
	if o.Until.IsZero() {
		o.Until = time.Now()
	}
	if o.Progress == nil {
		o.Progress = func(string, int, int) {}
	}
	catalog, err := rules.NewCatalog(o.Schemas...)
	if err != nil {
		return nil, fmt.Errorf("backtest: %w", err)
	}
	return &bench{
		Options: o, catalog: catalog, seen: make(map[string]*seenRule), pairs: make(map[pair]*recorded), names: make(map[string]string),
		versions: make(map[string]*rules.Rule), unreadable: make(map[string]bool),
	}, nil
}

// tried returns the rules to replay: a draft acts as if it were live.
func tried(set *rules.Set) *rules.Set {
	var drafts []*rules.Rule
	for _, r := range set.Rules {
		if r.Stage == rules.Draft {
			live := *r
			live.Stage = rules.Live
			drafts = append(drafts, &live)
		}
	}
	return set.With(drafts...)
}

// A pair is a rule and an event.
type pair struct{ rule, event string }
