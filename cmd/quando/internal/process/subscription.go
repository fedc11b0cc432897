package process

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/cmd/quando/internal/storage"
	"github.com/quandohq/quando/engine/console"
	"github.com/quandohq/quando/engine/journal"
	"github.com/quandohq/quando/rules"
	"github.com/quandohq/quando/rules/redact"
	"github.com/quandohq/quando/triggers/backfill"
	"github.com/quandohq/quando/triggers/webhook/subscription"
)

// sealingKeys returns what gives the key with which secrets are sealed.
func sealingKeys(c *config.Config) (subscription.Keys, error) {
	if c.SecretKey != "" {
		key, err := subscription.ParseKey(c.SecretKey)
		if err != nil {
			return nil, fmt.Errorf("secret_key (QUANDO_SECRET_KEY): %w", err)
		}
		return subscription.FixedKey(key), nil
	}
	return subscription.KeyFile(keyFile(c)), nil
}

// keyFile returns the path of the key: beside the journal or, if that is a database, beside the
// configuration.
func keyFile(c *config.Config) string {
	switch where := c.JournalPath(); {
	case c.SecretKeyFile != "":
		return c.Path(c.SecretKeyFile)
	case storage.IsDatabase(where):
		return c.Path("quando.key")
	default:
		return filepath.Join(filepath.Dir(where), "quando.key")
	}
}

// SubscriptionOptions returns the options of a workspace's subscription.
func SubscriptionOptions(c *config.Config, u *Unit, cursors subscription.Cursors) (subscription.Options, error) {
	keys, err := sealingKeys(c)
	return subscription.Options{
		Workspace: u.Name, Client: u.Client.Patient(), Cursors: cursors, Keys: keys, URL: u.Service.Webhook.PublicURL, Secrets: u.Service.Webhook.Secrets,
		Every: u.Service.Webhook.Check, Retired: u.Service.Webhook.Retired, Alone: !storage.IsDatabase(c.JournalPath()),
	}, err
}

// subscribe manages the webhook of a workspace, if its public address is known. A demo manages its
// own. The backfill finds what was not delivered while the webhook was broken.
func (p *Process) subscribe(c *config.Config, u *Unit, finds *backfill.Source) error {
	if u.Service.Webhook.PublicURL == "" || c.Now != nil {
		return nil
	}
	for _, other := range p.Units {
		if subscription.SameAddress(other.Service.Webhook.PublicURL, u.Service.Webhook.PublicURL) {
			return fmt.Errorf("service.webhook.public_url: the workspace %s has the same address; each needs its own, such as https://hooks.example.com/webhook/%s", other.Name, u.Name)
		}
	}
	o, err := SubscriptionOptions(c, u, p.journal)
	if err != nil {
		return err
	}
	o.Logger = p.log
	count := p.metrics.repairsOf(u.Name)
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
	p.metrics.webhooks.add(u.Name, u.subscription)
	return nil
}

// loadSecrets reads the secrets that the journal has, before the first delivery comes. What cannot
// be read is no reason not to start.
func (p *Process) loadSecrets(ctx context.Context) {
	for _, u := range p.Units {
		if u.subscription == nil {
			continue
		}
		if err := u.subscription.Load(ctx); err != nil {
			p.log.Error("the signing secret cannot be read, so deliveries are refused unless a configured one fits", "workspace", u.Name, "error", err)
		}
	}
}

// maxWaited bounds the unfinished runs of each state that are read.
const maxWaited = 1000

// waitedFor returns those of the events that unfinished runs wait for which began with other rules
// than those in use.
func (p *Process) waitedFor(ctx context.Context, u *Unit, events []string) (waited []string, err error) {
	set := p.Books[slices.Index(p.Units, u)].shown().Set
	seen := map[string]bool{}
	for _, state := range storage.Unfinished {
		runs, err := p.journal.ListRuns(ctx, journal.RunFilter{Workspace: u.Name, State: state, Limit: maxWaited})
		if err != nil {
			return nil, err
		}
		if len(runs) == maxWaited {
			return nil, fmt.Errorf("there are %d unfinished runs or more", maxWaited)
		}
		for _, r := range runs {
			if rule := set.Rule(r.Rule); seen[r.Version] || rule != nil && rule.Version == r.Version {
				continue
			}
			seen[r.Version] = true
			source, err := p.journal.Version(ctx, r.Version)
			if errors.Is(err, journal.ErrNoVersion) {
				continue // a run whose rule is unknown cannot continue
			}
			if err != nil {
				return nil, err
			}
			before, _ := rules.Compile([]*rules.File{rules.Parse(r.Rule+".yaml", []byte(source))}, rules.Options{Catalog: u.Catalog})
			if rule := before.Rule(r.Rule); rule != nil {
				waited = append(waited, rule.Awaits()...)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(events), func(name string) bool { return !slices.Contains(waited, name) }), nil
}

// subscriptionCheck returns the status of a workspace's subscription, or nothing without one, or
// before its first check.
func (u *Unit) subscriptionCheck() []console.Check {
	if u.subscription == nil {
		return nil
	}
	st := u.subscription.Status()
	if st.Checked.IsZero() && st.Problem == "" {
		return nil
	}
	return []console.Check{{
		Workspace: u.Name, Kind: console.CheckSubscription, OK: st.Problem == "", Detail: redact.Text(st.Problem),
		Events: strings.Join(st.Events, ", "), Missing: strings.Join(st.Missing, ", "), Idle: st.Idle, At: st.Checked,
	}}
}
