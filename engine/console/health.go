package console

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/alerts"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/engine/console/internal/words"
	"github.com/quandohq/quando/engine/journal"
)

// healthPage is what the engine depends on, and what it is.
type healthPage struct {
	Checks  []checkView
	Limits  []limitView
	Repairs []repairView
	Scopes  []scopeView
	Alerts  []alerts.Status
	Many    bool // workspaces
	Looked  time.Time
	Looking bool // no check has run yet, or one is running
	Holds   []holdView
	Extent  journal.Extent
	Age     time.Duration
	Version string
	Go      string
	Memory  int64
	Clock   time.Time
	Zone    string
	Acts    bool
	Here    string
}

// A holdView is a hold.
type holdView struct {
	journal.Hold
	What  string
	Since time.Time
	Until time.Time
	Mend  *button // nil if this person may not
	Back  string
}

// health shows what the engine depends on.
func (c *Console) health(q *request) error {
	extent, err := c.options.Journal.Extent(q.ctx())
	if err != nil {
		return err
	}
	holds, err := c.options.Journal.Holds(q.ctx())
	if err != nil {
		return err
	}
	w := q.words()
	p := healthPage{Extent: extent, Version: c.options.Version, Go: runtime.Version(), Clock: c.at("", q.now), Zone: c.at("", q.now).Location().String(), Acts: q.user.Role >= Operator, Here: "/health"}
	if !extent.Oldest.IsZero() {
		p.Age = q.now.Sub(extent.Oldest)
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	p.Memory = int64(memory.Sys)
	var found []Check
	found, p.Looked = c.latestChecks(q)
	if found, err = c.callChecks(q, found); err != nil {
		return err
	}
	for _, one := range found {
		v := checkView{Check: one, At: c.at(one.Workspace, one.At)}
		if one.Kind == CheckWebhook && one.Delivery != "" {
			v.Last = w.Or("delivery.", one.Delivery)
		}
		if b, ok := c.repairButton(w, one); ok {
			v.Mend = &b
		}
		p.Checks = append(p.Checks, v)
	}
	p.Limits, p.Scopes, p.Many = c.limits(q), c.scopes(found), len(c.workspaces) > 1
	p.Repairs = c.repairs(q)
	if p.Alerts, err = c.alertWays(q); err != nil {
		return err
	}
	p.Looking, p.Looked = c.options.Checks != nil && p.Looked.IsZero(), c.at("", p.Looked)
	if p.Holds, err = c.holdViews(q, holds); err != nil {
		return err
	}
	return q.show("health", "health", w.T("nav.health"), p)
}

// holdViews shows what is stopped.
func (c *Console) holdViews(q *request, holds []journal.Hold) (list []holdView, err error) {
	names, err := q.heldLanes(holds)
	if err != nil {
		return nil, err
	}
	for _, h := range holds {
		v := holdView{Hold: h, What: c.holdWords(names, h), Since: c.at(h.Workspace, h.Since), Until: c.at(h.Workspace, h.Until), Back: q.address()}
		if q.user.Role >= Operator && (h.Kind == journal.HoldPerson || h.Kind == journal.HoldSafety) {
			v.Mend = resumes(q.words(), h)
		}
		list = append(list, v)
	}
	return list, nil
}

// resumes is the button that lifts a hold.
func resumes(w words.Language, h journal.Hold) *button {
	return &button{Label: w.T("button.resume"), Action: "/resume", Fields: map[string]string{"workspace": h.Workspace, "rule": h.Rule, "lane": h.Lane}}
}

// heldLanes returns the names of the lanes with holds.
func (q *request) heldLanes(holds []journal.Hold) (*lanes, error) {
	byWorkspace := map[string][]string{}
	for _, h := range holds {
		if h.Lane != "" {
			byWorkspace[h.Workspace] = append(byWorkspace[h.Workspace], h.Lane)
		}
	}
	return q.lanesOf(byWorkspace)
}

// holdWords names what is stopped.
func (c *Console) holdWords(names *lanes, h journal.Hold) string {
	w := names.words
	switch {
	case h.Lane != "":
		return w.T("hold.lane", c.ruleView(h.Workspace, h.Rule).Name, names.of(h.Workspace, h.Lane).Label)
	case h.Rule != "":
		return w.T("hold.rule", c.ruleView(h.Workspace, h.Rule).Name)
	case h.Workspace != "":
		return w.T("hold.workspace", h.Workspace)
	}
	return w.T("hold.everything")
}

const (
	checksEvery = 30 * time.Second // shortest time between two checks
	checksTime  = 20 * time.Second // timeout of a check
)

// checks caches the result of the last check: a page does not wait for the service.
type checks struct {
	mu      sync.Mutex
	found   []Check
	at      time.Time
	looking bool
}

// latest returns the last result, and starts another check if that is old.
func (k *checks) latest(ctx context.Context, check func(context.Context) []Check, now time.Time) ([]Check, time.Time) {
	if check == nil {
		return nil, time.Time{}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if !k.looking && now.Sub(k.at) >= checksEvery {
		k.looking = true
		go func() {
			ctx, cancel := context.WithTimeout(ctx, checksTime)
			defer cancel()
			found := check(ctx)
			k.mu.Lock()
			defer k.mu.Unlock()
			k.found, k.at, k.looking = found, now, false
		}()
	}
	return k.found, k.at
}

// renew checks now, for a user who has just changed something.
func (k *checks) renew(ctx context.Context, check func(context.Context) []Check, now time.Time) {
	if check == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, checksTime)
	defer cancel()
	found := check(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.found, k.at = found, now
}

// A checkView is the result of a check, with its remedy.
type checkView struct {
	Check
	Last string // result of a webhook's latest delivery
	At   time.Time
	Mend *button
}

// A limitView is how calls are held back.
type limitView struct {
	Limit
	Until, Asked time.Time
	Ago          time.Duration
	Held         bool // at present
}

// A scopeView is a scope that rules need, or that reads what events may not carry.
type scopeView struct {
	Workspace, Scope string
	Has              bool
	Needed           bool // without it a call is refused; else facts and names may be missing
	Rules            []ruleView
}

// latestChecks returns the result of the last check, with its consequences for the rules.
func (c *Console) latestChecks(q *request) ([]Check, time.Time) {
	found, at := c.checks.latest(context.WithoutCancel(q.ctx()), c.options.Checks, q.now)
	return c.attention.WithScopes(found), at
}

// scopes shows the scopes that rules need.
func (c *Console) scopes(found []Check) (list []scopeView) {
	for _, s := range c.attention.Scopes(found) {
		v := scopeView{Workspace: s.Workspace, Scope: s.Scope, Has: s.Has, Needed: s.Needed}
		for _, id := range s.Rules {
			v.Rules = append(v.Rules, c.ruleView(s.Workspace, id))
		}
		list = append(list, v)
	}
	return list
}

// limits shows how calls are held back.
func (c *Console) limits(q *request) (list []limitView) {
	if c.options.Limits == nil {
		return nil
	}
	for _, l := range c.options.Limits() {
		list = append(list, limitView{Limit: l, Until: c.at(l.Workspace, l.Until), Asked: c.at(l.Workspace, l.Asked), Ago: q.now.Sub(l.Asked), Held: l.Until.After(q.now)})
	}
	return list
}

// A repairView is the state of the backfill.
type repairView struct {
	Repair
	Ended time.Time
	Types []typeCount
	All   int
}

// A typeCount is how many events of a type there are.
type typeCount struct {
	Type string
	N    int
}

// repairs shows the state of the backfill.
func (c *Console) repairs(q *request) (list []repairView) {
	if c.options.Repairs == nil {
		return nil
	}
	for _, r := range c.options.Repairs(q.ctx()) {
		v := repairView{Repair: r, Ended: c.at(r.Workspace, r.Ended)}
		for _, typ := range slices.Sorted(maps.Keys(r.Counts)) {
			v.Types = append(v.Types, typeCount{typ, r.Counts[typ]})
			v.All += r.Counts[typ]
		}
		list = append(list, v)
	}
	return list
}

// repairButton returns the button that repairs what a check found.
func (c *Console) repairButton(w words.Language, one Check) (button, bool) {
	if one.OK || !one.Mends || c.options.Mend == nil {
		return button{}, false
	}
	return button{Label: w.T("button.mend." + string(one.Kind)), Action: "/mend", Fields: map[string]string{"workspace": one.Workspace, "kind": string(one.Kind)}}, true
}

// mend repairs what a check found.
func (c *Console) mend(q *request) error {
	workspace, kind := q.r.PostFormValue("workspace"), CheckKind(q.r.PostFormValue("kind"))
	if c.options.Mend == nil || c.workspaces[workspace] == nil || kind != CheckWebhook {
		return problem(http.StatusBadRequest, "error.form")
	}
	if err := q.change("reactivate", workspace, string(kind), func() error { return c.options.Mend(q.ctx(), workspace, kind) }); err != nil {
		return problem(http.StatusBadGateway, "error.service", engine.Harmless(err.Error()))
	}
	c.checks.renew(context.WithoutCancel(q.ctx()), c.options.Checks, q.now)
	return q.back("mended_" + string(kind))
}

// alertWays shows how each way to tell people outside of the console stands.
func (c *Console) alertWays(q *request) ([]alerts.Status, error) {
	if c.options.Alerts == nil {
		return nil, nil
	}
	list, err := c.options.Alerts(q.ctx())
	for i := range list {
		list[i].Told = c.at("", list[i].Told)
		if t := list[i].Test; t != nil {
			list[i].Test = &alerts.Result{Way: t.Way, At: c.at("", t.At), Error: t.Error}
		}
	}
	return list, err
}

// testAlerts sends a test each way.
func (c *Console) testAlerts(q *request) error {
	if c.options.TestAlerts == nil {
		return errNotFound
	}
	err := q.change("test_alerts", "alerts", "", func() error {
		var failed []error
		for _, r := range c.options.TestAlerts(q.ctx()) {
			if r.Error != "" {
				failed = append(failed, errors.New(r.Way+": "+r.Error))
			}
		}
		return errors.Join(failed...)
	})
	if err != nil {
		c.log.Warn("a test alert did not get through", "error", err)
	}
	return q.back("alerts_tested") // the page says of each way what became of it
}

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
