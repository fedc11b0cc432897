package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/quandohq/quando/engine"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/explain"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/service"
)

// newConsole puts the console together. It looks at what the process is made of when somebody asks for a page.
func (p *process) newConsole(c *config) (*console.Console, error) {
	o := console.Options{
		Journal: p.journal, Metrics: p.metrics.handler(), Version: version(), Logger: p.log, Checks: p.checks, Explain: p.explain, Names: (&knownNames{journal: p.journal}).name,
		Now: func() time.Time {
			if p.now != nil {
				return p.now()
			}
			return time.Now()
		},
		Access: console.Access{Listen: c.Console.Listen, Token: string(c.Console.Token), Users: c.Console.Users},
	}
	for i, u := range p.units {
		b := p.books[i]
		o.Workspaces = append(o.Workspaces, console.Workspace{
			Name: u.name, Location: u.Timezone, Safety: u.engineWorkspace().Safety, Rules: b.shown, Source: ruleText, Editing: p.editing(c, u, b),
		})
	}
	return console.New(o)
}

// ruleText returns a rule's own lines of its file, or nothing where they cannot be read.
func ruleText(r *rules.Rule) string {
	text, err := readBounded(r.File)
	if err != nil {
		return ""
	}
	lines := strings.Split(string(text), "\n")
	if r.Line < 1 || r.Line > len(lines) {
		return ""
	}
	depth := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	first := r.Line - 1
	end := first + 1
	for end < len(lines) && (strings.TrimSpace(lines[end]) == "" || depth(lines[end]) > depth(lines[first])) {
		end++
	}
	return strings.TrimRight(strings.Join(lines[first:end], "\n"), " \n")
}

// checks looks at the service of every workspace: whether it answers, takes the key, and has the same time.
func (p *process) checks(ctx context.Context) []console.Check {
	parts := make([][]console.Check, len(p.units))
	done := make(chan struct{})
	for i, u := range p.units {
		go func() {
			parts[i] = u.check(ctx)
			done <- struct{}{}
		}()
	}
	for range p.units {
		<-done
	}
	return slices.Concat(parts...)
}

// check looks at the service of a workspace.
func (u *unit) check(ctx context.Context) []console.Check {
	one := func(kind console.CheckKind, ok bool, format string, args ...any) console.Check {
		return console.Check{Workspace: u.name, Kind: kind, OK: ok, Detail: fmt.Sprintf(format, args...)}
	}
	me, err := u.client.Me(ctx)
	if refused, ok := errors.AsType[*service.Error](err); ok && (refused.Status == 401 || refused.Status == 403) {
		return []console.Check{one(console.CheckService, true, "%s", u.Service.BaseURL), one(console.CheckKey, false, "%v", err)}
	}
	if err != nil {
		return []console.Check{one(console.CheckService, false, "%v", err)}
	}
	list := []console.Check{one(console.CheckService, true, "%s", u.Service.BaseURL), one(console.CheckKey, true, "%s", strings.Join(me.Scopes, ", "))}
	if !me.ServedAt.IsZero() {
		off := time.Since(me.ServedAt).Round(time.Second)
		list = append(list, one(console.CheckClock, off.Abs() <= maxOff, "%s", off))
	}
	hooks, err := u.client.ListWebhooks(ctx)
	if err != nil {
		return list // a key need not be allowed to look
	}
	for _, h := range hooks {
		if u.Service.Webhook.PublicURL != "" && h.URL == u.Service.Webhook.PublicURL {
			list = append(list, one(console.CheckWebhook, h.Active, "%s", h.URL))
		}
	}
	return list
}

// explain tells why each rule did or did not fire for an event, with what was recorded then.
func (p *process) explain(ctx context.Context, e *engine.Event) ([]console.Explanation, error) {
	i := slices.IndexFunc(p.units, func(u *unit) bool { return u.name == e.Workspace })
	if i < 0 {
		return nil, fmt.Errorf("there is no workspace %q", e.Workspace)
	}
	u := p.units[i]
	desk, err := newOfflineDesk(ctx, p.journal, u.name, u.client.Profile())
	if err != nil {
		return nil, err
	}
	set := p.books[i].shown().Set
	if set == nil {
		set = &rules.Set{}
	}
	told, err := explain.New(explain.Options{Journal: p.journal, Desk: desk, Rules: set, Catalog: u.catalog, Location: u.Timezone}).Event(ctx, e)
	if err != nil {
		return nil, err
	}
	var list []console.Explanation
	for _, r := range told.Rules {
		if r.Outcome == explain.NotForIt {
			continue // the page says so in its own words
		}
		x := console.Explanation{Rule: r.Rule, Outcome: r.Outcome, Words: r.Words, Error: r.Error, Would: r.Basis == explain.Would}
		for _, c := range r.Clauses {
			x.Clauses = append(x.Clauses, console.Clause{Text: c.Clause, Result: strings.ReplaceAll(string(c.Result), " ", "_"), Values: c.Values, Words: c.Words})
		}
		list = append(list, x)
	}
	return list, nil
}

// namesLooked is how often the names that the journal has kept are read anew.
const namesLooked = 30 * time.Second

// knownNames gives the names of the service's things by their ids, as the journal has kept them.
type knownNames struct {
	journal engine.Journal

	mu   sync.Mutex
	read map[string]time.Time         // by workspace
	byID map[string]map[string]string // by workspace, then by id
}

// name returns a name, or nothing where it is not known.
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
		if snapshot, err := keptNames(ctx, k.journal, workspace); err == nil { // else the names of before go on
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
