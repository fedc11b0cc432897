package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/webhook/subscription"
)

// keys returns what gives the key with which secrets are sealed.
func (c *config) keys() (subscription.Keys, error) {
	if c.SecretKey != "" {
		key, err := subscription.ParseKey(c.SecretKey)
		if err != nil {
			return nil, fmt.Errorf("secret_key (QUANDO_SECRET_KEY): %w", err)
		}
		return subscription.FixedKey(key), nil
	}
	return subscription.KeyFile(c.keyFile()), nil
}

// keyFile returns where the key is: beside the journal, or where that is a database, beside the configuration.
func (c *config) keyFile() string {
	switch where := c.journalPath(); {
	case c.SecretKeyFile != "":
		return c.path(c.SecretKeyFile)
	case isAddress(where):
		return c.path("quando.key")
	default:
		return filepath.Join(filepath.Dir(where), "quando.key")
	}
}

// subscriptionOptions returns what a workspace's webhook is looked after with.
func (c *config) subscriptionOptions(u *unit, cursors subscription.Cursors) (subscription.Options, error) {
	keys, err := c.keys()
	return subscription.Options{
		Workspace: u.name, Client: u.client.Patient(), Cursors: cursors, Keys: keys, URL: u.Service.Webhook.PublicURL, Secrets: u.Service.Webhook.Secrets,
		Every: u.Service.Webhook.Check, Retired: u.Service.Webhook.Retired, Alone: !isAddress(c.journalPath()),
	}, err
}

// subscribe has the webhook of a workspace looked after, where it is known under which address the service reaches it. A demo looks after its own. What
// was not delivered while it was not as it should be is to be found.
func (p *process) subscribe(c *config, u *unit, finds *backfill.Source) error {
	if u.Service.Webhook.PublicURL == "" || c.now != nil {
		return nil
	}
	for _, other := range p.units {
		if subscription.SameAddress(other.Service.Webhook.PublicURL, u.Service.Webhook.PublicURL) {
			return fmt.Errorf("service.webhook.public_url: the workspace %s has the same address; each needs its own, such as https://hooks.example.com/webhook/%s", other.name, u.name)
		}
	}
	o, err := c.subscriptionOptions(u, p.journal)
	if err != nil {
		return err
	}
	o.Logger = p.log
	count := p.metrics.repairsOf(u.name)
	o.Repaired = func(what subscription.Repair) {
		count(what)
		if finds != nil {
			finds.Missed("the webhook was mended: " + string(what))
		}
	}
	o.Waits = func(ctx context.Context, events []string) ([]string, error) { return p.waitedFor(ctx, u, events) }
	if u.subscription, err = subscription.New(o); err != nil {
		return err
	}
	p.metrics.webhooks.add(u.name, u.subscription)
	return nil
}

// loadSecrets reads the secrets that the journal has, before the first delivery comes. What cannot be read is no reason not to start.
func (p *process) loadSecrets(ctx context.Context) {
	for _, u := range p.units {
		if u.subscription == nil {
			continue
		}
		if err := u.subscription.Load(ctx); err != nil {
			p.log.Error("the signing secret cannot be read, so deliveries are refused unless a configured one fits", "workspace", u.name, "error", err)
		}
	}
}

// mostWaited is how many unfinished runs of each state are looked at.
const mostWaited = 1000

// waitedFor returns those of the events that unfinished runs wait for which began with other rules than those in use.
func (p *process) waitedFor(ctx context.Context, u *unit, events []string) (waited []string, err error) {
	set := p.books[slices.Index(p.units, u)].shown().Set
	seen := map[string]bool{}
	for _, state := range unfinished {
		runs, err := p.journal.ListRuns(ctx, journal.RunFilter{Workspace: u.name, State: state, Limit: mostWaited})
		if err != nil {
			return nil, err
		}
		if len(runs) == mostWaited {
			return nil, fmt.Errorf("there are %d unfinished runs or more", mostWaited)
		}
		for _, r := range runs {
			if rule := set.Rule(r.Rule); seen[r.Version] || rule != nil && rule.Version == r.Version {
				continue
			}
			seen[r.Version] = true
			source, err := p.journal.Version(ctx, r.Version)
			if errors.Is(err, journal.ErrNoVersion) {
				continue // a run whose rule nobody knows any more cannot go on
			}
			if err != nil {
				return nil, err
			}
			before, _ := rules.Compile([]*rules.File{rules.Parse(r.Rule+".yaml", []byte(source))}, rules.Options{Catalog: u.catalog})
			if rule := before.Rule(r.Rule); rule != nil {
				waited = append(waited, rule.Awaits()...)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(name string) bool { return !slices.Contains(waited, name) }), nil
}

// subscriptionCheck tells how a workspace's webhook is looked after; nothing where nobody does, or has yet.
func (u *unit) subscriptionCheck() []console.Check {
	if u.subscription == nil {
		return nil
	}
	st := u.subscription.Status()
	if st.Checked.IsZero() && st.Problem == "" {
		return nil
	}
	return []console.Check{{
		Workspace: u.name, Kind: console.CheckSubscription, OK: st.Problem == "", Detail: rules.HideText(st.Problem),
		Events: strings.Join(st.Events, ", "), Missing: strings.Join(st.Missing, ", "), Idle: st.Idle, At: st.Checked,
	}}
}
