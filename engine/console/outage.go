package console

import (
	"slices"
	"strconv"
	"time"

	"github.com/quandohq/quando/engine/attention"
)

// outageWords says since when there is an outage, what is answered, and who tries again.
func (c *Console) outageWords(q *request, o attention.CallOutage) string {
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

// outageNeed is about calls that are not answered: people see who waits, and can stop it.
func (c *Console) outageNeed(q *request, n *need, o *attention.CallOutage) {
	w := q.words()
	n.Detail, n.Go = c.outageWords(q, *o), &linkView{Label: w.T("button.show"), Link: "/events"}
	if o.Runs > 0 {
		n.Go.Link = "/runs?state=running"
	}
	stop := button{Label: w.T("button.stop"), Action: "/pause", Confirm: w.T("outage.stop"), Fields: map[string]string{"workspace": o.Workspace, "reason": n.Title}}
	if o.Kind == CheckOthers && len(o.Rules) == 1 {
		stop.Confirm, stop.Fields["rule"] = w.T("pause.explain"), o.Rules[0]
	}
	n.Buttons = []button{stop}
}

// callChecks adds to the checks how calls were answered. A service that answers a check and no call
// is not fine.
func (c *Console) callChecks(q *request, found []Check) ([]Check, error) {
	broken, err := c.attention.Outages(q.ctx(), q.now)
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
	type group struct {
		workspace string
		kind      CheckKind
	}
	answered := map[group]time.Time{}
	var calls []Calls
	if c.options.Calls != nil {
		calls = c.options.Calls()
	}
	for _, one := range calls {
		key := group{one.Workspace, attention.CallKind(one.Calls)}
		if one.Answered.After(answered[key]) {
			answered[key] = one.Answered
		}
	}
	for _, space := range c.options.Workspaces {
		for _, kind := range []CheckKind{CheckSends, CheckReads} {
			at := answered[group{space.Name, kind}]
			if at.IsZero() || slices.ContainsFunc(broken, func(o attention.CallOutage) bool { return o.Workspace == space.Name && o.Kind == kind }) {
				continue
			}
			found = append(found, Check{Workspace: space.Name, Kind: kind, OK: true, Detail: w.T("health.answered", w.Moment(c.at(space.Name, at)))})
		}
	}
	return found, nil
}
