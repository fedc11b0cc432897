package console

import (
	"slices"
	"strconv"
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

// An outage is that calls of a kind have not been answered for a while.
type outage struct {
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

// outages returns what calls of the engine were not answered lately: of this process by its own
// account, of others and from before a restart by the runs that are repeating a step.
func (c *Console) outages(q *request) ([]outage, error) {
	found := map[outageKey]*outage{}
	at := func(workspace string, kind CheckKind) *outage {
		key := outageKey{workspace, kind}
		if found[key] == nil {
			found[key] = &outage{Workspace: workspace, Kind: kind}
		}
		return found[key]
	}
	failing := map[outageKey]bool{}
	for _, one := range c.calls() {
		if one.Failures < outageFailures || q.now.Sub(one.Failed) > outageOver {
			continue
		}
		o := at(one.Workspace, callKind(one.Calls))
		failing[outageKey{o.Workspace, o.Kind}] = true
		o.Since, o.Attempts, o.Known, o.Status = earliest(o.Since, one.Failing), o.Attempts+one.Failures, true, one.Status
	}
	runs, err := c.options.Journal.ListRuns(q.ctx(), journal.RunFilter{State: journal.Running, Limit: outageRuns + 1})
	if err != nil {
		return nil, err
	}
	attempts := map[outageKey]int{}
	for _, r := range runs[:min(len(runs), outageRuns)] {
		step := r.Current()
		if step == nil || !r.WakeAt.After(q.now) {
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
	var list []outage
	for key, o := range found {
		if failing[key] {
			o.Attempts = max(o.Attempts, attempts[key])
			list = append(list, *o)
		}
	}
	slices.SortFunc(list, func(a, b outage) int {
		return strings.Compare(a.Workspace+"\x00"+string(b.Kind), b.Workspace+"\x00"+string(a.Kind))
	})
	return list, nil
}

type outageKey struct {
	workspace string
	kind      CheckKind
}

func (c *Console) calls() []Calls {
	if c.options.Calls == nil {
		return nil
	}
	return c.options.Calls()
}

func callKind(one service.Calls) CheckKind {
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

// outageWords says since when there is an outage, what is answered, and who tries again.
func (c *Console) outageWords(q *request, o outage) string {
	w := q.words()
	hour := func(t time.Time) string { return w.Moment(c.at(o.Workspace, t)) }
	attempts := w.N("outage.attempts", o.Attempts)
	said := w.T("outage.fails", hour(o.Since), attempts)
	switch {
	case o.Known && o.Status != 0:
		said = w.T("outage.answers", hour(o.Since), strconv.Itoa(o.Status), attempts)
	case o.Known:
		said = w.T("outage.silent", hour(o.Since), attempts)
	}
	if o.Runs == 0 {
		return said + " " + w.T("outage.waits")
	}
	again := w.N("outage.again", o.Runs)
	if o.Many {
		again = w.T("outage.again.more", w.Number(o.Runs))
	}
	return said + " " + again + " " + w.T("outage.next", hour(o.Next))
}

// outageNeeds is about calls that are not answered: people see who waits, and can stop it.
func (c *Console) outageNeeds(q *request) (list []need, err error) {
	found, err := c.outages(q)
	if err != nil {
		return nil, err
	}
	w := q.words()
	for _, o := range found {
		n := need{Key: "outage " + o.Workspace + " " + string(o.Kind), Title: w.T("need.outage." + string(o.Kind)), Detail: c.outageWords(q, o), Link: "/health", Urgent: true}
		if len(c.options.Workspaces) > 1 {
			n.Title += " (" + o.Workspace + ")"
		}
		n.Show = "/events"
		if o.Runs > 0 {
			n.Show = "/runs?state=running"
		}
		stop := button{Label: w.T("button.stop"), Action: "/pause", Confirm: w.T("outage.stop"), Fields: map[string]string{"workspace": o.Workspace, "reason": n.Title}}
		if o.Kind == CheckOthers && len(o.Rules) == 1 {
			n.Title = w.T("need.outage.rule", c.ruleView(o.Workspace, o.Rules[0]).Name)
			stop.Confirm, stop.Fields["rule"], stop.Fields["reason"] = w.T("pause.explain"), o.Rules[0], n.Title
		}
		n.Buttons = []button{stop}
		list = append(list, n)
	}
	return list, nil
}

// callChecks adds to the checks how calls were answered. A service that answers a check and no call
// is not fine.
func (c *Console) callChecks(q *request, found []Check) ([]Check, error) {
	broken, err := c.outages(q)
	if err != nil {
		return nil, err
	}
	w := q.words()
	for _, o := range broken {
		for i := range found {
			if found[i].Kind == CheckService && found[i].Workspace == o.Workspace && o.Kind != CheckOthers {
				found[i].OK = false
			}
		}
		found = append(found, Check{Workspace: o.Workspace, Kind: o.Kind, Detail: c.outageWords(q, o)})
	}
	answered := map[outageKey]time.Time{}
	for _, one := range c.calls() {
		key := outageKey{one.Workspace, callKind(one.Calls)}
		if one.Answered.After(answered[key]) {
			answered[key] = one.Answered
		}
	}
	for _, space := range c.options.Workspaces {
		for _, kind := range []CheckKind{CheckSends, CheckReads} {
			at := answered[outageKey{space.Name, kind}]
			if at.IsZero() || slices.ContainsFunc(broken, func(o outage) bool { return o.Workspace == space.Name && o.Kind == kind }) {
				continue
			}
			found = append(found, Check{Workspace: space.Name, Kind: kind, OK: true, Detail: w.T("health.answered", w.Moment(c.at(space.Name, at)))})
		}
	}
	return found, nil
}
