package attention

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules/vocabulary"
	"github.com/quandohq/quando/service"
)

// Calls is how the service of a workspace has answered the calls of one operation.
type Calls struct {
	Workspace string
	service.Calls
}

// A CallOutage is that calls of a kind have not been answered for a while.
type CallOutage struct {
	Workspace string
	Kind      CheckKind // CheckSends, CheckReads or CheckOthers
	Since     time.Time
	Attempts  int  // that failed since then
	Known     bool // how this process was answered: with Status, or not at all
	Status    int
	Runs      int       // that try again
	Many      bool      // there are more than were counted
	Next      time.Time // when the first of them does
	Rules     []string  // of these runs
}

const (
	outageFailures = 3                // failed calls in a row that are no accident any more
	outageOver     = 15 * time.Minute // no call was made for so long: nobody knows; a retry comes within 5 minutes
	outageRuns     = 200              // runs that are counted
)

// Outages returns what calls of the engine were not answered lately: of this process by its own
// account, of others and from before a restart by the runs that are repeating a step.
func (f *Finder) Outages(ctx context.Context, now time.Time) ([]CallOutage, error) {
	found := map[outageKey]*CallOutage{}
	at := func(workspace string, kind CheckKind) *CallOutage {
		key := outageKey{workspace, kind}
		if found[key] == nil {
			found[key] = &CallOutage{Workspace: workspace, Kind: kind}
		}
		return found[key]
	}
	failing := map[outageKey]bool{}
	for _, one := range f.calls() {
		if one.Failures < outageFailures || now.Sub(one.Failed) > outageOver {
			continue
		}
		o := at(one.Workspace, CallKind(one.Calls))
		failing[outageKey{o.Workspace, o.Kind}] = true
		o.Since, o.Attempts, o.Known, o.Status = earliest(o.Since, one.Failing), o.Attempts+one.Failures, true, one.Status
	}
	runs, err := f.Journal.ListRuns(ctx, journal.RunFilter{State: journal.Running, Limit: outageRuns + 1})
	if err != nil {
		return nil, err
	}
	attempts := map[outageKey]int{}
	for _, r := range runs[:min(len(runs), outageRuns)] {
		step := r.Current()
		if step == nil || !r.WakeAt.After(now) {
			continue
		}
		trouble := engine.TroubleOf(step)
		if trouble.Failures == 0 {
			continue
		}
		o := at(r.Workspace, stepKind(step, trouble))
		key := outageKey{o.Workspace, o.Kind}
		if trouble.Failures >= outageFailures {
			failing[key] = true
		}
		o.Runs++
		o.Many = len(runs) > outageRuns
		attempts[key] += trouble.Failures
		o.Since, o.Next = earliest(o.Since, trouble.Since), earliest(o.Next, r.WakeAt)
		if !slices.Contains(o.Rules, r.Rule) {
			o.Rules = append(o.Rules, r.Rule)
		}
	}
	var list []CallOutage
	for key, o := range found {
		if failing[key] {
			o.Attempts = max(o.Attempts, attempts[key])
			list = append(list, *o)
		}
	}
	slices.SortFunc(list, func(a, b CallOutage) int {
		return strings.Compare(a.Workspace+"\x00"+string(b.Kind), b.Workspace+"\x00"+string(a.Kind))
	})
	return list, nil
}

type outageKey struct {
	workspace string
	kind      CheckKind
}

// outages lists calls that are not answered.
func (f *Finder) outages(ctx context.Context, now time.Time) (list []Item, err error) {
	found, err := f.Outages(ctx, now)
	if err != nil {
		return nil, err
	}
	for i := range found {
		o := &found[i]
		item := Item{Kind: Outage, Key: OutageKey(o.Workspace, o.Kind), Workspace: o.Workspace, Since: o.Since, Outage: o}
		if o.Kind == CheckOthers && len(o.Rules) == 1 {
			item.Rule = o.Rules[0]
		}
		list = append(list, item)
	}
	return list, nil
}

// OutageKey returns the key of an outage of a workspace.
func OutageKey(workspace string, kind CheckKind) string {
	return "outage " + workspace + " " + string(kind)
}

func (f *Finder) calls() []Calls {
	if f.Calls == nil {
		return nil
	}
	return f.Calls()
}

// CallKind returns which kind of calls an operation belongs to.
func CallKind(one service.Calls) CheckKind {
	if one.Operation.Changes() {
		return CheckSends
	}
	return CheckReads
}

func stepKind(s *journal.Step, t engine.Trouble) CheckKind {
	switch {
	case s.Verb == vocabulary.HTTPRequest:
		return CheckOthers
	case t.Reading:
		return CheckReads
	}
	return CheckSends
}

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
