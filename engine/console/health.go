package console

import (
	"context"
	"runtime"
	"sync"
	"time"

	"github.com/quandohq/quando/engine/alerts"
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
