package process

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/quandohq/quando/cmd/quando/internal/config"
	"github.com/quandohq/quando/engine/alerts"
	"github.com/quandohq/quando/engine/attention"
	"github.com/quandohq/quando/rules/phrases"
	"github.com/quandohq/quando/service"
)

// AlertOptions returns what alerts are made with: the ways that the configuration names, and how
// messages are written.
func AlertOptions(c *config.Config, units []*Unit, log *slog.Logger) (alerts.Options, error) {
	o := alerts.Options{
		Process: thisProcess() + " " + uuid.NewString()[:8], Linger: c.Alerts.Linger, Limit: c.Alerts.Limit, Location: units[0].Timezone, Now: c.Now, Logger: log,
	}
	if c.Alerts.Language == "pt" {
		o.Language = phrases.Portuguese
	}
	if c.Console.PublicURL != "" {
		o.Link = strings.TrimSuffix(c.Console.PublicURL, "/") + "/"
	}
	for _, name := range c.Alerts.People {
		workspace, phone, _ := c.Alerted(name) // the configuration was checked
		i := slices.IndexFunc(units, func(u *Unit) bool { return u.Name == workspace })
		if i < 0 {
			return o, fmt.Errorf("alerts.people: %s is reached through the workspace %s, which names no service", name, workspace)
		}
		// It does not wait for the end of a pause: the message is sent again later.
		o.Ways = append(o.Ways, &alerts.Phone{Person: name, Workspace: workspace, To: phone, Client: units[i].Client, Directory: service.NewDirectory(units[i].Client)})
	}
	if w := c.Alerts.Webhook; w.URL != "" {
		o.Ways = append(o.Ways, &alerts.Webhook{URL: w.URL, Secret: w.Secret})
	}
	return o, nil
}

// addAlerts lets what Today shows be told outside.
func (p *Process) addAlerts(c *config.Config, find *attention.Finder) error {
	if c.Alerts.None() {
		return nil
	}
	o, err := AlertOptions(c, p.Units, p.log)
	if err != nil {
		return err
	}
	o.Find, o.Journal = find.Items, p.journal
	p.alerts = alerts.New(o)
	return nil
}

// alertWays returns how each way to tell people stands.
func (p *Process) alertWays(ctx context.Context) ([]alerts.Status, error) {
	if p.alerts == nil {
		return nil, nil
	}
	return p.alerts.Channels(ctx)
}

// testAlerts sends a test each way.
func (p *Process) testAlerts(ctx context.Context) []alerts.Result {
	if p.alerts == nil {
		return nil
	}
	return p.alerts.Test(ctx)
}
