package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/cmd/quando/internal/cli"
	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/service"
	"github.com/quandohq/quando/triggers/webhook/subscription"
)

// newConsole builds the console. It reads the state of the process on each request.
func (p *Process) newConsole(c *config.Config) (*console.Console, error) {
	o := console.Options{
		Journal: p.journal, Metrics: p.metrics.handler(), Version: cli.Version(), Logger: p.log, Checks: p.checks, Mend: p.mend, Calls: p.calls, Limits: p.limits, Repairs: p.repairs, Explain: p.explain, Names: (&knownNames{journal: p.journal}).name, Alerts: p.alertWays, TestAlerts: p.testAlerts,
		Now:         p.present,
		ReloadHolds: func(ctx context.Context, now time.Time) error { return p.Engine.ReloadHolds(ctx, now) },
		Accept: func(ctx context.Context, events ...rules.Event) ([]bool, error) {
			return p.Engine.Accept(ctx, events...)
		},
		Access: access(c),
	}
	for i, u := range p.Units {
		b := p.Books[i]
		simulator, err := simulatorOf(c, u)
		if err != nil {
			return nil, err
		}
		o.Workspaces = append(o.Workspaces, console.Workspace{
			Name: u.Name, Location: u.Timezone, Safety: u.engineWorkspace().Safety, Rules: b.shown, Source: ruleText, Profile: u.Client.Profile(), Simulator: simulator, Editing: p.editing(c, u, b),
		})
	}
	if err := p.addAssistants(c, &o); err != nil {
		return nil, err
	}
	return console.New(o)
}

// access returns who may use the console.
func access(c *config.Config) console.Access {
	return console.Access{Listen: c.Console.Listen, Token: string(c.Console.Token), Users: c.Console.Users, Hosts: c.Console.Hosts, ForwardedFor: c.Console.Forwarded, Assistants: c.MCP.Tokens}
}

// logAccess logs the console's access rules. Behind a proxy, no login is rarely intended.
func logAccess(c *config.Config, log *slog.Logger) {
	level, proxied := slog.LevelInfo, len(c.Console.Hosts) > 0 || c.Console.Forwarded != ""
	if proxied && c.Console.Token == "" && len(c.Console.Users) == 0 {
		level = slog.LevelWarn
	}
	log.Log(context.Background(), level, "console access", "asks_for", access(c).AsksFor())
}

// present is the time for pages.
func (p *Process) present() time.Time {
	if p.now != nil {
		return p.now()
	}
	return time.Now()
}

// simulatorOf returns the simulator of a workspace whose service is a sandbox; nil for a real
// service.
func simulatorOf(c *config.Config, u *Unit) (console.Simulator, error) {
	if c.Simulator != nil {
		return c.Simulator, nil
	}
	if u.Service.Sandbox == "" {
		return nil, nil
	}
	if err := checkSandbox(u.Service.Sandbox, u.Service.BaseURL); err != nil {
		return nil, err
	}
	return NewSandboxControl(u.Service.Sandbox), nil
}

// ruleText returns the text of a rule's file, or "" if it cannot be read.
func ruleText(r *rules.Rule) string {
	text, err := cli.ReadBounded(r.File)
	if err != nil {
		return ""
	}
	return string(text)
}

// checks checks the service of every workspace: whether it answers, accepts the key, and has the
// same time.
func (p *Process) checks(ctx context.Context) []console.Check {
	parts := make([][]console.Check, len(p.Units))
	done := make(chan struct{})
	for i, u := range p.Units {
		go func() {
			parts[i] = p.check(ctx, u)
			done <- struct{}{}
		}()
	}
	for range p.Units {
		<-done
	}
	return append(slices.Concat(parts...), p.diskCheck(ctx))
}

// diskCheck writes to the journal: what cannot be recorded is not handled.
func (p *Process) diskCheck(ctx context.Context) console.Check {
	check := console.Check{Kind: console.CheckJournal, OK: true}
	if err := p.Recorder.write(ctx); err != nil {
		check.OK, check.Detail = false, redact.Text(err.Error())
	}
	return check
}

// check checks the service of a workspace.
func (p *Process) check(ctx context.Context, u *Unit) []console.Check {
	one := func(kind console.CheckKind, ok bool, format string, args ...any) console.Check {
		return console.Check{Workspace: u.Name, Kind: kind, OK: ok, Detail: redact.Text(fmt.Sprintf(format, args...))}
	}
	there := one(console.CheckService, true, "%s", u.Service.BaseURL)
	// A check shares the rate limit with the calls of the rules, but does not wait for the end of a
	// pause: a user is waiting.
	client := u.Client.Patient()
	paused := func() bool { return client.Limiter().State().PausedUntil.After(p.present()) }
	if paused() {
		return []console.Check{there}
	}
	me, err := client.Me(ctx)
	if refused, ok := errors.AsType[*service.Error](err); ok {
		switch {
		case refused.Status == 401 || refused.Status == 403:
			return []console.Check{there, one(console.CheckKey, false, "%v", err)}
		case paused():
			return []console.Check{there}
		}
	}
	if err != nil {
		return []console.Check{one(console.CheckService, false, "%v", err)}
	}
	list := []console.Check{there, one(console.CheckKey, true, "%s", strings.Join(me.Scopes, ", "))}
	list[0].Version, list[1].Scopes = me.APIVersion, me.Scopes
	if !me.ServedAt.IsZero() {
		off := time.Since(me.ServedAt).Round(time.Second)
		list = append(list, one(console.CheckClock, off.Abs() <= MaxClockSkew, "%s", off))
	}
	hooks, err := client.ListWebhooks(ctx)
	if err != nil {
		return append(list, u.subscriptionCheck()...) // the key may lack the scope
	}
	list = append(list, u.subscriptionCheck()...)
	for _, h := range u.ownHooks(hooks) {
		c := one(console.CheckWebhook, h.Active, "%s", h.URL)
		c.Mends = !h.Active
		if deliveries, err := client.ListDeliveries(ctx, h.ID); err == nil {
			for _, d := range deliveries {
				if d.At.After(c.At) {
					c.Delivery, c.At = d.Status, d.At
				}
			}
		}
		if c.Delivery == "failed" || c.Delivery == "retrying" {
			c.OK = false // whatever it is called, nothing arrives
		}
		list = append(list, c)
	}
	return list
}

// ownHooks returns the webhooks of this engine.
func (u *Unit) ownHooks(all []service.Webhook) (own []service.Webhook) {
	for _, h := range all {
		if u.Service.Webhook.PublicURL != "" && subscription.SameAddress(h.URL, u.Service.Webhook.PublicURL) {
			own = append(own, h)
		}
	}
	return own
}

// mend activates the webhook of a workspace again, which the service deactivates when deliveries
// fail for too long.
func (p *Process) mend(ctx context.Context, workspace string, kind console.CheckKind) error {
	i := slices.IndexFunc(p.Units, func(u *Unit) bool { return u.Name == workspace })
	if i < 0 || kind != console.CheckWebhook {
		return fmt.Errorf("there is nothing to mend for %q", workspace)
	}
	u := p.Units[i]
	if u.subscription != nil {
		return u.subscription.Tend(ctx)
	}
	client := u.Client.Patient()
	hooks, err := client.ListWebhooks(ctx)
	if err != nil {
		return err
	}
	for _, h := range u.ownHooks(hooks) {
		if !h.Active {
			if _, err := client.UpdateWebhook(ctx, h.ID, service.WebhookPatch{Active: service.Set(true)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// calls returns how the service of each workspace has answered.
func (p *Process) calls() (list []console.Calls) {
	for _, u := range p.Units {
		for _, one := range u.Client.Calls() {
			list = append(list, console.Calls{Workspace: u.Name, Calls: one})
		}
	}
	return list
}

// limits returns the state of each workspace's rate limiter.
func (p *Process) limits() (list []console.Limit) {
	for _, u := range p.Units {
		s := u.Client.Limiter().State()
		list = append(list, console.Limit{Workspace: u.Name, PerSecond: s.PerSecond, Until: s.PausedUntil, Asked: s.Asked, Length: s.Length, Times: s.Times})
	}
	return list
}

// explain explains why each rule did or did not fire for an event, from the recorded facts.
func (p *Process) explain(ctx context.Context, e *journal.Event, l rules.Language) ([]console.Explanation, error) {
	i := slices.IndexFunc(p.Units, func(u *Unit) bool { return u.Name == e.Workspace })
	if i < 0 {
		return nil, fmt.Errorf("there is no workspace %q", e.Workspace)
	}
	u := p.Units[i]
	desk, err := storage.NewOfflineDesk(ctx, p.journal, u.Name, u.Client.Profile())
	if err != nil {
		return nil, err
	}
	set := p.Books[i].shown().Set
	if set == nil {
		set = &rules.Set{}
	}
	told, err := explain.New(explain.Options{Journal: p.journal, Desk: desk, Rules: set, Catalog: u.Catalog, Location: u.Timezone, Language: l}).Event(ctx, e)
	if err != nil {
		return nil, err
	}
	var list []console.Explanation
	for _, r := range told.Rules {
		if r.Outcome == explain.NotForIt {
			continue // the page says so itself
		}
		x := console.Explanation{Rule: r.Rule, Outcome: r.Outcome, Words: r.Words, Error: r.Error, Why: r.Why, Would: r.Basis == explain.Would}
		for _, c := range r.Clauses {
			x.Clauses = append(x.Clauses, console.Clause{Text: c.Clause, Result: strings.ReplaceAll(string(c.Result), " ", "_"), Values: c.Values, Words: c.Words, Part: c.Part})
		}
		list = append(list, x)
	}
	return list, nil
}

// namesLooked is how often the names are read from the journal again.
const namesLooked = 30 * time.Second

// knownNames gives the names of the service's things by their ids, as the journal has kept them.
type knownNames struct {
	journal journal.Journal

	mu   sync.Mutex
	read map[string]time.Time         // by workspace
	byID map[string]map[string]string // by workspace, then by id
}

// name returns a name, or "" if it is unknown.
func (k *knownNames) name(workspace, id string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read == nil {
		k.read, k.byID = map[string]time.Time{}, map[string]map[string]string{}
	}
	if now := time.Now(); now.Sub(k.read[workspace]) >= namesLooked {
		k.read[workspace] = now
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if snapshot, err := storage.Names(ctx, k.journal, workspace); err == nil { // else the old names stay
			names := map[string]string{}
			for _, list := range snapshot.Lists {
				for _, e := range list.Entries {
					names[e.ID] = e.Name
				}
			}
			k.byID[workspace] = names
		}
	}
	return k.byID[workspace][id]
}
